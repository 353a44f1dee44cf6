"""Carry out a call that brings tables: open them, give them to the engine as columns where they fit, return tables.

what came -> door -> parts: tables, and items (changes, punctuations)
                       -> steps: tables in the engine's own form, or their rows one by one      `steps`
                            -> Core.take -> Found, the output                                    `carry_out`
                                 -> a table, or a list of tables and punctuations                `answer`
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.cuts import Cuts
from afa.engine import Logged
from afa.errors import ChangeError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.keys import Keys, take_key
from afa.operator.call import Core
from afa.operator.table_out import TIMES, assemble, check_output
from afa.operator.table_rows import rows_of
from afa.schema import Field
from punctuation.door import Table, table_of
from punctuation.promise import Punctuation
from punctuation.reading import EVENT
from punctuation.time import BEGINNING

Item = tuple[str, Any, Hashable]
"""A port ("event" or "arc"), the change or punctuation that came there, and its key."""


class Come(NamedTuple):
    """The input of one call.

    Parameters
    ----------
    parts : sequence of Table and Item
        In order of arrival.
    like : Table or None
        The first table, whose kind the output takes; None: there is none.
    listed : bool
        Whether the input was a list, not a single table.
    arcs : sequence of Arc
        The arcs that the column ``arc`` refers to by number.
    """

    parts: Sequence[Any]
    like: Table | None = None
    listed: bool = True
    arcs: Sequence[Arc] = ()


class Found(NamedTuple):
    """The output of a call.

    Parameters
    ----------
    rows : Logged
    promises : list of (int, int)
        How many rows stand before a punctuation, and its time.
    """

    rows: Logged
    promises: list[tuple[int, int]]

    @classmethod
    def of(cls, out: Iterable[Any], automaton: Automaton) -> Found:
        """Make it of changes and punctuations."""
        changes: list[Change] = []
        promises = []
        for item in out:
            if isinstance(item, Punctuation):
                promises.append((len(changes), item.t))
            else:
                changes.append(item)
        return cls(Logged.of(changes, automaton), promises)

    def parts(self) -> Iterator[Any]:
        """Return rows with their keys, and punctuations, as they follow on each other."""
        low = 0
        for high, t in self.promises:
            if low < high:
                yield self.rows.part(low, high)
            yield Punctuation(t)
            low = high
        if low < len(self.rows.le):
            yield self.rows.part(low, len(self.rows.le))


def push_many(core: Core, batch: Any, keys: Keys | None, net: bool, arcs: Sequence[Arc]) -> Any:
    """Carry out `Operator.push_many` and `Keyed.push_many`. Output that can't be written fails the call, which leaves no trace."""
    come = opened(core, batch, keys, arcs)
    if come.like is None:
        return core.run(come.parts, net)
    return answer(carry_out(core, steps(core, come, keys), net), come, core, keys, net)


# -- in ----------------------------------------------------------------------------------------------------------------------------


def opened(core: Core, batch: Any, keys: Keys | None, arcs: Sequence[Arc] = ()) -> Come:
    """Open the input of one call.

    Raises
    ------
    ChangeError
        The input is neither a list nor a table, or its output could not be written in the same form.
    """
    listed = isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")
    parts = [table_of(part) or _item(part, keys) for part in batch] if listed else [table_of(batch)]
    if not listed and parts[0] is None:
        raise ChangeError(f"expected an Arrow table, a pandas frame, a dict of columns or a list but got {type(batch)!r}")
    like = next((part for part in parts if isinstance(part, Table)), None)
    if like is not None:
        check_output(core.automaton, keys, like)
    return Come(parts, like, listed, list(arcs))


def _item(item: Any, keys: Keys | None) -> Item:
    if isinstance(item, Change) and isinstance(item.payload, Arc):
        return "arc", item, None
    key = take_key(keys.of_change(item)) if keys and isinstance(item, Change) else None
    return "event", item, key


def is_mixed(core: Core, table: Table, keys: Keys | None) -> bool:
    """Return whether a column ``kind`` says of each row whether it is an event (0), an arc (1) or a punctuation (2)."""
    schema = core.automaton.event_schema
    own = [*(field.name for field in schema.fields if schema), *(keys.columns if keys else ())] if schema else ["kind"]
    return "kind" not in own and "kind" in table.names


def items_of(core: Core, come: Come, keys: Keys | None) -> Iterator[Item]:
    """Return the input of one call one by one: the rows of its tables, and its items."""
    for part in come.parts:
        if isinstance(part, Table):
            yield from rows_of(core, part, keys, come.arcs, is_mixed(core, part, keys))
        else:
            yield part


def steps(core: Core, come: Come, keys: Keys | None) -> Iterator[Any]:
    """Return the input of one call in the form of `Core.take`: tables in the engine's form, or row by row; items."""
    for place, part in enumerate(come.parts):
        if isinstance(part, Table):
            yield step_of(core, part, keys, come.arcs, _promised(come.parts, place + 1))
        else:
            yield part


def step_of(core: Core, table: Table, keys: Keys | None, arcs: Sequence[Arc] = (), promised: int = BEGINNING) -> Any:
    """Return a table in the engine's form, or its rows. ``promised`` is the promise for all events that stands right behind it."""
    encoded = encoded_of(core, table, keys, arcs)
    return rows_of(core, table, keys, arcs, is_mixed(core, table, keys)) if encoded is None else encoded.promised(promised)


