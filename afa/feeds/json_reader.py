"""Lines of JSON as tables, by Arrow's reader, with the types that the lines before had; lines that can't be read are told.

A block that Arrow refuses, or may have read wrongly, is halved until single lines are left. Python looks at these, and says why.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from afa.expression.wire import once
from afa.io.text_files import cut
from punctuation.door import one_array

DEEPEST = 64
"""So deep a line may be nested: Arrow's reader goes down by recursion, without a bound."""
OPENS = 256
"""A line with more brackets is looked at by itself."""
NULL = re.compile(rb"\}\s*null")
"""A null that stands by itself behind an object."""
EXACT = 2.0**63
"""From here on a float may be an int that Arrow has rounded."""
OnFault = Callable[[int, str], None]
"""What is told of a malformed line: its number, and what is wrong."""


class NumberedLines(NamedTuple):
    """Lines, and their numbers in the input."""

    lines: list[bytes]
    numbers: Any  # np.ndarray of int64

    def part(self, begin: int, end: int) -> NumberedLines:
        return NumberedLines(self.lines[begin:end], self.numbers[begin:end])

    def where(self, keep: Sequence[bool]) -> NumberedLines:
        if all(keep):
            return self
        return NumberedLines([line for line, kept in zip(self.lines, keep) if kept], self.numbers[np.array(keep, np.bool_)])


class JsonReader:
    """Reads lines, block by block. ``known``: the types that are known before the first line."""

    def __init__(self, known: pa.Schema, told: OnFault) -> None:
        self.known, self._told = known, told
        self.exact: set[str] = set()
        """Names of fields, or paths to them, that hold no float: as ints among floats they might be rounded."""

    def keep(self, known: pa.Schema, floats: Collection[str]) -> None:
        """Take over the types of a reader: fields of these names are floats, other ints stay ints."""
        self.known = pa.schema([self._kept(field, floats) for field in known])

    def _kept(self, field: pa.Field, floats: Collection[str]) -> pa.Field:
        if pa.types.is_struct(field.type):
            return field.with_type(pa.struct([self._kept(inner, floats) for inner in field.type]))
        if not pa.types.is_integer(field.type):
            return field
        if field.name in floats:
            return field.with_type(pa.float64())
        self.exact.add(field.name)
        return field

    def learn(self, types: pa.Schema) -> None:
        """Take note of types that a schema has said; where they contradict what is known, lines will be told."""
        with contextlib.suppress(pa.ArrowException, TypeError):
            self.known = _both(self.known, types)

    def read(self, given: NumberedLines) -> tuple[pa.Table, Any]:
        """Return the lines that can be read as a table, and their numbers."""
        parts = list(self._parts(given))
        tables = [pa.table({}, pa.schema([])) if not parts else self.known.empty_table(), *(table for table, _ in parts)]
        numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for _, numbers in parts)])
        return pa.concat_tables(tables, promote_options="permissive"), numbers

    def _parts(self, given: NumberedLines) -> Iterator[tuple[pa.Table, Any]]:
        if not given.lines:
            return
        try:
            table = self._block(given.lines)
        except (pa.ArrowException, ValueError, RecursionError):
            if len(given.lines) > 1:
                half = len(given.lines) // 2
                yield from self._parts(given.part(0, half))
                yield from self._parts(given.part(half, len(given.lines)))
            elif (one := self._one(given.lines[0], int(given.numbers[0]))) is not None:
                yield one, given.numbers
        else:
            yield table, given.numbers

    def _block(self, lines: Sequence[bytes]) -> pa.Table:
        """Read lines at once. A `ValueError`: Arrow can't be trusted with them."""
        text = b"\n".join(lines)
        text.decode()
        _check(lines)
        table, known = self._parsed(text, self.known)
        if len(table) != len(lines) or _may_be_rounded(table) or self._inexact(table.schema):
            raise ValueError
        self.known = known
        return table

    def _one(self, line: bytes, number: int) -> pa.Table | None:
        try:
            strict(line)
            alone, _ = self._parsed(line, None)
            if name := self._inexact(alone.schema):
                raise ValueError(f"expected an int, a bool or text in {name!r} but got a float")
        except ValueError as error:  # Arrow's, too
            self._told(number, str(error).split("\n")[0])
            return None
        try:
            table, self.known = self._parsed(line, _both(self.known, alone.schema))
        except (pa.ArrowException, TypeError):
            self._told(number, _conflict(self.known, alone.schema))
            return None
        return table

    def _inexact(self, fields: pa.Schema | pa.StructType, path: str = "") -> str | None:
        """Return the name of a float where none may be."""
        inner = (self._inexact(field.type, f"{path}{field.name}.") for field in fields if pa.types.is_struct(field.type))
        floats = (field.name for field in fields if pa.types.is_floating(field.type))
        own = (name for name in floats if name in self.exact or f"{path}{name}" in self.exact)
        return next((name for name in (*own, *inner) if name), None)

    def _parsed(self, text: bytes, known: pa.Schema | None) -> tuple[pa.Table, pa.Schema]:
        """Return a table whose text is text, also where it looks like times, and all that is known of types then."""
        table = _json(text, known)
        plain = pa.schema([field.with_type(_without_times(field.type)) for field in table.schema])
        if plain != table.schema:
            table = _json(text, plain)
        return table, _both(known or pa.schema([]), table.schema)


