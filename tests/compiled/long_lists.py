"""Random worlds in which many partial matches wait.

Events mostly in order, a computation begun by every second one; late events, retractions, lifetimes of their own, promises and
changes of arcs in between, in tables and one by one, and in calls of few items of all forms, so that each meets what the one before
has left at hand. After each batch both engines hold the same, in the end what the oracle says.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest import mock

from afa import Arc, Automaton, Change, Punctuation, insert
from afa.compiled import choices
from tests.model import OK
from tests.strategies import Choices, Seeded
from tests.streams import SIZES, Setting, Side, Tally, Tick, arc_change, is_arc
from tests.worlds.kind import Seen, Worlds

LOOPS = ("True", "sort != 2", "sort != 3 or due % 3 != 1", "sort != 1 or size <= r.total", "due % 4 != r.n")
MOVES = (None, "r._replace(total=size)", "Tally(r.n, size)", "r._replace(n=(r.n + sort) % 4)", "r")
SAME = ("events", "matches", "pending", "changes", "late")


def loops(choose: Choices, state: str) -> list[Arc]:
    """No arc back to a state, one, or two; ignorable or not."""
    found = []
    for number in range(choose.one([0, 1, 1, 1, 1, 2])):
        fence, name = choose.one(LOOPS[:2] if number == 0 and choose.chance(60) else LOOPS), f"{state} again {number}"
        if choose.chance(40):
            found.append(Arc.skip(state, fence, name=name))
        else:
            found.append(Arc(state, state, fence, choose.one([None, None, *MOVES]), name=name))
    return found


def made(choose: Choices) -> Setting:
    """An automaton of three to five states, and arcs that may come."""
    middle = ["b", "d", "e"][: choose.number(1, 3)]
    own = [Arc("a", "b", "sort == 0 or sort == 1 and due % 2 == 0", "Tally(due % 4, size)", name="begin")]
    more = []
    for state, to in zip(middle, [*middle[1:], "c"]):
        own += loops(choose, state)
        fence = choose.one(
            ["sort == 2", "sort == 3", "sort == 3 and due % 4 == r.n", "sort == 2 and size >= r.total", "due % 7 == 0"]
        )
        own.append(Arc(state, to, fence, choose.one(MOVES), name=f"{state} on"))
        more.append(
            Arc(state, choose.one([*middle, "c"]), f"sort == {choose.number(1, 3)}", choose.one(MOVES), name=f"{state} besides")
        )
        more.append(Arc(state, to, "sort == 1", name=f"{state} on", final=choose.chance(50)))
        more += loops(choose, state)
    if choose.chance(15):
        own += loops(choose, "c")
    automaton = Automaton(start="a", final={"c"}, arcs=own, register=Tally(), event=Tick)
    return Setting(automaton, [*own, *more], {"window": choose.one([9, 25, 60])}, ())


def items_of(choose: Choices, here: Setting, n: int) -> tuple[list[Any], Any]:
    """About ``n`` items, and the model after them."""
    model, items, held, clock, odd = here.model(), [], list[Change](), 0, choose.one([2, 10, 30])

    def take(item: Any) -> None:
        if is_arc(item) and model.fork().push_arc(item) != OK:
            return
        assert (model.push_arc if is_arc(item) else model.push)(item) == OK
        items.append(item)

    def event(le: int, own: bool) -> None:
        payload = Tick(choose.one([0, 0, 0, 1, 2, 3]), choose.one(SIZES), 0, le + choose.number(0, 5))
        held.append(insert(payload, le, le + choose.one([2, 30, 400]) if own else None))
        take(held[-1])

    while len(items) < n:
        own = choose.chance(20)
        for _ in range(choose.number(1, 80)):
            clock += choose.number(1, 2)
            event(clock, own)
            if choose.chance(odd):
                low, kind = max(model.event_promise, 0), choose.number(0, 5)
                if kind == 0:
                    take(arc_change(choose, here, model, clock))
                elif kind == 1 and held[-1].le >= low:
                    take(held.pop()._replace(diff=-1))
                elif kind == 2:
                    take(Punctuation(max(low, clock - choose.number(0, 30))))
                elif kind == 3:
                    event(max(low, clock - choose.number(1, 30)), own)
                elif kind == 4:
                    again = choose.one(held[-12:])
                    if again.le >= low:
                        held.remove(again)
                        take(again._replace(diff=-1))
    return items, model


def run(seed: str, n: int = 160) -> int:
    """One world; returns how many changes of matches it has seen."""
    choose = Seeded(seed)
    choices.PARTS, here, emitted = choose.one([1, 2, 8, 16]), made(choose), 0
    items, model = items_of(choose, here, n)
    lead, *sides = [Side(here, "interpreted", "list"), *(Side(here, "compiled", shape) for shape in ("dict", "parts", "single"))]
    at, largest = 0, choose.one([15, 60, 200])
    while at < len(items):
        batch = items[at : at + choose.number(1, largest)]
        emitted += len(lead.push(batch))
        for side in sides:
            cuts = sorted(choose.number(1, len(batch)) for _ in range(8)) if side is sides[-1] else []
            for low, high in pairwise([0, *cuts, len(batch)]):
                if cuts:
                    side.shape = choose.one(["single", "single", "parts", "list"])
                side.push(batch[low:high])
            assert side.held == lead.held, f"{side}, {seed}, items {at} to {at + len(batch)}"
            side.operator._check()
            mine, theirs = side.operator.statistics, lead.operator.statistics
            assert {name: getattr(mine, name) for name in SAME} == {name: getattr(theirs, name) for name in SAME}, f"{side}, {seed}"
        at += len(batch)
        if choose.chance(10):
            sides[0].operator = here.restore(sides[0].operator, "compiled")
    assert lead.held == model.matches(), seed
    return emitted


def check(seed: str, engine: None) -> Seen:
    """Run a world with machine code of all arcs from the first event on."""
    with mock.patch.object(choices, "WARM", 0), mock.patch.object(choices, "LONG", 0), mock.patch.object(choices, "PARTS", 0):
        return Seen(changes=run(seed))


WORLDS = Worlds("long-lists", lambda seed, number: f"{seed}/{number}", check, engines=(None,))