def _promised(parts: Sequence[Any], place: int) -> int:
    """Return what the punctuations at a place of a list and right behind it promise, of all events."""
    behind = itertools.takewhile(_is_plain_promise, itertools.islice(parts, place, None))
    return max((promise.t for _, promise, _ in behind), default=BEGINNING)


def _is_plain_promise(part: Any) -> bool:
    return type(part) is tuple and isinstance(part[1], Punctuation) and part[1].where is None and type(part[1].t) is int


def encoded_of(core: Core, table: Table, keys: Keys | None, arcs: Sequence[Arc] = ()) -> Any:
    """Return the table in the engine's own form; None where it has none, or the table must go row by row."""
    if keys is not None and keys.function is not None:
        return None
    there, schema = table.names, core.automaton.event_schema
    fields = schema.fields if schema else ()
    names, of_key = {field.name for field in fields}, keys.names if keys else ()
    if not names.isdisjoint(TIMES) or len(set(there)) != len(there) or not {*names, *of_key, "le"}.issubset(there):
        return None
    special = [Field(name, int, name == "re") for name in TIMES if name in there]
    if is_mixed(core, table, keys):
        special += [Field(name, int, False) for name in ("kind", "arc") if name in there and name not in names]
    found = table.take([*fields, *special, *(Field(name, None, True) for name in of_key)])
    columns = {field.name: column for field, column in zip(fields, found)}
    times = {field.name: column for field, column in zip(special, found[len(fields) :])}
    if not core.retractions and not _unbroken(core, columns, times, arcs):
        return None
    of_keys = found[len(fields) + len(special) :] if keys else None
    return core.engine.encode(columns, times, list(arcs), core.window, of_keys, keys.single if keys else True)


def _unbroken(core: Core, columns: dict[str, Any], times: dict[str, Any], arcs: Sequence[Arc]) -> bool:
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
    if isinstance(column, np.ndarray):
        return column[places].tolist()  # type: ignore[no-any-return]
    return [column[i] for i in places.tolist()] if isinstance(column, list) else column.take(places).to_pylist()


# -- the call ----------------------------------------------------------------------------------------------------------------------


def carry_out(core: Core, taken: Iterable[Any], net: bool) -> Found:
    """Carry out the steps of one call.

    Parameters
    ----------
    taken : iterable
        The `steps`. Each is requested only when those before it are done.
    net : bool
        True: one minimal difference, and at most one punctuation. False: what each change on its own would have given.
    """
    before = core.progress.final
    cuts = None if net else Cuts(before)
    if cuts is None:
        core.take(taken)
    else:
        _take_each(core, taken, cuts)
    rows = core.logged(cuts)
    if cuts is not None:
        return Found(rows, cuts.promises)
    after = core.progress.final
    return Found(rows, [(len(rows.le), after)] if after > before else [])


def _take_each(core: Core, taken: Iterable[Any], cuts: Cuts) -> None:
    """Carry out steps one by one, and each row of a table on its own."""
    for step in taken:
        if type(step) is not tuple and type(step) is not list:
            core.engine.run_columns(step, core, cuts)
            continue
        for item in [step] if type(step) is tuple else step:
            core.take([item])
            cuts.after(core.engine.cut(), core.progress.final)


# -- out ---------------------------------------------------------------------------------------------------------------------------


def answer(found: Found, come: Come, core: Core, keys: Keys | None, net: bool) -> Any:
    """Return the output of a call with tables in the form of its input: a table, or a list."""
    assert come.like is not None
    if not come.listed:
        promised = max((t for _, t in found.promises), default=None)
        columns = found_columns(found.rows, keys)
        return assemble(columns, promised, come.like, core.automaton, keys, is_mixed(core, come.like, keys))
    return _tables_of(core, found, come.like, keys, net)


def _tables_of(core: Core, found: Found, like: Table, keys: Keys | None, net: bool) -> list[Any]:
    """Return an output as tables and punctuations; a net one always begins with a table, empty or not."""

    def table(rows: Logged) -> Any:
        return assemble(found_columns(rows, keys), None, like, core.automaton, keys, mixed=False)

    out = [part if isinstance(part, Punctuation) else table(part) for part in found.parts()]
    if not len(found.rows.le) and (net or not out):
        out.insert(0, table(found.rows))
    return out


def found_columns(rows: Logged, keys: Keys | None) -> list[Any]:
    """Return output as columns, in the order of `assemble`."""
    columns, found = [*rows.fields, rows.le, rows.re, rows.diff], rows.keys
    if keys is None:
        return columns
    if keys.single:
        return [found, *columns]
    return [*([list(part) for part in zip(*map(keys.parts, found))] or [[] for _ in keys.labels]), *columns]


def written(out: Iterable[Any], like: Table, automaton: Automaton, keys: Keys | None) -> Any:
    """Return the changes of an output as a table like another one; its punctuations are left out."""
    return assemble(found_columns(Found.of(out, automaton).rows, keys), None, like, automaton, keys, mixed=False)
