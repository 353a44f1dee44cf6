"""Write the words of an event from the columns of a batch, in their one form: one NaN, no -0.0; and those of its step."""

from __future__ import annotations

from afa.compiled.code.arithmetic import canonical
from afa.compiled.code.emit import TYPES, ZEROS, Emitter, Value
from afa.compiled.code.payload_layout import FieldSlot, Layout
from afa.compiled.kernel import layout as k


def base_of(slot: FieldSlot) -> str:
    """Return the kind of a field, by the name that `afa.compiled.code.emit` has for it."""
    assert slot.field.type is not None
    return slot.field.type.__name__


def write_event(e: Emitter, payload: Layout, event: str = "%event", line: str = "%line", re: str = "%re") -> None:
    """Write one event, of row ``line`` of the columns ``%at0``, ``%at1``, ..; its fields are known from there on."""
    e.store("i64", re, event, k.EventRow.re)
    e.store("i64", "1", event, k.EventRow.copies)
    words = e.address(event, k.EventRow.payload)
    for slot in payload.slots:
        base = base_of(slot)
        type_, present = TYPES[base], None
        if slot.width == 2:
            byte = e.let(f"getelementptr i8, ptr %at{slot.offset}, i64 {line}")
            present = e.let(f"icmp ne i8 {e.let(f'load i8, ptr {byte}')}, 0")
            e.store("i1", present, words, slot.offset)
        value = e.load(type_, f"%at{slot.value}", line)
        if base == "float":
            value = canonical(e, value)
        if present is not None:
            value = e.let(f"select i1 {present}, {type_} {value}, {type_} {ZEROS[type_]}")
        e.store(type_, value, words, slot.value)
        e.known["e", slot.offset, slot.width] = Value(base, value, present)


def write_step(e: Emitter, record: str, le: str, nodes: str, matches: str, reach: str) -> None:
    """Write the step of one row. Steps, places and events move on with the rows, so the row's number tells all of them."""
    step, slice_ = e.let(f"add i64 %steps, {record}"), e.let(f"add i64 %slices, {e.let(f'shl i64 {record}, 24')}")
    e.store("i64", step, "%orders", record)
    for column, value in (("le", le), ("events_of", slice_), ("nodes_of", nodes), ("matches_of", matches), ("reach", reach)):
        e.store("i64", value, f"%column_{column}", record)


def base_step(e: Emitter) -> None:
    """Say where the words of the step of row 0 would stand, and what they would be; ``%record0`` is the first row."""
    back = e.let("sub i64 0, %record0")
    e.line(f"%orders = getelementptr i64, ptr {e.load('ptr', '%x', k.Loop.order)}, i64 {back}")
    e.line(f"%column_le = getelementptr i64, ptr {e.load('ptr', '%x', k.Loop.times)}, i64 {back}")
    for column in ("events_of", "nodes_of", "matches_of", "reach"):
        words = e.let(f"mul i64 %cap, {getattr(k.Block, column) - k.Block.le}")
        e.line(f"%column_{column} = getelementptr i64, ptr %column_le, i64 {words}")
    e.line(f"%steps = add i64 {e.load('i64', '%x', k.Loop.step)}, {back}")
    e.line(f"%slices = add i64 {e.load('i64', '%x', k.Loop.slice)}, {e.let(f'shl i64 {back}, 24')}")
