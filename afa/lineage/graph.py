"""The graph of a match's paths: each walk from its root to the beginning is a path, and no two walks are the same.

    node    a step and a set of partial matches there, which all that leads on from here has in common
    ways    picks at this step, each with the node that it came from; BEGUN: it began a run
    rest    the next older node with other picks for the same place of the path, BEGUN or None: there is nothing more

Every node has a way, so that a path costs what it is long. Nodes are made when a walk comes to them, and once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from afa.change import Change
from afa.lineage.derivation import BEGIN, MATCH, Derivation
from afa.lineage.walked import Walked


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
    """The nodes of one match.

    ``picks()`` yields each pick of any path, as ``(component, event)``, in order. ``has_extremes``: `extremes` answers without
    nodes.
    """

    def __init__(self, derivation: Derivation | Walked) -> None:
        self._derivation: Any = derivation  # picks mean something to it alone
        self._nodes: dict[tuple[int, int], PathNode | None] = {}
        self.picks: Callable[[], Iterator[tuple[str, Change]]] = derivation.picks
        self.has_extremes = isinstance(derivation, Walked)

    def extremes(self, weight: Callable[[str, Any], Any]) -> tuple[Any, Any]:
        """Return the least and the largest sum of weights, by component and payload, over a path. See `Walked.extremes`."""
        found: tuple[Any, Any] = self._derivation.extremes(weight)
        return found

    @cached_property
    def root(self) -> PathNode | None:
        """The node of the last picks."""
        return self._node(self._derivation.size - 1, MATCH)

    def ways(self, node: PathNode) -> list[tuple[tuple[str, Change], PathNode | None]]:
        """Return the ways of a node; its rest is known from here on."""
        if node.told is not None:
            picked, passed = node.told
            told = self._derivation.told
            node.ways = [(told(node.step, pick), self._node(node.step - 1, held)) for pick, held in picked.items()]
            node.rest = self._node(node.step - 1, passed)
            node.told = None
        return node.ways

    def _node(self, i: int, held: int) -> PathNode | None:
        """Return the node of the next pick that leads to a set, at step ``i`` or before it."""
        nodes, derivation = self._nodes, self._derivation
        seen: list[tuple[int, int]] = []
        found: PathNode | None = None
        while held > BEGIN:
            i = derivation.last(i, held)
            place = i, held
            if place in nodes:
                found = nodes[place]
                break
            picked, passed = derivation.back(i, held)
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

    def components(self) -> set[str]:
        """Return the names that arcs in force take events for."""
        found: set[str] = self._derivation.components()
        return found

    def nodes(self) -> list[PathNode]:
        """Return all nodes, BEGUN left out, later steps first. O(graph)."""
        root = self.root
        seen = {root: None} if root is not None else {}
        todo = list(seen)
        while todo:
            node = todo.pop()
            for other in (*(before for _, before in self.ways(node)), node.rest):
                if other is not None and other is not BEGUN and other not in seen:
                    seen[other] = None
                    todo.append(other)
        seen.pop(BEGUN, None)
        return sorted(seen, key=lambda node: -node.step)
