"""Members of announced matches, and matches that are told again as their events have changed: by hand, and in random worlds."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from speculation import Choose, Cleanse, Consolidate, consolidate
from tests.automata import Log
from tests.lineage import told_worlds
from tests.lineage.test_lineage import MANY, Ev

PLAIN = Automaton(
    start="0", final={"in"}, event=Log,
    arcs=[
        Arc("0", "try", "kind == 'try'"),
        Arc("try", "try", "True", name="wait"),
        Arc("try", "try", "kind == 'try'", "r", name="again"),
        Arc("try", "in", "kind == 'login'"),
    ],
)  # fmt: skip
NAMED = Automaton(
    start="0", final={"in"}, event=Log,
    arcs=[
        Arc("0", "try", "kind == 'try'"),
        Arc("try", "try", "True", name="wait"),
        Arc("try", "try", "kind == 'try'", select="try", name="again"),
        Arc("try", "in", "kind == 'login'", select="login"),
    ],
)  # fmt: skip
LOGS = [insert(Log(kind, 10 * le), le) for le, kind in enumerate(["try", "look", "try", "login"], start=1)]
TABLE = {"kind": ["try", "look", "try", "login"], "id": [10, 20, 30, 40], "le": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("automaton", "members", "expected"),
    [
        (PLAIN, "id", [(10, 30, 40), (30, 40)]),
        (PLAIN, "le", [(1, 3, 4), (3, 4)]),
        (NAMED, "id", [{"try": (10, 30), "login": (40,)}, {"try": (30,), "login": (40,)}]),
        (NAMED, "le", [{"try": (1, 3), "login": (4,)}, {"try": (3,), "login": (4,)}]),
    ],
)
def test_what_is_announced_comes_with_its_members(engine: Any, automaton: Automaton, members: str, expected: Any) -> None:
    one_by_one = Operator(automaton, window=60, engine=engine, members=members)
    assert [change.members for log in LOGS for change in one_by_one.push(log)] == expected
    at_once = Operator(automaton, window=60, engine=engine, members=members).push_many(LOGS)
    assert [change.members for change in at_once] == expected
    assert at_once == Operator(automaton, window=60, engine=engine).push_many(LOGS)
    columns = Operator(automaton, window=60, engine=engine, members=members).push_many(TABLE)
    assert columns["members"].tolist() == expected
    arrow = Operator(automaton, window=60, engine=engine, members=members).push_many(pa.table(TABLE))
    lists = [{name: list(each) for name, each in row.items()} if isinstance(row, dict) else list(row) for row in expected]
    assert arrow["members"].to_pylist() == lists


def test_whole_events() -> None:
    found = Operator(NAMED, window=60, members=True).push_many(LOGS)[1]
    assert found.members == {"try": (Change(Log("try", 30), 3, 63),), "login": (Change(Log("login", 40), 4, 64),)}
    arrow = Operator(NAMED, window=60, members="*").push_many(pa.table(TABLE))
    kind = pa.list_(pa.struct([("kind", pa.string()), ("id", pa.int64()), ("le", pa.int64()), ("re", pa.int64())]))
    assert arrow["members"].type == pa.struct([("try", kind), ("login", kind)])
    assert arrow["members"].to_pylist()[1]["login"] == [{"kind": "login", "id": 40, "le": 4, "re": 64}]


def test_members_are_no_part_of_a_change() -> None:
    change = Operator(PLAIN, window=60, members="id").push_many(LOGS)[0]
    bare = Change(*change)
    assert change == bare and hash(change) == hash(bare) and len(change) == 5  # noqa: PT018
    assert repr(change) == f"{str(bare)[:-1]}, members=(10, 30, 40))"
    assert change._replace(diff=-1).members is bare.members is None
    for twin in (copy.copy(change), copy.deepcopy(change), pickle.loads(pickle.dumps(change))):
        assert (twin, twin.members) == (change, change.members)
    assert consolidate([change, bare._replace(diff=-1)]) == []


def test_a_match_that_stays_is_told_again_when_its_events_change(engine: Any) -> None:
    op = Operator(NAMED, window=60, engine=engine, members="id", tell="lineage")
    op.push_many(LOGS)
    told = op.push(insert(Log("try", 25), 2))
    assert [(change.re, change.diff, change.members["try"]) for change in told] == [(61, 0, (10, 25, 30)), (62, 1, (25, 30))]
    assert op.push(insert(Log("look", 26), 2)) == []
    assert op.push(insert(Log("late", 27), 7)) == []
    told = op.push(retract(Log("try", 25), 2))
    assert [(change.re, change.diff) for change in told] == [(62, -1), (61, 0)]
    assert told[1].members == {"try": (10, 30), "login": (40,)}
    again = Operator.restore(NAMED, op.snapshot(), engine=engine).push(insert(Log("try", 25), 2))
    assert [(change.re, change.diff) for change in again] == [(61, 0), (62, 1)]
    assert op.statistics.outputs == 3


def test_tables_tell_again(engine: Any) -> None:
    op = Keyed(NAMED, key="door", window=60, engine=engine, members="id", tell="lineage")
    op.push_many(pa.table(TABLE | {"door": ["a"] * 4}))
    late = op.push_many(pa.table({"kind": ["try"], "id": [25], "le": [2], "door": ["a"]})).to_pylist()
    assert [(row["re"], row["diff"], row["members"]["try"]) for row in late] == [(61, 0, [10, 25, 30]), (62, 1, [25, 30])]
    gone = op.push_many(pa.table({"kind": ["login"], "id": [40], "le": [4], "diff": [-1], "door": ["a"]})).to_pylist()
    assert [(row["re"], row["diff"], row["members"]) for row in gone] == [(61, -1, None), (62, -1, None), (63, -1, None)]


def test_a_retraction_by_id_in_a_table() -> None:
    op = Operator(NAMED, window=60, members="id", tell="lineage", id="id")
    op.push_many([*LOGS, insert(Log("try", 25), 2)])
    gone = op.push_many({"kind": ["x"], "id": [25], "le": [9], "diff": [-1]})
    assert list(zip(gone["re"].tolist(), gone["diff"].tolist())) == [(62, -1), (61, 0)]
    assert gone["members"][1]["try"] == (10, 30)


def test_times_of_members_leave_as_those_of_the_table_came() -> None:
    moments = [datetime(2024, 1, 1, 10, 0, second) for second in (1, 2, 3, 4)]
    table = pa.table(TABLE | {"le": moments, "door": ["a"] * 4})
    for threads in (1, 2):
        op = Keyed(NAMED, key="door", window="1m", tick="ms", members="le", threads=threads)
        assert op.push_many(table)["members"].to_pylist()[0] == {"try": [moments[0], moments[2]], "login": [moments[3]]}


def test_what_an_arc_changes_is_told() -> None:
    automaton = Automaton(start="0", final={"in"}, event=Log, arcs=[arc for arc in NAMED.arcs if arc.name != "again"])
    again = next(arc for arc in NAMED.arcs if arc.name == "again")
    op = Operator(automaton, window=60, members="id", tell="lineage")
    op.push_many(LOGS)
    told = op.push_arc(insert(again, 0))
    assert [(change.re, change.diff, change.members["try"]) for change in told] == [(61, 0, (10, 30))]


def test_queries_tell_by_component_and_by_pandas() -> None:
    import pandas as pd

    asked = afa.query("PATTERN SEQ(try+ a[], login b) WHERE skip_till_next_match(a[], b) { } WITHIN 60 RETURN b.id",
                      event=Log, type="kind")  # fmt: skip
    found = asked.operator(members="id").push_many(pd.DataFrame(TABLE))
    assert found["members"].tolist() == [{"a": (10, 30), "b": (40,)}, {"a": (30,), "b": (40,)}]


def test_what_is_refused_when_the_operator_is_made() -> None:
    with pytest.raises(
        AfaError, match=r'expected a field of the event, "le" or True .* but got members=\'ident\'; fields: kind, id'
    ):
        Operator(PLAIN, members="ident")
    with pytest.raises(AfaError, match=r"members=\['id'\]"):
        Operator(PLAIN, members=["id"])  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r'expected "lineage" or None but got tell=\'all\''):
        Operator(PLAIN, tell="all")
    with pytest.raises(AfaError, match="fields: none, as the automaton has no event="):
        Operator(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)]), members="id")
    with pytest.raises(AfaError, match=r"gapless=Gapless\('id'\) can't be combined with"):
        Operator(PLAIN, gapless="id", tell="lineage")
    with pytest.raises(AfaError, match="keep_payloads=False can't be combined with members='id' because"):
        Operator(Automaton(start="0", final={"1"}, event=Log, arcs=[Arc("0", "1", "id > 3")]),
                 members="id", keep_payloads=False, retractions=False)  # fmt: skip


@pytest.mark.parametrize("stage", [Cleanse(3), Consolidate(), Choose(window=60)])
def test_stages_behind_are_refused(stage: Any) -> None:
    with pytest.raises(AfaError, match=f"in front of a {type(stage).__name__} but got one with them"):
        stage.after(Operator(PLAIN, window=60, members="id"))


def test_stages_in_front() -> None:
    before = Cleanse(5).before(Operator(NAMED, window=60, members="id", tell="lineage"))
    assert [change.members["try"] for change in before.push_many([*LOGS, Punctuation(5)]) if isinstance(change, Change)] == [
        (10, 30),
        (30,),
    ]


def test_an_operator_that_tells_is_freed_and_copied_as_any_other() -> None:
    op = Operator(NAMED, window=60, members="id", tell="lineage")
    op.push_many(LOGS)
    twin = copy.deepcopy(op)
    told = [(change.re, change.diff, change.members) for change in twin.push(insert(Log("try", 25), 2))]
    core = weakref.ref(op._core)
    gc.disable()
    try:
        del op
        assert core() is None
    finally:
        gc.enable()
    assert [diff for _, diff, _ in told] == [0, 1]
    assert [change.diff for change in twin.push(retract(Log("try", 25), 2))] == [-1, 0]


def test_a_damaged_option_is_refused() -> None:
    op = Operator(PLAIN, window=60, members="id")
    from afa.operator import snapshot
    from punctuation.sealed import seal

    body = snapshot.unseal(snapshot.MAGIC, snapshot.VERSION, op.snapshot())
    for wrong in ([["members", 3]], [["tell", "all"]], [["other", True]], [["members", "ident"]]):
        body[2][-1] = wrong
        with pytest.raises(SnapshotError):
            Operator.restore(PLAIN, seal(snapshot.MAGIC, snapshot.VERSION, snapshot.plain(body)))


def test_random_worlds(turns: str) -> None:
    told_worlds.WORLDS.run("told", range(20), turns, more_than={"announced": 66, "again": 16})


@pytest.mark.parametrize("options", [{"members": True, "tell": "lineage"}, {"collapse": True}, {"having": "count(b) > 0"}], ids=str)
def test_nothing_that_a_call_has_read_is_held_behind_it(options: dict[str, Any], engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, **options)
    told: Any = op._core.told
    op.push_many([insert(Ev("a"), 1), *(insert(Ev("b", i), i) for i in range(2, 9)), *(insert(Ev("c"), i) for i in range(10, 14))])
    op.push(insert(Ev("b", 1), 2))
    assert (told._before, told._from) == ({}, {})
    with pytest.raises(AfaError, match="expected"):
        op.push_many([insert(Ev("b", 7), 3), insert(7, 3)], net=False)
    assert (told._before, told._from) == ({}, {})
