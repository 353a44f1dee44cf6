"""Of the paths of a match those that satisfy a condition on what they have taken: a graph of them, folded forward with early cuts.

A condition says what it must know of a path so far (a sum, a count, ..): a *value*, which one more event changes. Forward, from the
beginning to the end of the paths, each node of their graph is given the values of the walks that lead to it: walks of one value are
one, as in a register, but only where a match stands. What may still come bounds a sum, so that a value

    is kept     if whatever comes satisfies the condition: all such values are one
    is cut      if nothing that may still come can repair it

Backward, from the values at the end that satisfy it, a node of the graph of satisfying paths is a node of the first graph with the
values with which it may be left. Each value that is looked at is a step, of which there is a budget: beyond it `BudgetError` is
raised. Values are added up in the order of the path, as a register does, so that the condition means the same to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import gt, lt
from typing import Any, Protocol

from afa.change import Change
from afa.errors import BudgetError, blame
from afa.lineage.graph import BEGUN, Graph, PathNode, nodes_of
from afa.lineage.having import BUDGET

KEPT, CUT = "kept", "cut"
Value = Any
Ranges = tuple[tuple[Any, Any], ...]
"""For each weight of a condition the least and the largest sum that may still come."""


class PathTest(Protocol):
    """A condition on the events that a path has taken, to be decided within ``budget`` steps for each match."""

    budget: int

    @property
    def text(self) -> str:
        """The condition, for messages."""

    def begin(self) -> Value:
        """Return the value of a path that has taken nothing."""

    def plus(self, value: Value, component: str, change: Change) -> Value:
        """Return the value when a component has taken one more event."""

    def holds(self, value: Value) -> bool:
        """Return whether a whole path of this value satisfies the condition."""

    def weights(self, component: str, change: Change) -> tuple[Any, ...]:
        """Return what an event adds to each sum by which values are cut."""

    def decided(self, value: Value, ranges: Ranges) -> Value:
        """Return the value as far as it still matters: it, a simpler one, `KEPT` or `CUT`."""


class Satisfying:
    """The graph of the paths that satisfy a condition. It stands where `afa.lineage.graph.Graph` does."""

    def __init__(self, graph: Graph, condition: PathTest, what: str) -> None:
        self._graph, self._condition, self._what = graph, condition, what
        self._steps = 0
        self._weighed: dict[int, tuple[Any, ...]] = {}  # by the identity of a pick
        self._ranges: dict[PathNode | None, list[tuple[Any, Any]]] = {}
        self._values: dict[PathNode | None, frozenset[Value]] | None = None
        self._made: dict[tuple[PathNode, frozenset[Value]], PathNode] = {}
        self._of: dict[PathNode, tuple[PathNode, frozenset[Value]]] = {}

    def exists(self) -> bool:
        """Return whether there is such a path: first those are asked whose sums are the largest and the least."""
        if self._values is None and any(self._satisfies(path) for path in self._extreme()):
            return True
        return self.root is not None

    def _satisfies(self, path: list[tuple[str, Change]]) -> bool:
        value = self._condition.begin()
        for pick in path:
            value = self._condition.plus(value, *pick)
        return self._condition.holds(value)

    def _extreme(self) -> Iterator[list[tuple[str, Change]]]:
        """Yield for each weight of the condition a path of the largest sum, and one of the least. O(graph)."""
        graph, weights = self._graph, self._weights
        nodes = graph.nodes()
        picks = next((graph.ways(node) for node in nodes), [])
        for place in range(len(weights(picks[0][0])) if picks else 0):
            for better in (gt, lt):
                best: dict[PathNode | None, tuple[Any, Any, PathNode | None]] = {BEGUN: (0, None, None)}
                for node in reversed(nodes):
                    found = best.get(node.rest)
                    for pick, before in graph.ways(node):
                        total = best[before][0] + weights(pick)[place]
                        if found is None or better(total, found[0]):
                            found = total, pick, before
                    assert found is not None, "a node that leads to no beginning"
                    best[node] = found
                yield _back(best, graph.root)

    @property
    def root(self) -> PathNode | None:
        """The node of the last picks; None: no path satisfies the condition."""
        values, root = self._forward(), self._graph.root
        held = frozenset(v for v in values[root] if v is KEPT or self._condition.holds(v))
        return self._node(root, held)

    def ways(self, node: PathNode) -> list[tuple[tuple[str, Change], PathNode | None]]:
        """Return the ways of a node; its rest is known from here on."""
        if node in self._of:
            inner, wanted = self._of.pop(node)
            values = self._forward()
            found = []
            for pick, before in self._graph.ways(inner):
                led = frozenset(v for v in values[before] if self._next(inner, v, pick) in wanted)
                if led:
                    found.append((pick, self._node(before, led)))
            rested = frozenset(v for v in values[inner.rest] if self._next(inner, v, None) in wanted)
            rest = self._node(inner.rest, rested)
            if not found and rest is not None and rest is not BEGUN:  # every node has a way
                found, rest = self.ways(rest), rest.rest
            node.ways, node.rest = found, rest
        return node.ways

    def nodes(self) -> list[PathNode]:
        """Return all nodes, BEGUN left out, later steps first."""
        return nodes_of(self)

    def picks(self) -> Iterator[tuple[str, Change]]:
        """Yield each pick that is in some path, in order."""
        there = {pick for node in self.nodes() for pick, _ in self.ways(node)}
        return (pick for pick in self._graph.picks() if pick in there)

    def components(self) -> set[str]:
        """Return the names that arcs in force take events for."""
        return self._graph.components()

    # -- values --------------------------------------------------------------------------------------------------------------

    def _node(self, inner: PathNode | None, values: frozenset[Value]) -> PathNode | None:
        if not values or inner is None or inner is BEGUN:
            return inner if values else None
        place = inner, values
        if place not in self._made:
            made = self._made[place] = PathNode(inner.step, ({}, 0))
            self._of[made] = place
        return self._made[place]

    def _forward(self) -> dict[PathNode | None, frozenset[Value]]:
        """Return for each node the values of the walks that lead to it from the beginning."""
        if self._values is None:
            graph, condition = self._graph, self._condition
            nodes = graph.nodes()
            self._bound(nodes)
            begin = condition.begin()
            values: dict[PathNode | None, frozenset[Value]] = {None: frozenset(), BEGUN: frozenset([begin])}
            for node in reversed(nodes):
                led = set(values[node.rest])
                self._look(len(led))
                for pick, before in graph.ways(node):
                    self._look(len(values[before]))
                    led.update([self._plus(v, pick) for v in values[before]])
                ranges = tuple(self._ranges[node])
                values[node] = frozenset([self._decided(v, ranges) for v in led]) - {CUT}
            self._values = values
        return self._values

    def _next(self, node: PathNode, value: Value, pick: tuple[str, Change] | None) -> Value:
        """Return a value as it is at a node behind a pick (None: its rest leads there)."""
        self._look(1)
        return self._decided(self._plus(value, pick), tuple(self._ranges[node]))

    def _plus(self, value: Value, pick: tuple[str, Change] | None) -> Value:
        return value if value is KEPT or pick is None else self._condition.plus(value, *pick)

    def _decided(self, value: Value, ranges: Ranges) -> Value:
        return KEPT if value is KEPT else self._condition.decided(value, ranges)

    def _look(self, values: int) -> None:
        """Count values that are looked at."""
        self._steps += values
        if self._steps > self._condition.budget:
            raise BudgetError(
                f"expected {self._what} to be decided within {self._condition.budget} steps, as its paths must satisfy "
                f"{self._condition.text}, but got no end by then; narrow down what is matched, or make the operator of a query "
                f"anew with postpone=False, that of a function with more steps (having=(function, steps))"
            )

    def _bound(self, nodes: list[PathNode]) -> None:
        """Note for each node the least and the largest sums of what may come behind it. O(graph)."""
        graph, ranges = self._graph, self._ranges

        def widen(node: PathNode | None, led: list[tuple[Any, Any]]) -> None:
            here = ranges.get(node)
            both = led if here is None else [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(here, led)]
            ranges[node] = both

        if nodes:
            first = next(iter(graph.ways(nodes[0])), None)
            count = 0 if first is None else len(self._condition.weights(*first[0]))
            ranges[graph.root] = [(0, 0)] * count
        for node in nodes:
            here = ranges[node]
            for pick, before in graph.ways(node):
                w = self._weights(pick)
                widen(before, [(low + x, high + x) for x, (low, high) in zip(w, here)])
            widen(node.rest, here)

    def _weights(self, pick: tuple[str, Change]) -> tuple[Any, ...]:
        found = self._weighed.get(id(pick))
        if found is None:
            found = self._weighed[id(pick)] = self._condition.weights(*pick)
        return found


def _back(best: Mapping[PathNode | None, tuple[Any, Any, PathNode | None]], node: PathNode | None) -> list[tuple[str, Change]]:
    """Return the path to a node by the picks that were best, in order."""
    found = []
    while node is not None and node is not BEGUN:
        _, pick, node = best[node]
        if pick is not None:
            found.append(pick)
    return found[::-1]


class PathFunction:
    """A condition that needs to know all of a path: its value is the path. An `afa.lineage.satisfying.PathTest`."""

    def __init__(self, function: Any, budget: int) -> None:
        self._function, self.budget = function, budget
        self.text = getattr(function, "__qualname__", repr(function))

    def begin(self) -> Value:
        """Return the path that has taken nothing."""
        return ()

    def plus(self, value: Value, component: str, change: Change) -> Value:
        """Return the path with one more event."""
        return (*value, (component, change))

    def holds(self, value: Value) -> bool:
        """Return whether the function says so."""
        try:
            return bool(self._function(value))
        except Exception as error:
            blame(error, f"in having={self.text} of the path {value!r}")
            raise

    def weights(self, component: str, change: Change) -> tuple[Any, ...]:
        """Return nothing: paths are not cut."""
        return ()

    def decided(self, value: Value, ranges: Ranges) -> Value:
        """Return the path."""
        return value


def condition_of(having: Any) -> PathTest:
    """Return the condition that an automaton's ``having`` is, which it has checked."""
    if hasattr(having, "plus"):
        return having  # type: ignore[no-any-return]
    return PathFunction(*(having if isinstance(having, tuple) else (having, BUDGET)))
