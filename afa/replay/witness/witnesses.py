"""Witnesses: events that every run contains which is accepted, in the order in which it meets them.

The arcs of a cut between start and final states: every accepted computation takes one of them, and so its run has an event in one
of their boxes. Then again before the cut and behind it. (Sec. 3.4 of the thesis, Marburg 2021: its basic symbols, for patterns that
are chains.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton
from afa.replay.witness.boxes import ArcLifetime, Box, opaque
from afa.replay.witness.min_cut import NEVER, min_cut
from afa.replay.witness.min_cut import CapacityEdge as Capacity
from afa.replay.witness.run_graph import FIRST, LAST, ReadAutomaton, RunEdge, RunGraph, run_graph
from afa.schema import Schema

Share = Callable[[Box], float]
"""Returns the share of rows that are in a box, or what else says which boxes are rare."""


class Witness(NamedTuple):
    """An event that every accepted run has."""

    boxes: tuple[Box, ...]  # it is in one of these
    arcs: tuple[Arc, ...]  # it takes one of these
    # first, last: whether it is the first event of the run; whether no event of the run comes after it
    first: bool
    last: bool
    # it stands exactly so many steps behind the witness before it, where all ways between the two pass equally many
    distance: int | None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the event that tell whether it is one, by name."""
        return tuple(sorted({name for box in self.boxes for name, _ in box.fields}))

    def text(self, schema: Schema | None) -> str:
        """Return the witness in words: ``notional >= 100 (start -> placed)``."""
        said = " or ".join(dict.fromkeys(box.text(schema) for box in self.boxes))
        arcs = ", ".join(dict.fromkeys(f"{arc.src} -> {arc.dst}" for arc in self.arcs))
        return f"{said} ({arcs})"


class Necessary(NamedTuple):
    """What a match must contain."""

    # in the order in which a run meets them, each a later event than the one before. Only those that not every event is.
    witnesses: tuple[Witness, ...]
    possible: bool  # whether there is any way to a final state at all
    waits: bool  # whether a time-out stands on some way: then a match sees all events before its instant
    opaque: tuple[Arc, ...]  # arcs whose fence can't be read, so that it allows everything
    boxes: tuple[Box, ...]  # all boxes that cuts were chosen from


def necessary(
    automaton: Automaton,
    servings: Sequence[ArcLifetime] | None = None,
    share: Share | None = None,
    final: Iterable[str] = (),
) -> Necessary:
    """Find what a match must contain, from the automaton alone, which is bound to a tick, if it has durations.

    ``servings``: the arcs that serve, with their lifetimes; None: the automaton's own, which were always in force. ``share``: how
    rare a box is; of several cuts the rarest is taken; None: a guess from the form of the condition. ``final``: more final states.

    A minimum cut for each witness, by augmenting paths: O(witnesses * edges * paths).

    >>> from typing import NamedTuple
    >>> class Leg(NamedTuple):
    ...     delay: int
    >>> class Worst(NamedTuple):
    ...     peak: int = 0
    >>> pattern = Automaton(
    ...     start="0", final={"late"}, event=Leg, register=Worst(),
    ...     arcs=[
    ...         Arc("0", "flying", "delay < 30", "r._replace(peak=e.delay)"),
    ...         Arc("flying", "flying", "True", "r._replace(peak=max(r.peak, e.delay))"),
    ...         Arc("flying", "late", "r.peak >= 60"),
    ...     ],
    ... )
    >>> for witness in necessary(pattern).witnesses:
    ...     print(witness.text(pattern.event_schema))
    delay < 30 (0 -> flying)
    delay >= 60 (flying -> flying)
    """
    own = [ArcLifetime(arc) for arc in automaton.arcs] if servings is None else list(servings)
    finals = automaton.final.union(final, (serving.arc.dst for serving in own if serving.arc.final))
    event, register = automaton.event_schema, automaton.register_schema
    program = ReadAutomaton(automaton.start, finals, automaton.register, event, register, tuple(own))
    graph = run_graph(program)
    known = share or guessed
    cuts = [cut for cut in _chain(graph, known) if all((box := graph.edges[n].box) and known(box) < 1 for n in cut)]
    waits = any(edge.arc.kind == TIMEOUT for edge in graph.edges)
    witnesses = []
    for place, cut in enumerate(cuts):
        edges = [graph.edges[n] for n in cut]
        found = Witness(
            tuple(dict.fromkeys(edge.box for edge in edges if edge.box is not None)),
            tuple({id(edge.arc): edge.arc for edge in edges}.values()),
            first=all(edge.src.layer == FIRST for edge in edges),
            last=all(edge.dst.layer == LAST for edge in edges),
            distance=_distance(graph, cuts[place - 1], cut) if place else None,
        )
        witnesses.append(found)
    possible = bool(graph.edges) and bool(graph.starts)
    boxes = dict.fromkeys(edge.box for edge in graph.edges if edge.box is not None)
    return Necessary(tuple(witnesses), possible, waits, opaque(own, event, register), tuple(boxes))


