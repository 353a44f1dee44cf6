"""The cheapest edges without which no way leads from one node to another: a minimum cut, by augmenting paths (Edmonds, Karp)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

NEVER = 1e18
"""The capacity of an edge that can't be cut."""
TINY = 1e-12


class CapacityEdge(NamedTuple):
    """An edge with a capacity; ``number``: the edge of the run graph that it stands for."""

    src: Hashable
    dst: Hashable
    capacity: float
    number: int


class Cut(NamedTuple):
    """A cut: its capacity, the numbers of its edges, and the nodes on the side of the source."""

    capacity: float
    edges: list[int]
    side: frozenset[Hashable]


def min_cut(edges: Sequence[CapacityEdge], sources: Iterable[Hashable], sinks: Iterable[Hashable]) -> Cut | None:
    """Return the minimum cut that is nearest to the sources; None: each cut has an edge of capacity `NEVER`.

    O(edges * augmenting paths). Where no way leads to a sink, the cut is empty.
    """
    goals, begin = set(sinks), list(sources)
    if goals & set(begin):
        return None
    residual: list[float] = []
    heads: list[Hashable] = []
    out: dict[Hashable, list[int]] = defaultdict(list)
    for edge in edges:
        out[edge.src].append(len(heads))
        out[edge.dst].append(len(heads) + 1)
        heads += [edge.dst, edge.src]
        residual += [edge.capacity, 0.0]
    flow = 0.0
    while True:
        came: dict[Hashable, int | None] = dict.fromkeys(begin)
        ahead, end = deque(begin), None
        while ahead and end is None:
            node = ahead.popleft()
            for way in out[node]:
                head = heads[way]
                if residual[way] > TINY and head not in came:
                    came[head] = way
                    ahead.append(head)
                    if head in goals:
                        end = head
                        break
        if end is None:
            side = frozenset(came)
            return Cut(flow, [edge.number for edge in edges if edge.src in side and edge.dst not in side], side)
        path = []
        while (way_in := came[end]) is not None:
            path.append(way_in)
            end = heads[way_in ^ 1]
        pushed = min(residual[way] for way in path)
        if pushed >= NEVER / 2:
            return None
        for way in path:
            residual[way] -= pushed
            residual[way ^ 1] += pushed
        flow += pushed
