"""Carry out a call that brings tables: open them, give them to the engine as columns where they fit, return tables.

what came -> door -> parts: tables, and items (changes, punctuations)
                       -> steps: tables in the engine's own form, or their rows one by one      `steps`
                            -> Core.take -> Found, the output                                    `carry_out`
                                 -> a table, or a list of tables and punctuations                `answer`
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.engine import Batch, Logged
from afa.engine.logged import Cuts
from afa.errors import ChangeError
from afa.io.answer import MATCH, Answer, appended, filling, has_decimals, key_parts
from afa.io.event_batch import TIMES
from afa.io.listed_columns import listed, picked
from afa.io.table_times import TimeType, leaving, with_le, with_ticks
from afa.model.arc import Arc
from afa.operator.announced import Announcing
from afa.operator.arc_input import ArcSource
from afa.operator.call import Core
from afa.operator.event_input import check_alike
from afa.operator.members import MEMBERS, in_arrow
from afa.operator.table_rows import rows_of
from afa.schema import Field, Schema
from afa.state.plain import Unfit
from punctuation.door import Table, is_row, table_of
from punctuation.promise import Punctuation
from punctuation.reading import EVENT
from punctuation.time import BEGINNING

SHAPES = 64
"""How many shapes of tables an operator remembers."""

Item = tuple[str, Any, Hashable]
"""A port ("event" or "arc"), the change or punctuation that came there, and its key."""


class CallInput(NamedTuple):
    """The input of one call: its parts in order of arrival, and the first table (None: there is none), whose kind the output takes.

    ``listed``: the input was a list, not a single table; ``arcs``: those that a column ``arc`` refers to by number.
    """

    parts: Sequence[Any]
    like: Table | None = None
    listed: bool = True
    arcs: Sequence[Arc] = ()


class CallOutput(NamedTuple):
    """The output of a call; ``promises``: how many rows stand before each punctuation, and its time."""

    rows: Logged
    promises: list[tuple[int, int]]

    @classmethod
    def of(cls, out: Iterable[Any], shown: Schema) -> CallOutput:
        """Make it of changes that show these fields, and of punctuations."""
        changes: list[Change] = []
        promises = []
        for item in out:
            if isinstance(item, Punctuation):
                promises.append((len(changes), item.t))
            else:
                changes.append(item)
        return cls(Logged.of(changes, shown), promises)

    def parts(self) -> Iterator[Any]:
        """Return rows with their keys, and punctuations, as they follow on each other."""
        low, n = 0, len(self.rows.le)
        for high, t in self.promises:
            if low < high:
                yield self.rows if high - low == n else self.rows.part(low, high)
            yield Punctuation(t)
            low = high
        if low < n:
            yield self.rows if low == 0 else self.rows.part(low, n)


class TableShape(NamedTuple):
    """What the names of a table's columns mean to an operator.

    mixed    whether a column ``kind`` says of each row whether it is an event (0), an arc (1) or a punctuation (2)
    wanted   the columns that the engine takes: the event's fields, the key's, ``times``; None: rows go one by one
    out      the columns of the output
    timed    the columns of the table that may hold timestamps, which are read as ticks
    texts    the event's fields that are texts
    twice    a name that two columns of the output would have
    """

    mixed: bool
    wanted: list[Field] | None
    times: Sequence[str]
    out: list[Field]
    timed: Sequence[str]
    texts: Collection[str] = ()
    twice: str | None = None


def shape_of(core: Core, table: Table) -> TableShape:
    names = tuple(table.names)
    found: TableShape | None = core.shapes.get(names)
    if found is None:
        if len(core.shapes) >= SHAPES:
            core.shapes.clear()
        found = core.shapes[names] = _shape(core, names)
    return found


def takes_columns(core: Core, columns: dict[str, Any]) -> bool:
    """Return whether columns of these names go to the engine as they are. Raises `ChangeError` where names clash."""
    table = table_of(columns)
    if table is None:
        return False
    _check_names(core, table)
    return shape_of(core, table).wanted is not None


def _check_names(core: Core, table: Table) -> None:
    """Raise `ChangeError` where two columns of the output would have one name."""
    twice = shape_of(core, table).twice
    if twice is not None:
        raise ChangeError(
            f"expected columns of different names in the output but got {twice!r} twice: "
            f"rename the field of {core.shown.describe()}"
        )


def _shape(core: Core, there: tuple[str, ...]) -> TableShape:
    schema, keys, register = core.automaton.event_schema, core.keys, core.shown
    fields = schema.fields if schema else ()
    known = {field.name: field for field in fields}
    came = {field.name: field for field in (core.taken.fields if core.taken else ())}  # before a stage, which may drop some
    own = {*known, *came, *(keys.columns if keys else ())}
    mixed = schema is not None and "kind" in there and "kind" not in own
    labels = keys.labels if keys else ()
    out = [known.get(label, came.get(label, Field(label, None, True))) for label in labels]
    out += [*register.fields, *(Field(name, int, False) for name in TIMES)]
    out += [Field(MEMBERS, None, True)] if core.members is not None else []
    taken = core.taken.fields if core.taken else ()
    ints = ["le", "re", *(field.name for field in taken if field.type is int)]
    timed = [name for name in dict.fromkeys(ints) if there.count(name) == 1]
    names = [field.name for field in out]
    twice = next((name for name in names if names.count(name) > 1), None)
    of_key = keys.names if keys else ()
    given = [field for field in fields if schema is None or field.name != schema.instant or field.name in there]
    needed = {*(field.name for field in given), *of_key, "le"}
    fit = known.keys().isdisjoint(TIMES) and len(set(there)) == len(there) and needed.issubset(there)
    if not fit or (keys is not None and keys.function is not None):
        return TableShape(mixed, None, (), out, timed, (), twice)
    times = [name for name in TIMES if name in there]
    times += [name for name in ("kind", "arc") if mixed and name in there and name not in known]
    wanted = [*given, *(Field(name, None, True) for name in of_key), *(Field(name, int, name == "re") for name in times)]
    return TableShape(mixed, wanted, times, out, timed, {field.name for field in given if field.type is str}, twice)


def found_of(core: Core, come: CallInput, net: bool) -> CallOutput:
    """Carry out a call that brings tables."""
    if core.by_rows(net) and not (net and _in_future(core, come)):
        return CallOutput.of(core.run(items_of(core, come), net), core.shown)
    return carry_out(core, steps(core, come), net)


def _in_future(core: Core, come: CallInput) -> bool:
    """Return whether a call touches no match in force: it has promises, and tables of events behind all that was seen."""
    if not isinstance(core.told, Announcing):
        return False
    if core.automaton.choice is not None:  # a row may change which match is shown that ends before it
        return False
    return all(_behind_all(core, part) for part in come.parts)


def _behind_all(core: Core, part: Any) -> bool:
    if not isinstance(part, Table):
        return isinstance(part[1], Punctuation) and part[0] == "event"
    try:
        le = np.asarray(part.column("le"))
    except Exception:  # told where the rows go one by one
        return False
    return not shape_of(core, part).mixed and le.dtype.kind == "i" and (not len(le) or int(le.min()) >= core.progress.now)


# -- in ----------------------------------------------------------------------------------------------------------------------------


def opened(core: Core, batch: Any, arcs: Sequence[Arc] = (), le: str = "le") -> CallInput:
    """Open the input of one call; ``le`` names the column that holds LE.

    Refuse what is neither a list nor a table, and a table like which the output can't be written.
    """
    listed = isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")
    parts = [_part(core, part, le) for part in batch] if listed else [opened_table(core, batch, le)]
    if not listed and parts[0] is None:
        raise ChangeError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    like = next((part for part in parts if isinstance(part, Table)), None)
    if like is not None:
        _check_names(core, like)
        schema = core.shown
        if like.in_arrow and not schema.typed:
            raise ChangeError(f"expected scalar fields for an Arrow output but got {schema.describe()}: push columns instead")
    return CallInput(parts, like, listed, core.binder.all(arcs))


def _part(core: Core, part: Any, le: str) -> Any:
    if type(part) is Change:
        return _item(core, part, le)
    row = type(part) is dict and core.taken is not None and is_row(part)
    return (None if row else opened_table(core, part, le)) or _item(core, part, le)


def opened_table(core: Core, part: Any, le: str = "le") -> Table | None:
    """Open a table, its times as ticks; None if it is none."""
    table = table_of(part)
    if table is None:
        return None
    instant = None if core.taken is None else core.taken.instant
    if le != "le" or (instant is not None and "le" not in table.names):
        table = with_le(table, le if le != "le" or instant is None else instant)
    if core.tick is None:
        return table
    shape = shape_of(core, table)
    return with_ticks(table, core.tick, shape.timed, shape.mixed)


def _item(core: Core, item: Any, le: str = "le") -> Item:
    if type(item) is Punctuation and type(item.t) is int:
        return "event", item, None
    if type(item) is not Change or type(item.le) is not int or type(item.payload) is dict:
        if isinstance(item, ArcSource):
            return "arc", item, None
        item = core.in_form(item, le)
        if not isinstance(item, Change):
            return "event", item, None
    if isinstance(item.payload, Arc):
        return "arc", item, None
    return "event", item, core.key_of(item) if core.keys else None


def items_of(core: Core, come: CallInput, messages: bool = False) -> Iterator[Item]:
    """Return the input of one call one by one: the rows of its tables, and its items; ``messages``: see `rows_of`."""
    for part in come.parts:
        if isinstance(part, Table):
            rows = rows_of(core, part, come.arcs, shape_of(core, part).mixed, messages)
            yield from core.ids.with_beside(rows, part) if messages else rows
        else:
            yield part


def steps(core: Core, come: CallInput) -> Iterator[Any]:
    """Return the input of one call in the form of `Core.take`: tables in the engine's form, or row by row; items."""
    for place, part in enumerate(come.parts):
        if isinstance(part, Table):
            yield step_of(core, part, come.arcs, _promised(come.parts, place + 1) if isinstance(come.parts, list) else BEGINNING)
        else:
            yield part


