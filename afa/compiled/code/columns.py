"""Write the words of an event from the columns of a batch, in their one form: one NaN, no -0.0."""

from __future__ import annotations

from afa.compiled.code.emit import TYPES, ZEROS, Emitter, Value
from afa.compiled.code.layout import Layout, Slot
from afa.compiled.kernel import names as k

NAN = "0x7FF8000000000000"


def base_of(slot: Slot) -> str:
    """Return the kind of a field, by the name that `afa.compiled.code.emit` has for it."""
    assert slot.field.type is not None
    return slot.field.type.__name__


def write_event(e: Emitter, payload: Layout, event: str = "%event", line: str = "%line", re: str = "%re") -> None:
    """Write one event, of row ``line`` of the columns ``%at0``, ``%at1``, ..; its fields are known from there on."""
    e.store("i64", re, event, k.E_RE)
    e.store("i64", "1", event, k.E_COPIES)
    words = e.address(event, k.E_WORDS)
    for slot in payload.slots:
        base = base_of(slot)
        type_, present = TYPES[base], None
        if slot.width == 2:
            byte = e.let(f"getelementptr i8, ptr %at{slot.offset}, i64 {line}")
            present = e.let(f"icmp ne i8 {e.let(f'load i8, ptr {byte}')}, 0")
            e.store("i1", present, words, slot.offset)
        value = e.load(type_, f"%at{slot.value}", line)
        if base == "float":
            value = e.let(f"fadd double {value}, 0.0")
            value = e.let(f"select i1 {e.let(f'fcmp uno double {value}, {value}')}, double {NAN}, double {value}")
        if present is not None:
            value = e.let(f"select i1 {present}, {type_} {value}, {type_} {ZEROS[type_]}")
        e.store(type_, value, words, slot.value)
        e.known["e", slot.offset, slot.width] = Value(base, value, present)
