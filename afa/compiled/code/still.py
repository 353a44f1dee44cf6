"""Rows that leave the list as it is, in a loop of their own: little is at hand there, so that most of it is in registers.

Once a row has left the list as it is, most do: quotes that do not move; and where nothing has begun, few rows begin anything.
The loop takes rows that have no RE of their own, as `afa.compiled.code.in_order` would; at the first one that is another case it
goes on there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afa.compiled.code.columns import write_event, write_step
from afa.compiled.code.eight_rows import fetch
from afa.compiled.code.emit import Emitter
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import START, SlotClass, put_unchanged, told
from afa.compiled.kernel import layout as k

AHEAD = 12
"""So many rows before a row is taken its memory is asked for, where rows stand far apart."""


def put_still(e: Emitter, classes: Sequence[SlotClass], start: int, payload: Layout, moving: Mapping[str, str], runs: bool) -> None:
    """Go on in ``go_on`` with the variables ``moving``, which were ``%record_each`` and so on, by their own names.

    With ``runs``, the list before the row may stay if ``%open`` is not 0, and is OPEN then. Without, it stays where it is empty.
    """
    before, ask = dict(e.known), e.ask
    able = e.let("icmp eq i64 %re_mask, 0")
    if runs:
        others = e.let(f"and i64 %wanted, {~told(classes)}")
        known = e.let(f"and i1 {e.let(f'icmp eq i64 {others}, 0')}, {e.let('icmp ne i64 %open, 0')}")
    else:
        known, classes = e.let("icmp eq i64 %n, 0"), [c._replace(ignorable=False) for c in classes]
    e.branch(e.let(f"and i1 {able}, {known}"), "still_first", "go_on")
    e.place("still_first")
    window, until, wanted = e.load("i64", "%re_at"), "%bound", str(1 << START)
    if runs:
        near, wanted = e.let("icmp slt i64 %bound, %lowest"), "%wanted"
        until = e.let(f"select i1 {near}, i64 %bound, i64 %lowest")
    e.goto("still_each")
    e.place("still_each")
    for name, type_ in moving.items():
        e.line(f"%{name}_still = phi {type_} [%{name}_each, %still_first], [%{name}_next, %still_on]")
    e.branch(e.let("icmp slt i64 %record_still, %high"), "still_row", "still_end")
    e.place("still_row")
    ask_ahead(e, payload, "%record_still")
    line = line_of(e, "%record_still")
    le = e.load("i64", "%le_at", line)
    other = e.let(f"or i1 {e.let(f'icmp sle i64 {le}, %latest_still')}, {e.let(f'icmp sge i64 {le}, {until}')}")
    re = e.let(f"add i64 {window}, {e.let(f'and i64 {le}, %le_mask')}")
    if runs:
        other = e.let(f"or i1 {other}, {e.let(f'icmp slt i64 {re}, %highest')}")
    e.branch(other, "still_end", "still_event")
    e.place("still_event")
    write_event(e, payload, "%event_still", line, re)
    bits = e.let(f"and i64 {put_unchanged(e, classes, start)}, {wanted}")
    e.branch(e.let(f"icmp eq i64 {bits}, {wanted}"), "still_on", "still_end")
    e.place("still_on")
    reach = le
    if runs:
        nearer = e.let(f"icmp slt i64 {le}, %reach")
        reach = e.let(f"select i1 {nearer}, i64 {le}, i64 %reach")
    write_step(e, "%record_still", le, "0", "0", reach)
    e.line(f"%event_next = getelementptr i64, ptr %event_still, i64 {k.EventRow.payload + payload.width}")
    e.line("%record_next = add i64 %record_still, 1")
    e.line(f"%latest_next = add i64 {le}, 0")
    e.goto("still_each")
    e.place("still_end")
    e.goto("go_on")
    e.place("go_on")
    for name, type_ in moving.items():
        e.line(f"%{name} = phi {type_} [%{name}_each, %each], [%{name}_still, %still_end]")
    e.known, e.ask = before, ask


def line_of(e: Emitter, record: str) -> str:
    """Return where in the columns a row stands."""
    indexed = e.load("i64", "%index_at", e.let(f"and i64 {record}, %index_mask"))
    return e.let(f"add i64 {indexed}, {e.let(f'and i64 {record}, %plain_mask')}")


def ask_ahead(e: Emitter, payload: Layout, record: str) -> None:
    """Where rows stand far apart, ask for the memory of one that comes AHEAD rows later."""
    near, ahead = e.name(), e.name()
    e.branch(e.let("icmp eq i64 %ahead, 0"), near, ahead)
    e.place(ahead)
    far = e.let(f"add i64 {record}, {AHEAD}")
    far = e.let(f"select i1 {e.let(f'icmp slt i64 {far}, %high')}, i64 {far}, i64 {record}")
    line = e.load("i64", "%index_at", far)
    fetch(e, "i64", "%le_at", line)
    values = {slot.value for slot in payload.slots}  # of other words bytes tell whether a value is there
    for word in range(payload.width):
        fetch(e, "i64" if word in values else "i8", f"%at{word}", line)
    e.goto(near)
    e.place(near)
