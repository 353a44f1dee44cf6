"""Look at the rows that a query gets, and say what its user should know: ties that cost, types that no row has."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.cli.fault import tell
from afa.language.pattern import components_of

TIES = "events of one instant"
"""How the warning begins that ties can make a query exponential."""
SHOWN = 5
"""How many types are named."""


class Advice:
    """What is told on standard error about a query and its rows."""

    def __init__(self, query: Any) -> None:
        self._keys = query.tree.key
        self._ties = next((text for text in query.explain().warnings if text.startswith(TIES)), None)
        self._column = query.tree.type_column
        typed = components_of(query.tree.pattern) if self._column else []
        self._missing = {each.type for each in typed if each.type is not None}
        self._types: set[str] = set()

    def look(self, table: pa.Table) -> None:
        """Look at a batch; warn, before it takes long, of ties that the query has not put in order."""
        if self._ties is not None and len(table.group_by([*self._keys, "le"]).aggregate([([], "count_all")])) < len(table):
            tell(self._ties.replace("order_by=", "--order-by"), "advice")
            self._ties = None
        if self._missing:
            found = {str(kind) for kind in pc.unique(table[self._column]).to_pylist() if kind is not None}
            self._missing -= found
            self._types |= found

    def finish(self) -> None:
        """Say which types of the query no row has had: it may be a slip."""
        if self._missing and self._types:
            came = sorted(self._types)
            more = ", .." if len(came) > SHOWN else ""
            tell(
                f"no row has {' or '.join(map(repr, sorted(self._missing)))} in column {self._column}, "
                f"which holds {', '.join(map(repr, came[:SHOWN]))}{more}",
                "advice",
            )
