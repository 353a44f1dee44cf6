"""Batches as columns: Arrow tables, pandas frames and dicts of columns, in and out alike."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import ChangeError
from afa.model.arc import Arc
from afa.model.keys import Keys, take_key
from afa.operator.call import Core
from afa.operator.table_call import Found, carry_out, takes_tables
from afa.operator.table_out import TIMES, assemble, check_output, kind_of, names_of, write
from afa.schema import NAN, ODD, Field
from punctuation.promise import Punctuation
from punctuation.reading import ARC, EVENT, PUNCTUATION
from punctuation.time import BEGINNING


def push_many(core: Core, batch: Any, keys: Keys | None, net: bool, arcs: Sequence[Arc]) -> Any:
    """`Operator.push_many` and `Keyed.push_many`. What can't be written is part of the call: it leaves no trace."""
    listed, arcs = is_list(batch), list(arcs)
    like = like_of(batch) if listed else batch
    if like is None:
        return core.run(items_of(core, batch, keys, arcs), net)
    check_output(core.automaton, keys, like)
    if not takes_tables(core):
        return shaped(core.run(items_of(core, batch, keys, arcs), net), core, batch, keys, net)
    found = carry_out(core, _parts(core, batch if listed else [batch], keys, arcs), net)
    if not listed:
        promised = max((t for _, t in found.promises), default=None)
        columns = _columns_of(core, found.rows, found.keys, keys)
        return assemble(columns, promised, like, core.automaton, keys, is_mixed(core, batch, keys))
    return _tables_of(core, found, like, keys, net)


def _parts(core: Core, batch: Iterable[Any], keys: Keys | None, arcs: list[Arc]) -> Iterator[Any]:
    """What stands in a batch as `carry_out` takes it: tables encoded, or row by row where they must; the items between them."""
    items: list[tuple[str, Any, Hashable]] = []
    for place, part in enumerate(batch):
        if kind_of(part) is None:
            items.append(_item(part, keys))
            continue
        if items:
            yield items
            items = []
        encoded = _encoded(core, part, keys, arcs)
        if encoded is None:
            yield _rows(core, part, keys, arcs)
        else:
            yield encoded.promised(_promised(batch, place + 1))
    yield items


def _promised(batch: Iterable[Any], place: int) -> int:
    """Return what the punctuations at a place of a list and right behind it promise, of all events."""
    promises = itertools.takewhile(_is_plain_promise, batch[place:] if isinstance(batch, (list, tuple)) else [])
    return max((promise.t for promise in promises), default=BEGINNING)


def _is_plain_promise(item: Any) -> bool:
    return isinstance(item, Punctuation) and item.where is None and type(item.t) is int


def _tables_of(core: Core, found: Found, like: Any, keys: Keys | None, net: bool) -> list[Any]:
    """Return an output as tables and punctuations; a net one always begins with a table, empty or not."""

    def table(rows: Any, names: list[Hashable]) -> Any:
        return assemble(_columns_of(core, rows, names, keys), None, like, core.automaton, keys, mixed=False)

    out = [part if isinstance(part, Punctuation) else table(*part) for part in found.parts()]
    if not len(found.rows) and (net or not out):
        out.insert(0, table(found.rows, found.keys))
    return out


def run_table(core: Core, batch: Any, keys: Keys | None, arcs: Sequence[Arc] = (), like: Any = None) -> tuple[Any, int | None]:
    """Carry out a table as one call; its output as a table in the shape of another one, or as changes; and the punctuation."""
    check_output(core.automaton, keys, batch if like is None else like)
    encoded = _encoded(core, batch, keys, list(arcs))
    if encoded is None:
        out = core.run(_rows(core, batch, keys, list(arcs)), net=True)
        changes = [item for item in out if isinstance(item, Change)]
        promised = next((item.t for item in out if isinstance(item, Punctuation)), None)
        return (changes if like is None else write(changes, like, core.automaton, keys, mixed=False)), promised
    rows, found, promised = core.run_columns(encoded)
    columns = _columns_of(core, rows, found, keys)
    if like is not None:
        return assemble(columns, None, like, core.automaton, keys, mixed=False), promised
    schema = core.automaton.register_schema
    *fields, le, re, diff = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns)
    fields = fields[len(fields) - len(schema.fields) :]
    pairs = zip(fields, schema.fields)
    fields = [[NAN if x != x else x for x in column] if field.type is float else column for column, field in pairs]
    registers = [schema.cls(*record) for record in zip(*fields)] if fields else [schema.cls()] * len(le)
    of_rows = [None] * len(le) if keys is None else found
    return [Change(*change) for change in zip(registers, le, re, diff, of_rows)], promised


