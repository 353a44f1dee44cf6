"""Infer what promises with conditions mean for the arcs, states and events of an automaton ([AFA10] App. F.2)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from afa.conditions.condition import Condition, condition_of
from afa.conditions.implied import Implication, Promised, fact
from afa.expression import FENCE, Unreadable, callable_of, split
from afa.expression.arc_functions import expression_of
from afa.expression.nodes import Expr
from afa.model.arc import CONSUME, EPSILON, Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.unmatchable import states_from
from punctuation.time import BEGINNING, FOREVER


class Tests(Protocol):
    """Maps the automaton's arcs to the rewritten ones that an engine has (`afa.rewrite.triggers.Triggers`)."""

    def asks(self, arc: Arc) -> Callable[[Any], bool]:
        """Return whether a consuming arc's event part may be true of an event in the form that the engine holds."""

    def rewrites(self, arc: Arc) -> list[Arc]:
        """Return all rewritten arcs that were made of a consuming arc."""


KEPT = 4096
"""How many implications are cached."""
PACE = 32
"""Keys are searched for prunable state only once per (number of keys / PACE) changes, so that a promise per change stays O(1)."""
ROOM = 32
"""A key is pruned again once it has grown by so many steps and by half."""


def room(steps: Any) -> Any:
    """Return how many steps a key may have before it is pruned again, given how many it had then (an int, or an array)."""
    return steps + steps // 2 + ROOM


class Paths:
    """The paths to a final state over arcs in force, with the event part of each consuming arc on them.

    ``arcs`` are those in force, the automaton's own among them, each object once: an arc is known by its object, not by its name,
    as two of one name may be in force one after the other. ``fences`` has the event part of each consuming arc, on a path or not,
    by the arc's ``id`` (None: it can't be read); ``consuming`` the consuming arcs on a path to a final state.

    O(states * arcs) once for all promises over these arcs. A path goes over arcs of any kind. A final state is one of the
    automaton's, or the ``dst`` of an arc with ``final=True``.

    >>> one, two, lost = Arc("a", "b", "True"), Arc("b", "c", "True"), Arc("b", "d", "True")
    >>> program = Automaton(start="a", final={"c"}, arcs=[one, two, lost])
    >>> paths = Paths(program, program.arcs)
    >>> paths.leaving("b"), paths.before(two), paths.before(one)
    ([arc b -> c], [arc a -> b], [])
    """

    def __init__(self, automaton: Automaton, arcs: Iterable[Arc]) -> None:
        self.automaton = automaton
        self.arcs = tuple(arcs)
        states = {*automaton.states, *(state for arc in self.arcs for state in (arc.src, arc.dst))}
        final = automaton.final.union(arc.dst for arc in self.arcs if arc.final)
        self._reached = {state: states_from(state, self.arcs) for state in states}
        useful = [arc for arc in self.arcs if not self._reached[arc.dst].isdisjoint(final)]
        self.consuming = [arc for arc in useful if arc.kind == CONSUME]
        self.fences = {id(arc): self._read(arc) for arc in self.arcs if arc.kind == CONSUME}
        self._implications: dict[Any, Implication] = {}
        self._rewritten: Tests | None = None
        self._tests = {id(arc): self._test(self.fences[id(arc)]) for arc in self.consuming}

    def over(self, rewritten: Tests) -> Paths:
        """Return the same paths, for an engine that has rewritten these arcs."""
        other = copy.copy(self)
        other._rewritten = rewritten
        other._tests = {id(arc): rewritten.asks(arc) for arc in self.consuming}
        return other

    @property
    def beginning(self) -> set[str]:
        """The start state, and the states to which epsilon arcs lead from it."""
        return states_from(self.automaton.start, [arc for arc in self.arcs if arc.kind == EPSILON])

    def leaving(self, state: str) -> list[Arc]:
        """Return the consuming arcs out of a state that lie on a path to a final state."""
        return [arc for arc in self.consuming if arc.src == state]

    def before(self, arc: Arc) -> list[Arc]:
        """Return the consuming arcs from whose ``dst`` a path of any length leads to the ``src`` of ``arc``."""
        return [a for a in self.consuming if arc.src in self._reached[a.dst]]

    def triggered(self, payload: Any) -> list[Arc]:
        """Return the consuming arcs on a path to a final state whose event part may be true of a held event."""
        return [arc for arc in self.consuming if self._tests[id(arc)](payload)]

    def held(self, arc: Arc) -> Sequence[Arc]:
        """Return the arcs that an engine has in place of a consuming arc."""
        return [arc] if self._rewritten is None else self._rewritten.rewrites(arc)

    def implication(self, arc: Arc | None, facts: tuple[Expr, ...]) -> Implication | None:
        """Return the implication for the events that could take an arc (None: for all events) and satisfy the facts.

        None: nothing can be inferred. A few thousand implications are cached.
        """
        schema = self.automaton.event_schema
        if schema is None:
            return None
        key = None if arc is None else id(arc), facts
        if key not in self._implications:
            if len(self._implications) >= KEPT:
                self._implications.clear()
            self._implications[key] = Implication(None if arc is None else self.fences[id(arc)], schema, facts)
        return self._implications[key]

    def _read(self, arc: Arc) -> Expr | None:
        try:
            return expression_of(arc.fence, FENCE, self.automaton.event_schema, self.automaton.register_schema)
        except Unreadable:
            return None

    def _test(self, fence: Expr | None) -> Callable[[Any], bool]:
        """Return the event part of a fence as a function of the event. Where it can't be read, or raises, it returns True."""
        part = None if fence is None else split(fence, self.automaton.event_schema, self.automaton.register_schema).event
        if part is None:
            return lambda payload: True
        function = callable_of(part, FENCE, self.automaton.register_schema)

        def test(payload: Any) -> bool:
            try:
                return bool(function(payload, None))
            except Exception:
                return True

        return test


