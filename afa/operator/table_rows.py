"""Read the rows of a table one by one: for tables that don't fit an engine's columns, and to find out what is wrong with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import ChangeError
from afa.model.arc import Arc
from afa.model.keys import take_key
from afa.operator.call import Core
from afa.schema import ODD, Field
from punctuation.door import EXACT, Table, is_pandas, type_of
from punctuation.promise import Punctuation
from punctuation.reading import ARC, EVENT, PUNCTUATION
from punctuation.time import BEGINNING
from punctuation.timestamps import WITHOUT_TICK, is_time, times_of

TIMES = ("le", "re", "diff")


def rows_of(core: Core, batch: Table, arcs: Sequence[Arc], mixed: bool) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table as changes, in order."""
    return _mixed_rows(core, batch, arcs) if mixed else _event_rows(core, batch)


def _event_rows(core: Core, batch: Table, places: list[int] | None = None) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table, or those at some places, as event changes."""
    schema, keys = core.taken, core.keys
    names = ["payload"] if schema is None else [field.name for field in schema.fields]
    clash = [name for name in names if name in TIMES]
    if clash:
        raise ChangeError(f"expected an event schema without a field {clash[0]!r}: in a table that is a column of its own")
    instant = None if schema is None or schema.instant in batch.names else schema.instant
    wanted = [*(name for name in names if name != instant), "le", *(keys.columns if keys else ())]
    columns = _columns(core, batch, wanted, {f.name: f for f in schema.fields} if schema else {}, places)
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
    if keys is not None and core.named is None:
        of_rows = [take_key(key) for key in keys.of_rows(columns, payloads)]
    elif keys is not None:  # of a retraction only the id may be known
        there = [i for i in range(n) if diffs[i] > 0]
        some = {name: [columns[name][i] for i in there] for name in keys.columns}
        for i, key in zip(there, keys.of_rows(some, [payloads[i] for i in there])):
            of_rows[i] = take_key(key)
    return [
        ("event", Change(payload, start, end, diff), key)
        for payload, start, end, diff, key in zip(payloads, le, res, diffs, of_rows)
    ]


def _mixed_rows(core: Core, batch: Table, arcs: Sequence[Arc]) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table with a column ``kind``; the event's fields count in the rows of events only."""
    there = batch.names
    times = {name: _listed(batch.column(name), name) for name in there if name in ("kind", "le", "re", "diff", "arc")}
    if "le" not in times:
        raise _missing("le", there)
    _check_lengths(times)
    kinds = times["kind"]
    for i, kind in enumerate(kinds):
        if isinstance(kind, bool) or not isinstance(kind, Real) or kind not in (EVENT, ARC, PUNCTUATION):
            raise ChangeError(f"expected kind 0 (event), 1 (arc) or 2 (punctuation) but got kind={kind!r} in row {i}")
    events = [i for i, kind in enumerate(kinds) if kind == EVENT]
    found: list[Any] = [None] * len(kinds)
    for i, item in zip(events, _event_rows(core, batch, events)):
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


def _columns(
    core: Core, batch: Table, wanted: list[str], fields: Mapping[str, Field], places: list[int] | None
) -> dict[str, list[Any]]:
    """Return columns as lists, of all rows or of those at some places."""
    there = batch.names
    for name in [*wanted, *TIMES]:
        if there.count(name) > 1:
            raise ChangeError(f"expected one column {name!r} but got {there.count(name)} among the columns {', '.join(there)}")
    for name in wanted:
        if name not in there:
            raise _missing(name, there)
    given = {}
    columns = {}
    for name in [*wanted, *(name for name in ("re", "diff") if name in there)]:
        given[name] = column = batch.column(name)
        if name in TIMES and getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m"):
            hint = WITHOUT_TICK if core.tick is None and name != "diff" and times_of(column) else ""
            raise ChangeError(f"expected int ticks in column {name!r} but got a column of {column.dtype}{hint}")
        field = Field(name, int, name == "re") if name in TIMES else fields.get(name)
        if core.named is not None and field is not None and field.type is int and name != "diff":
            field = field._replace(optional=True)  # of a retraction only the id may be known
        columns[name] = _from_pandas(column, field) if is_pandas(column) and name != "payload" else _listed(column, name)
    _check_lengths(columns)
    if places is not None:
        columns = {name: [column[i] for i in places] for name, column in columns.items()}
    for name in TIMES:
        if name in columns:
            _check_times(name, given[name], columns[name], places, core.tick, core.named is not None)
    return columns


def _missing(name: str, there: list[str]) -> ChangeError:
    return ChangeError(f"expected a column {name!r} but got the columns {', '.join(there) or 'none'}")


def _check_lengths(columns: Mapping[str, list[Any]]) -> None:
    n = len(columns["le"])
    uneven = [name for name, column in columns.items() if len(column) != n]
    if uneven:
        raise ChangeError(f"expected columns of one length but got {len(columns[uneven[0]])} in {uneven[0]!r}, {n} in 'le'")


def _listed(column: Any, name: str) -> list[Any]:
    kind = type_of(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        column = _of_instants(column)
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            try:
                column = getattr(column, method)()
            except ODD as error:
                raise ChangeError(f"expected values that Python holds in column {name!r} of {kind} but got {error}") from error
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ChangeError(f"expected a column of values but got {name}={column!r}")
    return list(column)


def _of_instants(column: Any) -> Any:
    """Return a column of numpy's instants or spans in a form whose values are no ints."""
    import pyarrow as pa

    try:
        return pa.array(column)
    except (pa.ArrowException, *ODD):  # a unit that Arrow lacks
        return list(column)


def _from_pandas(column: Any, field: Field | None) -> list[Any]:
    """Return a pandas column with None for what is missing, and ints again where pandas made them floats to say that some are."""
    viewed = str(column.dtype).startswith("string_view")  # of which pandas makes no objects
    items: list[Any] = column.array.__arrow_array__().to_pylist() if viewed else column.astype(object).tolist()
    if field is not None and not field.optional and column.dtype.kind == "f":
        return items  # a NaN in a float field is a NaN
    items = [None if missing else item for item, missing in zip(items, column.isna().tolist())]
    if field is not None and field.type is int and column.dtype.kind == "f" and isinstance(column.dtype, np.dtype):
        items = [int(i) if type(i) is float and i.is_integer() and abs(i) <= EXACT else i for i in items]
    return items


def _check_times(name: str, column: Any, items: list[Any], places: list[int] | None, tick: str | None, named: bool) -> None:
    """Refuse times that are no ticks, once for a column of dates, floats or strings, and where a null stands."""
    for i, item in zip(range(len(items)) if places is None else places, items):
        if type(item) is int or (item is None and (name == "re" or (named and name == "le"))):
            continue
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            kind = type_of(column) or type(item).__name__
            hint = WITHOUT_TICK if tick is None and name != "diff" and is_time(item) else ""
            raise ChangeError(f"expected int ticks in column {name!r} but got {item!r} in row {i} (column of {kind}){hint}")
