"""The text of a query, and a query of another text over the same events."""

from __future__ import annotations

from typing import Any

from afa.errors import QueryError
from afa.language.query import Query, query
from afa.language.sase_printer import sase_text
from afa.language.sql_query import sql


def text_of(found: Query) -> str | None:
    """Return a query as SASE+ text; None: it says what the text can't."""
    try:
        return sase_text(found.tree)
    except QueryError:
        return None


def another(found: Query, text: str) -> Query:
    """Return the query of a text, SASE+ or SQL, over the events of another one, with its tick and order.

    Raises
    ------
    QueryError
        The text is no query of these events.
    """
    tree = found.tree
    given: dict[str, Any] = {"event": found.event, "tick": tree.tick, "order_by": tree.order}
    if "match_recognize" in text.lower():
        read: Query = sql(text, **given)
        return read
    return query(text, type=tree.type_column, **given)
