"""What an `Ids` remembers, as columns: in its snapshot as plain data, and back. All that is read is checked.

[ids, version, remember, kind of versions, repeats, superseded, promise, latest LE seen, entries, contents]
entries     [keys, ints (states), ints (places), ints (until), versions or null], as `afa.state.packed` has keys and ints;
            of an id in force until is the LE of its event
contents    by place: ["rows", an Arrow stream] or ["changes", as in `speculation.stage_state`]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import SnapshotError
from afa.model.copies import as_plain, as_total
from afa.operator.plain_data import reading
from afa.schema import any_payload
from afa.state.canonical import order_of_keys
from afa.state.key_columns import KeyColumn, KeyColumns, chained, texts_of
from afa.state.packed import pack_column, pack_ints, pack_keys, read_column, read_ints, read_keys
from afa.state.sound import wanted
from punctuation.door import table_of
from punctuation.time import BEGINNING, as_time
from speculation import id_layout as k
from speculation import stage_state as saved

KINDS = (None, "int", "float", "text", "time")


class IdColumns(NamedTuple):
    """The ids that are remembered, as columns."""

    ids: KeyColumns
    states: Any
    places: Any  # of contents; 0 where there is none
    until: Any
    versions: KeyColumn | None  # words or texts

    def take(self, at: Any) -> IdColumns:
        """Return the ids at places, an array."""
        versions = None if self.versions is None else self.versions.take(at)
        return IdColumns(self.ids.take(at), self.states[at], self.places[at], self.until[at], versions)

    def holds(self, versioned: bool) -> Any:
        """Return which ids have a content."""
        return self.states == k.IN_FORCE if versioned else self.states != k.WAITING


def columns_of(stage: Any) -> IdColumns:
    """Return the ids of an `Ids` that is tidied up, in their canonical order."""
    entries, of = stage.entries, k.IdSlot
    lines = entries.t[entries.known()]
    words = lines[:, of.name]
    ids = KeyColumns(0, [KeyColumn(int, words)]) if entries.numbers is None else entries.numbers.names_of(words).normal()
    versions = None if stage.version is None else KeyColumn(int, lines[:, of.version])
    if stage.kind.said == "text":
        versions = KeyColumn(str, texts_of([entries.texts[i] for i in lines[:, of.version].tolist()]))
    held = lines[:, of.held]
    return IdColumns(ids, held & k.STATE, held >> 2, lines[:, of.until], versions).take(order_of_keys(ids))


def numbers_of(stage: Any) -> list[Any]:
    """Return all that an `Ids` knows as plain data; it is tidied up."""
    parts = [["changes", saved.columns_of(p)] if type(p) is list else ["rows", saved.stream_of(p)] for p in stage.rows.parts]
    counts, of = list(map(as_plain, (stage.repeats, stage.superseded))), columns_of(stage)
    said = [list(stage.names), stage.version, stage.remember, stage.kind.said]
    versions = None if of.versions is None else pack_column(of.versions)
    entries = [pack_keys(of.ids), *map(pack_ints, (of.states, of.places, of.until)), versions]
    return [*said, *counts, stage.promise, stage.seen, entries, parts]


@reading("the numbers of an Ids")
def stage_of(numbers: list[Any], make: Callable[..., Any]) -> Any:
    """Make the stage of a snapshot, which knows no id yet."""
    names, version, remember, kind, repeats, superseded, promise, seen, _, _ = numbers
    wanted("the names of fields", isinstance(names, list) and all(type(name) is str for name in names), names)
    wanted("the name of a version", version is None or type(version) is str, version)
    wanted("a kind of versions", kind in KINDS and (kind is None or version is not None), kind)
    stage = make(names, version=version, on_repeat=None if version is None else "update", remember=as_total(remember))
    stage.kind.said = kind
    stage.repeats, stage.superseded = as_total(repeats), as_total(superseded)
    stage.promise, stage.seen = as_time(promise, "promise"), as_time(seen, "seen")
    wanted("counts", min(stage.repeats, stage.superseded) >= 0, numbers[4:6])
    return stage


@reading("the ids of an Ids")
def fill(stage: Any, numbers: list[Any], rows_in: Callable[[bytes], Any], changes_in: Callable[[Any], Any]) -> None:
    """Let a stage know the ids of a snapshot; ``rows_in`` and ``changes_in`` read contents, and check them."""
    (ids, *ints, versions), parts = numbers[-2:]
    keys = read_keys(ids)
    states, places, until = (read_ints(column, len(keys)) for column in ints)
    wanted("versions where there are some", (versions is not None) == (stage.version is not None), versions)
    if versions is not None:
        name = "str" if stage.kind.said == "text" else "int"
        versions = KeyColumn(str if name == "str" else int, read_column(name, versions, len(keys)))
    for kind, content in parts:
        wanted("rows or changes", kind in ("rows", "changes"), kind)
        if kind == "rows":
            stage.rows.add_rows(rows_in(content))
        else:
            for change in changes_in(content):
                stage.rows.add_change(change)
    put(stage, IdColumns(keys, states, places, until, versions))


def put(stage: Any, of: IdColumns) -> None:
    """Let a stage that has the contents, and knows no id yet, know these ids."""
    entries, slot, ids, states, until = stage.entries, k.IdSlot, of.ids, of.states, of.until
    if len(ids):
        fits = ids.width == (0 if stage.single else len(stage.names))
        wanted("ids", fits and not any(map(_has_none, ids.columns)), list(ids[:7]))
    wanted("states of ids", ((states >= k.IN_FORCE) & (states <= k.WAITING)).all(), "others")
    entries.m[[k.IdCall.promise, k.IdCall.horizon]] = stage.promise, max(BEGINNING, stage.promise - stage.remember)
    wanted("ids that are remembered", (until >= entries.m[k.IdCall.horizon]).all(), "others")
    words: Any = np.array([], np.int64)
    if len(ids):
        direct = not ids.width and ids.columns[0].kind is int
        words = ids.columns[0].values if entries.fix(direct) else entries.numbers.numbers_of_keys(ids)
    wanted("each id once", len(np.unique(words)) == len(ids), "one twice")
    holds = of.holds(stage.version is not None)
    held = of.places[holds]
    wanted(
        "a content of each id", np.array_equal(np.sort(held), np.arange(len(stage.rows))) and not of.places[~holds].any(), "others"
    )
    lines = np.zeros((len(ids), entries.t.shape[1]), np.int64)
    lines[:, slot.held], lines[:, slot.until] = of.places << 2 | states, until
    forced = states == k.IN_FORCE
    wanted("the times of events", np.array_equal(until[forced], stage.rows.les[of.places[forced]]), "others")
    if of.versions is not None and of.versions.kind is str:
        entries.texts, lines[:, slot.version] = of.versions.tolist(), np.arange(len(ids))
    elif of.versions is not None:
        lines[:, slot.version] = of.versions.values
    if stage.holds_ids and len(held):
        names = stage.rows.names(stage.names, stage.name_of)
        wanted("the ids of contents", ids.take(holds) == names.take(held).normal(), "others")
    entries.take(words, lines, len(stage.rows))


def part_of(stage: Any, at: Any) -> Any:
    """Return a stage of tables that knows the ids at some places of `columns_of`; counts go with the first part."""
    part, found = columns_of(stage).take(at), _new(stage)
    found.repeats, found.superseded, stage.repeats, stage.superseded = stage.repeats, stage.superseded, 0, 0
    holds = part.holds(stage.version is not None)
    if holds.any():
        found.rows.add_rows(stage.rows.take(part.places[holds]))
    put(found, part._replace(places=np.where(holds, np.cumsum(holds) - 1, 0)))
    return found


def joined(stages: Sequence[Any]) -> Any:
    """Return stages of tables, of different ids and one promise, as one."""
    first, parts, versioned = stages[0], [], stages[0].version is not None
    found = _new(first)
    found.kind.said = next((each.kind.said for each in stages if each.kind.said), None)
    found.seen = max(each.seen for each in stages)
    found.repeats, found.superseded = (sum(getattr(each, name) for each in stages) for name in ("repeats", "superseded"))
    for each in stages:
        part, begin = columns_of(each), len(found.rows)
        parts.append(part._replace(places=np.where(part.holds(versioned), part.places + begin, 0)))
        for rows in each.rows.parts:
            found.rows.add_rows(rows)
    ids, states, places, until, versions = zip(*parts)
    together = None if versions[0] is None else chained(versions)
    put(found, IdColumns(KeyColumns.concat(ids), chained(states), chained(places), chained(until), together))
    return found


def _new(stage: Any) -> Any:
    """Return a stage like one that is tidied up, which knows no id."""
    stage.tidy(True)
    found = type(stage)(stage.names, version=stage.version, on_repeat=stage.version and "update", remember=stage.remember)
    found.kind.said, found.promise, found.seen = stage.kind.said, stage.promise, stage.seen
    return found


def _has_none(column: KeyColumn) -> bool:
    values = column.values if column.kind is None else []
    return column.present is not None or any(value is None or any_payload(value) != value for value in values)


def table_in(stream: Any) -> Any:
    """Return the table of an Arrow stream, as one that stands alone has it."""
    return saved.rows_of(stream, lambda table: table.columns if table_of(table) is not None else None)


def no_changes(data: Any) -> Any:
    raise SnapshotError(f"expected rows in a stage that stands alone but got {data!r}")
