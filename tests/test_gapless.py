"""`Operator(.., gapless=)` and `Keyed(.., gapless=)`, one thing each; random worlds: `test_gapless_worlds.py`."""

from __future__ import annotations

import contextlib
import itertools
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import (
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Gapless,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
)
from afa.compiled import batches
from punctuation.time import FOREVER
from speculation import Cleanse
from tests import oracle
from tests.conftest import ENGINES
from tests.numbered import FALLS, World, carried_out, event, model_of, spans
from tests.text import E


class Sided(NamedTuple):
    sort: int
    seq: int
    side: int


ENDS = Automaton(start="a", final={"b"}, event=Sided, arcs=[Arc("a", "b", "sort == 1")])


@pytest.mark.parametrize("table", [False, True])
def test_numbers_are_held_against_times_behind_all_changes_of_a_call(
    engine: Any, table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a batch is cut: what a later change puts right is no fault, and a late one is told first."""
    monkeypatch.setattr(batches, "KEYED_CHUNK", 3)
    monkeypatch.setattr(batches, "CHUNK", 3)
    for keyed in (False, True):
        op = (
            Keyed(FALLS, key="kind", gapless="seq", window=99, engine=engine)
            if keyed
            else Operator(FALLS, gapless="seq", engine=engine)
        )
        op.push_many([event(2, 10), Punctuation(5)])
        wrong = [event(3, 8), *(event(number, 10 * number) for number in range(4, 9))]
        rows = [*wrong, event(9, 1)]
        with pytest.raises(LateEventError, match="got le=1 for"):
            op.push_many(as_table(rows) if table else rows)
        with pytest.raises(ChangeError, match="got seq=2 at le=10 and seq=3 at le=8"):
            op.push_many(as_table(wrong) if table else wrong)
        right = [*wrong, retract(E(0, 3), 8), event(3, 30)]
        op.push_many(as_table(right) if table else right)
        assert op.statistics.events == 8 - 1
        op._check()


def as_table(rows: list[Any]) -> dict[str, Any]:
    columns = {name: [getattr(row.payload, name) for row in rows] for name in E._fields}
    return columns | {"le": [row.le for row in rows], "diff": [row.diff for row in rows]}


def test_repeated_numbers_and_numbers_against_their_times(engine: Any) -> None:
    got: list[Any] = []
    op: Any = Keyed(FALLS, key=lambda e: 7, gapless=Gapless("seq", repeated=got.append), window=99, engine=engine)
    op.push_many([event(1, 10, 1), event(1, 10, 0), event(2, 20), event(2, 25)])
    assert got == [insert(E(0, 1), 10, 109)._replace(key=7), insert(E(0, 2), 25, 124)._replace(key=7)]
    assert (op.statistics.repeated, op.statistics.changes) == (2, 2)
    with pytest.raises(ChangeError, match="times that follow the numbers but got seq=0 at le=11 and seq=1 at le=10 of key 7"):
        op.push(event(0, 11))
    op.push_many([retract(E(1, 1), 10), event(1, 15)])
    op.push(Punctuation(30))
    op._check()
    assert op.push(event(2, 31)) == []  # cover's number is in force too
    assert op.statistics.repeated == 3


def test_a_refused_number_names_its_key_and_no_other(engine: Any) -> None:
    choose, found = random.Random(3), set()
    for _ in range(20):
        op = Keyed(FALLS, key="kind", gapless=Gapless("seq", repeated="drop"), window=4, engine=engine)
        numbers, kinds = ([choose.choice(of) for _ in range(20)] for of in (range(9), (0, 5, 7)))
        with pytest.raises(ChangeError) as told:
            op.push_many({"kind": np.array(kinds), "seq": np.array(numbers), "le": np.arange(20)})
        text = " ".join([str(told.value), *getattr(told.value, "__notes__", [])])
        assert text.count("of key") == 1, text
        found.add(text[-1])
    assert found == set("057")


@pytest.mark.parametrize("keyed", [False, True])
def test_the_first_row_of_a_number_takes_effect(at_once: None, keyed: bool) -> None:
    """Also in loops over rows, before which rows are brought into the order of time."""
    stays = Automaton(start="a", final={"c"}, event=E, arcs=[*FALLS.arcs, Arc("b", "b", "kind != 1")])
    choose, repeated = random.Random(5), 0
    for _ in range(300):
        n, found = choose.choice([3, 5, 20]), []
        numbers = [i + choose.choice([0, 0, 0, -1, 1, 2]) for i in range(2 * n)]
        rows = [(number, 1000 * number + choose.choice([0, 0, 0, 500, -500]), choose.randint(0, 2)) for number in numbers]
        choose.shuffle(rows)
        keys = [choose.choice("xy") for _ in rows]
        for name in ENGINES:
            more: Any = {"gapless": Gapless("seq", repeated="drop"), "window": 4000, "engine": name}
            op: Any = Keyed(stays, key="by", **more) if keyed else Operator(stays, **more)
            for part in (slice(0, n), slice(n, None)):
                number, le, kind = np.array(rows[part]).T
                with contextlib.suppress(ChangeError):
                    op.push_many({"kind": kind, "seq": number, "le": le, **({"by": keys[part]} if keyed else {})})
            found.append((op.statistics.changes, op.statistics.matches, op.snapshot()))
            repeated += op.statistics.repeated
        assert found[0] == found[1], rows
    assert repeated > 300


def test_a_keyed_one_forgets_keys_that_are_over(engine: Any) -> None:
    op = Keyed(FALLS, key="kind", gapless="seq", window=10, engine=engine)
    for i in range(40):
        op.push_many([event(i, 10 * i, kind) for kind in (i % 7, 7)])
        op.push(Punctuation(10 * i))
        op._check()
        assert len(op.keys) <= 4
        assert op.statistics.events <= 2
    op.push(retract(E(7, 39), 390))
    op._check()
    op.push(Punctuation(1000))
    assert op.keys == []


def test_a_promise_with_a_condition_drops_nothing(engine: Any) -> None:
    op = Operator(FALLS, gapless="seq", window=99, engine=engine, retractions=False)
    op.push_many([event(1, 10), event(3, 30), Punctuation(35, where="kind == 2"), Punctuation(35, where="kind == 0")])
    assert spans(op.push(event(2, 20, 1))) == [(20, 1)]
    op._check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gapless": "kind2"}, r"expected a field of E\(kind: int, seq: int\) but got gapless='kind2'"),
        ({"gapless": ("seq", {"gaps": "close"})}, 'expected gaps="break" or "join" but got gaps=\'close\''),
        ({"gapless": ("seq", {"repeated": "keep"})}, 'expected repeated="raise", "drop" or a callable but got repeated=\'keep\''),
        ({"gapless": ("seq", {"on_gap": 5})}, r"expected a callable on_gap\(key, first, last\) but got on_gap=5"),
        ({"gapless": 5}, "expected the name of the field that numbers events, or a Gapless, but got gapless=5"),
        (
            {"gapless": "seq", "order_by": "kind"},
            "expected the field 'seq', which numbers the events, or none but got order_by='kind'",
        ),
        (
            {"gapless": "seq", "keep_payloads": False, "retractions": False},
            r"gapless=Gapless\('seq'\) can't be combined with keep_payloads=False because the number is part of the payload",
        ),
    ],
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    def made() -> Any:
        field = options["gapless"]
        return {**options, "gapless": Gapless(field[0], **field[1]) if isinstance(field, tuple) else field}

    with pytest.raises(AfaError, match=message):
        Operator(FALLS, **made())
    with pytest.raises(AfaError, match=message):
        Keyed(FALLS, key="kind", **made())


def test_policies_beside_gapless_go_on_working_and_warn() -> None:
    with pytest.warns(DeprecationWarning, match=r"gaps= is now Gapless\('seq', gaps=..\) as gapless="):
        op = Operator(FALLS, gapless="seq", gaps="join")  # type: ignore[call-arg]
    assert op._core.options.gapless == Gapless("seq", gaps="join")
    with pytest.warns(DeprecationWarning, match="repeated= is now gapless="):
        Operator.restore(FALLS, op.snapshot(), repeated="drop")  # type: ignore[call-arg]
    with pytest.raises(AfaError, match="expected gapless=<the field that numbers the events> beside gaps= but got gapless=None"):
        Operator(FALLS, gaps="join")  # type: ignore[call-arg]


def test_blobs_that_are_none_are_refused() -> None:
    """What is wrong in them is told by `test_damage.py`."""
    op = Operator(FALLS, gapless=Gapless("seq", repeated=print), window=9, engine="interpreted")
    op.push_many([event(1, 10), event(2, 11), Punctuation(11), event(3, 14)])
    blob = op.snapshot()
    with pytest.raises(SnapshotError, match="expected repeated=<callable>: the operator was saved with a callback"):
        Operator.restore(FALLS, blob)
    with pytest.raises(SnapshotError, match="expected no gapless=, without which the operator was saved, but got Gapless"):
        Operator.restore(FALLS, Operator(FALLS).snapshot(), gapless=Gapless("seq", repeated="drop"))


def test_stages_stand_around_it(engine: Any) -> None:
    for seed in range(8):
        world = World(f"around {seed}", arcs=False)
        ends = []
        for place in (None, "before", "after"):
            op: Any = Operator(world.automaton, gapless=Gapless("seq", gaps="join"), engine=engine, **world.options())
            op = op if place is None else getattr(Cleanse(2), place)(op)
            model, found = model_of(world), []
            for step in [*world.steps, [("event", Punctuation(FOREVER))]]:
                found += carried_out(op, model, step) or []
            ends.append(oracle.net(found))
        assert ends[0] == ends[1] == ends[2], f"seed {seed}"


def test_a_table_without_net_gives_what_its_rows_give(engine: Any) -> None:
    table = {"kind": [0, 0, 1, 1, 0, 2], "seq": [1, 5, 6, 2, 2, 3], "le": [10, 50, 60, 20, 20, 30]}
    rows = Operator(FALLS, gapless=Gapless("seq", repeated="drop"), window=99, engine=engine)
    one_by_one = [change for i in range(6) for change in rows.push(event(table["seq"][i], table["le"][i], table["kind"][i]))]
    op = Operator(FALLS, gapless=Gapless("seq", repeated="drop"), window=99, engine=engine)
    out = op.push_many({name: np.array(column) for name, column in table.items()}, net=False)
    assert out["le"].tolist() == [change.le for change in one_by_one] == [60, 20]
    assert op.statistics == rows.statistics


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("second", [1, 4])
def test_the_numbers_of_a_key_that_is_over_begin_anew_within_a_batch(engine: Any, as_table: bool, second: int) -> None:
    told: list[Any] = []
    op = Keyed(ENDS, key="side", gapless=Gapless("seq", repeated="drop", on_gap=lambda *gap: told.append(gap)), engine=engine)
    first, again = Sided(1, 1, 7), Sided(1, second, 7)
    rows: Any = [insert(first, 0, 2), Punctuation(5), insert(again, 7, 9), Punctuation(10)]
    if as_table:
        rows = {"sort": [1] * 4, "seq": [1, 0, second, 0], "side": [7] * 4, "le": [0, 5, 7, 10], "re": [2, 6, 9, 11]}
        rows["kind"] = [0, 2, 0, 2]
    out = op.push_many(rows)
    assert (list(out["kind"]).count(0) if as_table else sum(isinstance(item, Change) for item in out)) == 2
    assert (told, op.statistics.repeated) == ([], 0)


@pytest.mark.parametrize("waits", [False, True])
def test_a_restored_key_knows_the_gap_behind_its_cover(engine: Any, waits: bool) -> None:
    told: list[Any] = []
    arcs = [*ENDS.arcs, Arc.timeout("b", "a", "0")] if waits else ENDS.arcs
    automaton = Automaton(start="a", final={"b"}, event=Sided, arcs=arcs)
    op = Keyed(automaton, key="side", gapless="seq", engine=engine)
    op.push_many([insert(Sided(1, 1, 7), 10, 12), insert(Sided(1, 4, 7), 20, 30), Punctuation(15)])  # number 1 is final, and over
    again = Keyed.restore(
        automaton,
        op.snapshot(),
        key="side",
        engine=engine,
        gapless=Gapless("seq", repeated="drop", on_gap=lambda *gap: told.append(gap)),
    )
    assert again.statistics.barriers == op.statistics.barriers == 1
    again.push(Punctuation(21))
    assert told == [(7, 2, 3)]


@pytest.mark.parametrize("keys", [1, 10])
def test_other_keys_have_no_part_in_what_gaps_are_told(engine: Any, keys: int) -> None:
    told: list[Any] = []
    op = Keyed(ENDS, key="side", gapless=Gapless("seq", on_gap=lambda *gap: told.append(gap)), engine=engine)
    for key in range(keys):
        op.push(insert(Sided(1, 1, key), 0, 100))
    op.push(Punctuation(1))
    for number, le, re, promise in [(2, 20, 101, None), (3, 21, 22, 30), (7, 31, 40, 50)]:
        op.push(insert(Sided(1, number, 0), le, re))
        if promise is not None:
            op.push(Punctuation(promise))
    assert told == []


def test_a_gap_before_the_end_of_a_large_table_is_told(engine: Any) -> None:
    told: list[Any] = []
    n = 20_000
    op = Keyed(ENDS, key="side", gapless=Gapless("seq", on_gap=lambda *gap: told.append(gap)), engine=engine)
    le = np.concatenate([[0], np.arange(3, n + 3), [n + 20]])
    rows = {"sort": np.zeros(n + 2, np.int64), "seq": np.concatenate([[1], np.arange(1, n + 1), [4]]), "le": le, "re": le + 2}
    op.push_many([{**rows, "side": np.concatenate([[7], np.full(n, 1), [7]])}, Punctuation(n + 20)])
    op.push(Punctuation(n + 50))
    assert told == [(7, 2, 3)]


def test_of_numbers_against_their_times_the_same_two_are_told_in_any_order(engine: Any) -> None:
    for events in itertools.permutations([event(1, 40), event(2, 30), event(3, 20), event(4, 10)]):
        op = Operator(FALLS, gapless="seq", window=99, engine=engine)
        with pytest.raises(ChangeError, match="but got seq=1 at le=40 and seq=2 at le=30"):
            op.push_many(list(events))
