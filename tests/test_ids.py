"""Messages as they come: ids that repeat, versions, retractions by an id; beside an operator that gets each change once."""

from __future__ import annotations

import base64
import copy
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import (
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Chain,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
)
from afa.errors import Int64Error
from afa.explain.reasons import Reasons
from afa.state.key_columns import KeyColumns
from afa.state.packed import pack_ints, pack_keys, read_ints, read_keys
from punctuation import SideOutput
from speculation import Cleanse, Ids, LastBefore, id_layout
from speculation.id_entries import IdEntries
from tests.forged import forged
from tests.id_worlds import FILLED, LOOKS, PAIR, STAGE, WORLDS, First, Order
from tests.stress.mutate import opened

VERSIONS: dict[str, Any] = {"id": "id", "on_repeat": "update", "version": "lsn"}


def test_worlds() -> None:
    more_than = {"repeats": 100, "superseded": 50, "told": 50, "matches": 20, "by the set": 10}
    WORLDS.run("ids", range(60), more_than=more_than)


# -- operators -------------------------------------------------------------------------------------------------------------------

FORMS: dict[str, Any] = {
    "arrow": pa.Table.from_pylist,
    "pandas": pd.DataFrame,
    "dict": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_retractions_hold_the_id_alone(form: str, engine: Any) -> None:
    nothing = {"user": None, "amount": None, "le": None}
    rows = [
        {"id": 1, "user": "u", "amount": 3, "le": 5, "diff": 1},
        {"id": 2, "user": "u", "amount": 4, "le": 6, "diff": 1},
        {"id": 3, "user": "u", "amount": 4, "le": 7, "diff": 1},
        {"id": 2, **nothing, "diff": -1},
        {"id": 9, **nothing, "diff": -1},
    ]
    op = Keyed(PAIR, key="user", window=40, id="id", engine=engine)
    op.push_many([FORMS[form](rows)])
    assert (op.statistics.pending, op.statistics.ids) == (1, 4)
    assert [(match.payload, match.diff) for match in op.push(retract({"id": 3}))] == [(First(1, 7), -1)]
    op.push_many([FORMS[form](rows[:3])])
    assert op.statistics.repeats == 3
    again = Operator.restore(PAIR, op.snapshot(), key="user", id="id")
    assert again.push_many([retract({"id": 1})]) == []
    assert again.statistics.events == 0


def test_another_content_is_a_fault(engine: Any) -> None:
    op = Keyed(PAIR, key="user", window=40, id="id", engine=engine)
    op.push(insert(Order(7, "u", 3), 5))
    before = op.snapshot()
    text = r"expected one content for id=7 but got another, Order\(id=7, user='[uv]', amount=\d\) at le=\d"
    for call in (
        lambda: op.push(insert(Order(7, "v", 3), 5)),
        lambda: op.push(insert(Order(7, "u", 3), 6)),
        lambda: op.push(insert(Order(7, "u", 3), 5, 6)),
        lambda: op.push_many({"id": [9, 7], "user": ["u", "u"], "amount": [1, 1], "le": [9, 9]}),
    ):
        with pytest.raises(LateEventError, match=text):
            call()
        assert op.snapshot() == before
    side = SideOutput()
    op = Operator.restore(PAIR, before, key="user", late=side)
    op.push_many([insert(Order(7, "v", 3), 5), retract({"id": 7}), insert(Order(7, "v", 3), 5), insert(Order(7, "u", 3), 5)])
    assert [change.payload for change in side.take()] == [Order(7, "v", 3)] * 2
    assert (op.statistics.repeats, op.statistics.late, op.statistics.events) == (1, 2, 0)


def test_a_retraction_that_waits_is_late_in_the_end(engine: Any) -> None:
    side = SideOutput()
    op = Operator(PAIR, window=40, id="id", late=side, engine=engine)
    op.push_many([insert(Order(1, "u", 3), 50), retract({"id": 5}), retract({"id": 6}, 60), retract({"id": 6})])
    assert (op.statistics.pending, op.statistics.repeats) == (2, 1)
    assert op.push(Punctuation(50)) == [Punctuation(50)]
    assert side.take() == []
    op.push(Punctuation(51))
    assert side.take() == [Change({"id": 5}, 50, None, -1)]
    op.push(retract({"id": 9}, 40))
    assert side.take() == [Change({"id": 9}, 40, None, -1)]
    strict = Operator.restore(PAIR, op.snapshot(), late="raise")
    with pytest.raises(LateEventError, match=r"expected an event with id=6 before 99 \(promised\) but got its retraction only"):
        strict.push(Punctuation(99))
    with pytest.raises(LateEventError, match=r"expected le >= 51 \(promised\) but got le=7, .* for the retraction of id=9"):
        strict.push(retract({"id": 9}, 7))
    assert strict.statistics.pending == 1
    assert strict.push(insert(Order(6, "u", 3), 55)) == []
    assert (strict.push(Punctuation(99)), strict.statistics.events) == ([Punctuation(99)], 0)


def test_versions_in_any_order_and_an_update_that_changes_the_key(engine: Any) -> None:
    rows = [
        {"id": 1, "user": "u", "amount": 3, "le": 5, "lsn": 1},
        {"id": 2, "user": "v", "amount": 4, "le": 9, "lsn": 1},
        {"id": 2, "user": "u", "amount": 4, "le": 9, "lsn": 2},
        {"id": 2, "user": "u", "amount": 7, "le": 9, "lsn": 3},
        {"id": 1, "user": "u", "amount": 3, "le": 5, "lsn": 4},
    ]
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 2, 0, 3, 1, 4, 0]):
        op = Keyed(PAIR, key="user", window=40, engine=engine, **VERSIONS)
        net: dict[Any, int] = {}
        for i in order:
            for match in op.push(rows[i]):
                net[match[:3]] = net.get(match[:3], 0) + match.diff
        assert {match: n for match, n in net.items() if n} == {(First(1, 10), 9, 45): 1}
    with pytest.raises(LateEventError, match=r"expected one message of a version for id=1 but got an insertion and the retraction"):
        op.push(retract({"id": 1, "lsn": 4}))
    assert [match.diff for match in op.push(retract({"id": 1, "lsn": 5}))] == [-1]
    op.push_many(pa.Table.from_pylist(rows))
    assert (op.statistics.events, op.statistics.ids, op.statistics.repeats) == (1, 2, 2)


