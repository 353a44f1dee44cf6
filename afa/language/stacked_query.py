"""A statement in SQL of several MATCH_RECOGNIZE over one another: a query of each, and the rows of one are the events of the next.

links     Query, Query ..     the innermost first
operator  rows -> operator -> matches, as rows that stay -> operator -> matches       `afa.chained.RowChain`
find      frame -> matches -> matches
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from afa.chained import RowChain
from afa.errors import AfaError, QueryError
from afa.language.bare_numbers import check_units
from afa.language.query import Query
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SKIP
from afa.operator.contract import Pattern, PatternInParts, own_key
from afa.operator.options import OperatorOptions, Options, check_options, options_again, said_options
from afa.schema import Schema

if TYPE_CHECKING:
    from afa.operator.options import Unpack

CALLED = "several MATCH_RECOGNIZE over one another"
OF_EACH = ("engine", "max_bytes", "partial_matches", "tick")
"""Options of each operator."""
TAKES = (*OF_EACH, "id", "on_repeat", "version", "remember", "late", "speculation", "threads")
"""All options; the others are those of the innermost operator."""


class StackedQuery(Pattern):
    """Queries of SQL over one another; made by `afa.sql`.

    Parameters
    ----------
    links : sequence of Query
        The innermost first: what comes is its events. What leaves is what the last one shows, with its key.
    unordered : QueryError, optional
        Why a stream can't be in the order that one of them asks for.
    """

    __slots__ = ("event", "key", "links", "ordered_by", "shown", "tick", "tree", "unordered")
    traits = QUERY, SKIP
    links: tuple[Query, ...]
    event: type
    key: Any
    ordered_by: str | None
    shown: Schema
    tick: str | None

    def __init__(self, links: Sequence[Query], unordered: QueryError | None = None) -> None:
        first, last = links[0], links[-1]
        self.links, self.unordered, self.key, self.shown = tuple(links), unordered, last.key, last.shown
        self.tree, self.event, self.tick, self.ordered_by = first.tree, first.event, first.tick, first.ordered_by

    @property
    def automaton(self) -> Automaton:
        """There is one of each."""
        raise self._unfit(
            " here", ": afa.find, afa run, its operator() and afa.spark.match take it; each query alone is one of its .links"
        )

    def _unfit(self, where: str, way: str = "") -> AfaError:
        """Return the error for what takes one query only."""
        return AfaError(f"expected one MATCH_RECOGNIZE{where} but got {self!r}{way}")

    def check_time(self) -> None:
        """Refuse what has no order of a stream."""
        for link in self.links:
            link.check_time()
        if self.unordered is not None:
            raise self.unordered

    def operator(self, **options: Unpack[OperatorOptions]) -> Any:
        """Make an operator of each, used as one, a `RowChain`; options: `TAKES`, as of `Query.operator`."""
        shared = self._shared(Options(**said_options(options, "StackedQuery.operator")).said)
        return RowChain(*(link.operator(**each) for link, each in zip(self.links, shared)))

    def operator_by(self, key: str, /, **options: Any) -> NoReturn:
        """Refuse to match within the values of another column."""
        raise self._unfit(f", by {key!r},")

    def restore(self, blob: bytes, *, arcs: Iterable[Any] = (), **options: Any) -> Any:
        """Make the operator that ``snapshot`` saved; options: of `TAKES`, as of `Query.restore`."""
        if list(arcs):
            raise AfaError(f"expected no arcs= beside {self!r}, whose snapshot has those of each")
        shared = zip(self.links, self._shared(options_again(options)))
        return RowChain.restore([functools.partial(link.restore, **each) for link, each in shared], blob)

    def _shared(self, said: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the options of each operator."""
        self.check_time()
        own_key(self, said)
        check_options(said, TAKES, CALLED)
        of_each = {name: said[name] for name in OF_EACH if name in said}
        return [said, *([of_each] * (len(self.links) - 1))]

    def changes_to(self, other: Any) -> NoReturn:
        """Refuse another query of a running operator."""
        raise self._unfit(", to change it while it runs,", ": make a new operator")

    def explain(self) -> Any:
        """Explain what became of each, the innermost first."""
        return tuple(link.explain() for link in self.links)

    def in_parts(self, said: Mapping[str, Any]) -> PatternInParts:
        """Return what makes operators for parts of the keys, on workers of Spark."""
        self.check_time()
        check_options(said, ("time",), f"{CALLED} on Spark")
        for link in self.links:
            check_units(link, link.tick, (), 'tick="us"')
            if link.tick not in (None, "us"):
                raise AfaError(f"expected a query with tick='us', as times are microseconds on Spark, but got tick={link.tick!r}")
            if not {*self.links[-1].tree.key} <= {*link.tree.key}:
                mine, its = (", ".join(each.tree.key) or "none" for each in (self.links[-1], link))
                raise AfaError(
                    f"expected the outermost PARTITION BY with columns by which all others partition, as Spark deals out rows by "
                    f"these, but got {mine} over {its}"
                )
        windows = [link.window for link in self.links]
        arcs = [[arc.to_json(link.automaton) for arc in link.automaton.arcs] for link in self.links]
        asked = [[link.shown_as, link.where, link.key, link.ordered_by, link.computed] for link in self.links]
        recipe = [[*each] for each in zip(windows, arcs, asked)]
        return PatternInParts(
            made=_made,
            restored=self.restore,
            options={"query": self},
            recipe={"stack": json.loads(json.dumps(recipe))},
            key=self.key or (),
            order_by=self.ordered_by,
            shown=self.shown.cls,
            null_keys=True,
            lives=None if None in windows else 2 * sum(window or 0 for window in windows),  # PREV and NEXT look one window further
            name="stack",
            ahead=True,
            event=self.event,
            automaton=self.links[0].automaton,
        )

    def __repr__(self) -> str:
        return f"StackedQuery({', '.join(map(repr, self.links))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return StackedQuery, (self.links, self.unordered)


def _made(automaton: Automaton, query: StackedQuery) -> Any:
    """Make an operator on a worker of Spark."""
    return query.operator(tick="us")
