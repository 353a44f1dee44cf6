"""Batches as columns: Arrow tables, pandas frames and dicts of columns, in and out alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from afa.arc import Arc
from afa.change import Change
from afa.core import Core
from afa.errors import ChangeError
from afa.keys import Keys, take_key
from afa.schema import Field
from afa.tableout import TIMES, assemble, check_output, kind_of, names_of, write
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING

EVENT, ARC, PUNCTUATION = 0, 1, 2


def push_many(core: Core, batch: Any, keys: Keys | None, net: bool, arcs: Sequence[Arc]) -> Any:
    """`Operator.push_many` and `Keyed.push_many`."""
    arcs = list(arcs)
    if isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields"):
        like = next((item for item in batch if kind_of(item)), None)
        found = _one_table(core, batch, keys, arcs) if net and like is not None else None
        if found is not None:
            return found
        items = [item for part in batch for item in (_rows(core, part, keys, arcs) if kind_of(part) else [_item(part, keys)])]
        if like is not None:
            check_output(core.automaton, keys, like)
        out = core.run(items, net)
        return out if like is None else _grouped(out, core, like, keys, net)
    if kind_of(batch) is None:
        raise ChangeError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    check_output(core.automaton, keys, batch)
    mixed = is_mixed(core, batch, keys)
    encoded = _encoded(core, batch, keys, arcs) if net else None
    if encoded is not None:
        rows, found, promised = core.run_columns(encoded)
        return assemble(_columns_of(core, rows, found, keys), promised, batch, core.automaton, keys, mixed)
    return write(core.run(_rows(core, batch, keys, arcs), net), batch, core.automaton, keys, mixed)


def _one_table(core: Core, batch: Sequence[Any], keys: Keys | None, arcs: list[Arc]) -> list[Any] | None:
    """A list of a table and punctuations after it, as columns; None: go row by row."""
    first, *then = batch
    if kind_of(first) is None or not all(isinstance(item, Punctuation) for item in then):
        return None
    check_output(core.automaton, keys, first)
    encoded = _encoded(core, first, keys, arcs)
    if encoded is None:
        return None
    rows, found, promised = core.run_columns(encoded, then)
    table = assemble(_columns_of(core, rows, found, keys), None, first, core.automaton, keys, mixed=False)
    return [table] if promised is None else [table, Punctuation(promised)]


def is_mixed(core: Core, batch: Any, keys: Keys | None) -> bool:
    """Whether a column ``kind`` says of each row whether it is an event (0), an arc (1) or a punctuation (2)."""
    schema = core.automaton.event_schema
    own = [*(field.name for field in schema.fields if schema), *(keys.columns if keys else ())] if schema else ["kind"]
    return "kind" not in own and "kind" in names_of(batch)


def _encoded(core: Core, batch: Any, keys: Keys | None, arcs: list[Arc]) -> Any:
    """The batch as the engine's own columns; None where it has none, or the batch must go row by row."""
    encode = getattr(core.engine, "encode", None)
    if encode is None or (keys is not None and keys.function is not None):
        return None
    there = names_of(batch)
    schema = core.automaton.event_schema
    fields = [field.name for field in schema.fields] if schema else []
    clash = any(name in TIMES for name in fields) or len(set(there)) != len(there)
    names = [*fields, *(keys.names if keys else ())]
    if clash or any(name not in there for name in [*names, "le"]):
        return None
    special = ["le", *(name for name in ("re", "diff") if name in there)]
    if is_mixed(core, batch, keys):
        special += ["kind", *(["arc"] if "arc" in there and "arc" not in fields else [])]

    def column(name: str) -> Any:
        return batch.column(name) if kind_of(batch) == "arrow" else batch[name]

    columns, times = {name: column(name) for name in names}, {name: column(name) for name in special}
    of_keys = [columns[name] for name in keys.names] if keys else None
    return encode(columns, times, arcs, core.window, of_keys, keys.single if keys else True)


def _columns_of(core: Core, rows: Any, found: list[Hashable], keys: Keys | None) -> list[Any]:
    """The output log's rows, and their keys, as columns."""
    columns = [*core.engine.registers.columns(rows[:, 4:]), rows[:, 2], rows[:, 3], rows[:, 1]]  # type: ignore[attr-defined]
    if keys is None:
        return columns
    if keys.single:
        return [found, *columns]
    return [*([list(part) for part in zip(*map(keys.parts, found))] or [[] for _ in keys.labels]), *columns]


def _item(item: Any, keys: Keys | None) -> tuple[str, Any, Hashable]:
    if isinstance(item, Change) and isinstance(item.payload, Arc):
        return "arc", item, None
    key = take_key(keys.of_change(item)) if keys and isinstance(item, Change) else None
    return "event", item, key


def _grouped(out: Iterable[Any], core: Core, like: Any, keys: Keys | None, net: bool) -> list[Any]:
    """Changes that follow on each other as one table; a net output always begins with one, empty or not."""
    result: list[Any] = []
    changes: list[Change] = []
    for item in [*out, None]:
        if isinstance(item, Change):
            changes.append(item)
            continue
        if changes or (not result and (net or item is None)):
            result.append(write(changes, like, core.automaton, keys, mixed=False))
            changes = []
        if item is not None:
            result.append(item)
    return result


def _rows(core: Core, batch: Any, keys: Keys | None, arcs: list[Arc]) -> list[tuple[str, Any, Hashable]]:
    """The rows of a table as changes, in order."""
    if is_mixed(core, batch, keys):
        return _mixed_rows(core, batch, keys, arcs)
    return _event_rows(core, batch, keys)