def test_ids_of_several_fields_and_beside_the_event(engine: Any) -> None:
    rows = {"shop": ["a", "b", "a"], "n": [1, 1, 1], "id": [1, 2, 1], "user": ["u"] * 3, "amount": [3, 4, 3], "le": [5, 6, 5]}
    op = Keyed(PAIR, key="user", window=40, id=("shop", "n"), engine=engine)
    assert len(op.push_many(rows)["le"]) == 1
    assert (op.statistics.ids, op.statistics.repeats) == (2, 1)
    assert [match.diff for match in op.push(retract({"shop": "b", "n": 1}))] == [-1]
    assert op.push_many(rows, net=False)["le"].tolist() == []
    again = Operator.restore(PAIR, op.snapshot(), key="user", id=("shop", "n"))
    assert again.push_many([{name: [column[0]] for name, column in rows.items()}])[0]["le"].tolist() == []
    for item in (insert(Order(1, "u", 3), 5), {"id": 1, "user": "u", "amount": 3, "le": 5}):
        with pytest.raises(ChangeError, match=r"expected a message with an id \('shop'\) but got"):
            op.push(item)


@pytest.mark.parametrize("table", [True, False])
def test_versions_beside_the_event_reach_an_operator_within_another(table: bool) -> None:
    second = Automaton(
        start="0", final={"1"}, event=First, register=First(), arcs=[Arc("0", "1", "total > 0", "(e.first, e.total)")]
    )
    rows = [{"id": i, "lsn": v, "user": "u", "amount": a, "le": i} for i, v, a in ((1, 1, 3), (2, 1, 4), (2, 2, 7), (2, 1, 4))]
    given: Any = pa.Table.from_pylist(rows) if table else rows
    for around in (Reasons(Keyed(PAIR, key="user", **VERSIONS)), Chain(Keyed(PAIR, key="user", **VERSIONS), Operator(second))):
        out = around.push_many(given, net=False)
        found = [(row["total"], row["diff"]) for row in out.to_pylist()] if table else [(c.payload[1], c.diff) for c in out]
        assert found == [(7, 1), (7, -1), (10, 1)]


