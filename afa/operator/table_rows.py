"""Read the rows of a table one by one: for tables that don't fit an engine's columns, and to find out what is wrong with them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from afa.io.event_batch import TIMES
from afa.io.listed_columns import check_lengths, listed, listed_columns, missing
from afa.model.arc import Arc
from afa.model.keys import take_key
from afa.operator.call import Core
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.reading import ARC, EVENT, PUNCTUATION
from punctuation.time import BEGINNING


def rows_of(core: Core, batch: Table, arcs: Sequence[Arc], mixed: bool, messages: bool = False) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table as changes, in order; ``messages``: of a retraction only the id may be known."""
    return _mixed_rows(core, batch, arcs, messages) if mixed else _event_rows(core, batch, messages)


def _event_rows(core: Core, batch: Table, messages: bool, places: list[int] | None = None) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table, or those at some places, as event changes."""
    schema, keys = core.taken, core.keys_at_once
    names = ["payload"] if schema is None else [field.name for field in schema.fields]
    clash = [name for name in names if name in TIMES]
    if clash:
        raise ChangeError(f"expected an event schema without a field {clash[0]!r}: in a table that is a column of its own")
    instant = None if schema is None or schema.instant in batch.names else schema.instant
    wanted = [*(name for name in names if name != instant), "le", *(keys.columns if keys else ())]
    fields = {field.name: field for field in schema.fields} if schema else {}
    columns = listed_columns(batch, wanted, fields, core.tick, unsaid=messages, places=places)
    le = columns["le"]
    n = len(le)
    if schema is not None and schema.instant is not None:
        columns[schema.instant] = [t if at is None else at for at, t in zip(columns.get(schema.instant, le), le)]
    if schema is None:
        payloads = list(columns["payload"])
    else:
        payloads = [schema.cls._make(row) for row in zip(*(columns[name] for name in names))]  # type: ignore[attr-defined]
        payloads = payloads if names else [schema.cls()] * n
    res, diffs = columns.get("re", [None] * n), columns.get("diff", [1] * n)
    of_rows: list[Any] = [None] * n
    if keys is not None and not messages:
        of_rows = [take_key(key) for key in keys.of_rows(columns, payloads)]
    elif keys is not None:
        there = [i for i in range(n) if diffs[i] > 0]
        some = {name: [columns[name][i] for i in there] for name in keys.columns}
        for i, key in zip(there, keys.of_rows(some, [payloads[i] for i in there])):
            of_rows[i] = take_key(key)
    return [
        ("event", Change(payload, start, end, diff), key)
        for payload, start, end, diff, key in zip(payloads, le, res, diffs, of_rows)
    ]


def _mixed_rows(core: Core, batch: Table, arcs: Sequence[Arc], messages: bool) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table with a column ``kind``; the event's fields count in the rows of events only."""
    there = batch.names
    times = {name: listed(batch.column(name), name) for name in there if name in ("kind", "le", "re", "diff", "arc")}
    if "le" not in times:
        raise missing("le", there)
    check_lengths(times)
    kinds = times["kind"]
    for i, kind in enumerate(kinds):
        if isinstance(kind, bool) or not isinstance(kind, Real) or kind not in (EVENT, ARC, PUNCTUATION):
            raise ChangeError(f"expected kind 0 (event), 1 (arc) or 2 (punctuation) but got kind={kind!r} in row {i}")
    events = [i for i, kind in enumerate(kinds) if kind == EVENT]
    found: list[Any] = [None] * len(kinds)
    for i, item in zip(events, _event_rows(core, batch, messages, events)):
        found[i] = item
    for i, kind in enumerate(kinds):
        le = times["le"][i]
        if kind == PUNCTUATION:
            found[i] = ("event", Punctuation(le), None)
        elif kind == ARC:
            number = times.get("arc", [None] * len(kinds))[i]
            if type(number) is not int or not 0 <= number < len(arcs):
                raise ChangeError(f"expected the number of one of the {len(arcs)} arcs given but got arc={number!r} in row {i}")
            re = times["re"][i] if "re" in times and le != BEGINNING else None
            found[i] = (
                "arc",
                Change(arcs[number], None if le == BEGINNING else le, re, times.get("diff", [1] * len(kinds))[i]),
                None,
            )
    return found