def is_list(batch: Any) -> bool:
    """Return whether a batch is a list of items.

    Raises
    ------
    ChangeError
        It is neither that nor a table.
    """
    if isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields"):
        return True
    if kind_of(batch) is None:
        raise ChangeError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    return False


def items_of(core: Core, batch: Any, keys: Keys | None, arcs: Sequence[Arc]) -> list[tuple[str, Any, Hashable]]:
    """A table's rows, or what stands in a list, as what `Core.run` takes; refused where the output could not be written so."""
    arcs = list(arcs)
    if not is_list(batch):
        check_output(core.automaton, keys, batch)
        return _rows(core, batch, keys, arcs)
    items = [item for part in batch for item in (_rows(core, part, keys, arcs) if kind_of(part) else [_item(part, keys)])]
    like = like_of(batch)
    if like is not None:
        check_output(core.automaton, keys, like)
    return items


def like_of(batch: Any) -> Any:
    """Return the table whose shape the output of a list takes, if there is one in it."""
    return next((item for item in batch if kind_of(item)), None)


def shaped(out: Iterable[Any], core: Core, batch: Any, keys: Keys | None, net: bool) -> Any:
    """Return an operator's output in the shape of the batch that came in."""
    if not is_list(batch):
        return write(out, batch, core.automaton, keys, is_mixed(core, batch, keys))
    like = like_of(batch)
    return list(out) if like is None else _grouped(out, core, like, keys, net)


def is_mixed(core: Core, batch: Any, keys: Keys | None) -> bool:
    """Return whether a column ``kind`` says of each row whether it is an event (0), an arc (1) or a punctuation (2)."""
    schema = core.automaton.event_schema
    own = [*(field.name for field in schema.fields if schema), *(keys.columns if keys else ())] if schema else ["kind"]
    return "kind" not in own and "kind" in names_of(batch)


def _encoded(core: Core, batch: Any, keys: Keys | None, arcs: list[Arc]) -> Any:
    """Return the batch as the engine's own columns; None where it has none, or the batch must go row by row."""
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
    if not core.retractions and not _unbroken(core, columns, times, arcs):
        return None
    of_keys = [columns[name] for name in keys.names] if keys else None
    return encode(columns, times, arcs, core.window, of_keys, keys.single if keys else True)


def _unbroken(core: Core, columns: dict[str, Any], times: dict[str, Any], arcs: list[Arc]) -> bool:
    """Return whether no row breaks what was promised with a condition, or is a retraction: such ones go row by row."""
    try:
        events = np.asarray(times["kind"]) == EVENT if "kind" in times else True
        if "diff" in times and ((np.asarray(times["diff"]) < 0) & events).any():
            return False
        if core.progress.some <= core.progress.events:
            return True
        places = np.flatnonzero(np.asarray(times["le"]) < core.progress.some)
        if not len(places):
            return True
        schema = core.automaton.event_schema
        if arcs or schema is None:
            return False
        parts = [_picked(columns[field.name], places) for field in schema.fields]
        les = np.asarray(times["le"])[places].tolist()
        return not any(core.broken(schema.cls(*record), le) for record, le in zip(zip(*parts), les))
    except Exception:  # of a condition, or of columns that are none: told where the rows go one by one
        return False


def _picked(column: Any, places: Any) -> list[Any]:
    """Return some values of a column."""
    if type(column).__module__.startswith("pyarrow"):
        return column.take(places).to_pylist()  # type: ignore[no-any-return]
    return [column[i] for i in places.tolist()] if isinstance(column, list) else np.asarray(column)[places].tolist()


def _columns_of(core: Core, rows: Any, found: list[Hashable], keys: Keys | None) -> list[Any]:
    """Return the output log's rows, and their keys, as columns."""
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
    """Return the rows of a table as changes, in order."""
    if is_mixed(core, batch, keys):
        return _mixed_rows(core, batch, keys, arcs)
    return _event_rows(core, batch, keys)


