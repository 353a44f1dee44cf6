"""What random worlds found in the compiled engine, each as the smallest thing that showed it."""

from __future__ import annotations

import numpy as np
import pytest

from afa import BEGINNING, FOREVER, Change, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.compiled import choices
from tests.automata import arc, small
from tests.text import E, T, arc_of


def test_retractions_that_wait_come_back_with_a_rejected_call() -> None:
    op = Operator(small("a", "b", arc("a", "b")), window=9, engine="compiled")
    op.push(Punctuation(1))
    op.push(retract(E(0), 5))
    op.push(retract(E(1), 6))
    before = op.snapshot()
    with pytest.raises(LateEventError):
        op.push_many([insert(E(0), 5), retract(E(2), 7), Punctuation(9), insert(E(0), 8)])
    assert op.snapshot() == before


def test_an_epsilon_arc_that_begins_inside_a_table_acts() -> None:
    op = Operator(small("a", "a", arc("a", "a", "e.sort < 9"), event="T"), engine="compiled")
    jump = arc_of(arc("a", "z", kind="epsilon", final=True, name="x"))
    row = {"sort": 0, "seq": 0, "le": BEGINNING, "kind": 1, "arc": 0}
    op.push_many({name: np.array([value]) for name, value in row.items()}, arcs=[jump])
    op.push(insert(T(2, 1), 2))
    assert op.statistics.partial_matches == 2


def test_equal_partial_matches_of_a_cover_are_saved_once() -> None:
    automaton = small("a", "a", arc("a", "a"))
    op = Operator(automaton, order_by="seq", engine="interpreted")
    for change in (insert(E(0, 2), 5), insert(E(1, 1), 5), Punctuation(8)):
        op.push(change)
    for engine in ("interpreted", "compiled"):
        again = Operator.restore(automaton, op.snapshot(), engine=engine)
        again._check()
        assert again.snapshot() == op.snapshot()


def test_an_arc_that_ended_is_dropped_beside_time_outs() -> None:
    closes, opens = arc("b", "c", "e.kind == 1"), arc("a", "b", "e.kind == 0")
    automaton = small("a", "c", closes, opens, arc("b", "c", kind="timeout", at="50", name="w"))
    op = Operator(automaton, window=90, engine="compiled")
    op.push(insert(E(0), 10))
    op.push_arc(retract(automaton.arcs[0]))  # it ends at 11
    op.push(insert(E(0), 20))
    op.push(Punctuation(15))
    op._check()
    assert [change.le for change in op.push(insert(E(0), 60))] == [50, 60]


def test_arcs_of_one_name_and_one_lifetime_are_both_in_force() -> None:
    automaton = small("a", "b", arc("a", "b", "e.kind == 0", name="x"))
    op = Operator(automaton, engine="compiled")
    op.push_arc(insert(arc_of(arc("a", "b", "e.kind == 1", name="x")), BEGINNING, FOREVER))
    assert len(op.push(insert(E(0), 1))) == len(op.push(insert(E(1), 2))) == 1
    op._check()


def test_a_time_out_that_begins_where_a_key_was_not_cleaned_yet_is_announced(engine: str) -> None:
    timeout = insert(arc_of(arc("b", "c", kind="timeout", at="114", name="w")), 114, 120)
    found = []
    for first in (True, False):
        automaton = small("a", "c", arc("a", "b", "e.kind == 0"), arc("b", "c", "e.kind == 1"))
        op = Keyed(automaton, key="seq", window=60, engine=engine)
        out = [change for i in range(4) for change in op.push(insert(E(0, i), 100 + i))]
        out += op.push_arc(timeout) if first else []
        out += [item for t in (108, 110, 114) for item in op.push(Punctuation(t))]
        out += [] if first else op.push_arc(timeout)
        op._check()
        found.append([(item.key, item.le, item.re, item.diff) for item in out if not isinstance(item, Punctuation)])
    assert sorted(found[0]) == sorted(found[1])
    assert len(found[0]) == 4


def test_a_match_of_a_list_that_stays_is_found_under_a_new_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "WARM", 0)
    others = [arc("b", "b", "e.kind == 2", name="x"), arc("b", "a", "e.kind == 0", name="y")]
    automaton = small("a", "b", arc("a", "b", "e.kind == 0"), arc("b", "b", "e.seq < 2"), *others)
    op = Operator(automaton, engine="compiled")
    op.push(insert(E(0, 1), 0))
    op.push_arc(insert(automaton.arcs[3], 10, 12))
    assert [change.le for change in op.push(insert(E(1, 0), 6))] == [6]


