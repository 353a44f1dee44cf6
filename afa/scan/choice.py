"""Which match of a start counts, and where a scan goes on behind it: AFTER MATCH SKIP over the arcs of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from afa.language.lowering import Lowered
from afa.language.pattern import Tree
from afa.language.preference import END, Preference

PAST, NEXT, FIRST, LAST = "past last row", "to next row", "to first", "to last"
Values = Callable[[Sequence[int], Sequence[Any]], Any]


class Choice(NamedTuple):
    """How a scan chooses. Its components are places in the pattern, from left to right.

    A thread rests in the state of the component that took the last row. The arcs on from it have a rank, by which a scan with
    backtracking tries them; behind the one that ends a match none is ever tried, so that it has no rank.
    """

    rank: Mapping[str, int]  # by the names of arcs
    component: Mapping[str, int]  # by the names of arcs, which takes the row
    mode: str
    to: frozenset[int]  # of FIRST and LAST, the components at whose row the scan goes on
    window: int | None
    values: Values  # from the components of a match's rows and their payloads to what it shows


def choice_of(lowered: Lowered, tree: Tree, values: Values) -> Choice:
    """Return the choice of a query that was lowered, its arcs by their names."""
    preference, names = Preference(tree.pattern), lowered.arc_names
    ranked: dict[str, tuple[int, int]] = {}
    for step, name in names.items():
        ways, on = preference.ways(step.src.position), preference.ways(step.to)
        ways = ways[: ways.index(END)] if END in ways else ways
        if step.to in ways and (END in on if step.dst is None else on[0] != END):
            found = 2 * ways.index(step.to) + (step.dst is None), step.to
            ranked[name] = min(found, ranked.get(name, found))  # of places where the same is asked the preferred one counts
    rank, component = ({name: found[i] for name, found in ranked.items()} for i in range(2))
    said = str(tree.skip)
    mode, to = said, frozenset[int]()
    if said not in (PAST, NEXT):
        mode, name = said.rsplit(" ", 1)
        named = lowered.reader.groups[name]
        to = frozenset(i for i, each in enumerate(lowered.positions.components) if each.name in named)
    return Choice(rank, component, mode, to, tree.window, values)
