"""The lineage of a match: its paths, one after the other, how many they are, and all events in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.html_tables import fields, grid, pairs, titled
from afa.lineage.aggregates import Aggregates, aggregates_of, counts_of
from afa.lineage.graph import BEGUN, Graph, PathNode
from afa.lineage.having import BUDGET, Having, having_of
from afa.lineage.satisfying import PathTest, Satisfying
from afa.schema import ODD, Schema
from punctuation.door import arrow_type

Path = tuple[tuple[str, Change], ...]
"""The events that a computation has taken, in order, each with its component."""

FEW_SHOWN = 12
"""So many events of each component are shown in a notebook."""
FEW, SHORT = 64, 1024
"""So many heads are kept of a node, of so many events in all."""


class Heads:
    """What leads to a node, for nodes that have little before them: walks that come there again need not go on."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.known: dict[PathNode | None, list[Path]] = {BEGUN: [()], None: []}

    def keep(self, first: PathNode | None, last: PathNode | None) -> None:
        """Keep the heads of a node that all walks have been through, and of its rests up to one that is known, if they are few."""
        chain = []
        while first is not last:
            assert first is not None
            chain.append(first)
            first = first.rest
        known = self.known
        for node in reversed(chain):
            found: list[Path] = []
            for pick, before in self._graph.ways(node):
                if before not in known:
                    return
                found += [(*head, pick) for head in known[before]]
            found += known[node.rest]
            if len(found) > FEW or sum(map(len, found)) > SHORT:
                return
            known[node] = found