@pytest.mark.parametrize("table", [True, False])
def test_a_state_that_becomes_final_is_seen_by_lists_that_stay(at_once: None, table: bool) -> None:
    automaton = small("a", "c", arc("a", "b", "e.kind == 0"), arc("b", "b", "e.seq < 2"), arc("b", "c", "e.kind == 7"))
    op = Operator(automaton, engine="compiled")
    op.push_arc(insert(arc_of(arc("a", "b", "e.kind == 3", name="gone")), 0, 3))  # leaves a slot to the next one
    for le in range(5):
        op.push(insert(E(int(le > 0), 0), le))
    op.push_arc(insert(arc_of(arc("a", "b", "e.kind == 3", name="marks b", final=True)), 10, 20))
    times = np.array([7, 8, 12, 13, 25, 26, 14])
    if table:
        found = op.push_many({"kind": np.ones(7, np.int64), "seq": np.zeros(7, np.int64), "le": times})["le"].tolist()
    else:
        found = [change.le for le in times.tolist() for change in op.push(insert(E(1, 0), le))]
    assert sorted(found) == [12, 13, 14]
    op._check()


def test_arcs_that_ended_in_a_loop_are_dropped_by_a_promise_behind_it(at_once: None) -> None:
    automaton = small("a", "c", arc("a", "b", "e.sort == 0"), arc("b", "c", "e.sort == 1"), event="T")
    op = Operator(automaton, window=5, engine="compiled")
    op.push_many({"sort": np.zeros(3, np.int64), "seq": np.zeros(3, np.int64), "le": np.arange(3)})
    new = arc_of(arc("b", "c", "e.sort == 2", name="new"))
    rows = [
        (0, 3, 1, 0),
        (1, BEGINNING, 1, 0),
        (0, 4, 1, 0),
        (1, BEGINNING, -1, 0),
        (0, 5, 1, 0),
        (0, 4, 1, 0),
        (2, 6, 1, 0),
        (0, 7, 1, 0),
    ]
    kind, le, diff, number = np.array(rows, np.int64).T.copy()
    zeros = np.zeros(len(rows), np.int64)
    op.push_many({"sort": zeros, "seq": zeros, "le": le, "diff": diff, "kind": kind, "arc": number}, arcs=[new])
    op._check()
    assert [event.arc.name for event in op._core.arcs.table.events] == ["a-b", "b-c"]


def test_a_time_out_arc_that_comes_to_a_key_not_yet_cleaned_withdraws_nothing_final() -> None:
    waits = insert(arc_of(arc("a", "z", kind="timeout", at="100", name="t")))
    one_by_one, at_once = (Keyed(small("a", "a", arc("a", "a")), key="kind", window=3, engine="compiled") for _ in range(2))
    out = [*one_by_one.push(insert(E(7), 0)), *one_by_one.push(Punctuation(0)), *one_by_one.push(Punctuation(2))]
    out += [*one_by_one.push_arc(waits), *one_by_one.push(Punctuation(3))]
    assert [(item.le, item.diff) for item in out if isinstance(item, Change)] == [(0, 1)]
    out = at_once.push_many([insert(E(7), 0), Punctuation(0), Punctuation(2), waits, Punctuation(3)])
    assert [(item.le, item.diff) for item in out if isinstance(item, Change)] == [(0, 1)]


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("n", [8, 9])
def test_more_partial_matches_of_one_start_than_a_new_set_of_rows_holds(
    n: int, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The set was looked through for ever."""
    monkeypatch.setattr(choices, "WARM", 0)
    monkeypatch.setattr(choices, "LONG", 0 if loops else 1 << 60)
    doubled = [arc("b", "b", "e.sort == 1", f"R1(r.x + {step})", name=step) for step in ("e.seq", "1")]
    arcs = arc("a", "b", "e.sort == 0", "R1(0)"), *doubled, arc("b", "c", "e.sort == 2")
    automaton = small("a", "c", *arcs, register="R1()", event="T")
    rows = {"sort": [0, *[1] * n, 2, 2], "seq": [0, *[4**i for i in range(1, n + 1)], 0, 0], "le": list(range(n + 3))}
    outs = []
    for engine in ("interpreted", "compiled"):
        op = Operator(automaton, window=500, engine=engine)
        parts = [op.push_many({name: np.array(column[i : i + 4]) for name, column in rows.items()}) for i in range(0, n + 3, 4)]
        outs.append([sorted(zip(*(column.tolist() for column in part.values()))) for part in parts])
    assert outs[0] == outs[1]
    assert sum(map(len, outs[1])) == 2**n