@pytest.mark.parametrize("versions", [[3, 1, 2], [2.5, -1.0, 0.0], ["c", "a", "b"], [datetime(2024, 1, n) for n in (3, 1, 2)]])
@pytest.mark.parametrize("single", [True, False])
def test_kinds_of_versions(versions: list[Any], single: bool, engine: Any) -> None:
    op = Operator(PAIR, window=40, engine=engine, **VERSIONS)
    rows = [{"id": 1, "lsn": version, "user": "u", "amount": 3 * n, "le": 5} for n, version in enumerate(versions)]
    for row in rows:
        op.push_many([row] if single else [pa.Table.from_pylist([row])])
    op = Operator.restore(PAIR, op.snapshot(), version="lsn", on_repeat="update")
    assert (op.statistics.superseded, op.statistics.events) == (2, 1)
    assert op.push(retract({"id": 1, "lsn": versions[1]})) == []
    assert op.statistics.events == 1
    other = 7 if type(versions[0]) is not int else "x"
    with pytest.raises(ChangeError, match=r"expected a version that is a (int|float|text|time), as those before, but got"):
        op.push(retract({"id": 1, "lsn": other}))
    with pytest.raises(ChangeError, match=r"expected a message with a version \('lsn'\) but got"):
        op.push(retract({"id": 1}))


def test_what_is_forgotten_counts_as_new_unless_it_is_remembered(engine: Any) -> None:
    for remember, repeats in ((None, 0), ("10 s", 1)):
        op = Operator(PAIR, window=40, id="id", remember=remember, tick="s", late="drop", engine=engine)
        op.push_many([insert(Order(1, "u", 3), 5), Punctuation(10)])
        assert op.statistics.ids == repeats
        op.push(insert(Order(1, "u", 3), 5))
        assert (op.statistics.repeats, op.statistics.late) == (repeats, 1 - repeats)
        op.push(insert(Order(1, "u", 6), 12))
        assert op.statistics.late == 1
        op = Operator.restore(PAIR, op.snapshot(), remember=remember)
    with pytest.raises(SnapshotError, match=r"expected remember=10, with which the operator was saved, but got remember='9 s'"):
        Operator.restore(PAIR, op.snapshot(), remember="9 s")


