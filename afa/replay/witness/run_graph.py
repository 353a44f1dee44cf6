"""The ways in which a run can be accepted, as a graph.

A node is (state, layer, demands): where a computation is; whether its first event is still to come (0), or has come (1), or its
last one has (2); and what its register has to be for it to be accepted (`register_demands`). It is drawn from the end: the final
states, in layer 2, without demands. An edge is an arc between two nodes; one that takes an event has the box of the events that may
take it. So an edge out of layer 0 takes the first event of a run, one into layer 2 its last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.model.arc import CONSUME, EPSILON, SKIP, Arc
from afa.replay.witness.boxes import ArcLifetime, Box, boxes_of
from afa.replay.witness.register_demands import NOTHING, Demands, Way, both, demanded, meets, ways_back
from afa.schema import Schema

FIRST, BETWEEN, LAST = 0, 1, 2
MOST = 3000
"""The most nodes that are drawn with demands; with more of them registers are not followed."""


ANY = Way(Box(), NOTHING)


class Node(NamedTuple):
    """Where a computation is, and what is demanded of its register."""

    state: str
    layer: int
    demands: Demands = NOTHING


class RunEdge(NamedTuple):
    """An arc between two nodes. ``box``: the events that may take it; None: it can't be cut. ``steps``: how many it passes."""

    src: Node
    dst: Node
    arc: Arc
    box: Box | None
    steps: int


class RunGraph(NamedTuple):
    """All ways from ``starts`` to ``ends``; edges that lie on none are left out."""

    starts: tuple[Node, ...]
    ends: tuple[Node, ...]
    edges: tuple[RunEdge, ...]


class ReadAutomaton(NamedTuple):
    """The part of an automaton that is read here, and all arcs that serve it."""

    start: str
    finals: frozenset[str]
    register: Any
    event_schema: Schema | None
    register_schema: Schema
    servings: tuple[ArcLifetime, ...]


def run_graph(program: ReadAutomaton) -> RunGraph:
    """Draw the graph of an automaton. O(nodes * arcs), at most a few thousand nodes."""
    return _drawn(program, True) or _drawn(program, False)  # type: ignore[return-value]


def _drawn(program: ReadAutomaton, demanding: bool) -> RunGraph | None:
    """Return the graph; None: it has too many nodes. ``demanding``: whether registers are followed."""
    into: dict[str, list[tuple[ArcLifetime, tuple[Box, ...], Demands | None]]] = {}
    for serving in program.servings:
        arc = serving.arc
        boxes = boxes_of(serving, program.event_schema, program.register_schema) if arc.reads_event else ()
        wants = demanded(arc, program.event_schema, program.register_schema) if demanding else NOTHING
        if wants is not None and (boxes or not arc.reads_event):
            into.setdefault(arc.dst, []).append((serving, boxes, wants))
    ends = tuple(Node(state, LAST) for state in sorted(program.finals))
    known, ahead, edges = set(ends), list(ends), []
    while ahead:
        node = ahead.pop()
        for serving, boxes, wants in into.get(node.state, ()):
            for edge in _edges(serving.arc, boxes, wants or NOTHING, node, program, demanding):
                edges.append(edge)
                if edge.src not in known:
                    known.add(edge.src)
                    ahead.append(edge.src)
        if demanding and len(known) > MOST:
            return None
    starts = tuple(
        node for node in known if node.state == program.start and node.layer == FIRST and meets(program.register, node.demands)
    )
    return RunGraph(starts, ends, tuple(_reached(edges, starts)))


def _edges(
    arc: Arc, boxes: Sequence[Box], wants: Demands, node: Node, program: ReadAutomaton, demanding: bool
) -> Iterator[RunEdge]:
    """Yield the edges of an arc into a node."""
    if arc.kind == CONSUME:
        layers: tuple[int, ...] = () if node.layer == FIRST else (FIRST, BETWEEN)
    elif arc.kind == SKIP:  # which passes a step behind the first one
        layers = () if node.layer == FIRST else (BETWEEN,)
    elif arc.kind == EPSILON:
        layers = (node.layer,)
    else:  # a time-out fires behind an event
        layers = (node.layer,) if node.layer != FIRST else ()
    for layer in layers:
        for way in ways_back(arc, node.demands, program.event_schema, program.register_schema) if demanding else [ANY]:
            before = both(way.before, wants)
            if before is None:
                continue
            src = Node(arc.src, layer, before)
            if arc.kind != CONSUME:
                if src != node or arc.kind == SKIP:  # a skip leads nowhere else, and yet passes a step
                    yield RunEdge(src, node, arc, None, int(arc.kind == SKIP))
                continue
            for box in boxes:
                met = box.meet(way.event)
                if met is not None:
                    yield RunEdge(src, node, arc, met, 1)


def _reached(edges: list[RunEdge], starts: Sequence[Node]) -> Iterator[RunEdge]:
    """Yield the edges that are reached from the start."""
    out: dict[Node, list[RunEdge]] = {}
    for edge in edges:
        out.setdefault(edge.src, []).append(edge)
    known, ahead = set(starts), list(starts)
    while ahead:
        for edge in out.get(ahead.pop(), ()):
            yield edge
            if edge.dst not in known:
                known.add(edge.dst)
                ahead.append(edge.dst)
