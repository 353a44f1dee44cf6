"""A stage as bytes, alone or with the operator that it stands at; plain data only, as in `afa.operator.snapshot`.

Format, version 1
-----------------
    a blob of `punctuation.sealed` with the magic b"AFAC": [ what, numbers, waiting, rows, operator ]
    what          [the stage's name, null: alone, or "before" or "after": with an operator, which may have a stage itself]
    numbers       the stage's own
    waiting       [fields or null, keys, LEs, REs, diffs, [column of a field..] or payloads], in order of arrival
    rows          null, or an Arrow stream of the rows of tables that wait, in the form of `speculation.event_columns`
    operator      null, or its snapshot
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.engine import Logged
from afa.errors import SnapshotError
from afa.operator import snapshot
from afa.operator.plain_data import reading
from afa.schema import Schema, any_payload
from afa.state.sound import short
from punctuation import sealed
from punctuation.door import table_of
from punctuation.time import BEGINNING, FOREVER

MAGIC, VERSION = b"AFAC", 1
PLACES = (None, "before", "after")
Take = Callable[[Any], Any]


def seal(
    name: str,
    place: str | None,
    numbers: list[Any],
    waiting: Sequence[Change],
    rows: bytes | None = None,
    operator: bytes | None = None,
) -> bytes:
    """Return a stage, and its operator's snapshot if it has one, as a blob."""
    return sealed.seal(MAGIC, VERSION, snapshot.plain([[name, place], numbers, columns_of(waiting), rows, operator]))


class SavedStage(NamedTuple):
    """What a blob says of a stage; nothing of ``numbers``, ``waiting`` and ``rows`` is checked yet."""

    name: str
    place: str | None
    numbers: list[Any]
    waiting: Any
    rows: Any
    operator: bytes

    @property
    def said(self) -> str:
        return _said(self.name, self.place)


def opened(blob: bytes) -> SavedStage:
    """Return what a blob of a stage says, alone or at an operator."""
    body = snapshot.unseal(MAGIC, VERSION, blob)
    try:
        (name, place), numbers, waiting, rows, operator = body
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"expected the five fields of a stage's snapshot but got {short(body)}") from error
    if not isinstance(name, str) or place not in PLACES or (place is not None and not isinstance(operator, bytes)):
        raise SnapshotError(f"expected a snapshot of a stage, alone or at an operator, but got one of {_said(name, place)}")
    if not isinstance(numbers, list):
        raise SnapshotError(f"expected the numbers of a stage but got {short(numbers)}")
    return SavedStage(name, place, numbers, waiting, rows, operator)


def unseal(blob: bytes, name: str) -> SavedStage:
    """Return what a blob of a stage of this name says, which stands alone."""
    found = opened(blob)
    if (found.name, found.place) != (name, None):
        raise SnapshotError(f"expected a snapshot of {_said(name, None)} but got one of {found.said}")
    return found


def in_words(names: Collection[str], place: str | None) -> str:
    """Return which stages are meant, and where."""
    return " or ".join(_said(name, place) for name in names)


def _said(name: Any, place: Any) -> str:
    text = name if isinstance(name, str) else short(name)
    return f"{text} alone" if place is None else f"{text} {short(place) if not isinstance(place, str) else place} an operator"


@reading("changes that wait")
def changes(data: Any, take: Take) -> list[Change]:
    """Return what waited, payloads in their form."""
    fields, keys, le, re, diffs, columns = data
    payloads = columns if fields is None else list(zip(*columns)) if columns else [()] * len(le)
    if len({len(part) for part in (keys, le, re, diffs, payloads)}) > 1:
        raise SnapshotError(f"expected columns of one length but got {short(data)}")
    if fields is not None:
        take = _checked(take, fields)
    return [Change(take(payload), *rest) for payload, *rest in zip(payloads, le, re, diffs, keys)]


@reading("matches that wait")
def rows(data: Any, schema: Schema, counted: bool = False) -> Logged:
    """Return what waited as columns, checked as `changes` checks it; ``counted``: with copies of each. BEGINNING as RE: none."""
    fields, keys, le, re, diffs, columns = data
    kinds = [{field.type, type(None)} if field.optional else {field.type} for field in schema.fields]
    names = [field.name for field in schema.fields]
    if fields is None and not le:
        columns = [[] for _ in names]
    elif fields != names or any(None not in kind and set(map(type, column)) - kind for column, kind in zip(columns, kinds)):
        raise SnapshotError(f"expected payload={schema.describe()} but got {short(data)}")
    if {len(part) for part in (keys, le, re, diffs, *columns)} != {len(le)} or len(columns) != len(names):
        raise SnapshotError(f"expected columns of one length but got {short(data)}")
    columns = [list(map(any_payload, column)) if None in kind else column for column, kind in zip(columns, kinds)]
    begins, ends = np.array(le, np.int64), np.array([FOREVER if each is None else each for each in re], np.int64)
    ints = {type(item) for part in (le, diffs, [end for end in re if end is not None]) for item in part} <= {int}
    counts = (set(diffs) <= {1} or counted) and 0 not in diffs
    if not ints or not counts or (begins == FOREVER).any() or (ends <= begins).any():
        raise SnapshotError(f"expected matches with their times, each once, but got {short(data)}")
    ends[[end is None for end in re]] = BEGINNING
    return Logged(columns, begins, ends, np.array(diffs, np.int64), [any_payload(key) for key in keys])


def stream_of(table: Any) -> bytes:
    """Return a table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def rows_of(stream: Any, form: Take) -> Any:
    """Return the table of an Arrow stream; ``form`` gives None where it does not fit."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(pa.py_buffer(stream)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, TypeError, OSError, EOFError) as error:
        raise SnapshotError(f"expected an Arrow stream of rows but got something else: {error}") from error
    found = form(table_of(table))
    if found is None:
        there = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
        raise SnapshotError(f"expected rows of the operator's events but got the columns {there or 'none'}")
    return found


def take_as(payload: type | None) -> Take:
    """Return how payloads are read where no schema is known: as records of a ``NamedTuple``, or as they are."""
    return any_payload if payload is None else lambda value: any_payload(payload(*value))


def _checked(take: Take, fields: list[str]) -> Take:
    """Refuse records of other fields than were saved."""

    def checked(value: Any) -> Any:
        found = take(value)
        if list(getattr(found, "_fields", ())) != fields:
            raise SnapshotError(f"expected payload=<NamedTuple of the fields {', '.join(fields)}> but got {found!r}")
        return found

    return checked


def columns_of(waiting: Sequence[Change]) -> list[Any]:
    """Return what waits as plain data, which `changes` reads."""
    payloads = [change.payload for change in waiting]
    kinds = {type(payload) for payload in payloads}
    fields = list(getattr(next(iter(kinds)), "_fields", ())) if len(kinds) == 1 else []
    record = len(kinds) == 1 and hasattr(next(iter(kinds)), "_fields")
    keys, le, re, diffs = ([getattr(change, name) for change in waiting] for name in ("key", "le", "re", "diff"))
    columns = [list(column) for column in zip(*payloads)] if record else payloads
    return [fields if record else None, keys, le, re, diffs, columns]