def step_of(core: Core, table: Table, arcs: Sequence[Arc] = (), promised: int = BEGINNING) -> Any:
    """Return a table in the engine's form, or its rows. ``promised`` is the promise for all events that stands right behind it."""
    shape = shape_of(core, table)
    try:
        encoded = _encoded(core, table, shape, arcs)
        return encoded if promised == BEGINNING else encoded.promised(promised)
    except Unfit:
        return rows_of(core, table, arcs, shape.mixed)


def _promised(parts: Sequence[Any], place: int) -> int:
    """Return what the punctuations at a place of a list and right behind it promise, of all events."""
    promised = BEGINNING
    for i in range(place, len(parts)):
        item = None if isinstance(parts[i], Table) else parts[i][1]
        if not isinstance(item, Punctuation) or item.where is not None or type(item.t) is not int:
            break
        promised = max(promised, item.t)
    return promised


def _encoded(core: Core, table: Table, shape: TableShape, arcs: Sequence[Arc]) -> Batch:
    """Return the table in the engine's own form. Raises `Unfit` if it must go row by row."""
    if shape.wanted is None or (shape.mixed and core.arcs.log is not None):  # whose names no row may change
        raise Unfit
    found, schema, low = table.take(shape.wanted), core.automaton.event_schema, len(shape.wanted) - len(shape.times)
    keys = core.keys
    n = low - (len(keys.names) if keys else 0)
    columns = {field.name: column for field, column in zip(shape.wanted, found[:n])}
    times = dict(zip(shape.times, found[low:]))
    if schema is not None and schema.instant is not None and columns.setdefault(schema.instant, times["le"]) is not times["le"]:
        _check_same(columns[schema.instant], times["le"])
    if not core.retractions:
        _check_unbroken(core, columns, times, arcs)
    if core.rows_alike and core.window is not None and "re" in times:
        check_alike(times["le"], times["re"], core.window)
    of_keys = None
    if keys:  # a text that is a field, too, is the same column, so that it need not be looked at twice
        of_keys = [columns[name] if name in shape.texts else column for name, column in zip(keys.names, found[n:low])]
    encoded: Batch = core.encoded(columns, times, of_keys, arcs)
    return encoded


