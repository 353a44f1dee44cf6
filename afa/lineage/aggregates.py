"""Aggregates over all paths of a match, without going through them: in one pass of its graph, as GRETA in one of the events.

Of each way through a node: so many walks lead from the root to it, and so many go on from it to the beginning; their product is the
number of paths that have its pick. Each walk is one path, so that the numbers are exact. Where computations are paths the compiled
engine sums up in machine code (`afa.compiled.kernel.path_sums`). Source: Poppe et al., PVLDB 11(1), 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError
from afa.lineage.graph import BEGUN, Graph, PathNode
from afa.schema import Schema


class Aggregates(NamedTuple):
    """What `Lineage.aggregate` tells, over all pairs of a path and an event in it: an event counts once for each path that has it.

    Parameters
    ----------
    paths : int
        How many paths there are.
    count : int
        How many pairs, without those in which the field is None.
    sum : int, float or None
        Of the field over these pairs; None, as ``min`` and ``max``: there are none, or no field was named. Ints exactly; floats as
        if added exactly and rounded once, whatever their order (infinite, where that is beyond all floats).
    min, max : int, float or None
        NaN if there is one, as ``sum`` is.
    """

    paths: int
    count: int  # type: ignore[assignment]  # a tuple's method of this name is of no use here
    sum: int | float | None
    min: int | float | None
    max: int | float | None


class CountedEvent(NamedTuple):
    """An event taken for a component, and in how many paths it is."""

    component: str
    change: Change
    paths: int


def counts_of(graph: Graph) -> dict[PathNode | None, int]:
    """Return how many walks lead from each node to the beginning. O(graph)."""
    counts: dict[PathNode | None, int] = {BEGUN: 1, None: 0}
    for node in reversed(graph.nodes()):
        counts[node] = sum(counts[before] for _, before in graph.ways(node)) + counts[node.rest]
    return counts


def told_of(graph: Graph, counts: dict[PathNode | None, int]) -> list[CountedEvent]:
    """Return each event that is in any path, for each component that takes it, with the number of paths that have it. O(graph)."""
    walks: dict[PathNode | None, int] = dict.fromkeys(counts, 0)
    walks[graph.root] = 1
    found: dict[int, CountedEvent] = {}  # by the identity of a pick, of which there is one object
    for node in graph.nodes():
        here = walks[node]
        for pick, before in graph.ways(node):
            walks[before] += here
            known = found.get(id(pick))
            found[id(pick)] = CountedEvent(*pick, here * counts[before] + (0 if known is None else known.paths))
        walks[node.rest] += here
    return list(found.values())


def aggregates_of(graph: Graph, field: str | None, component: str | None, schema: Schema | None) -> Aggregates:
    """Return the aggregates of a field over the events of a component. See `Lineage.aggregate`."""
    counts = counts_of(graph)
    paths = counts[graph.root]
    told = [each for each in told_of(graph, counts) if component is None or each.component == component]
    if field is None:
        return Aggregates(paths, sum(each.paths for each in told), None, None, None)
    read = reader(field, schema)
    pairs = [(read(each.change.payload), each.paths) for each in told]
    return Aggregates(paths, *summed([(value, n) for value, n in pairs if value is not None]))


def reader(field: str, schema: Schema | None) -> Callable[[Any], Any]:
    """Return a function that reads a field of numbers off a payload. Raises `AfaError` where events have none."""
    kinds = {} if schema is None else {each.name: each.type for each in schema.fields}
    if not isinstance(field, str) or (schema is not None and field not in kinds) or kinds.get(field) is str:
        form = "events with fields" if schema is None else schema.describe()
        raise AfaError(f"expected a field of numbers, of {form}, but got field={field!r}")

    def read(payload: Any) -> Any:
        value = getattr(payload, field, read)
        if value is not None and not isinstance(value, (int, float)):
            got = "no such field" if value is read else repr(value)
            raise AfaError(f"expected a number in field={field!r} of the event {payload!r} but got {got}")
        return value

    return read


def summed(pairs: Iterable[tuple[Any, int]]) -> tuple[int, int | float | None, Any, Any]:
    """Return count, sum, min and max of values that count so many times each.

    >>> summed([(5, 10**20), (-7, 1)])
    (100000000000000000001, 499999999999999999993, -7, 5)
    >>> summed([(0.1, 10), (1e300, 1), (-1e300, 1)])  # exactly, then rounded
    (12, 1.0, -1e+300, 1e+300)
    >>> summed([(1.0, 1), (float("nan"), 1)]), summed([])
    ((2, nan, nan, nan), (0, None, None, None))
    """
    pairs = list(pairs)
    count = sum(n for _, n in pairs)
    if not pairs:
        return 0, None, None, None
    if not any(isinstance(value, float) for value, _ in pairs):
        return count, sum(int(value) * n for value, n in pairs), min(v for v, _ in pairs), max(v for v, _ in pairs)
    values = [value for value, _ in pairs]
    if any(value != value for value in values):
        return count, math.nan, math.nan, math.nan
    return count, _rounded(pairs), min(values), max(values)


def _rounded(pairs: Iterable[tuple[Any, int]]) -> float:
    """Return the sum of floats that count so many times each, as if added exactly and rounded once."""
    infinite: float = sum({value for value, _ in pairs if value in (math.inf, -math.inf)})
    if infinite:  # or NaN, of both
        return infinite
    parts: dict[int, int] = {}  # by denominators, which are powers of 2
    for value, n in pairs:
        above, below = value.as_integer_ratio()
        parts[below] = parts.get(below, 0) + above * n
    whole = max(parts)
    total = sum(above * (whole // below) for below, above in parts.items())
    try:
        return total / whole  # of ints: correctly rounded
    except OverflowError:
        return math.inf if total > 0 else -math.inf
