"""Rows as messages (``id=``): which columns name an event, which one orders its versions, and of which types they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import StructType

from afa.errors import AfaError
from afa.model.option_values import names_of
from afa.operator.options import Options
from afa.schema import Field
from punctuation.durations import has_unit, nanoseconds_of

KINDS = {"tinyint": int, "smallint": int, "int": int, "bigint": int, "string": str, "boolean": bool}
"""The types of columns of ids."""
ORDERED = {name: kind for name, kind in KINDS.items() if kind is not bool}
ORDERED |= {"float": float, "double": float, "timestamp": int, "timestamp_ntz": int, "date": int}
"""Those of versions. A time is microseconds since 1970."""
ARROW = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}


class MessageOptions(NamedTuple):
    """What names an event, within its key; what orders its versions; how long an id is remembered beyond its event, in ticks."""

    names: tuple[str, ...]
    version: str | None
    remember: int
    beside: Mapping[str, type]  # columns beside key and event, with their types

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns by which an event is named and its versions are ordered."""
        return (*self.names, *([] if self.version is None else [self.version]))

    @property
    def recipe(self) -> dict[str, Any]:
        """What a state depends on, as plain data."""
        kinds = {name: kind.__name__ for name, kind in self.beside.items()}
        return {"id": list(self.names), "version": self.version, "remember": self.remember, "columns": kinds}


def message_options(said: Options, fields: Sequence[Field], events: StructType) -> MessageOptions | None:
    """Return what ``id=`` and what goes with it say, of a table with these columns; None: rows are no messages."""
    if said.id is None:
        return None
    keys, names = names_of(said.key, "key"), names_of(said.id, "id")
    there = {field.name: field.type for field in fields}
    beside: dict[str, type] = {}
    for name in (*names, *([] if said.version is None else [said.version])):
        orders = name == said.version
        known = ORDERED if orders else KINDS
        if name not in events.names:
            what = "version" if orders else "id"
            raise AfaError(f"expected a column {name!r}, which {what}= names, but got the columns {', '.join(events.names)}")
        field = there.get(name)
        if field in known.values() or (name in keys and not orders):
            continue
        kind = events[name].dataType.simpleString()
        if name in keys or field is not None or kind not in known:
            what = "a version" if orders else "an id"
            got = f"{name} {kind}" if field is None else f"the field {name}: {field.__name__}"
            raise AfaError(f"expected as {what} a column of {', '.join(known)} but got {got}: cast it")
        beside[name] = known[kind]
    return MessageOptions(names, said.version, 0 if said.remember is None else _micros(said.remember), beside)


def _micros(remember: Any) -> int:
    if not has_unit(remember):
        raise AfaError(f'expected a duration such as "1 day" but got remember={remember!r}')
    return -int(-nanoseconds_of(remember, "remember") // 1000)
