"""Rows that leave the list as it is, in a loop of their own: little is at hand there, so that all of it is in registers.

Once a row has left the list as it is, most do: quotes that do not move. The loop takes rows that stand side by side in the batch
and have no RE of their own, as `afa.compiled.code.in_order` would; at the first one that is another case it goes on there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from afa.compiled.code.columns import write_event
from afa.compiled.code.emit import Emitter
from afa.compiled.code.layout import Layout
from afa.compiled.code.step_function import SlotClass, put_unchanged
from afa.compiled.kernel import names as k


def put_still(e: Emitter, classes: Sequence[SlotClass], start: int, payload: Layout, moving: Mapping[str, str]) -> None:
    """Go on in ``go_on`` with the variables ``moving``, which were ``%record_each`` and so on, by their own names.

    Requires that the list before the row may stay, and is OPEN, if ``%open`` is not 0.
    """
    before, ask = dict(e.known), e.ask
    plain = e.let(f"icmp eq i64 {e.let('or i64 %index_mask, %re_mask')}, 0")
    able = e.let(f"and i1 {plain}, {e.let('icmp ne i64 %wanted, -1')}")
    e.branch(e.let(f"and i1 {able}, {e.let('icmp ne i64 %open, 0')}"), "still_first", "go_on")
    e.place("still_first")
    window, near = e.load("i64", "%re_at"), e.let("icmp slt i64 %bound, %lowest")
    until = e.let(f"select i1 {near}, i64 %bound, i64 %lowest")
    e.goto("still_each")
    e.place("still_each")
    for name, type_ in moving.items():
        e.line(f"%{name}_still = phi {type_} [%{name}_each, %still_first], [%{name}_next, %still_on]")
    e.branch(e.let("icmp slt i64 %record_still, %high"), "still_row", "still_end")
    e.place("still_row")
    le = e.load("i64", "%le_at", "%record_still")
    other = e.let(f"icmp sle i64 {le}, %latest_still")
    re = e.let(f"add i64 {window}, {e.let(f'and i64 {le}, %le_mask')}")
    for test in (e.let(f"icmp sge i64 {le}, {until}"), e.let(f"icmp slt i64 {re}, %highest")):
        other = e.let(f"or i1 {other}, {test}")
    e.branch(other, "still_end", "still_event")
    e.place("still_event")
    write_event(e, payload, "%event_still", "%record_still", re)
    bits = e.let(f"and i64 {put_unchanged(e, classes, start)}, %wanted")
    e.branch(e.let(f"icmp eq i64 {bits}, %wanted"), "still_on", "still_end")
    e.place("still_on")
    e.store("i64", "%step_still", "%order_still")
    e.store("i64", le, "%times_still")
    nearer = e.let(f"icmp slt i64 {le}, %reach")
    reach = e.let(f"select i1 {nearer}, i64 {le}, i64 %reach")
    for column, value in (("EV", "%slice_still"), ("ND", "0"), ("MT", "0"), ("REACH", reach)):
        e.store("i64", value, "%times_still", f"%to_{column}")
    for name, words in (("order", 1), ("times", 1), ("event", k.E_WORDS + payload.width)):
        e.line(f"%{name}_next = getelementptr i64, ptr %{name}_still, i64 {words}")
    for name, by in (("record", 1), ("step", 1), ("slice", 1 << 24)):
        e.line(f"%{name}_next = add i64 %{name}_still, {by}")
    e.line(f"%latest_next = add i64 {le}, 0")
    e.goto("still_each")
    e.place("still_end")
    e.goto("go_on")
    e.place("go_on")
    for name, type_ in moving.items():
        e.line(f"%{name} = phi {type_} [%{name}_each, %each], [%{name}_still, %still_end]")
    e.known, e.ask = before, ask