@pytest.mark.parametrize("texts", [False, True])
def test_memory_is_bounded_by_the_promise(texts: bool) -> None:
    op = Keyed(PAIR if not texts else Automaton(start="0", final={"1"}, event=Sold, arcs=[]), key="user", window=40, id="id")
    most, n = 0, 20_000
    for low in range(0, 1_000_000 // (10 if texts else 1), n):
        ids = np.arange(low, low + n)
        rows = pa.table({"id": [f"p{i}" for i in ids] if texts else ids, "user": ["u"] * n, "amount": ids % 7, "le": ids})
        op.push_many([rows, Punctuation(low)])
        most = max(most, op.statistics.id_bytes)
    stage = op.stage
    assert op.statistics.ids == n
    assert most < 4 * n * (200 if texts else 60)
    assert len(stage.rows) < 6 * n


def test_a_call_that_fails_forgets_no_id() -> None:
    """A failed call has made the table of ids anew; the next one does, too."""
    ids = Ids("id")
    for low, high in ((0, 60), *((high - 200, high) for high in range(260, 1260, 200))):
        rows = {"id": np.arange(low, high), "le": np.arange(low, high)}
        with pytest.raises(AfaError):
            ids.push_many([rows, "neither"])
        ids.push_many(rows)
        assert ids.statistics.ids == high - max(ids.promise, 0)
        ids.push(Punctuation(high - 10))


def test_a_million_ids_take_sixty_bytes() -> None:
    ids = Ids("id")
    for low in range(0, 1_000_000, 100_000):
        ids.push_many({"id": np.arange(low, low + 100_000) * 7, "le": np.arange(low, low + 100_000)})
    numbers = ids.statistics
    assert numbers.ids == 1_000_000
    assert numbers.id_bytes < 60 * numbers.ids


def test_what_is_refused_in_words() -> None:
    for options, text in (
        ({"id": ()}, "expected a field name, or several different ones, but got id="),
        ({"id": 7}, "expected a field name, or several, but got id=7"),
        ({"id": "id", "remember": -1}, "expected a duration of 0 ticks at least, or None, but got remember=-1"),
        ({"id": "id", "remember": "1 h"}, "tick"),
        ({"remember": 1}, "remember=1 needs id="),
        ({"version": "lsn"}, "version='lsn' needs on_repeat="),
        ({"id": "id", "on_repeat": "update"}, "on_repeat='update' needs version="),
        ({"on_repeat": "update", "version": "lsn"}, "version='lsn' needs id="),
        ({"id": "id", "on_repeat": "fault", "version": "lsn"}, 'expected on_repeat="update" but got'),
        ({"id": "id", "on_repeat": "update", "version": "id"}, "expected the name of a field that orders versions but got"),
        (
            {"id": "id", "retractions": False},
            r"retractions=False can't be combined with id='id' because an id names an event for its",
        ),
        ({"id": "id", "gapless": "amount"}, r"gapless=Gapless\('amount'\) can't be combined with id='id'"),
        ({"id": "le"}, "expected id= and version= that are no columns of times but got 'le'"),
    ):
        with pytest.raises(AfaError, match=text):
            Operator(PAIR, window=40, **options)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r"expected id=<a field of an event schema> but got"):
        Operator(Automaton(start="0", final={"1"}, arcs=[]), id="id")
    op = Operator(PAIR, window=40, id="id")
    for item, text in (
        (retract({"ident": 7}), r"expected a message with an id \('id'\) but got \{'ident': 7\}"),
        (retract(7), r"expected a message with an id \('id'\) but got 7"),
        (retract({"id": "7"}), r"expected id: int but got id='7' in Order"),
        (Change({"id": 7}, None, None, -2), r"expected diff=-1 of a retraction that names an id \(id='id'\) but got diff=-2"),
        (Change(Order(7, "u", 1), 1, None, 2), r"expected one copy of an event that an id names \(id='id'\) but got diff=2"),
        (insert(Order(7, "u", 1)), r"expected an event with a time but got le=None"),
    ):
        with pytest.raises(ChangeError, match=text):
            op.push(item)
    with pytest.raises(Int64Error, match="expected an int64 as an id but got id=9223372036854775808"):
        op.push(retract({"id": 2**63}))
    none = Automaton(start="0", final={"1"}, event=NamedTuple("Maybe", [("id", int | None)]), arcs=[])
    with pytest.raises(ChangeError, match=r"expected a message with an id \('id'\) but got"):
        Operator(none, id="id").push(insert((None,), 1))
    with pytest.raises(ChangeError, match=r"expected a message with an id"):
        Operator(none, id="id").push_many({"id": [1, None], "le": [1, 2]})
    assert op.statistics.changes == op.statistics.pending == 0
    for stage in (Cleanse(10), LastBefore(Order, STAGE, window=30, filled=FILLED)):
        with pytest.raises(AfaError, match="expected Ids in front of all other stages"):
            stage.before(Operator(LOOKS if isinstance(stage, LastBefore) else PAIR, window=40, id="id"))


def test_a_subclass_takes_no_stage() -> None:
    class Mine(Operator):
        pass

    with pytest.raises(AfaError, match=r"expected Operator or Keyed themselves with id=, by which a stage stands in front of them"):
        Mine(PAIR, id="id")


# -- snapshots -------------------------------------------------------------------------------------------------------------------