def guessed(box: Box) -> float:
    """Guess the share of events in a box from the form of its conditions."""
    share = 1.0
    for _, found in box.fields:
        if found.values is not None:
            share *= 0.02 * max(len(found.values), 1)
        else:
            share *= 0.3 ** sum(abs(bound) != float("inf") for bound in (found.low, found.high))
        share = min(share + 0.01 * found.nan, 1.0)
    return share


def _chain(graph: RunGraph, share: Share) -> list[list[int]]:
    """Return cuts in the order in which a run passes them: the cheapest, then the cheapest before it and behind it, and so on."""
    known: dict[Box, float] = {}

    def capacity(edge: RunEdge) -> float:
        if edge.box is None:
            return NEVER
        if edge.box not in known:
            known[edge.box] = max(share(edge.box), 1e-9)
        return known[edge.box]

    everything = [Capacity(edge.src, edge.dst, capacity(edge), n) for n, edge in enumerate(graph.edges)]
    found: list[list[int]] = []
    todo: list[tuple[list[Capacity], set[Hashable], set[Hashable]] | list[int]] = [(everything, set(graph.starts), set(graph.ends))]
    while todo:
        task = todo.pop()
        if isinstance(task, list):
            found.append(task)
            continue
        edges, sources, sinks = task
        cut = min_cut(edges, sources, sinks)
        if cut is None or not cut.edges:
            continue
        gone = set(cut.edges)
        tails = {edge.src for edge in edges if edge.number in gone}
        heads = {edge.dst for edge in edges if edge.number in gone}
        before = [edge for edge in edges if edge.src in cut.side and edge.dst in cut.side]
        behind = [edge for edge in edges if edge.src not in cut.side and edge.dst not in cut.side]
        todo += [(behind, heads, {sink for sink in sinks if sink not in cut.side}), cut.edges, (before, sources, tails)]
    return found


def _distance(graph: RunGraph, one: Sequence[int], other: Sequence[int]) -> int | None:
    """Return the number of steps from one cut to another; None: not all ways pass equally many."""
    goals = {graph.edges[n].src for n in other}
    leading = _leading_to(graph, goals)
    out: dict[Hashable, list[RunEdge]] = {}
    for edge in graph.edges:
        if edge.src in leading and edge.dst in leading:
            out.setdefault(edge.src, []).append(edge)
    steps: dict[Hashable, int] = {graph.edges[n].dst: 0 for n in one if graph.edges[n].dst in leading}
    ahead = deque(steps)
    while ahead:
        node = ahead.popleft()
        for edge in out.get(node, ()):
            then = steps[node] + edge.steps
            if edge.dst not in steps:
                steps[edge.dst] = then
                ahead.append(edge.dst)
            elif steps[edge.dst] != then:
                return None
    far = {steps[goal] for goal in goals if goal in steps}
    return far.pop() + 1 if len(far) == 1 else None


def _leading_to(graph: RunGraph, goals: Iterable[Hashable]) -> set[Hashable]:
    into: dict[Hashable, list[Hashable]] = {}
    for edge in graph.edges:
        into.setdefault(edge.dst, []).append(edge.src)
    known, ahead = set(goals), list(goals)
    while ahead:
        for node in into.get(ahead.pop(), ()):
            if node not in known:
                known.add(node)
                ahead.append(node)
    return known
