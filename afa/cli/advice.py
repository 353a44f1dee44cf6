"""Look at the rows that a query gets, and say what its user should know: ties that cost, types that no row has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from afa.language.pattern import Component, Gap

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
        self._missing = {each.type for each in _components(query.tree.pattern) if each.type is not None} if self._column else set()
        self._types: set[str] = set()

    def look(self, table: pa.Table) -> None:
        """Look at a batch; warn, before it takes long, of ties that the query has not put in order."""
        if self._ties is not None and len(table.group_by([*self._keys, "le"]).aggregate([([], "count_all")])) < len(table):
            _tell(self._ties.replace("order_by=", "--order-by"))
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
            _tell(
                f"no row has {' or '.join(map(repr, sorted(self._missing)))} in column {self._column}, "
                f"which holds {', '.join(map(repr, came[:SHOWN]))}{more}"
            )


def _components(node: Any) -> Iterator[Component]:
    """Yield the components that take events, without those that must be absent."""
    if isinstance(node, Component):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from _components(each)
    elif dataclasses.is_dataclass(node) and not isinstance(node, Gap):
        for field in dataclasses.fields(node):
            yield from _components(getattr(node, field.name))


def _tell(text: str) -> None:
    typer.echo(f"afa: {text}", err=True)