def _json(text: bytes, schema: pa.Schema | None) -> pa.Table:
    read = pyarrow.json.ReadOptions(block_size=len(text) + 1, use_threads=False)
    return pyarrow.json.read_json(
        io.BytesIO(text), read_options=read, parse_options=pyarrow.json.ParseOptions(explicit_schema=schema)
    )


def _check(lines: Sequence[bytes]) -> None:
    """Refuse lines that Arrow's reader may die of, and those that merely look so: each is then looked at by itself."""
    if any(line.count(b"{") + line.count(b"[") > OPENS or line[:1] != b"{" or NULL.search(line) for line in lines):
        raise ValueError


def _without_times(kind: pa.DataType) -> pa.DataType:
    """Return a type in which Arrow's guess at timestamps is undone."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_times(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _both(known: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Return the types of both, what is int in one and float in the other as float; a `TypeError` where they contradict."""
    return pa.unify_schemas([known, pa.schema([field for field in map(_settled, found) if field])], promote_options="permissive")


def _settled(field: pa.Field) -> pa.Field | None:
    """Return a field without those in it whose type is still open; None: it is open itself."""
    if pa.types.is_struct(field.type):
        return field.with_type(pa.struct([inner for inner in map(_settled, field.type) if inner]))
    if pa.types.is_list(field.type):
        inner = _settled(field.type.value_field)
        return inner and field.with_type(pa.list_(inner))
    return None if pa.types.is_null(field.type) else field


def _may_be_rounded(table: pa.Table) -> bool:
    """Return whether a float is so large, or none at all, that the line itself must be looked at."""
    columns, floats = [one_array(column) for column in table.columns], []
    while columns:
        column = columns.pop()
        if pa.types.is_nested(column.type):
            columns += column.flatten() if pa.types.is_struct(column.type) else [column.flatten()]
        elif pa.types.is_floating(column.type):
            floats.append(column)
    return any(not (pc.max(pc.abs(column)).as_py() or 0.0) < EXACT or pc.any(pc.is_nan(column)).as_py() for column in floats)


def strict(line: bytes) -> dict[str, Any]:
    """Return the object of a line, as Python has it. A `ValueError` says what is wrong with it."""
    try:
        found = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse, parse_int=_int, parse_float=_float)
        level, depth = [found], 0
        while level:
            if (depth := depth + 1) > DEEPEST:
                raise RecursionError
            inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))]
            level = [item for each in inner for item in each]
    except RecursionError:
        raise ValueError(f"expected at most {DEEPEST} levels but got {cut(line)}") from None
    except UnicodeError:
        raise ValueError(f"expected text in UTF-8 but got {cut(line)}") from None
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object a line but got {cut(line)}")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = once(pairs)
    for text in (*found, *found.values()):
        if isinstance(text, str):
            text.encode()  # half of a surrogate pair is none
    return found


def _refuse(text: str) -> Any:
    raise ValueError(f"expected a number but got {text}")


def _int(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"expected an int64 but got {text[:40]}")
    return int(text)


def _float(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _refuse(text[:40])


def _conflict(known: pa.Schema | pa.StructType, found: pa.Schema | pa.StructType, path: str = "") -> str:
    """Return which field of a line has another type than in the lines before."""
    there = {field.name: field.type for field in known}
    for field in found:
        kind, name = there.get(field.name), f"{path}{field.name}"
        if kind is None or pa.types.is_null(field.type) or kind == field.type:
            continue
        if not (pa.types.is_struct(kind) and pa.types.is_struct(field.type)):
            if not (pa.types.is_floating(kind) and pa.types.is_integer(field.type)):
                return f"expected {_word(kind)} in {name!r} but got {_word(_without_times(field.type))}"
        elif said := _conflict(kind, field.type, f"{name}."):
            return said
    return "" if path else "expected the types of the lines before"


def _word(kind: pa.DataType) -> str:
    return "an object" if pa.types.is_struct(kind) else "a list" if pa.types.is_list(kind) else str(kind)