class Lineage:
    """Which events stand behind a match, as of the call that asked for it: `Operator.lineage`.

    What happens to the operator later changes nothing here. Nodes of its graph are made when they are asked for.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> class Step(NamedTuple):
    ...     kind: str
    >>> order = Automaton(start="0", final={"done"}, event=Step, arcs=[
    ...     Arc("0", "opened", "kind == 'open'"), Arc("opened", "opened", "True"), Arc("opened", "done", "kind == 'close'"),
    ... ])
    >>> op = Operator(order, window=60)
    >>> out = op.push_many([insert(Step("open"), le=1), insert(Step("look"), le=2), insert(Step("close"), le=5)])
    >>> found = op.lineage(out[0])
    >>> found.count()
    1
    >>> [[(component, change.payload.kind, change.le) for component, change in path] for path in found.paths()]
    [[('opened', 'open', 1), ('done', 'close', 5)]]
    """

    __slots__ = ("_event", "_graph", "match")

    def __init__(self, match: Change, graph: Any, event: Schema | None) -> None:
        self.match = match
        self._graph, self._event = graph, event

    def paths(self) -> Iterator[Path]:
        """Yield each path once.

        Those whose last events are later come first; of those that share their last events, those whose events before them are.
        Events of one instant go by component, then RE, then payload. A path that begins there comes behind those that go on.

        Notes
        -----
        The time from one path to the next is linear in its length, once the graph is derived where it passes.
        """
        graph, heads, picked = self._graph, Heads(self._graph), list[tuple[str, Change]]()
        stack: list[tuple[PathNode | None, int, PathNode | None]] = [
            (graph.root, 0, graph.root)
        ]  # a node, its next way, where its rests began
        while stack:
            node, n, first = stack[-1]
            known = heads.known.get(node)
            if known is not None:
                if known:
                    tail = tuple(reversed(picked))
                    for head in known:
                        yield head + tail
                heads.keep(first, node)
                stack.pop()
                if stack:
                    picked.pop()
                continue
            assert node is not None
            ways = graph.ways(node)
            if n == len(ways):
                stack[-1] = (node.rest, 0, first)
                continue
            stack[-1] = (node, n + 1, first)
            pick, before = ways[n]
            picked.append(pick)
            stack.append((before, 0, before))

    def count(self) -> int:
        """Return how many paths there are, exactly, without going through them.

        Notes
        -----
        O(graph): a node for each step and each set of partial matches that one rest of a path leads to. There are few such sets,
        unless the automaton goes many ways with the same events for the same components: then there may be as many as paths.
        """
        return counts_of(self._graph)[self._graph.root]

    def aggregate(self, field: str | None = None, component: str | None = None) -> Aggregates:
        """Return count, sum, min and max of a field over the events of all paths, without going through them.

        An event counts once for each path that has it.

        Parameters
        ----------
        field : str, optional
            Of the events, of numbers; where it is None it is left out. Not given: all events are counted, ``sum``, ``min`` and
            ``max`` are None.
        component : str, optional
            Only the events taken for it. None: all in the paths.

        Returns
        -------
        Aggregates
            ``paths``, ``count``, ``sum``, ``min``, ``max``; ints are exact, however large.

        Raises
        ------
        AfaError
            Events have no such field, or it holds no numbers; or no arc in force takes an event for this component.

        Notes
        -----
        O(graph), as `count`. Source: GRETA (Poppe et al., PVLDB 11(1), 2017), over the graph of the paths in place of one of the
        events.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Arc, Automaton, Operator, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> some = Automaton(start="0", final={"many"}, event=Pay, arcs=[
        ...     Arc("0", "many", "amount > 0"), Arc("many", "many", "amount > 0", select="many"), Arc("many", "many", "True"),
        ... ])
        >>> op = Operator(some, window=60)
        >>> out = op.push_many([insert(Pay(5), le=1), insert(Pay(3), le=2), insert(Pay(2), le=3)])
        >>> op.lineage(out[3]).aggregate("amount")  # those of 1, of 1 and 2, of 1 and 3, of all three
        Aggregates(paths=4, count=8, sum=30, min=2, max=5)
        """
        names = self._graph.components()
        if component is not None and component not in names:
            raise AfaError(f"expected one of the components {', '.join(map(repr, sorted(names)))} but got component={component!r}")
        return aggregates_of(self._graph, field, component, self._event)

    def having(self, condition: str, budget: int = BUDGET) -> Having:
        """Return those of the paths whose aggregates satisfy a condition, without going through all.

        Parameters
        ----------
        condition : str
            Comparisons of ``sum(b.price)``, ``avg(b.price)`` or ``count(b)`` with a number, joined by ``and``; ``b`` is a
            component, in quotes if it is no plain name; ``sum(price)`` is over all events of the path. None is left out; of
            nothing, sum and avg satisfy no comparison. Sums are exact, also those of floats.
        budget : int
            Steps for each call, and from one path to the next: `afa.lineage.having` says of what. Beyond it `BudgetError` is
            raised.

        Returns
        -------
        Having
            ``exists()``, ``count()`` and ``paths()``, which are as of the lineage.

        Raises
        ------
        AfaError
            The condition is none of these, or names what there is not.

        Notes
        -----
        O(graph * sums that differ): of k values that are whole numbers below n at most k * n, of others up to 2 ** k.

        Examples
        --------
        >>> from typing import NamedTuple
        >>> from afa import Arc, Automaton, Operator, insert
        >>> class Pay(NamedTuple):
        ...     amount: int
        >>> some = Automaton(start="0", final={"many"}, event=Pay, arcs=[
        ...     Arc("0", "many", "amount > 0"), Arc("many", "many", "amount > 0", select="many"), Arc("many", "many", "True"),
        ... ])
        >>> op = Operator(some, window=60)
        >>> out = op.push_many([insert(Pay(5), le=1), insert(Pay(3), le=2), insert(Pay(2), le=3)])
        >>> found = op.lineage(out[3]).having("sum(amount) <= 8 and count(many) > 1")
        >>> found.count(), [[change.payload.amount for _, change in path] for path in found.paths()]
        (2, [[5, 2], [5, 3]])
        """
        return having_of(self._graph, condition, self._event, self._graph.components(), budget)

    def satisfies(self, condition: str, budget: int) -> bool:
        """Return whether a path satisfies a condition, as of `having`; components that no arc in force has are no mistake."""
        return having_of(self._graph, condition, self._event, None, budget).exists()

    def satisfying(self, condition: PathTest) -> Lineage:
        """Return the lineage with those of its paths only that satisfy a condition (`afa.lineage.satisfying`)."""
        return Lineage(
            self.match,
            Satisfying(self._graph, condition, f"the match {self.match.payload!r} from {self.match.le} to {self.match.re}"),
            self._event,
        )

    @property
    def there(self) -> bool:
        """Whether there is a path."""
        return self._graph.exists() if isinstance(self._graph, Satisfying) else self._graph.root is not None

    def events(self) -> dict[str, list[Change]]:
        """Return the events in any of the paths, by component, in order. O(steps + what they hold)."""
        found: dict[str, list[Change]] = {}
        for component, change in self._graph.picks():
            found.setdefault(component, []).append(change)
        return found

    def table(self) -> Any:
        """Return the graph of all paths as an Arrow table, one row a way: what other tools count, sum and draw.

        Returns
        -------
        pyarrow.Table
            ``node``, int64: the first row's is the match; a node's rows stand together. ``before``, int64 or null: the node from
            which to go on; null: the path begins here. ``component``, string or null: null: no event, the path goes on at
            ``before``, or begins here. ``le``, ``re``, int64, and ``event``, a struct of its fields: of the event, or null.

        Raises
        ------
        AfaError
            Events are not all scalars (``event=``).
        ChangeError
            Arrow can't hold a text.

        Notes
        -----
        A path, backward: from the first row's node choose any of its rows, then any row of the node in ``before``, and so on. Each
        such walk is another path, and each path is one of them.
        """
        return _table_of(self._graph, self._event)

    def _repr_html_(self) -> str:
        """Return the match and the events in its paths, the first ones of each component, for notebooks."""
        events = self.events()
        names = list(dict.fromkeys(name for changes in events.values() for name, _ in fields(changes[0].payload)))
        rows = []
        for component, changes in events.items():
            for change in changes[:FEW_SHOWN]:
                values = dict(fields(change.payload))
                rows.append([component, change.le, *(values.get(name, "") for name in names)])
            if len(changes) > FEW_SHOWN:
                rows.append([f"and {len(changes) - FEW_SHOWN} more", "", *([""] * len(names))])
        match = [*fields(self.match.payload), ("LE", self.match.le), ("RE", self.match.re), ("paths", self.count())]
        return titled("Lineage", pairs(match), grid(["component", "LE", *names], rows))

    def __repr__(self) -> str:
        payload, le, re, _, key = self.match
        return f"Lineage({payload!r}, [{le}, {re})" + (")" if key is None else f", key={key!r})")


