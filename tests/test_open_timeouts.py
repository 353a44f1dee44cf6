"""How many time-outs are open, and a promise of the latest event that leaves them open."""

from __future__ import annotations

from typing import Any

import pytest

from afa import FOREVER, Arc, Automaton, ClosureError, Keyed, Operator, Punctuation, insert
from tests.strategies import Seeded
from tests.stress.generate import World, on_arcs, world
from tests.stress.run import make
from tests.text import R1, E

reminded = Automaton(
    start="a",
    final={"c"},
    register=R1(),
    event=E,
    arcs=[
        Arc("a", "b", "kind == 0", "(seq,)"),
        Arc("b", "b", "kind == 2"),
        Arc.timeout("b", "c", at="r.x + 10"),
    ],
)


def test_what_may_still_fire_is_counted(engine: Any) -> None:
    op = Keyed(reminded, key="seq", window=30, engine=engine)
    assert op.open_timeouts == 0
    for seq in (1, 2, 3):
        op.push(insert(E(0, seq), seq))
    op.push(insert(E(1, 3), 4))  # answered
    before = (op.statistics, op.snapshot())
    assert op.open_timeouts == 2
    assert (op.statistics, op.snapshot()) == before
    op._check()
    assert [change.le for change in op.push(Punctuation(11)) if not isinstance(change, Punctuation)] == [11]
    assert op.open_timeouts == 1
    op.push(Punctuation(FOREVER))
    assert op.open_timeouts == 0


def test_it_is_what_a_promise_of_all_time_brings(engine: Any) -> None:
    counted = 0
    for number in range(300):
        spec = world(Seeded(f"open/{number}"))
        here = World(spec)
        if not any(arc.get("kind") == "timeout" for arc in here.specs):
            continue
        op = make(here, engine, "drop")
        for each in spec["ops"]:
            for one in each[1] if isinstance(each[1:2][0] if len(each) > 1 else None, list) else [each]:
                if one[0] == "save" or (one[0] == "punctuate" and one[1] == FOREVER):
                    continue
                try:
                    (op.push_arc if on_arcs(one) else op.push)(here.item(one))
                except Exception:  # refused: it leaves no trace
                    continue
        before = op.statistics
        found = op.open_timeouts
        op._check()
        assert op.statistics == before
        out = op.push(Punctuation(FOREVER))
        assert found == sum(change.diff for change in out if not isinstance(change, Punctuation))
        counted += found
    assert counted > 5


def test_time_outs_without_end_are_told(engine: Any) -> None:
    forever = Automaton(
        start="a",
        final={"c"},
        register=R1(),
        event=E,
        arcs=[
            Arc("a", "b", "True", "(seq,)"),
            Arc.timeout("b", "c", at="r.x"),
            Arc.epsilon("c", "b", "True", "(r.x + 1,)"),
        ],
    )
    op = Operator(forever, engine=engine)
    op.push(insert(E(0, 5), 1))
    with pytest.raises(ClosureError, match="a closure of at most 10000 steps"):
        _ = op.open_timeouts
    op._check()


def test_the_clock_is_that_of_the_key_and_what_has_fired_is_open_no_more(engine: Any) -> None:
    """Behind what is skipped no wait is left; the events of another key bring none to its end, a promise does all."""
    waits = Automaton(
        start="a",
        final={"c"},
        register=R1(),
        event=E,
        arcs=[Arc("a", "b", "kind == 0", "(seq,)"), Arc.skip("b", "kind != 1"), Arc.timeout("b", "c", at="r.x + 10")],
    )
    op = Keyed(waits, key="seq", window=100, engine=engine)
    assert op.push_many([insert(E(0, 1), 1), insert(E(0, 2), 2), insert(E(2, 2), 11)]) == []
    assert op.open_timeouts == 2
    assert [(match.key, match.le) for match in op.push(insert(E(2, 2), 30))] == [(2, 12)]
    assert op.open_timeouts == 1
    assert [(match.key, match.le) for match in op.push_many([insert(E(2, 2), 40), Punctuation(35)])[:-1]] == [(1, 11)]
    assert op.open_timeouts == 0
    assert op.push_many([insert(E(2, 1), 50), insert(E(2, 2), 50)]) == []
    op._check()
    assert op.open_timeouts == 0
