"""Of the paths of a match those whose aggregates satisfy a condition: found in the graph with early cuts, not by going through all.

A sum over a chosen subset of events is what an automaton can carry only as a value of its register, of which under *any* there are
exponentially many. Here the automaton leaves the condition out, and it is checked on the graph of the paths that are left. Each
comparison is one of a sum of weights with a bound:

    sum(b.price) > 100      weight price of each b; and: more than 0 prices
    avg(b.price) > 100      weight price - 100, bound 0; and: more than 0 prices
    count(b) >= 3           weight 1

For each node the least and the largest sum over all walks from there to the beginning are known (one pass). A walk from the root
that has come to a node with a sum so far

    is kept     if the least that may still come satisfies the comparison: all paths that go on from here are kept, unchecked
    is cut      if none that may still come can repair it
    goes on     else; walks that come to one node with one sum are one, as they go on alike

What is left to try is bounded by a budget of steps, beyond which `BudgetError` is raised: nothing is ever told in part. Sums are
exact (ints, or floats as fractions), whatever their order. Source: the classes of true-consistent and false-consistent events of
SASE++ (Zhang, Diao, Immerman, SIGMOD 2014), over the graph of paths in place of sets of candidate events.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError, BudgetError
from afa.lineage.aggregates import counts_of, reader
from afa.lineage.graph import BEGUN, Graph, PathNode
from afa.schema import Schema

BUDGET = 1_000_000
"""So many steps by default."""
COMPARISONS: dict[type, Any] = {ast.Gt: gt, ast.GtE: ge, ast.Lt: lt, ast.LtE: le, ast.Eq: eq, ast.NotEq: ne}
MIRRORED = {gt: lt, ge: le, lt: gt, le: ge, eq: eq, ne: ne}
KEPT, CUT = "kept", "cut"
Sums = tuple[Any, ...]
"""A sum so far for each comparison; None: it is satisfied by whatever comes."""


class HavingTerm(NamedTuple):
    """One comparison of a condition: ``aggregate(component.field) comparison bound``."""

    aggregate: str
    component: str | None
    field: str | None
    compare: Callable[[Any, Any], bool]
    bound: Fraction


class WeightedSum(NamedTuple):
    """A sum of weights, one for each event of a path, compared with a bound."""

    weight: Callable[[str, Any], Any]
    compare: Callable[[Any, Any], bool]
    bound: Any

    def decided(self, least: Any, largest: Any) -> str | None:
        """Return whether all sums between two, each of which is one, satisfy the comparison, or none. None: neither is sure."""
        low, high = self.compare(least, self.bound), self.compare(largest, self.bound)
        if self.compare is eq:
            return KEPT if low and high else CUT if not least <= self.bound <= largest else None
        if self.compare is ne:
            return CUT if not (low or high) and least == largest else KEPT if not least <= self.bound <= largest else None
        return KEPT if low and high else None if low or high else CUT


class Having:
    """The paths of a match whose aggregates satisfy a condition: `Lineage.having`.

    Parameters
    ----------
    graph : Graph
    linear : sequence of Linear
        All must be satisfied.
    budget : int
        Steps for each call of `exists` and `count`, and from one path to the next.
    text : str
        The condition, for messages.
    """

    def __init__(self, graph: Graph, linear: Sequence[WeightedSum], budget: int, text: str) -> None:
        self._graph, self._linear, self._budget, self._text = graph, linear, budget, text
        self._whole: Sequence[WeightedSum] = ()  # the same over whole numbers
        self._weights: dict[int, Sums] = {}  # by the identity of a pick
        self._ranges: dict[PathNode | None, list[tuple[Any, Any]]] = {}

    def exists(self) -> bool:
        """Return whether there is such a path. O(graph), and at most the budget.

        Raises
        ------
        BudgetError
            The budget was spent before that was clear.
        """
        told = self._told_by_extremes()
        return told if told is not None else next(self.paths(), None) is not None

    def _told_by_extremes(self) -> bool | None:
        """Return whether there is such a path, if the least and the largest sum of each comparison tell. None: they do not.

        Each of the two is the sum of a path. Of one comparison that is not sure one of them satisfies it, or maybe none does.
        """
        if not isinstance(self._graph, Graph):  # paths are left out of it
            return None
        unsure, one = 0, False
        for linear in self._linear:
            low, high = self._graph.extremes(linear.weight)
            decided = linear.decided(low, high)
            if decided is CUT:
                return False
            if decided is None:
                unsure, one = unsure + 1, linear.compare(low, linear.bound) or linear.compare(high, linear.bound)
        return True if unsure == 0 or (unsure == 1 and one) else None

    def count(self) -> int:
        """Return how many such paths there are, exactly. O(graph), and at most the budget: sums that differ, times ways.

        Raises
        ------
        BudgetError
            The budget was spent first.
        """
        graph, ranges, total, steps = self._graph, self._all_ranges(), 0, 0
        counts = counts_of(graph)
        walks: dict[PathNode, dict[Sums, int]] = {}

        def arrive(node: PathNode | None, sums: Sums, n: int) -> None:
            nonlocal total, steps
            steps += 1
            if steps > self._budget:
                raise self._spent()
            left = None if node is None else self._left(sums, ranges[node])
            if left is not None and any(each is not None for each in left):
                here = walks.setdefault(node, {})  # type: ignore[arg-type]
                here[left] = here.get(left, 0) + n
            elif left is not None:
                total += n * counts[node]

        arrive(graph.root, (0,) * len(self._linear), 1)
        for node in graph.nodes():
            for sums, n in walks.pop(node, {}).items():
                for pick, before in graph.ways(node):
                    arrive(before, self._plus(sums, pick), n)
                arrive(node.rest, sums, n)
        return total

    def paths(self) -> Iterator[tuple[tuple[str, Change], ...]]:
        """Yield each such path once, in the order of `Lineage.paths`.

        Raises
        ------
        BudgetError
            The budget was spent between one path and the next.
        """
        graph, ranges = self._graph, self._all_ranges()
        dead: set[tuple[PathNode, Sums]] = set()
        picked: list[tuple[str, Change]] = []
        frames: list[_Frame] = []
        steps = told = 0

        def enter(node: PathNode | None, sums: Sums) -> bool:
            left = None if node is None else self._left(sums, ranges[node])
            if left is None or (node, left) in dead:
                return False
            frames.append(_Frame(node, left, told))  # type: ignore[arg-type]
            return True

        enter(graph.root, (0,) * len(self._linear))
        while frames:
            steps += 1
            if steps > self._budget:
                raise self._spent()
            frame = frames[-1]
            ways = graph.ways(frame.node) if frame.node is not BEGUN else ()
            if frame.node is BEGUN:
                told, steps = told + 1, 0
                yield tuple(reversed(picked))
                frames.pop()
            elif frame.way < len(ways):
                pick, before = ways[frame.way]
                frame.way += 1
                if enter(before, self._plus(frame.sums, pick)):
                    picked.append(pick)
                continue
            elif not frame.rested:
                frame.rested = True
                if enter(frame.node.rest, frame.sums):
                    frames[-1].beside = True
                continue
            else:
                frames.pop()
                if frame.told == told:
                    dead.add((frame.node, frame.sums))
            if not frame.beside and picked:
                picked.pop()

    def _left(self, sums: Sums, ranges: list[tuple[Any, Any]]) -> Sums | None:
        """Return the sums as far as they still matter at a node; None: what comes there is cut."""
        found = []
        for each, linear, (least, largest) in zip(sums, self._whole, ranges):
            decided = None if each is None else linear.decided(each + least, each + largest)
            if decided is CUT:
                return None
            found.append(None if decided is KEPT else each)
        return tuple(found)

    def _plus(self, sums: Sums, pick: tuple[str, Change]) -> Sums:
        return tuple(None if each is None else each + weight for each, weight in zip(sums, self._weights[id(pick)]))

    def _all_ranges(self) -> dict[PathNode | None, list[tuple[Any, Any]]]:
        """Return for each node, and each comparison, the least and the largest sum from there to the beginning. O(graph)."""
        if self._ranges:
            return self._ranges
        graph = self._graph
        nodes = graph.nodes()
        weights = self._scaled(pick for node in nodes for pick, _ in graph.ways(node))
        ranges: dict[PathNode | None, list[tuple[Any, Any]]] = {BEGUN: [(0, 0)] * len(self._linear)}
        for node in reversed(nodes):
            found = [] if node.rest is None else [ranges[node.rest]]
            for pick, before in graph.ways(node):
                found.append([(low + w, high + w) for w, (low, high) in zip(weights[id(pick)], ranges[before])])
            ranges[node] = found[0] if len(found) == 1 else [(min(each)[0], max(high for _, high in each)) for each in zip(*found)]
        self._ranges, self._weights = ranges, weights
        return ranges

    def _scaled(self, picks: Iterable[tuple[str, Change]]) -> dict[int, Sums]:
        """Return the weights of picks, by identity; from here on they and all bounds are whole numbers, which add up faster."""
        found = {id(pick): pick for pick in picks}
        columns, whole = [], []
        for linear in self._linear:
            column = [linear.weight(component, change.payload) for component, change in found.values()]
            scale = lcm(linear.bound.denominator, *{value.denominator for value in column})
            whole.append(linear._replace(bound=int(linear.bound * scale)))
            columns.append([int(value * scale) for value in column])
        self._whole = whole  # all of them, or none: a field may hold no number that can be added up
        return dict(zip(found, zip(*columns)))

    def _spent(self) -> BudgetError:
        return BudgetError(
            f"expected paths with {self._text} to be decided within {self._budget} steps but got no end by then; "
            f"say budget=, or narrow down what the query matches"
        )


class _Frame:
    """A node on the walk: its sums, the next way, whether its rest was tried, and whether it is the rest of the one before it."""

    __slots__ = ("beside", "node", "rested", "sums", "told", "way")

    def __init__(self, node: PathNode, sums: Sums, told: int) -> None:
        self.node, self.sums, self.told = node, sums, told
        self.way, self.rested, self.beside = 0, False, False


def having_of(graph: Graph, text: str, schema: Schema | None, components: set[str] | None, budget: int) -> Having:
    """Return what `Lineage.having` does; ``components``: those that there are; None: any there may be."""
    if type(budget) is not int or budget < 1:
        raise AfaError(f"expected a number of steps, at least 1, but got budget={budget!r}")
    linear = []
    for term in terms_of(text):
        if components is not None and term.component is not None and term.component not in components:
            names = ", ".join(map(repr, sorted(components)))
            raise AfaError(f"expected one of the components {names} but got {term.component!r} in {text!r}")
        linear += _linear(term, schema)
    return Having(graph, linear, budget, text)


def terms_of(text: str) -> list[HavingTerm]:
    """Return the comparisons of a condition. It is taken apart, never evaluated.

    >>> [each[:3] for each in terms_of("sum(b.price) > 100 and 3 <= count(b) and avg(price) < 0.5")]
    [('sum', 'b', 'price'), ('count', 'b', None), ('avg', None, 'price')]
    """
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise _unclear(text, text) from None
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    try:
        return [_term(part, text) for part in parts]
    except RecursionError:  # it is written too deep to be told
        raise _unclear(text, text) from None


def _term(part: ast.expr, text: str) -> HavingTerm:
    if not isinstance(part, ast.Compare) or len(part.ops) != 1 or type(part.ops[0]) not in COMPARISONS:
        raise _unclear(text, ast.unparse(part))
    left, right, compare = part.left, part.comparators[0], COMPARISONS[type(part.ops[0])]
    if not isinstance(left, ast.Call):
        left, right, compare = right, left, MIRRORED[compare]
    try:
        bound = ast.literal_eval(right)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        bound = None
    names = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and not left.keywords
    name = left.func.id if names else ""  # type: ignore[attr-defined]
    of = left.args[0] if names and len(left.args) == 1 else None  # type: ignore[attr-defined]
    if name in ("sum", "avg", "count") and type(bound) in (int, float) and bound - bound == 0:
        component, field = (_named(of.value), of.attr) if isinstance(of, ast.Attribute) else (_named(of), None)
        if component is not None and (field is not None or name == "count"):
            return HavingTerm(name, component, field, compare, Fraction(bound))
        if isinstance(of, ast.Name):
            return HavingTerm(name, None, of.id, compare, Fraction(bound))
    raise _unclear(text, ast.unparse(part))


def _named(part: ast.expr | None) -> str | None:
    """Return the name that an expression is; in quotes it may be any."""
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        return part.value
    return part.id if isinstance(part, ast.Name) else None


def _unclear(text: str, part: str) -> AfaError:
    return AfaError(
        f"expected comparisons of sum(b.price), avg(price) or count(b) with a number, joined by `and`, but got {part!r}"
        + (f" in {text!r}" if part != text else "")
    )


def _linear(term: HavingTerm, schema: Schema | None) -> list[WeightedSum]:
    """Return a comparison as sums of weights: of nothing, sum and avg satisfy none."""
    read = None if term.field is None else reader(term.field, schema)

    def value(component: str, payload: Any) -> Any:
        if term.component not in (None, component):
            return None
        found = 1 if read is None else read(payload)
        if type(found) is float:
            if found - found != 0:
                raise AfaError(f"expected finite numbers for {term.aggregate} but got {term.field}={found!r} in {payload!r}")
            return Fraction(found)
        return found

    def present(component: str, payload: Any) -> Any:
        return 0 if value(component, payload) is None else 1

    if term.aggregate == "count":
        return [WeightedSum(present, term.compare, _plain(term.bound))]
    taken, bound = (_plain(term.bound), 0) if term.aggregate == "avg" else (0, _plain(term.bound))

    def weight(component: str, payload: Any) -> Any:
        found = value(component, payload)
        return 0 if found is None else found - taken

    own = WeightedSum(weight, term.compare, bound)
    return (
        [own, WeightedSum(present, gt, 0)] if term.compare(0, bound) else [own]
    )  # of nothing the sum is 0, which does not satisfy it


def _plain(value: Fraction) -> Any:
    """Return a whole number as an int, which is faster."""
    return value.numerator if value.denominator == 1 else value