class Promises:
    """What promises with conditions mean for arcs, states and events.

    ``facts`` are true of each event, for example by its key (`afa.conditions.implied.fact`); ``floor`` is the punctuation without a
    condition, which promises every event. All of it presumes that no event is retracted, as the paper does. An answer is worked out
    when it is first asked for.

    The paper's Algorithm 2 pushes the punctuation of a path ahead to where its *last* arc could be taken, and takes that as a bound
    for its *first* event. That is too much: on a path a1 a2 a3 with an event at 20 that takes a2, one at 30 that takes a3, and
    pi_1 = 5, it gives 30; but an event at 10 that takes a1 may arrive, and 10, 20, 30 is a match. What is sound is pi of the first
    arc of the path, from which the paper starts; it is what stands here.

    >>> from typing import NamedTuple
    >>> from afa.conditions.condition import Condition
    >>> class Reading(NamedTuple):
    ...     floor: int
    >>> up = [Arc("a", "b", "floor == 1"), Arc("b", "c", "floor == 2")]
    >>> program = Automaton(start="a", final={"c"}, arcs=up, event=Reading)
    >>> promised = [(Condition("floor <= 1", program.event_schema), 20)]
    >>> found = Promises(Paths(program, up), promised, floor=5)
    >>> [found.of_arc(arc) for arc in up], [found.of_state(state) for state in "ab"], found.of_all()
    ([20, 5], [20, 5], 5)
    >>> found.of_event(Reading(2)), found.of_event(Reading(1)) == FOREVER
    (20, True)
    """

    def __init__(self, paths: Paths, conditions: Promised, facts: Sequence[Expr] = (), floor: int = BEGINNING) -> None:
        self._paths = paths
        self._conditions = conditions
        self._facts = tuple(facts)
        self._floor = floor
        self._arcs: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._all: int | None = None

    def of_arc(self, arc: Arc) -> int:
        """Return pi: no event before it that could take this consuming arc arrives any more. Of an unreadable fence: any event."""
        return self._once(self._arcs, arc, lambda: self._of_fence(arc))

    def of_state(self, state: str) -> int:
        """Return t1: no arrival before it takes a partial match out of this state on a path to a final state. FOREVER: none does.

        t1 does not cover partial matches that wait for a time-out, nor matches: an arrival that takes no arc ends these, too.
        """
        return min((self.of_arc(arc) for arc in self._paths.leaving(state)), default=FOREVER)

    def of_start(self) -> int:
        """Return the instant before which no arrival begins a computation that leads to a final state. FOREVER: none ever does."""
        return min(self.of_state(state) for state in self._paths.beginning)

    def of_event(self, payload: Any) -> int:
        """Return t2: no arrival before it leads to a use of this event by an arc on a path to a final state. FOREVER: none does.

        An event with a timestamp before its t2 is not used again: its payload may be forgotten. Its timestamp may not, before
        `of_all` has passed it, which the paper overlooks: an event that takes no arc ends the runs that come to it, and a run that
        has an event at this timestamp is not ended by another one there.
        """
        return min((self.of_use(arc) for arc in self._paths.triggered(payload)), default=FOREVER)

    def uses(self) -> list[tuple[Arc, int]]:
        """Return the arcs that an engine has for the consuming arcs on a path to a final state, each with its `of_use`."""
        return [(held, self.of_use(arc)) for arc in self._paths.consuming for held in self._paths.held(arc)]

    def of_all(self) -> int:
        """Return the promise for every event: no event at all arrives any more before it."""
        if self._all is None:
            self._all = self._of_fence(None)
        return self._all

    def of_use(self, arc: Arc) -> int:
        """Return t2 of an event that could take only this arc: no arrival before it leads to the ``src`` of the arc."""
        return self._once(self._before, arc, lambda: min((self.of_arc(a) for a in self._paths.before(arc)), default=FOREVER))

    def _of_fence(self, arc: Arc | None) -> int:
        implication = self._paths.implication(arc, self._facts)
        return self._floor if implication is None else max(self._floor, implication.until(self._conditions))

    @staticmethod
    def _once(known: dict[int, int], arc: Arc, find: Callable[[], int]) -> int:
        if id(arc) not in known:
            known[id(arc)] = find()
        return known[id(arc)]