def _event_rows(core: Core, batch: Any, keys: Keys | None) -> list[tuple[str, Any, Hashable]]:
    """The rows of a table as event changes."""
    schema = core.automaton.event_schema
    names = ["payload"] if schema is None else [field.name for field in schema.fields]
    clash = [name for name in names if name in TIMES]
    if clash:
        raise ChangeError(f"expected an event schema without a field {clash[0]!r}: in a table that is a column of its own")
    wanted = [*names, "le", *(keys.columns if keys else ())]
    columns = _columns(batch, wanted, {f.name: f for f in schema.fields} if schema else {})
    le = columns["le"]
    n = len(le)
    uneven = [name for name, column in columns.items() if len(column) != n]
    if uneven:
        raise ChangeError(f"expected columns of one length but got {len(columns[uneven[0]])} in {uneven[0]!r}, {n} in 'le'")
    if schema is None:
        payloads = list(columns["payload"])
    else:
        payloads = [schema.cls._make(row) for row in zip(*(columns[name] for name in names))]  # type: ignore[attr-defined]
        payloads = payloads if names else [schema.cls()] * n
    of_rows = [take_key(key) for key in keys.of_rows(columns, payloads)] if keys else [None] * n
    res, diffs = columns.get("re", [None] * n), columns.get("diff", [1] * n)
    return [
        ("event", Change(payload, start, end, diff), key)
        for payload, start, end, diff, key in zip(payloads, le, res, diffs, of_rows)
    ]


def _mixed_rows(core: Core, batch: Any, keys: Keys | None, arcs: list[Arc]) -> list[tuple[str, Any, Hashable]]:
    """The rows of a table with a column ``kind``; the event's fields count in the rows of events only."""
    kinds = _listed(batch["kind"], "kind")
    events = [i for i, kind in enumerate(kinds) if kind == EVENT]
    found: list[Any] = [None] * len(kinds)
    for i, item in zip(events, _event_rows(core, _taken(batch, events), keys)):
        found[i] = item
    times = {name: _listed(batch[name], name) for name in ("le", "re", "diff", "arc") if name in names_of(batch)}
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
        elif kind != EVENT:
            raise ChangeError(f"expected kind 0 (event), 1 (arc) or 2 (punctuation) but got kind={kind!r} in row {i}")
    return found


def _taken(batch: Any, rows: list[int]) -> Any:
    """Some rows of a table."""
    if kind_of(batch) == "dict":
        return {name: [column[i] for i in rows] for name, column in ((n, _listed(c, n)) for n, c in batch.items())}
    return batch.take(np.array(rows, np.int64))


def _columns(batch: Any, wanted: list[str], fields: Mapping[str, Field]) -> dict[str, list[Any]]:
    there = [str(name) for name in (batch.schema.names if kind_of(batch) == "arrow" else list(batch))]
    for name in [*wanted, *TIMES]:
        if there.count(name) > 1:
            raise ChangeError(f"expected one column {name!r} but got {there.count(name)} among the columns {', '.join(there)}")
    for name in wanted:
        if name not in there:
            raise ChangeError(f"expected a column {name!r} but got the columns {', '.join(there) or 'none'}")
    columns = {}
    for name in [*wanted, *(name for name in ("re", "diff") if name in there)]:
        column = batch.column(name) if kind_of(batch) == "arrow" else batch[name]
        if name in TIMES and getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m"):
            raise ChangeError(f"expected int ticks in column {name!r} but got a column of {column.dtype}")
        field = Field(name, int, name == "re") if name in TIMES else fields.get(name)
        pandas = kind_of(batch) == "pandas" and name != "payload"
        columns[name] = _from_pandas(column, field) if pandas else _listed(column, name)
        if name in TIMES:
            _check_times(name, column, columns[name])
    return columns


def _listed(column: Any, name: str) -> list[Any]:
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ChangeError(f"expected a column of values but got {name}={column!r}")
    return list(column)


def _from_pandas(column: Any, field: Field | None) -> list[Any]:
    """A pandas column with None for what is missing, and ints again where pandas made them floats to say that some are."""
    items: list[Any] = column.astype(object).tolist()
    if field is not None and not field.optional and column.dtype.kind == "f":
        return items  # a NaN in a float field is a NaN
    items = [None if missing else item for item, missing in zip(items, column.isna().tolist())]
    if field is not None and field.type is int and column.dtype.kind == "f":
        items = [int(i) if type(i) is float and i.is_integer() and abs(i) <= 2**53 else i for i in items]
    return items


def _check_times(name: str, column: Any, items: list[Any]) -> None:
    """Times are ticks: say so once for a column of dates, floats or strings, and where a null stands."""
    for i, item in enumerate(items):
        if type(item) is int or (item is None and name == "re"):
            continue
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            kind = getattr(column, "type", None) or getattr(column, "dtype", None) or type(item).__name__
            raise ChangeError(f"expected int ticks in column {name!r} but got {item!r} in row {i} (column of {kind})")


def prepared(core: Core, batch: Any, keys: Keys | None) -> Any:
    """A table of events as the engine's own columns, for `carried_out`; None where it must go row by row."""
    return _encoded(core, batch, keys, [])


def carried_out(core: Core, encoded: Any, then: Iterable[Punctuation], keys: Keys | None) -> tuple[list[Any], int | None]:
    """Carry out what is prepared, and the promises after it; the output's columns as `assemble` takes them, and the promise."""
    rows, found, promised = core.run_columns(encoded, then)
    return _columns_of(core, rows, found, keys), promised
