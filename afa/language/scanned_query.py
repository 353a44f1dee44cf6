"""AFTER MATCH SKIP of a query: in which order a scan tries the arcs of its automaton, and what the matches that it shows hold.

    the automaton    its register holds what conditions read, and nothing that is shown
    the measures     an automaton of the same pattern that takes any row, and whose register holds what is shown

A partial match rests in the state of the component that took the last row. Of the arcs on from there the one that continues comes
before the one that ends the match by the same row; behind an end nothing is tried, so that those arcs have no rank.
"""

from __future__ import annotations

from dataclasses import replace

from afa.errors import AfaError
from afa.language.items import Item
from afa.language.lowering import Lowered
from afa.language.pattern import NO_ROW, PARTITION, STRICT, Tree, components_of, gaps_of
from afa.language.preference import END, Preference
from afa.language.registers import FRESH, Registers, Running
from afa.language.rows_asked import rows_shown
from afa.language.steps import StateStep
from afa.model.automaton import changed
from afa.model.choice import NEXT, PAST, Choice, Ranked, Way, place_of


def scanned(tree: Tree, running: Running = FRESH) -> Lowered:
    """Lower a tree with AFTER MATCH SKIP to an automaton that chooses."""
    _check(tree)
    bare = replace(tree, skip=None, rows=None)
    lowered = Lowered(bare, running, shows=False)
    measures, rows = (Lowered(bare, asks=False), None) if tree.rows is None else rows_shown(tree, lowered)
    ranks = Ranks(lowered)
    said, to = str(tree.skip), frozenset[str]()
    if said not in (PAST, NEXT):
        said, name = said.rsplit(" ", 1)
        to = lowered.reader.groups[name]
    choice = Choice(
        said,
        to,
        tree.window,
        ranks.ways(),
        tuple(component.name for component in lowered.positions.components),
        measures.automaton,
        {(measures.names[step.src], step.to, step.dst is None): arc for step, arc in measures.arc_of.items()},
        rows,
        row_before(lowered.registers),
        {name: (field, offset) for name, field, offset in tree.neighbours},
    )
    taken_ever = [arc for arc in lowered.automaton.arcs if choice.of(arc) is not None]
    lowered.automaton = changed(lowered.automaton, arcs=taken_ever, shown=None, choice=choice)
    return lowered


def _check(tree: Tree) -> None:
    """Refuse what a scan of neighbours can't ask."""
    loose = next((gap for gap in gaps_of(tree.pattern) if gap.strategy not in (STRICT, PARTITION) or gap.absent), None)
    whole = next((component for component in components_of(tree.pattern) if component.done), None)
    for wanted, got in (
        ("neighbours with nothing between them", loose or tree.after or (tree.rows is not None and tree.before)),
        ("a total order of rows (ties=False)", "ties=True" if tree.ties else None),
        ("conditions of rows, and none of a whole component,", whole),
    ):
        if got:
            raise AfaError(f"expected {wanted} where a query chooses (AFTER MATCH SKIP) but got {got}")


def row_before(registers: Registers) -> tuple[str, ...] | None:
    """Return the fields of the row before (PREV) that a register holds; None: it holds more of the match."""
    items, fields = [slot.item for slot in registers.slots], {field.name for field in registers.steps.reader.event.fields}
    if any(item is None or item != Item("", "last", item.field) or item.field not in fields for item in items):
        return None
    return tuple(str(item.field) for item in items if item is not None)


class Ranks:
    """The order of preference of the steps of a lowered pattern. It follows from the pattern alone, whatever its conditions are."""

    def __init__(self, lowered: Lowered) -> None:
        self._preference, self._lowered = Preference(lowered.tree.pattern), lowered

    def ways(self) -> dict[Way, Ranked]:
        """Return the rank of each step. Of several places where the same is asked the preferred one counts."""
        found: dict[Way, Ranked] = {}
        lowered = self._lowered
        for step in lowered.steps.steps:
            rank = self._rank(step)
            if rank is not None:
                dst = lowered.final if step.dst is None else lowered.names[step.dst]
                way = place_of(lowered.names[step.src]), place_of(dst), lowered.steps.names[step.to]
                found[way] = min(Ranked(rank, step.to), found.get(way, Ranked(rank, step.to)))
        return found

    def _rank(self, step: StateStep) -> int | None:
        src, on = step.src.position, self._preference.ways(step.to)
        ways = self._preference.ways(src)
        if self._lowered.tree.ends:  # behind a row that may end a match there is none that it could take: nothing is preferred less
            ways, on = ([*(way for way in each if way != END), *(way for way in each if way == END)] for each in (ways, on))
        if END in ways:  # behind an end nothing is tried; at the start it is that of an empty match
            no_row = [p for p in ways if src < 0 and p >= 0 and self._lowered.positions.components[p].name in NO_ROW]
            ways = ways[: ways.index(END)] + no_row
        ends = END in on if step.dst is None else on[0] != END
        return 2 * ways.index(step.to) + (step.dst is None) if step.to in ways and ends else None
