"""The numbers of an `Ids` in its snapshot, and back: all that is read is checked.

[ids, version, remember, kind of versions, repeats, superseded, promise, latest LE seen, entries, contents]
entries     [[id..], [state..], [place..], [until..], [version..] or null]; of an id in force until is the LE of its event
contents    by place: ["rows", an Arrow stream] or ["changes", as in `speculation.stage_state`]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from afa.errors import SnapshotError
from afa.model.copies import as_plain, as_total
from afa.operator.plain_data import reading
from afa.schema import any_payload
from afa.state.key_columns import KeyColumns
from afa.state.sound import wanted
from punctuation.door import table_of
from punctuation.time import BEGINNING, as_time
from speculation import id_layout as k
from speculation import stage_state as saved

KINDS = (None, "int", "float", "text", "time")


def numbers_of(stage: Any) -> list[Any]:
    """Return all that an `Ids` knows as plain data; it is tidied up."""
    entries, versioned = stage.entries, stage.version is not None
    lines, of = entries.t[entries.known()], k.IdSlot
    lines = lines[np.lexsort(lines.T[::-1] if entries.numbers is None else lines.T)]
    held = lines[:, of.held]
    versions = lines[:, of.version].tolist() if versioned else None
    if versions is not None and stage.kind.said == "text":
        versions = [entries.texts[i] for i in versions]
    words = lines[:, of.name]
    ids = words.tolist() if entries.numbers is None else list(entries.numbers.names_of(words))
    found = [ids, (held & k.STATE).tolist(), (held >> 2).tolist(), lines[:, of.until].tolist(), versions]
    parts = [["changes", saved.columns_of(p)] if type(p) is list else ["rows", saved.stream_of(p)] for p in stage.rows.parts]
    counts = list(map(as_plain, (stage.repeats, stage.superseded)))
    said = [list(stage.names), stage.version, stage.remember, stage.kind.said]
    return [*said, *counts, stage.promise, stage.seen, found, parts]


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
    (ids, states, places, until, versions), parts = numbers[-2:]
    columns = [states, places, until, *([] if stage.version is None else [versions])]
    wanted("columns of one length", all(isinstance(c, list) and len(c) == len(ids) for c in columns), numbers[-2])
    wanted("versions where there are some", stage.version is not None or versions is None, versions)
    ints = [*states, *places, *until]
    wanted("ints", all(type(value) is int for value in ints), "others")
    for kind, content in parts:
        wanted("rows or changes", kind in ("rows", "changes"), kind)
        if kind == "rows":
            stage.rows.add_rows(rows_in(content))
        else:
            for change in changes_in(content):
                stage.rows.add_change(change)
    _fill(stage, ids, np.array([states, places, until], np.int64).reshape(3, -1), versions)


def _fill(stage: Any, ids: list[Any], columns: Any, versions: Any) -> None:
    states, places, until = columns
    entries, of = stage.entries, k.IdSlot
    for name in ids:
        parts = (name,) if stage.single else name
        fits = stage.single or (isinstance(name, tuple) and len(name) == len(stage.names))
        wanted("ids", fits and None not in parts and any_payload(name) == name, name)
    entries.m[[k.IdCall.promise, k.IdCall.horizon]] = stage.promise, max(BEGINNING, stage.promise - stage.remember)
    if ids and entries.fix(all(type(name) is int for name in ids)):
        words = np.array(ids, np.int64)
    else:
        words = np.array([], np.int64) if not ids else entries.numbers.numbers_of_keys(KeyColumns.of([*ids]))
    wanted("each id once", len(np.unique(words)) == len(ids), "one twice")
    wanted("states of ids", ((states >= k.IN_FORCE) & (states <= k.WAITING)).all(), "others")
    wanted("ids that are remembered", (until >= entries.m[k.IdCall.horizon]).all(), "others")
    holds = states == k.IN_FORCE if stage.version is not None else states != k.WAITING
    held = places
    fits = np.array_equal(np.sort(held[holds]), np.arange(len(stage.rows))) and not held[~holds].any()
    wanted("a content of each id", fits, "others")
    lines = np.zeros((len(ids), entries.t.shape[1]), np.int64)
    lines[:, of.held], lines[:, of.until] = held << 2 | states, until
    begins = stage.rows.les
    wanted("the times of events", np.array_equal(until[states == k.IN_FORCE], begins[held[states == k.IN_FORCE]]), "others")
    if stage.version is not None:
        lines[:, of.version] = _words(stage, versions)
    if stage.holds_ids:
        names = stage.rows.names(stage.names, stage.name_of)
        mine = [names[place] for place in held[holds].tolist()]
        wanted("the ids of contents", mine == [ids[i] for i in np.flatnonzero(holds).tolist()], "others")
    entries.take(words, lines, len(stage.rows))


def _words(stage: Any, versions: list[Any]) -> Any:
    if stage.kind.said == "text":
        wanted("texts", all(type(text) is str for text in versions), "others")
        stage.entries.texts = versions
        return np.arange(len(versions))
    wanted("versions", all(type(word) is int for word in versions), "others")
    return np.array(versions, np.int64)


def table_in(stream: Any) -> Any:
    """Return the table of an Arrow stream, as one that stands alone has it."""
    return saved.rows_of(stream, lambda table: table.columns if table_of(table) is not None else None)


def no_changes(data: Any) -> Any:
    raise SnapshotError(f"expected rows in a stage that stands alone but got {data!r}")