def test_a_snapshot_is_checked() -> None:
    op = Operator(PAIR, window=40, **VERSIONS)
    rows = {"id": [7, 8, 9], "lsn": [1, 1, 1], "user": ["u"] * 3, "amount": [3, 4, 5], "le": [5, 6, 7]}
    op.push_many([pa.table(rows), retract({"id": 8, "lsn": 2}), retract({"id": 5, "lsn": 2}), Punctuation(2)])
    op.push({"id": 6, "lsn": 1, "user": "u", "amount": 4, "le": 6})
    blob = op.snapshot()
    numbers = opened(blob)[1]
    assert Operator.restore(PAIR, blob).snapshot() == blob
    ids = list(read_keys(numbers[8][0]))
    states, places, until, versions = (read_ints(numbers[8][i], len(ids)).tolist() for i in range(1, 5))

    def ints(*values: int) -> list[Any]:
        return pack_ints(np.array(values))

    def keys(*values: Any) -> list[Any]:
        return pack_keys(KeyColumns.of(list(values)))

    for place, value in (
        ((1, 0), "id"),
        ((1, 0), [7]),
        ((1, 0), ["id", "id"]),
        ((1, 1), 7),
        ((1, 1), None),
        ((1, 2), -1),
        ((1, 3), "complex"),
        ((1, 4), -1),
        ((1, 6), 3),
        ((1, 6), "x"),
        ((1, 8, 0), keys(ids[1], *ids[1:])),
        ((1, 8, 0), keys(*ids[:-1], None)),
        ((1, 8, 0), keys(*ids[1:])),
        ((1, 8, 0), keys(*ids[:-1], 77)),
        ((1, 8, 0), keys(*map(str, ids))),
        ((1, 8, 0), keys(*((each, each) for each in ids))),
        ((1, 8, 0), keys()),
        ((1, 8, 1), ints(9, *states[1:])),
        ((1, 8, 1), ints(0, *states[1:])),
        ((1, 8, 1), ints(*[3] * len(states))),
        ((1, 8, 2), ints(places[0] + 9, *places[1:])),
        ((1, 8, 2), ints(*[1] * len(places))),
        ((1, 8, 2), [0, b"x"]),
        ((1, 8, 3), ints(1, *until[1:])),
        ((1, 8, 3), ints(*(x + 1 for x in until))),
        ((1, 8, 4), None),
        ((1, 8, 4), ints(*versions[1:])),
        ((1, 8, 4), versions),
        ((1, 9), []),
        ((1, 9), [["rows", b"x"]]),
        ((1, 9), [["rows", numbers[9][0][1]], ["matches", []]]),
        ((1, 9), [numbers[9][0], numbers[9][0]]),
    ):
        with pytest.raises(SnapshotError):
            raise AssertionError(f"{place}, {value}: {Operator.restore(PAIR, forged(blob, place, value))}")


@pytest.mark.parametrize("maker", ["operator", "keyed", "before", "looking"])
def test_older_snapshots_name_the_field_alone(maker: str, engine: Any) -> None:
    """Ids had no stage then: the events stand in the operator, and in the stages in front of it."""
    blob = base64.b64decode(json.loads((Path(__file__).parent / "old_ids.json").read_text(encoding="ascii"))[maker])
    more: dict[str, Any] = {"key": "user"} if maker in ("keyed", "before") else {}
    stages = [LastBefore(Order, STAGE, window=30, filled=FILLED)] if maker == "looking" else []
    own: dict[str, Any] = {} if maker == "looking" else {"engine": engine}
    op = Operator.restore(LOOKS if maker == "looking" else PAIR, blob, stages=stages, **more, **own)
    assert (op.statistics.ids, op.statistics.pending) == (4, 1)
    op.push_many([insert(Order(4, "u", 4), 26), insert(Order(9, "u", 0), 28), retract({"id": 5}), retract({"id": 4})])
    assert (op.statistics.repeats, op.statistics.pending) == (1, 0)
    op.push_many([retract({"id": 3}), Punctuation(FOREVER - 1)])
    assert op.statistics.events == 0
    assert op.stage.names == ("id",)


# -- alone -----------------------------------------------------------------------------------------------------------------------


