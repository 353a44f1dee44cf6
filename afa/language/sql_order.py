"""ORDER BY of MATCH_RECOGNIZE: a time with what orders rows of one instant, or a list by which `find` ranks the rows of a frame.

ORDER BY at, price DESC, id      LE is the time; order_by="price desc, id" of the operator
ORDER BY price DESC, id          rank="price desc, id"
none, ties="value"               rank="*"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from afa.language.sase_grammar import RefusedError
from afa.language.sql_text import SqlText
from afa.model.event_order import VALUES
from afa.schema import Field, Schema

LAST = {"trino": None, "duckdb": None, "oracle": False, "snowflake": False, "risingwave": False}
"""Dialects in which NULL comes last, ascending; of each whether it does descending, too: None, it does."""
FIRST = ("flink", "bigquery", "databricks", "spark")
"""Dialects in which NULL is the smallest value."""
RANKED = "afa ranked"
"""What says of a column, in its meta data, that it is no time, as values of it are missing."""
NONE = (
    "expected ORDER BY, which says which row comes first, but got none: without it the answer depends on how rows come; "
    'write ORDER BY, or say ties="value" (afa.sql), which orders rows by all their values'
)


class RowsOrdered(NamedTuple):
    """What an ORDER BY says."""

    le: str  # the column of LE, in small letters; of a rank nothing
    time: str | None  # the event's field that holds it
    order: str | None  # the operator's ``order_by``
    rank: str | None  # the list by which rows are ranked, in place of both
    shown: tuple[str, ...]  # the fields, in the order in which ALL ROWS PER MATCH shows them first


class OrderReader:
    """Reads the columns of one ORDER BY.

    ``field`` gives the field that a column means, ``refused`` the error at a node.
    """

    def __init__(
        self,
        text: SqlText,
        schema: Schema,
        field: Callable[[Any], str],
        refused: Callable[[Any, str], RefusedError],
        dialect: str | None = None,
    ) -> None:
        self._text, self._field, self._refused, self._dialect = text, field, refused, dialect
        self._fields = {each.name: each for each in schema.fields}
        self._instant = schema.instant

    def read(self, nodes: Sequence[Any], first: str, place: int, order: str | None, ties: str | None) -> RowsOrdered:
        """Return what the columns say. ``first``: the first one's field, in small letters; ``place``: of an error where none is.

        ``order``: what orders rows of one instant, where one column stands there.
        """
        values = [VALUES] if ties == "value" and not (order or "").endswith(VALUES) else []
        if not nodes:
            if not values:
                raise RefusedError(NONE, place)
            return RowsOrdered("", None, None, VALUES, ())
        time = next((name for name in self._fields if name.lower() == first), None)
        ranked = not self._is_time(nodes[0], first, time)
        known = [] if ranked or time is None else [time]
        said = []
        for node in nodes if ranked else nodes[1:]:
            name = self._field(node.this)
            if name not in known:  # else it tells no two rows apart
                known.append(name)
                said.append(self._said(node, self._fields[name]))
        if ranked:
            return RowsOrdered("", None, None, ", ".join([*said, *values]), tuple(known))
        listed = said if len(nodes) > 1 else [order] if order else []
        return RowsOrdered(first, time, ", ".join([*listed, *values]) or None, None, tuple(known))

    def _is_time(self, node: Any, first: str, time: str | None) -> bool:
        """Return whether a first column is LE: a time, or an int, that ascends."""
        if node.args.get("desc") or node.meta.get(RANKED):
            return False
        if self._instant is not None:
            return first == "le" or time == self._instant
        return time is None or (self._fields[time].type in (int, None) and not self._text.says(node, "NULLS"))

    def _said(self, node: Any, field: Field) -> str:
        """Return a column as a part of a list."""
        down = bool(node.args.get("desc"))
        nulls = f" nulls {'first' if self._nulls_first(node, field, down) else 'last'}" if field.optional else ""
        plain = field.type in (int, float, str) and not nulls
        return f"{field.name}{' desc' if down else '' if plain else ' asc'}{nulls}"

    def _nulls_first(self, node: Any, field: Field, down: bool) -> bool:
        if self._text.says(node, "NULLS"):
            return bool(node.args.get("nulls_first"))
        if self._dialect in FIRST:
            return not down
        if self._dialect in LAST:
            return down and LAST[self._dialect] is False
        if not down:
            return False
        raise self._refused(
            node,
            f"expected NULLS FIRST or NULLS LAST behind {self._text.quoted(node)}, as {field.name} may be NULL and dialects "
            f"differ where that comes, but got neither; say it, or dialect=",
        )
