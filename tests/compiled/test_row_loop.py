"""Rows that go through the loop for rows in order give what rows one by one give.

Some columns are of bools, some have nulls: they go through the loops as all others do.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, AutomatonError, Keyed, Operator, Punctuation, insert, retract
from afa.compiled import batches
from afa.compiled.encode import Encoded
from afa.compiled.kernel.layout import Memory
from afa.compiled.machine.native import native
from tests.lanes import sample
from tests.strategies import Seeded


class Event(NamedTuple):
    kind: int
    x: float
    up: bool
    tag: str
    low: float | None = None
    who: int | None = None
    name: str | None = None
    sure: bool | None = None


class Row(NamedTuple):
    le: int
    payload: Event
    re: int | None  # None: the window says


TYPES = {"low": pa.float64(), "who": pa.int64(), "name": pa.string(), "sure": pa.bool_()}
"""Of the columns that may have nothing but nulls."""


class Seen(NamedTuple):
    n: int = 0
    x: float = 0.0
    low: float | None = None


ALONE = [
    *("kind == 0", "kind != 0", "kind in (1, 2)", "kind + 1 < 3", "kind > -1", "x < 0.5", "x > 0.5", "x != x", "x + x < 1.5", "up"),
    *(
        "tag == 'a'",
        "tag in ('b', 'c')",
        "tag",
        "low is None",
        "low is not None",
        "low",
        "x * 2.0 >= low if low is not None else up",
    ),
    *("who is None or who == 1", "who == kind", "who", "name == 'x' or sure", "sure is None and not up"),
]
"""What the event decides; among it what vectors can't tell, as it may ask, or branches."""
BOTH = [
    *("kind > r.n", "x > r.x", "r.n < 3", "kind == 0 and r.n < 3", "not (up and x > r.x)", "tag == 'a' or r.n == 1"),
    "low is not None and (r.low is None or low > r.low)",
]


def fence(choose: Any, deep: int = 2) -> str:
    if deep and choose.chance(50):
        one, other = fence(choose, deep - 1), fence(choose, deep - 1)
        return choose.one([f"({one} and {other})", f"({one} or {other})", f"(not ({one}))"])
    return choose.one(ALONE if choose.chance(75) else BOTH)


def arcs(choose: Any) -> list[Arc]:
    """A chain with loops that pass most events; the quiet ones begin little."""
    quiet = choose.one(["kind == 0", "x < 0.5", "tag == 'a'", "low is None"])
    moves = [None, "(r.n + 1, x, r.low)", "(r.n, x if x == x else 0.0, low)", "(r.n, r.x, None if sure else low)"]
    found = [Arc("s", "a", f"not ({quiet}) and {fence(choose)}", choose.one(moves), name="begins")]
    if choose.chance(25):
        found.append(Arc("f", "f", fence(choose), name="told again"))
    for i, (state, further) in enumerate([("a", "b"), ("b", "f")]):
        stays = choose.one([quiet, quiet, f"({quiet} or {fence(choose)})", f"({quiet} and {fence(choose)})"])
        found.append(Arc.skip(state, stays) if choose.chance(40) else Arc(state, state, stays, name=f"stays {i}"))
        final = choose.chance(10)
        found.append(Arc(state, further, f"not ({quiet}) and {fence(choose)}", choose.one(moves), name=f"goes {i}", final=final))
        if choose.chance(50):
            found.append(Arc(state, state, f"not ({quiet}) and {fence(choose, 1)}", "(r.n + 1, r.x, r.low)", name=f"counts {i}"))
        if choose.chance(20):
            found.append(Arc(state, state, choose.one([quiet, choose.one(ALONE)]), name=f"stays, too, {i}"))
    return found


def automaton(choose: Any) -> Automaton:
    while True:
        with contextlib.suppress(AutomatonError):  # a fence that nothing satisfies
            return Automaton(start="s", final={"f"}, event=Event, register=Seen(), arcs=arcs(choose))


def event(choose: Any, quiet: int) -> Event:
    if choose.chance(quiet):
        return Event(0, 0.25, choose.chance(50), "a", None, choose.one([None, 1, 2]))
    x = choose.one([0.75, 1.5, -0.0, float("nan"), 0.5])
    low = choose.one([None, 0.0, -0.0, 1.0, float("nan")])
    optional = low, choose.one([None, 0, 1]), choose.one([None, "x", "y"]), choose.one([None, True, False])
    return Event(choose.number(0, 3), x, choose.chance(50), choose.one("abc"), *optional)