def test_alone_it_makes_changes_of_tables() -> None:
    side = SideOutput()
    ids = Ids("id", on_repeat="update", version="lsn", late=side)
    first = pa.table({"id": [1, 2, 1], "lsn": [1, 1, 1], "x": [[1], [2], [1]], "le": [5, 6, 5]})
    assert ids.push_many(first).to_pylist() == [{**row, "diff": 1} for row in first.to_pylist()[:2]]
    rows = [
        {"id": 1, "lsn": 3, "x": [9], "le": 7, "diff": 1},
        {"id": 2, "lsn": 2, "x": None, "le": None, "diff": -1},
        {"id": 2, "lsn": 1, "x": [2], "le": 6, "diff": 1},
        {"id": 1, "lsn": 3, "x": [8], "le": 7, "diff": 1},
        {"id": 1, "lsn": 4, "x": [9], "le": 7, "diff": 1},
    ]
    out = ids.push_many([pa.Table.from_pylist(rows, first.schema.append(pa.field("diff", pa.int64()))), Punctuation(6)])
    assert [(row["id"], row["x"], row["diff"]) for row in out[0].to_pylist()] == [(1, [1], -1), (1, [9], 1), (2, [2], -1)]
    assert side.take() == [Change({"id": 1, "lsn": 3, "x": [8], "le": 7}, 7, None, 1)]
    assert ids.statistics[:1] + ids.statistics[2:] == (2, 1, 1, 0, 1)
    again = Ids.restore(ids.snapshot())
    assert again.push_many(first).num_rows == copy.deepcopy(ids).push_many(first).num_rows == 0
    for bad, text in (
        ({"id": [1], "le": [5]}, "expected one column 'lsn' but got the columns id, le"),
        ({"id": [None], "lsn": [1], "le": [5]}, "expected an id, of ints, bools or texts"),
        ({"id": [1], "lsn": [None], "le": [5]}, "expected a version of each message"),
        ({"id": [1], "lsn": [1], "le": [None]}, "expected a time of each insertion"),
        ({"id": [1], "lsn": [1], "le": [5], "diff": [2]}, "expected diff 1 or -1"),
        ({"id": ["x"], "lsn": [1], "le": [5]}, "expected an id that is an int, as those before"),
        ({"id": [9], "lsn": [1], "le": [7]}, "expected tables of the same columns"),
        ({"id": [9], "lsn": np.array([2**64 - 1], np.uint64), "le": [7]}, "expected versions within int64"),
        ({"id": np.array([2**64 - 1], np.uint64), "lsn": [1], "le": [7]}, "expected ids within int64"),
    ):
        with pytest.raises(ChangeError, match=text):
            ids.push_many(pa.table({name: pa.array(column) for name, column in bad.items()}))
    with pytest.raises(ChangeError, match="expected columns that Arrow holds"):
        ids.push_many({"id": [1, "x"], "lsn": [1, 1], "le": [5, 5]})
    with pytest.raises(ChangeError, match="expected a table of messages, or a Punctuation"):
        ids.push(insert("x", 1))
    with pytest.raises(AfaError, match='expected on_repeat="update" with version='):
        Ids("id", version="lsn")
    timed = Ids("id", remember=timedelta(seconds=5), tick="s")
    assert timed.remember == 5
    assert timed.push_many({"id": [1], "le": np.array(["2024-01-01"], "M8[s]")}).num_rows == 1


# -- frames ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dict", "pandas", "arrow", "file"])
def test_find_takes_messages(kind: str, tmp_path: Path) -> None:
    rows = {
        "id": [1, 2, 1, 3, 2, 3],
        "lsn": [1, 1, 1, 1, 2, 2],
        "user": ["u", "u", "u", "u", None, "u"],
        "amount": [3, 4, 3, 4, None, 7],
        "at": [10, 11, 10, 12, None, 12],
        "sign": [1, 1, 1, 1, -1, 1],
    }
    frame: Any = rows if kind == "dict" else pd.DataFrame(rows) if kind == "pandas" else pa.table(rows)
    if kind == "file":
        pq.write_table(frame, tmp_path / "rows.parquet")
        frame = tmp_path / "rows.parquet"
    found = afa.find(PAIR, frame, key="user", time="at", window=60, diff="sign", **VERSIONS)
    columns = found.to_pydict() if isinstance(found, pa.Table) else {name: list(found[name]) for name in found}
    assert columns == {"user": ["u"], "first": [1], "total": [10], "le": [12], "re": [70]}
    with pytest.raises(LateEventError, match=r"expected one content for id=3 but got another, \{.*'amount': 7"):
        afa.find(PAIR, frame, key="user", time="at", window=60, diff="sign", id="id")


@pytest.mark.parametrize("time", ["le", "diff"])
def test_find_sees_another_time_in_a_column_of_any_name(time: str) -> None:
    rows = {"id": [1, 2, 2], "lsn": [1, 1, 2], "user": ["u"] * 3, "amount": [3, 4, 4], time: [5, 6, 9]}
    with pytest.raises(LateEventError, match="expected one content for id=2 but got another"):
        afa.find(PAIR, rows, time=time, window=40, id="id")
    assert afa.find(PAIR, rows, time=time, window=40, **VERSIONS)["le"].tolist() == [9]


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_find_takes_a_frame_without_rows_and_large_floats(kind: Any) -> None:
    none = kind({"id": [], "user": [], "amount": [], "at": []})
    assert len(afa.find(PAIR, none, time="at", window=9, id="id")["le"]) == 0
    above = Automaton(start="0", final={"1"}, event=NamedTuple("X", [("x", float)]), arcs=[Arc("0", "1", "x > 5")])
    missing = np.nan if kind is pd.DataFrame else None
    rows = kind({"id": [1, 2, 1], "x": [4.0, 1e300, missing], "at": [1, 2, missing], "diff": [1, 1, -1]})
    assert list(afa.find(above, rows, time="at", window=9, id="id", diff="diff")["le"]) == [2]