def _check_same(column: Any, le: Any) -> None:
    """Raise `Unfit` if a column does not say what ``le`` says: rows that go one by one tell where."""
    try:
        same = (np.asarray(column) == np.asarray(le)).all()
    except Exception as error:
        raise Unfit from error
    if not same:
        raise Unfit


def _check_unbroken(core: Core, columns: dict[str, Any], times: dict[str, Any], arcs: Sequence[Arc]) -> None:
    """Raise `Unfit` if a row breaks what was promised with a condition, or is a retraction: such ones go row by row."""
    try:
        events = np.asarray(times["kind"]) == EVENT if "kind" in times else True
        if "diff" in times and ((np.asarray(times["diff"]) < 0) & events).any():
            raise Unfit
        if core.progress.some <= core.progress.events:
            return
        places = np.flatnonzero(np.asarray(times["le"]) < core.progress.some)
        if not len(places):
            return
        schema = core.automaton.event_schema
        if arcs or schema is None:
            raise Unfit
        parts = [listed(picked(columns[field.name], places)) for field in schema.fields]
        les = np.asarray(times["le"])[places].tolist()
        if any(core.conditions.broken(schema.cls(*record), le) for record, le in zip(zip(*parts), les)):
            raise Unfit
    except Exception as error:  # of a condition, or of columns that are none: told where the rows go one by one
        raise Unfit from error