def columns(rows: list[Row], arrow: bool = False) -> Any:
    """The rows as a table; what is not a number in bits that are not Python's."""
    found: dict[str, Any] = {name: [getattr(row.payload, name) for row in rows] for name in Event._fields}
    x = np.array(found["x"])
    x.view(np.int64)[np.isnan(x)] = -3
    ends = {} if rows[0].re is None else {"re": [row.re for row in rows]}
    table = {**found, "x": x, "le": [row.le for row in rows], **ends}
    return pa.table({name: pa.array(column, TYPES.get(name)) for name, column in table.items()}) if arrow else table


def operator(made: Automaton, window: int, engine: Any, keyed: bool) -> Any:
    return Keyed(made, key="up", window=window, engine=engine) if keyed else Operator(made, window=window, engine=engine)


def world(seed: int) -> int:
    """Batches in order, of late events and of those taken back only as many as show what was passed over."""
    choose = Seeded(f"rows ahead {seed}")
    made, window, quiet = automaton(choose), choose.one([20, 60, 400]), choose.one([30, 80, 95])
    sides = [operator(made, window, engine, seed % 3 == 0) for engine in ("interpreted", "compiled")]
    le, promised, found, held = 0, 0, 0, list[Row]()

    def tell(how: str, what: Any) -> int:
        outs = [getattr(side, how)(what) for side in sides]
        told = [Counter(map(repr, out if isinstance(out, list) else pa.table(out).to_pylist())) for out in outs]
        assert told[0] == told[1], f"world {seed} at {le}"
        return len(told[0])

    for _ in range(6):
        rows, long, ties = [], choose.chance(20), choose.chance(30)
        for _ in range(choose.number(1, 150)):
            le += choose.one([1, 1, 1, 2, 9]) * (not ties or choose.chance(95))
            rows.append(Row(le, event(choose, quiet), le + choose.number(1, 3 * window) if long else None))
        if choose.chance(20):
            rows.append(rows.pop(choose.number(0, len(rows) - 1)))
        elif choose.chance(10):
            rows.sort(key=lambda row: row.le + choose.number(0, 5))
        held += rows
        found += tell("push_many", columns(rows, choose.chance(40)))
        for _ in range(choose.number(0, 3)):
            if held and choose.chance(50):
                row = held.pop(choose.number(0, len(held) - 1))
                change = retract(row.payload, row.le, row.re)
            else:
                change = insert(event(choose, 50), choose.number(max(promised, le - 60), le))
            tell("push", change)
        for side in sides:
            side._check()
        if choose.chance(60):
            promised = max(promised, le - choose.one([0, 10, 50]))
            tell("push", Punctuation(promised))
            held = [row for row in held if row.le >= promised]
    return found


@sample(8, 1000)
def test_random_automata_in_the_loop(at_once: None, numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = Encoded.straight

    def as_columns(self: Encoded, codes: Any) -> Any:
        found = straight(self, codes)
        assert found is not None, "nulls and bools go row by row"
        return found

    monkeypatch.setattr(Encoded, "straight", as_columns)
    monkeypatch.setattr(native, "folder", None)
    found = 0
    for seed in numbers:
        monkeypatch.setattr(batches, "CHUNK", (64, 8192)[seed % 2])
        found += world(8 + seed)
    assert found > 20 * len(numbers)


def test_an_event_that_lasts_less_than_a_partial_match_does_not_leave_it_as_it_is(at_once: None) -> None:
    arcs = [Arc("s", "a", "kind == 1"), Arc("a", "a", "kind == 0", name="stays"), Arc("a", "f", "kind == 2")]
    made = Automaton(start="s", final={"f"}, event=Event, register=Seen(), arcs=arcs)
    told = []
    for engine in ("interpreted", "compiled"):
        side = operator(made, 100, engine, False)
        side.push_many(columns([Row(t, Event(int(t == 1), 0.0, True, "a"), 1000 + t) for t in range(30)]))
        out = side.push_many(columns([Row(t, Event(2 * (t == 50), 0.0, True, "a"), None) for t in range(30, 60)]))
        side._check()
        told.append((list(out["le"]), list(out["re"])))
    assert told == [([50], [130])] * 2


def test_a_loop_serves_where_an_arc_makes_a_state_final(at_once: None) -> None:
    """Not the one for runs: a list that stays as it is may come to hold matches then. That for whole lists does."""
    looks = []
    for final in (False, True):
        arcs = [Arc("s", "a", "kind == 1"), Arc("a", "a", "kind != 2", name="stays"), Arc("a", "f", "kind == 2", final=final)]
        side = operator(Automaton(start="s", final={"f"}, event=Event, register=Seen(), arcs=arcs), 100, "compiled", False)
        side.push_many(columns([Row(t, Event(t % 3, 0.0, True, "a"), None) for t in range(300)]))
        side._check()
        looks.append(int(side._core.engine.store.memory.m[Memory.looks]))
    assert looks[1] <= 2 * looks[0]