def test_a_failed_call_says_nothing_of_the_kind_of_ids() -> None:
    ids = Ids("id")
    for first, then in ((["a"], [1]), ([1], ["a"])):
        ids = Ids("id")
        with pytest.raises(AfaError):
            ids.push_many([pa.table({"id": first, "le": [5]}), "neither"])
        ids.push_many(pa.table({"id": then, "le": [5]}))
        with pytest.raises(ChangeError, match=r"expected an id that is (an|no) int, as those before"):
            ids.push_many(pa.table({"id": first, "le": [5]}))
    rows = pa.table({"id": [1], "x": [[np.nan]], "le": [5]})
    ids = Ids("id")
    assert [len(ids.push_many(rows)) for _ in range(2)] == [1, 0]


def test_a_callers_array_may_change_behind_a_call() -> None:
    ids, amount = Ids("id"), np.array([3])
    ids.push_many({"id": [1], "amount": amount, "le": [5]})
    amount[0] = 4
    assert len(ids.push_many({"id": [1], "amount": [3], "le": [5]})) == 0


def test_a_callers_array_may_change_behind_an_operators_call() -> None:
    op, amount = Operator(PAIR, window=60, id="id"), np.array([3])
    rows = {"id": np.array([1]), "user": ["u"], "amount": amount, "le": np.array([5])}
    op.push_many(rows)
    before = amount.copy()
    amount[0] = 4
    op.push_many({**rows, "amount": before})
    assert op.statistics.repeats == 1


def test_find_refuses_a_retraction_without_its_event() -> None:
    rows = {"id": [1, 2], "user": ["u", None], "amount": [3, None], "le": [10, None], "diff": [1, -1]}
    with pytest.raises(LateEventError, match="expected an event with id=2"):
        afa.find(PAIR, rows, window=60, diff="diff", id="id")
    with pytest.raises(ChangeError, match="expected a column 'ident'"):
        afa.find(PAIR, rows, window=60, diff="diff", id="ident")


@pytest.mark.parametrize("number", range(2))
def test_an_interrupt_while_the_table_is_made_anew_leaves_the_old_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In front of the kernel, and behind it: a snapshot drops what is forgotten."""
    ids = Ids("id")
    ids.push_many({"id": ["a", "b"], "x": [1, 2], "le": [5, 6]})
    call, calls = IdEntries._call, [0]

    def interrupted(self: IdEntries, what: int, *rest: Any, **more: Any) -> int:
        if what == id_layout.REFILL and number == 0:
            raise KeyboardInterrupt
        found = call(self, what, *rest, **more)
        if what == id_layout.REFILL:
            calls[0] += 1
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(IdEntries, "_call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ids.snapshot()
    assert calls == [number]
    assert ids.statistics.ids == 2
    assert len(ids.push_many({"id": ["b", "c", "a"], "x": [2, 3, 1], "le": [6, 7, 5]})) == 1
    assert ids.statistics.repeats == 2


class Sold(NamedTuple):
    id: str
    user: str
    amount: int


class Day(NamedTuple):
    id: int
    amount: int


@pytest.mark.parametrize("unit", ["M8[ns]", "M8[s]", "M8[D]", "m8[ns]", "m8[us]"])
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pa.table])
def test_instants_as_keys_of_a_table(make: Any, unit: str) -> None:
    arcs = [Arc("0", "1", "amount < 3"), Arc("1", "2", "amount > 6")]
    op = Keyed(Automaton(start="0", final={"2"}, event=Day, arcs=arcs), key="day", window=40, id="id")
    days = np.array([19_723, 19_723], unit)
    op.push_many([make({"id": np.array([1, 2]), "amount": np.array([1, 9]), "le": np.array([1, 2]), "day": days})])
    assert [change.diff for change in op.push(retract({"id": 2}))] == [-1]
    assert not op.statistics.pending