class Conditions:
    """The conditions under which an operator was promised something, with the last promise of each.

    ``all`` is a value: a call that fails restores it.
    """

    def __init__(self, automaton: Automaton, tick: str | None = None) -> None:
        self.all: Promised = ()
        self._automaton, self._tick = automaton, tick
        self._paths: tuple[ArcTable, Paths] | None = None

    def broken(self, payload: Any, le: int) -> tuple[Condition, int] | None:
        """Return the promise that an event breaks."""
        return next(((c, t) for c, t in self.all if le < t and c.holds(payload)), None)

    def add(self, where: Any, t: int, promised: int) -> bool:
        """Take a promise; ``promised`` is that for all events. Returns whether it says anything new."""
        condition = condition_of(where, self._automaton.event_schema, self._tick)
        if t <= max(promised, dict(self.all).get(condition, t - 1)):
            return False
        self.all = (*((c, s) for c, s in self.all if c != condition and s > promised), (condition, t))
        return True

    def by_key(self, table: ArcTable, fields: Sequence[str], floor: int) -> PromisesByKey:
        """Returns the promises of each key over the arcs in force; see `PromisesByKey`."""
        if self._paths is None or self._paths[0] is not table:
            self._paths = table, Paths(self._automaton, table.arcs)
        return PromisesByKey(self._paths[1], self.all, fields, floor)


class PromisesByKey:
    """The promises of each key, as a value that an engine is handed for pruning; ``floor`` is the plain punctuation.

    Of the ``fields`` that make the key only those count that a condition names: keys that share these share what is said.
    """

    def __init__(self, paths: Paths, conditions: Promised, fields: Sequence[str], floor: int) -> None:
        self.paths = paths
        self._conditions, self._fields, self._floor = conditions, fields, floor
        named = set().union(*(condition.fields for condition, _ in conditions))
        self._places = [(i, name) for i, name in enumerate(fields) if name in named]
        self._known: dict[Any, Promises] = {}

    def of_key(self, key: Hashable) -> Promises:
        """Returns the promises of a key."""
        values: Any = key if len(self._fields) > 1 else (key,)
        facts = tuple(fact(name, values[i]) for i, name in self._places)
        if facts not in self._known:
            self._known[facts] = Promises(self.paths, self._conditions, facts, self._floor)
        return self._known[facts]

    def over(self, paths: Paths) -> PromisesByKey:
        """Return the same over other paths; see `Paths.over`."""
        return PromisesByKey(paths, self._conditions, self._fields, self._floor)
