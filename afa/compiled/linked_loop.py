"""The loops of `afa.compiled.kernel.row_loop` and `lane_loop` for one automaton: its own `write_event` and `step` in the holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from afa.compiled.code.arc_code import ends
from afa.compiled.code.arithmetic import canonical
from afa.compiled.code.emit import TYPES, ZEROS, Emitter, Value
from afa.compiled.code.payload_layout import FieldSlot, Layout
from afa.compiled.code.step_function import HEAD, SlotClass, put_step, put_unchanged, text_of, told
from afa.compiled.kernel import lane_loop, lane_scan, row_loop
from afa.compiled.kernel import layout as k
from afa.compiled.linked import HoleCode, Linked, pointers


def linked_loop(classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, start: int = 0) -> Linked:
    """Return the loop for classes in the order of the slots; computations begin in state ``start``."""
    values = {slot.value for slot in payload.slots}  # of other words bytes tell whether a value is there
    constants = {
        **_constants(classes, width, runs),
        "EVENT_WORDS": k.EventRow.payload + payload.width,
        "PAYLOAD": payload.width,
        "BYTES": sum(1 << word for word in range(payload.width) if word not in values),
    }
    return Linked(
        row_loop.loop, _key(classes, width, payload, runs, start), constants, _holes(classes, width, payload, runs, start)
    )


def linked_lanes(
    classes: Sequence[SlotClass], width: int, shown: int, payload: Layout, runs: bool, waits: bool, longest: bool
) -> Linked:
    """Return the loop over lanes; ``shown``: how many words of a register a match shows, ``waits``: whether there are time-outs."""
    key = f"{shown} {int(waits)} {int(longest)} {_key(classes, width, payload, runs, 0)}"
    skips = Counter(c.state for c in classes if c.skip)
    # Whether rows may stay by one skip or another, or by an ignorable arc, or by a skip that takes note of what it passes.
    noted = any(c.skip and c.code.transfer is not None for c in classes)
    mixed = noted or any(n > 1 for n in skips.values()) or any(c.ignorable and not c.skip and c.state in skips for c in classes)
    few = {"EACH": lane_loop.LONGEST_EACH, "SHORT": lane_loop.LONGEST_SHORT} if longest else {}
    constants = {**few, "SHOWN": shown, "WAITS": int(waits), "LONGEST": int(longest), "SKIPS": 2 if mixed else int(bool(skips))}
    return Linked(
        lane_loop.lanes, key, _constants(classes, width, runs) | constants, _holes(classes, width, payload, runs, 0, k.Lane)
    )


def linked_scan(classes: Sequence[SlotClass], width: int, words: dict[str, int], payload: Layout) -> Linked:
    """Return the loop over lanes for an automaton that chooses; ``words``: constants of `afa.compiled.kernel.lane_scan`."""
    key = f"{words} {_key(classes, width, payload, False, 0)}"
    constants = {"ROW_WORDS": HEAD + width, **words}
    return Linked(lane_scan.chosen, key, constants, _holes(classes, width, payload, False, 0, k.Lane))


def _constants(classes: Sequence[SlotClass], width: int, runs: bool) -> dict[str, int]:
    return {"ROW_WORDS": HEAD + width, "WIDTH": width, "RUNS": int(runs), "UNASKED": ~told(classes)}


def _key(classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, start: int) -> str:
    kinds = ",".join(_base_of(slot) + "?" * (slot.width - 1) for slot in payload.slots)
    return f"{'runs' if runs else 'plain'} {start} {width} {kinds} {text_of(classes)}"


def _holes(
    classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, start: int, record: Any = k.Loop
) -> Callable[[], dict[str, HoleCode]]:
    return lambda: {
        "write_event": _write_event(classes, payload, runs, start, record),
        "step": _step(classes, width, runs, start, record is k.Lane),
    }


def _write_event(classes: Sequence[SlotClass], payload: Layout, runs: bool, start: int, record: Any) -> HoleCode:
    e = Emitter({})
    pointers(e, "x", "event")
    words = {"slots": record.slots} | {f"at{word}": record.payload + word for word in range(payload.width)}
    for name, word in words.items():  # the same in all rows: LLVM reads them before the loop
        e.line(f"%{name} = load ptr, ptr {e.address('%x', word)}, align 8, !invariant.load !1")
    _put_event(e, payload)
    e.line(f"%ev = getelementptr i64, ptr %event, i64 {k.EventRow.payload}")
    e.branch(e.let("icmp ne i64 %asked, 0"), "asked.for", "done.with")
    e.place("asked.for")
    e.line(f"ret i64 {put_unchanged(e, classes, start) if runs else 0}")
    e.place("done.with")
    e.line("ret i64 0")
    return HoleCode(e, "i64 %x.word, i64 %event.word, i64 %line, i64 %re, i64 %asked")


def _step(classes: Sequence[SlotClass], width: int, runs: bool, start: int, skips_marked: bool) -> HoleCode:
    e, stride = Emitter({}), 8 * (HEAD + width)
    pointers(e, "ev", "src", "begin", "out", "last", "slots")
    e.line("%stays = alloca i64")
    e.store("i64", "0", "%stays")
    classes = classes if runs else [c._replace(ignorable=False) for c in classes]
    put_step(e, classes, width, start, runs, skips_marked)
    size = e.let(f"sub i64 {e.let('ptrtoint ptr %end to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    count = e.let(f"sdiv exact i64 {size}, {stride}")
    stayed = e.let(f"shl i64 {e.load('i64', '%stays')}, {row_loop.STAYED}")
    e.line(f"ret i64 {e.let(f'or i64 {stayed}, {count}')}")
    ends(e, ask=-1, full=-2)
    words = "i64 %ev.word, i64 %re, i64 %le, i64 %src.word, i64 %n, i64 %begin.word, i64 %out.word, i64 %last.word, i64 %slots.word"
    return HoleCode(e, words)


def _base_of(slot: FieldSlot) -> str:
    """Return the kind of a field, by the name that `afa.compiled.code.emit` has for it."""
    assert slot.field.type is not None
    return slot.field.type.__name__


def _put_event(e: Emitter, payload: Layout) -> None:
    """Write one event, of row ``%line`` of the columns ``%at0``, ``%at1``, ..: with one NaN, no -0.0, 0 for what is not there."""
    e.store("i64", "%re", "%event", k.EventRow.re)
    e.store("i64", "1", "%event", k.EventRow.copies)
    words = e.address("%event", k.EventRow.payload)
    for slot in payload.slots:
        base = _base_of(slot)
        type_, present = TYPES[base], None
        if slot.width == 2:
            byte = e.let(f"getelementptr i8, ptr %at{slot.offset}, i64 %line")
            present = e.let(f"icmp ne i8 {e.let(f'load i8, ptr {byte}')}, 0")
            e.store("i1", present, words, slot.offset)
        value = e.load(type_, f"%at{slot.value}", "%line")
        if base == "float":
            value = canonical(e, value)
        if present is not None:
            value = e.let(f"select i1 {present}, {type_} {value}, {type_} {ZEROS[type_]}")
        e.store(type_, value, words, slot.value)
        e.known["e", slot.offset, slot.width] = Value(base, value, present)
