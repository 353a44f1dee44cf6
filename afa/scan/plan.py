"""The arcs of each state in the order of preference, and where a scan goes on behind a match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from afa.language.lowering import Lowered
from afa.language.pattern import Tree
from afa.language.preference import END, Preference

PAST, NEXT, FIRST, LAST = "past last row", "to next row", "first", "last"


class Way(NamedTuple):
    """A way on from a state: the component that takes the row; ``dst`` None: a match ends with it."""

    component: int
    dst: str | None
    takes: Callable[[Any, Any], Any]
    """From a payload and a register to the next register; None: it does not take the row."""


class Skip(NamedTuple):
    """Where a scan goes on behind a match; of FIRST and LAST at a row of these components."""

    mode: str
    components: frozenset[int] = frozenset()


class ScanPlan(NamedTuple):
    """What a scan goes by.

    A thread rests in the state of the component that took the last row. The ways on from it stand in the order in which a scan
    with backtracking tries them, and end where the match may end: what stands behind that is never taken.
    """

    start: str
    register: Any
    ways: dict[str, tuple[Way, ...]]
    component: dict[str, int]
    """Of each state."""
    skip: Skip
    window: int | None


def plan_of(lowered: Lowered, tree: Tree, takes: Callable[[str], Callable[[Any, Any], Any]]) -> ScanPlan:
    """Return the plan of a query; ``takes``: by the name of an arc's source, component and destination, what it does."""
    preference, names = Preference(tree.pattern), lowered.names
    steps: dict[tuple[Any, int, bool], Any] = {(step.src, step.to, step.dst is None): step for step in lowered.steps.steps}
    ways: dict[str, list[Way]] = {}
    for state in lowered.steps.states:
        found = ways.setdefault(names[state], [])
        for to in _before_end(preference.ways(state.position)):
            on = preference.ways(to)
            for ends in (False, True):
                step = steps.get((state, to, ends))
                if step is not None and (on[0] != END if not ends else END in on):
                    found.append(Way(to, None if ends else names[step.dst], takes(step)))
    component = {names[state]: state.position for state in lowered.steps.states}
    start = lowered.steps.states[0]
    return ScanPlan(names[start], lowered.registers.initial, {k: tuple(v) for k, v in ways.items()}, component, skip_of(lowered, tree), tree.window)


def skip_of(lowered: Lowered, tree: Tree) -> Skip:
    """Return where the scan of a query goes on behind a match."""
    said = str(tree.skip)
    if said in (PAST, NEXT):
        return Skip(said)
    _, which, name = said.split(" ", 2)
    named = lowered.reader.groups[name]
    places = (i for i, component in enumerate(lowered.positions.components) if component.name in named)
    return Skip(which, frozenset(places))


def _before_end(ways: Sequence[int]) -> Sequence[int]:
    return ways[: ways.index(END)] if END in ways else ways
