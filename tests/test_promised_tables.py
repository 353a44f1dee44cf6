"""A table with the promises behind it in one call: what they make final is dropped on the way, and that is never seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from afa import Arc, Automaton, Change, Keyed, LateEventError, Operator, Punctuation
from afa.compiled import batches, choices
from tests.automata import Tick, two_vees
from tests.strategies import Seeded


def ordered() -> Automaton:
    return Automaton(
        start="a",
        final={"b"},
        event=Tick,
        arcs=[Arc("a", "a", lambda e, r: e.change < 0), Arc("a", "b", lambda e, r: e.change > 1)],
    )


def skipping() -> Automaton:
    arcs = [
        Arc("a", "b", lambda e, r: e.change < -1),
        Arc("b", "b", lambda e, r: e.change < 1),
        Arc("b", "c", lambda e, r: e.change > 1),
    ]
    return Automaton(start="a", final={"c"}, event=Tick, arcs=arcs)


def waiting() -> Automaton:
    arcs = [
        Arc("a", "b", lambda e, r: e.change < -1),
        Arc("b", "d", lambda e, r: e.change > 1),
        Arc.timeout("b", "c", lambda r: 90),
    ]
    return Automaton(start="a", final={"c", "d"}, event=Tick, arcs=arcs)


MAKES = {
    "two vees": lambda engine, late="drop": Operator(two_vees, window=12, engine=engine, late=late),
    "two vees, keys": lambda engine, late="drop": Keyed(two_vees, key="price", window=40, engine=engine, late=late),
    "skipping": lambda engine, late="drop": Operator(skipping(), window=15, engine=engine, late=late),
    "skipping, keys": lambda engine, late="drop": Keyed(skipping(), key="price", window=40, engine=engine, late=late),
    "in sequence": lambda engine, late="drop": Operator(ordered(), window=9, order_by="price", engine=engine, late=late),
    "waiting, one key": lambda engine, late="drop": Operator(waiting(), window=90, engine=engine, late=late),
    "waiting": lambda engine, late="drop": Keyed(waiting(), key="price", window=40, engine=engine, late=late),
}


def table(choose: Seeded, n: int, start: int, lag: int, taken: list[Any]) -> dict[str, Any]:
    """Events from ``start`` on, up to ``lag`` late, with retractions of some that have come."""
    les = [max(start, start + lag + i - choose.number(0, lag)) for i in range(n)]
    rows = [(float(choose.number(0, 3)), choose.number(-3, 3) / 1.0, le, 1) for le in les]
    for i in range(n):
        if choose.chance(8) and (taken or i):
            price, change, le, _ = rows[choose.number(0, i - 1)] if i else taken[-1]
            rows[i] = (price, change, le, -1)
    return {name: np.array(column) for name, column in zip(("price", "change", "le", "diff"), zip(*rows))}


def told(out: Any) -> list[str]:
    """What a call has emitted, in no order."""
    items = []
    for part in out:
        if isinstance(part, (Change, Punctuation)):
            items.append(part if isinstance(part, Punctuation) else part[:4])
        else:
            names = [name for name in part if name not in ("le", "re", "diff")]
            items += list(zip(*(np.asarray(part[name]).tolist() for name in [*names, "le", "re", "diff"])))
    return sorted(map(repr, items))


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("kinds", [False, True])
def test_promises_in_the_call_drop_state_on_the_way(name: str, kinds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    matches = 0
    for number in range(6):
        choose = Seeded(f"promised/{name}/{kinds}/{number}")
        monkeypatch.setattr(choices, "WARM", 0)
        monkeypatch.setattr(choices, "LONG", choose.one([0, 100]))
        monkeypatch.setattr(batches, "CHUNK", choose.one([4, 17, 60]))
        monkeypatch.setattr(batches, "KEYED_CHUNK", choose.one([5, 23, 90]))
        op, lead = MAKES[name]("compiled"), MAKES[name]("interpreted")
        start, taken = 0, []
        for _ in range(5):
            n, lag = choose.number(20, 120), choose.one([0, 3, 15])
            part = table(choose, n, start, lag, taken)
            promise = start = choose.one([start + n // 2, start + n, int(part["le"].max()) + 1])
            if kinds:
                places = sorted(choose.number(0, n) for _ in range(choose.one([1, 3])))
                least = [int(part["le"][place:].min(initial=promise)) for place in places]
                part = {column: np.insert(values, places, 0) for column, values in {**part, "kind": np.zeros(n, np.int8)}.items()}
                at = np.array(places) + np.arange(len(places))
                part["kind"][at], part["le"][at], part["diff"][at] = 2, least, 1
            call = [part, Punctuation(promise)]
            outs = [each.push_many(call) for each in (op, lead)]
            assert told(outs[0]) == told(outs[1]), f"{number}"
            assert op.snapshot() == lead.snapshot(), f"{number}"
            assert op.statistics.late == lead.statistics.late
            op._check()
            matches += sum(len(out["le"]) for out in outs[0] if not isinstance(out, Punctuation))
    assert matches > 25, matches


def test_a_call_that_is_refused_at_its_end_brings_back_what_it_has_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "CHUNK", 10)
    monkeypatch.setattr(batches, "KEYED_CHUNK", 10)
    for make in (MAKES["two vees"], MAKES["two vees, keys"], MAKES["skipping"]):
        op = make("compiled", "raise")
        op.push_many(table(Seeded("refused"), 100, 0, 5, []))
        before = op.snapshot()
        late = {"price": [1.0], "change": [1.0], "le": [50]}
        with pytest.raises(LateEventError):
            op.push_many([table(Seeded("refused too"), 100, 100, 5, []), Punctuation(190), late])
        assert op.snapshot() == before
        op._check()


def test_a_long_call_holds_what_is_not_promised_only() -> None:
    rows = {"price": np.arange(300_000) % 7.0, "change": np.array([-2.0, -1.0, 0.0, 2.0] * 75_000), "le": np.arange(300_000)}
    used = []
    for call in ([rows, Punctuation(300_000)], [rows], [rows, Punctuation(5)]):
        op = Operator(skipping(), window=12, engine="compiled")
        assert len(op.push_many(call)[0]["le"]) > 1000
        used.append(op._core.engine.store.memory.used)  # type: ignore[attr-defined]
    assert 4 * used[0] < min(used[1:]), used