# -- the call ----------------------------------------------------------------------------------------------------------------------


def carry_out(core: Core, taken: Iterable[Any], net: bool) -> CallOutput:
    """Carry out the `steps` of one call, each of which is requested only when those before it are done.

    With ``net`` the output is one minimal difference and at most one punctuation; else what each change on its own would have
    given.
    """
    before = core.progress.output
    cuts = None if net else Cuts(before)
    if cuts is None:
        core.take(taken)
    else:
        _take_each(core, taken, cuts)
    rows = core.logged(cuts)
    if cuts is not None:
        return CallOutput(rows, cuts.promises)
    after = core.progress.output
    return CallOutput(rows, [(len(rows.le), after)] if after > before else [])


def _take_each(core: Core, taken: Iterable[Any], cuts: Cuts) -> None:
    """Carry out steps one by one, and each row of a table on its own."""
    for step in taken:
        if type(step) is not tuple and type(step) is not list:
            core.take_columns(step, cuts)
            continue
        for item in [step] if type(step) is tuple else step:
            core.take([item])
            cuts.after(core.engine.cut(), core.progress.output)


# -- out ---------------------------------------------------------------------------------------------------------------------------


def answer(found: CallOutput, come: CallInput, core: Core, net: bool) -> Any:
    """Return the output of a call with tables in the form of its input: a table; or a list, a net one begins with a table."""
    like = come.like
    assert like is not None
    if not come.listed:
        promised = max((t for _, t in found.promises), default=None)
        return assemble(found.rows, like, core, shape_of(core, like).mixed, promised)
    out = [part if isinstance(part, Punctuation) else assemble(part, like, core) for part in found.parts()]
    if not len(found.rows.le) and (net or not out):
        out.insert(0, assemble(found.rows, like, core))
    return out


def assemble(rows: Logged, like: Table, core: Core, mixed: bool = False, promised: int | None = None) -> Any:
    """Return output as a table like the input: columns of the key, the register's fields, ``le``, ``re``, ``diff``.

    ``mixed``: with a column ``kind``, and a row for the punctuation ``promised``.
    """
    fields, keys = shape_of(core, like).out, core.keys
    of_key = [] if keys is None else key_parts(rows.keys, keys)
    columns: list[Any] = [*of_key, *rows.fields, rows.le, rows.re, rows.diff]
    members = core.members
    if members is not None:
        columns.append(rows.members or [None] * len(rows.le))
    if mixed:
        fields = [*fields, Field("kind", int, False)]
        columns.append(np.full(len(rows.le), MATCH))
        if promised is not None:
            columns = [appended(column, filling(field, promised, like)) for column, field in zip(columns, fields)]
    times = TimeType.of(like, core.tick)
    if members is not None and like.in_arrow:
        arcs = [event.arc for event in core.arcs.table.events]
        place = len(fields) - 1 - mixed
        columns[place] = in_arrow(columns[place], members, arcs, times)
    leave = leaving(times, like.kind, core.shown, core.automaton.event_schema, keys.labels if keys else ())
    given = {} if keys is None else {name: like.column(name) if name in keys.columns else None for name in keys.labels}
    came = [field.name for field in fields if field.name in given and field.type is float and field.name in like.names]
    given |= {name: column for name in came if has_decimals(column := like.column(name))}
    return Answer(columns, fields, given, leave).to(like)