Row = tuple[int, "int | None", "str | None", "Change | None"]


def _table_of(graph: Graph, schema: Schema | None) -> Any:
    import pyarrow as pa

    if schema is None or not schema.scalar:
        got = schema and schema.describe()
        raise AfaError(f"expected events of scalar fields (event=) for a table but got {got}; .paths() tells any")
    rows = _rows(graph)
    changes = [change for _, _, _, change in rows]
    kind = pa.struct([pa.field(field.name, arrow_type(field.type or str)) for field in schema.fields])
    names = [field.name for field in schema.fields]
    events = [None if change is None else dict(zip(names, change.payload)) for change in changes]
    try:
        return pa.table(
            {
                "node": pa.array([row[0] for row in rows], pa.int64()),
                "before": pa.array([row[1] for row in rows], pa.int64()),
                "component": pa.array([row[2] for row in rows], pa.string()),
                "le": pa.array([change and change.le for change in changes], pa.int64()),
                "re": pa.array([change and change.re for change in changes], pa.int64()),
                "event": pa.array(events, kind),
            }
        )
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected events that Arrow holds but got {error}") from error


def _rows(graph: Graph) -> list[Row]:
    nodes = graph.nodes()
    numbers: dict[Any, int | None] = {node: n for n, node in enumerate(nodes)}
    numbers[BEGUN] = None
    rows: list[Row] = []
    for node in nodes:
        rows += ((numbers[node], numbers[before], *pick) for pick, before in graph.ways(node))  # type: ignore[misc]
        if node.rest is not None:
            rows.append((numbers[node], numbers[node.rest], None, None))  # type: ignore[arg-type]
    return rows