def _event_rows(core: Core, batch: Any, keys: Keys | None, places: list[int] | None = None) -> list[tuple[str, Any, Hashable]]:
    """Return the rows of a table, or those at some places, as event changes."""
    schema = core.automaton.event_schema
    names = ["payload"] if schema is None else [field.name for field in schema.fields]
    clash = [name for name in names if name in TIMES]
    if clash:
        raise ChangeError(f"expected an event schema without a field {clash[0]!r}: in a table that is a column of its own")
    wanted = [*names, "le", *(keys.columns if keys else ())]
    columns = _columns(batch, wanted, {f.name: f for f in schema.fields} if schema else {}, places)
    le = columns["le"]
    n = len(le)
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
    """Return the rows of a table with a column ``kind``; the event's fields count in the rows of events only."""
    there = names_of(batch)
    times = {name: _listed(batch[name], name) for name in there if name in ("kind", "le", "re", "diff", "arc")}
    if "le" not in times:
        raise _missing("le", there)
    _check_lengths(times)
    kinds = times["kind"]
    for i, kind in enumerate(kinds):
        if isinstance(kind, bool) or not isinstance(kind, Real) or kind not in (EVENT, ARC, PUNCTUATION):
            raise ChangeError(f"expected kind 0 (event), 1 (arc) or 2 (punctuation) but got kind={kind!r} in row {i}")
    events = [i for i, kind in enumerate(kinds) if kind == EVENT]
    found: list[Any] = [None] * len(kinds)
    for i, item in zip(events, _event_rows(core, batch, keys, events)):
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


def _columns(batch: Any, wanted: list[str], fields: Mapping[str, Field], places: list[int] | None) -> dict[str, list[Any]]:
    """Columns as lists, of all rows or of those at some places."""
    there = names_of(batch)
    for name in [*wanted, *TIMES]:
        if there.count(name) > 1:
            raise ChangeError(f"expected one column {name!r} but got {there.count(name)} among the columns {', '.join(there)}")
    for name in wanted:
        if name not in there:
            raise _missing(name, there)
    given = {}
    columns = {}
    for name in [*wanted, *(name for name in ("re", "diff") if name in there)]:
        given[name] = column = batch.column(name) if kind_of(batch) == "arrow" else batch[name]
        if name in TIMES and getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m"):
            raise ChangeError(f"expected int ticks in column {name!r} but got a column of {column.dtype}")
        field = Field(name, int, name == "re") if name in TIMES else fields.get(name)
        pandas = kind_of(batch) == "pandas" and name != "payload"
        columns[name] = _from_pandas(column, field) if pandas else _listed(column, name)
    _check_lengths(columns)
    if places is not None:
        columns = {name: [column[i] for i in places] for name, column in columns.items()}
    for name in TIMES:
        if name in columns:
            _check_times(name, given[name], columns[name], places)
    return columns


def _missing(name: str, there: list[str]) -> ChangeError:
    return ChangeError(f"expected a column {name!r} but got the columns {', '.join(there) or 'none'}")


def _check_lengths(columns: Mapping[str, list[Any]]) -> None:
    n = len(columns["le"])
    uneven = [name for name, column in columns.items() if len(column) != n]
    if uneven:
        raise ChangeError(f"expected columns of one length but got {len(columns[uneven[0]])} in {uneven[0]!r}, {n} in 'le'")


def _listed(column: Any, name: str) -> list[Any]:
    kind = getattr(column, "type", None) or getattr(column, "dtype", None)
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            try:
                column = getattr(column, method)()
            except ODD as error:
                raise ChangeError(f"expected values that Python holds in column {name!r} of {kind} but got {error}") from error
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ChangeError(f"expected a column of values but got {name}={column!r}")
    return list(column)


def _from_pandas(column: Any, field: Field | None) -> list[Any]:
    """Return a pandas column with None for what is missing, and ints again where pandas made them floats to say that some are."""
    items: list[Any] = column.astype(object).tolist()
    if field is not None and not field.optional and column.dtype.kind == "f":
        return items  # a NaN in a float field is a NaN
    items = [None if missing else item for item, missing in zip(items, column.isna().tolist())]
    if field is not None and field.type is int and column.dtype.kind == "f":
        items = [int(i) if type(i) is float and i.is_integer() and abs(i) <= 2**53 else i for i in items]
    return items


def _check_times(name: str, column: Any, items: list[Any], places: list[int] | None) -> None:
    """Times are ticks: say so once for a column of dates, floats or strings, and where a null stands."""
    for i, item in zip(range(len(items)) if places is None else places, items):
        if type(item) is int or (item is None and name == "re"):
            continue
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            kind = getattr(column, "type", None) or getattr(column, "dtype", None) or type(item).__name__
            raise ChangeError(f"expected int ticks in column {name!r} but got {item!r} in row {i} (column of {kind})")


def prepared(core: Core, batch: Any, keys: Keys | None) -> Any:
    """Return a table of events as the engine's own columns, for `carried_out`; None where it must go row by row."""
    return _encoded(core, batch, keys, [])


def carried_out(core: Core, encoded: Any, then: Iterable[Punctuation], keys: Keys | None) -> tuple[list[Any], int | None]:
    """Carry out what is prepared, and the promises after it; the output's columns as `assemble` takes them, and the promise."""
    rows, found, promised = core.run_columns(encoded, then)
    return _columns_of(core, rows, found, keys), promised
