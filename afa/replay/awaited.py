"""The witness that a gate waits for: its boxes asked of events and of rows, as plain data; and why there may be none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from afa.expression.intervals import Range
from afa.model.automaton import Automaton
from afa.replay.holding import rows_in
from afa.replay.witness import Box, Necessary
from afa.schema import Schema
from afa.state.sound import wanted
from punctuation.time import as_time

Asked = tuple[int, int, list[tuple[int, Callable[[Any], bool]]]]


def asked(boxes: Sequence[Box], events: Schema) -> list[Asked]:
    """Return of each box since, until, and of its fields their places in an event and what tells whether a value is in it."""
    places = {field.name: place for place, field in enumerate(events.fields)}
    return [(box.since, box.until, [(places[name], allowed.contains) for name, allowed in box.fields]) for box in boxes]


def rows_of(boxes: Sequence[Box], rows: Any, events: Schema) -> Any:
    """Return which rows, in the form of `speculation.event_columns`, are in one of the boxes."""
    names = {name for box in boxes for name, _ in box.fields}
    return rows_in(boxes, {name: _column(rows.column(name)) for name in names}, rows.column("le").to_numpy(), events)


def _column(column: Any) -> Any:
    """Return a column as `rows_in` takes it."""
    found = column.combine_chunks()
    found = pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        return found.dictionary_encode()
    return found if found.null_count else found.to_numpy(zero_copy_only=False)


def obstacle(core: Any, window: int | None) -> str | None:
    """Return why no gate can stand before an operator; None: one can, if there is a witness."""
    if window is None:
        return "there is no window: a run may be of any length"
    if core.gapless is not None:
        return "numbers are gapless: an event that is held would be a gap"
    if core.named is not None:
        return "events are known by their ids (id=), until the promise has passed them, which the gate delays"
    if core.progress.arc_punctuation:
        return "the arc input makes promises of its own, so that past matches may change behind the gate's"
    return None


def without_witness(found: Necessary) -> str:
    """Return why an automaton has no witness."""
    if not found.possible:
        return "no run is ever accepted"
    some = f"; the fences of {', '.join(map(repr, found.opaque))} can't be read" if found.opaque else ""
    return f"there is no event that each match must have and that not every event may be{some}"


def said(automaton: Automaton) -> Any:
    """Return by what an automaton is compared."""
    return automaton.start, automaton.final, automaton.arcs, automaton.register, automaton.event


def plain_boxes(boxes: Sequence[Box]) -> list[Any]:
    """Return boxes as plain data, which `as_boxes` reads."""
    return [[box.since, box.until, [[name, *allowed] for name, allowed in box.fields]] for box in boxes]


def as_boxes(data: Iterable[Any]) -> tuple[Box, ...]:
    """Return the boxes of plain data."""
    return tuple(
        Box(tuple(_field(*field) for field in fields), as_time(since, "since"), as_time(until, "until"))
        for since, until, fields in data
    )


def _field(name: Any, low: Any, high: Any, low_open: Any, high_open: Any, values: Any, nan: Any, none: Any) -> tuple[str, Range]:
    flags = {type(flag) for flag in (low_open, high_open, nan, none)} == {bool}
    numbers = {type(low), type(high)} <= {int, float}
    wanted("the range of a field", isinstance(name, str) and flags and numbers, name)
    return name, Range(low, high, low_open, high_open, None if values is None else tuple(values), nan, none)
