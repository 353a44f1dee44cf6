"""Skips: an arc that passes all events of one instant and consumes none."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, AutomatonError, Keyed, Operator, Punctuation, insert
from afa.compiled import choices
from afa.explain.draw.drawing import mermaid
from tests import strategies
from tests.strategies import Seeded
from tests.stress.worlds import WORLDS
from tests.text import R1, E, automaton_of

ENGINES = ["interpreted", "compiled"]
A, B, X, C = (E(kind) for kind in range(4))


class Numbered(NamedTuple):
    """An event with a number."""

    kind: int
    seq: int
    who: int = 0


def waits(*arcs: Arc) -> Automaton:
    """An a, then a c, and between them what ``arcs`` let pass."""
    return Automaton(start="s", final={"f"}, event=E, arcs=[Arc("s", "a", "e.kind == 0"), *arcs, Arc("a", "f", "e.kind == 3")])


def matches(op: Operator, *events: tuple[E, int]) -> list[tuple[int, int]]:
    return [(match.le, match.re) for match in op.push_many([insert(*event) for event in events])]


def test_no_run_begins_by_a_skip(engine: str) -> None:
    arcs = [Arc.skip("s", "e.kind == 2"), Arc("s", "f", "e.kind == 3")]
    op = Operator(Automaton(start="s", final={"f"}, event=E, arcs=arcs), engine=engine)
    assert matches(op, (X, 1), (C, 2)) == [(2, 2**63 - 1)]
    assert op.statistics.partial_matches == 1


def test_promises_with_conditions_and_payload_free(engine: str) -> None:
    for options in ({"retractions": False}, {"retractions": False, "keep_payloads": False}):
        op = Operator(waits(Arc.skip("a", "e.kind == 2")), window=100, engine=engine, **options)
        op.push_many([insert(A, 1), insert(X, 2), insert(C, 3)])
        op.push(Punctuation(50, where="kind == 2"))
        op.push(Punctuation(50, where="kind == 0"))
        op.push(Punctuation(50, where="kind == 3"))
        assert [match.diff for match in op.push(insert(B, 2))] == [-1], options
        op._check()


def test_json_pictures_and_what_is_refused() -> None:
    automaton = waits(Arc.skip("a", "e.kind == 2", name="pass"))
    data = automaton.arcs[1].to_json(automaton)
    assert data == {"src": "a", "dst": "a", "kind": "skip", "fence": "e.kind == 2", "name": "pass"}
    again = Arc.from_json(json.dumps(data))
    assert again == automaton.arcs[1]
    assert again.ignorable
    assert not Arc.skip("a", "True", "R1(r.x + 1)").ignorable
    assert repr(again) == "arc 'pass': a -> a (skip)"
    assert "--x" in mermaid(automaton)
    selects = Arc("a", "f", "e.kind == 3", select="c")
    assert Arc.from_json(selects.to_json(automaton)).select == "c"
    with pytest.raises(AutomatonError, match="expected no select but got 'c'"):
        Arc.from_json({**data, "select": "c"})
    with pytest.raises(AutomatonError, match="expected a str but got select=3"):
        waits(Arc("a", "f", "True", select=3))  # type: ignore[arg-type]
    with pytest.raises(AutomatonError, match="expected dst equal to src, and not final"):
        Arc.from_json({**data, "dst": "b"})
    with pytest.raises(AutomatonError, match="expected fence and transfer only but got at"):
        Arc.from_json({**data, "at": "3"})
    with pytest.raises(AutomatonError, match=r"expected fence\(e, r\) but got"):
        waits(Arc.skip("a", lambda r: True))


def test_payload_free_operators_refuse_to_take_note() -> None:
    arcs = [Arc("s", "a", "e.kind == 0"), Arc.skip("a", "True", "R1(r.x + 1)"), Arc("a", "f", "e.kind == 3")]
    automaton = Automaton(start="s", final={"f"}, register=R1(0), event=E, arcs=arcs)
    with pytest.raises(AutomatonError, match=r"expected arcs that split .* takes note of each event"):
        Operator(automaton, keep_payloads=False, retractions=False)


@pytest.fixture(params=[0, 60], ids=["plain", "notes"])
def skips(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Many skips; of them so many percent take note."""
    monkeypatch.setattr(strategies, "SKIPS", 60)
    monkeypatch.setattr(strategies, "NOTES", request.param)
    return int(request.param)


def test_long_mixes_with_skips(turns: str, skips: int) -> None:
    WORLDS.run("skips", range(36), turns, mixes=True, more_than={"matches": 150, "retractions": 90})


def test_waits_beside_skips(turns: str) -> None:
    """A time-out fires once, whatever is skipped later; the long run: ``python -m tests.worlds stress --about waits``."""
    WORLDS.run("waits beside skips", range(40), turns, about="waits", more_than={"matches": 150, "retractions": 40})


@pytest.mark.parametrize("window", [9, None])
def test_tables_in_order_go_through_the_loops_as_through_the_interpreted_engine(
    window: int | None, skips: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "WARM", 1)
    monkeypatch.setattr(choices, "LONG", 1)
    found = 0
    for seed in range(6):
        choose = Seeded(f"skips in tables {seed}")
        automaton = automaton_of(strategies.chain(choose))
        ops = [Operator(automaton, window=window, engine=engine) for engine in ENGINES]
        for begin in range(0, 300, 75):
            le = list(range(begin, begin + 75))
            table = {"kind": [choose.one([0, 1, 2, 2, 2]) for _ in le], "seq": [0] * 75, "le": le}
            if window is None:
                table["re"] = [t + choose.one([1, 2, 4, 30]) for t in le]
            outs = [op.push_many({name: np.array(column) for name, column in table.items()}) for op in ops]
            rows = [sorted(zip(*(np.asarray(out[name]).tolist() for name in sorted(out)))) for out in outs]
            assert rows[0] == rows[1], f"seed {seed}"
            found += len(rows[0])
    assert found > 150


def test_what_skips_the_last_event_of_a_key_outlives_it(engine: str) -> None:
    """Of numbered events a key is forgotten when all of it is over, not when its last event is."""
    automaton = Automaton(start="s", final={"f"}, event=Numbered, arcs=[*waits(Arc.skip("a", "e.kind == 2")).arcs])
    op = Keyed(automaton, key="who", gapless="seq", engine=engine)
    op.push_many([insert(Numbered(0, 0), 1, 100), insert(Numbered(2, 1), 2, 3), Punctuation(50)])
    op = Keyed.restore(automaton, op.snapshot(), key="who", engine=engine)
    assert [(match.le, match.re) for match in op.push(insert(Numbered(3, 2), 60, 90))] == [(60, 90)]
    op._check()
    op.push(Punctuation(100))
    assert op.keys == []
