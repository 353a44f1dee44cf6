"""The graph of a match's paths: each walk from its root to the beginning is a path, and no two walks are the same.

    node    a step and a set of partial matches there, which all that leads on from here has in common
    ways    picks at this step, each with the node that it came from; BEGUN: it began a run
    rest    the next older node with other picks for the same place of the path, BEGUN or None: there is nothing more

Every node has a way, so that a path costs what it is long. Nodes are made when a walk comes to them, and once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from afa.change import Change
from afa.lineage.walked import BEGIN, MATCH, Walked


class PathNode:
    """A step and a set; ``told``: what leads to it by picks and by none, before its ways are asked for."""

    __slots__ = ("rest", "step", "told", "ways")

    def __init__(self, step: int, told: tuple[dict[Any, int], int]) -> None:
        self.step = step
        self.told: tuple[dict[Any, int], int] | None = told
        self.ways: list[tuple[tuple[str, Change], PathNode | None]] = []
        self.rest: PathNode | None = None


BEGUN = PathNode(-1, ({}, 0))
"""The beginning: nothing was picked before it."""
BEGUN.told = None


class Graph:
    """The nodes of one match. ``picks()`` yields each pick of any path, as ``(component, event)``, in order.

    ``extremes`` returns the least and the largest sum of weights, by component and payload, over a path; see `Walked.extremes`.
    """

    def __init__(self, walked: Walked) -> None:
        self._walked = walked  # picks mean something to it alone
        self._nodes: dict[tuple[int, int], PathNode | None] = {}
        self.picks, self.extremes, self.components = walked.picks, walked.extremes, walked.components

    @cached_property
    def root(self) -> PathNode | None:
        """The node of the last picks."""
        return self._node(self._walked.size - 1, MATCH)

    def ways(self, node: PathNode) -> list[tuple[tuple[str, Change], PathNode | None]]:
        """Return the ways of a node; its rest is known from here on."""
        if node.told is not None:
            picked, passed = node.told
            told = self._walked.told
            node.ways = [(told(node.step, pick), self._node(node.step - 1, held)) for pick, held in picked.items()]
            node.rest = self._node(node.step - 1, passed)
            node.told = None
        return node.ways

    def _node(self, i: int, held: int) -> PathNode | None:
        """Return the node of the next pick that leads to a set, at step ``i`` or before it."""
        nodes, walked = self._nodes, self._walked
        seen: list[tuple[int, int]] = []
        found: PathNode | None = None
        while held > BEGIN:
            i = walked.last(i, held)
            place = i, held
            if place in nodes:
                found = nodes[place]
                break
            picked, passed = walked.back(i, held)
            if picked:
                found = nodes[place] = PathNode(i, (picked, passed))
                break
            seen.append(place)
            i, held = i - 1, passed
        else:
            found = BEGUN if held else None
        for place in seen:
            nodes[place] = found
        return found

    def nodes(self) -> list[PathNode]:
        """Return all nodes, BEGUN left out, later steps first. O(graph)."""
        return nodes_of(self)


def nodes_of(graph: Any) -> list[PathNode]:
    """Return all nodes of a graph that has a root, and tells ways, but BEGUN."""
    seen: dict[PathNode, None] = {} if graph.root in (None, BEGUN) else {graph.root: None}
    todo = list(seen)
    while todo:
        node = todo.pop()
        for other in (*(before for _, before in graph.ways(node)), node.rest):
            if other is not None and other is not BEGUN and other not in seen:
                seen[other] = None
                todo.append(other)
    return sorted(seen, key=lambda node: -node.step)
