"""Several MATCH_RECOGNIZE over one another -> a query of each: the columns that one answers are fields of the next one's events.

A stream takes them where the first column of each outer ORDER BY is the time at which a match is there: that of its last row.
"""

from __future__ import annotations

from dataclasses import replace

from afa.expression.nodes import Expr
from afa.language.answer_rows import own_places
from afa.language.pattern import Tree
from afa.language.payload_classes import made
from afa.language.positions import Positions
from afa.language.query import Query
from afa.language.sase_grammar import RefusedError, query_error
from afa.language.sql_order import RANKED
from afa.language.sql_reader import parts_of, read
from afa.language.sql_statement import RowPatternMatch, Statement
from afa.language.stacked_query import StackedQuery
from afa.language.terms import OF_ROW, Aggregate, Ref
from afa.schema import DECIMALS, DIGITS, SCALARS, Schema


def query_of(
    text: str | Statement, event: type, dialect: str | None, tick: str | None, order: str | None, ties: str | None
) -> Query | StackedQuery:
    """Return the query of a statement; of several MATCH_RECOGNIZE over one another all of them. `afa.sql` says what these mean."""
    statement, parts = parts_of(text, dialect)
    links, unordered, columns, places = list[Query](), None, None, tuple[tuple[str, Expr], ...]()
    for i, part in enumerate(parts):
        match = next(step for step in part.steps if isinstance(step, RowPatternMatch))
        try:
            if links:
                event, columns, order = _event_of(links[-1], match, tuple(name for name, _ in places)), links[-1].tree.columns, None
            tree = read(statement, event, dialect=dialect, tick=tick, order=order, ties=ties, part=part, columns=columns)
            if links and tree.rank is None and not _is_le(links[-1].tree, str(tree.time)):
                first = match.order[0]
                wrong = RefusedError(
                    f"expected ORDER BY with the time of the last row of a match first, over matches of a stream, as these come by "
                    f"that, but got {statement.text.quoted(first)!r}; LAST({links[-1].tree.time}) in MEASURES shows it, and "
                    f"afa.find(query, frame) takes any order",
                    statement.text.place(first),
                )
                unordered = query_error(statement.text.text, wrong)
        except RefusedError as refused:
            raise query_error(statement.text.text, refused) from None
        if i < len(parts) - 1:  # beside its columns it shows what tells its matches apart, of each of which SQL has a row
            places = own_places(tree, [name for name, _ in places])
            tree = replace(tree, returns=(*(tree.returns or ()), *places))
        links.append(Query(replace(tree, tick=tick)))
    return links[0] if len(links) == 1 else StackedQuery(links, unordered)


def _event_of(inner: Query, match: RowPatternMatch, hidden: tuple[str, ...]) -> type:
    """Return the class of the events that the matches of a query are to the MATCH_RECOGNIZE over it."""
    tree, events, shown = inner.tree, Schema.of(inner.tree.event, "event"), inner.shown
    of_key = {field.name: field for field in events.fields if field.name in {*tree.key} & {*tree.columns}}
    fields = [*(of_key[name] for name in tree.key if name in of_key), *shown.fields]
    times, dates = (
        [*(name for name in of_events if name in of_key), *of_matches]
        for of_events, of_matches in ((events.times, shown.times), (events.dates, shown.dates))
    )
    first = match.order[0] if match.order else None
    for field in fields:
        if field.type not in (*SCALARS, None):
            wrong = "expected numbers, texts and times in front of MATCH_RECOGNIZE but got"
            raise RefusedError(f"{wrong} an array, {field.name}; leave it out of SELECT", match.place)
        if first is not None and field.name.lower() == first.this.name.lower():
            counts = field.name not in times and match.within is None and not _is_le(tree, field.name)
            first.meta[RANKED] = field.optional or counts
    decimals = {name: digits for name, digits in getattr(tree.event, DECIMALS, {}).items() if name in of_key}
    decimals |= {name: (DIGITS, scale) for name, scale in tree.decimals}
    kinds, about = tuple((f.name, f.type, f.optional) for f in fields), ((DECIMALS, tuple(decimals.items())),)
    found: type = made(tree.payload, kinds, tuple(times), tuple(dates), hidden, about)
    return found


def _is_le(tree: Tree, name: str) -> bool:
    """Return whether a column of an answer is the LE of each match, or of each row."""
    value = dict(tree.returns or ()).get(name)
    last = value.which != "first" and not value.back if isinstance(value, Ref) else getattr(value, "function", "") == "max"
    if not isinstance(value, Ref | Aggregate) or not last or value.field != tree.time:
        return False
    of, positions = value.component, Positions.of(tree.pattern)
    ends = {positions.components[place].name for place in positions.last}
    return of in ("", OF_ROW) or (tree.rows is None and ends <= {*dict(tree.subsets).get(of, (of,))})
