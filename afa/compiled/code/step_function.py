"""Compile a whole automaton into one function: every arc that leaves a state, with a switch over the states.

    i64 step(ptr ev, i64 re, i64 le, ptr src, i64 n, ptr begin, ptr out, i64 cap, ptr slots)
    i64 unchanged(ptr ev, ptr slots)

A *slot* is an arc of the automaton: a source state and a shape, both part of the code; its destination and the address of its
constants are read from ``slots``, two words each; destination < 0: no arc is there. Rows of src and out are
``[start, until, state, mark, register..]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from afa.compiled.code.arc_code import ArcCode, ends
from afa.compiled.code.by_event import decide, keeps, may_be, may_keep
from afa.compiled.code.emit import Emitter, Value
from afa.compiled.code.term import Term
from afa.compiled.kernel.layout import ALONE, STATES, NodeRow

STEP = (
    "i64 @f(ptr noalias readonly %ev, i64 %re, i64 %le, ptr noalias readonly %src, i64 %n, ptr noalias readonly %begin, "
    "ptr noalias %out, i64 %cap, ptr noalias readonly %slots) nounwind"
)
UNCHANGED = "i64 @f(ptr noalias readonly %ev, ptr noalias readonly %slots) nounwind"
HEAD = NodeRow.register
"""How many words of a row stand before its register: start, until, state, and as mark its end: ALONE for a row that is new."""
START = STATES
"""The bit of `unchanged` for the start state that no event part lets begin; states above have no bit."""


class SlotClass(NamedTuple):
    """The part of a slot that its code depends on: source state, the arc's code, whether it is ignorable, whether a skip."""

    state: int
    code: ArcCode
    ignorable: bool = False
    skip: bool = False


def step_key(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    return f"step {start} {width} " + text_of(classes)


def unchanged_key(classes: Sequence[SlotClass], start: int = 0) -> str:
    return f"unchanged {start} " + text_of(classes)


def text_of(classes: Sequence[SlotClass]) -> str:
    return " ".join(f"{c.state}{'=' if c.ignorable else ''}{'~' if c.skip else ''}[{c.code.shape}]" for c in classes)


def step_ir(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    """Return the code that takes one event against a list of partial matches, and against the one that begins, in ``start``.

    It returns the number of rows written, -1 (ask) or -2 (more than ``cap``). Rows with until <= le are skipped. A row of ``src``
    *stays* by an ignorable arc if until <= re, by a skip always: once, as a copy with its number as the mark. All other results are
    ``[start, min(until, re), dst, ALONE, register..]``; of a skip with until as it is, and none of ``begin``.
    """
    e = Emitter({})
    stride = 8 * (HEAD + width)
    e.line(f"%room = mul i64 %cap, {stride}")
    e.line("%last = getelementptr i8, ptr %out, i64 %room")
    put_step(e, classes, width, start)
    size = e.let(f"sub i64 {e.let('ptrtoint ptr %end to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    e.line(f"ret i64 {e.let(f'sdiv exact i64 {size}, {stride}')}")
    ends(e, ask=-1, full=-2)
    return e.function(STEP)


def put_step(
    e: Emitter, classes: Sequence[SlotClass], width: int, start: int, counted: bool = False, skips_marked: bool = False
) -> None:
    """Go on, in the block ``done``, when all rows and the one that begins have met the event; ``%end`` is where the next row goes.

    Reads the names of `STEP`, and ``%last``, the end of the room; goes to ``ask`` and ``full``. Once in a function. ``counted``:
    rows that stay are not marked with their numbers, but counted in the word at ``%stays``; ``skips_marked``: all the same those
    that stay by a skip, which passes all events of a step or none.
    """
    event_fields(e, classes)
    known, stride, states, before = e.known, 8 * (HEAD + width), sorted({c.state for c in classes}), e.block
    e.branch(e.let("icmp sgt i64 %n, 0"), "loop", "beginning")
    e.place("loop")
    e.line(f"%i = phi i64 [0, %{before}], [%more, %next]")
    e.line(f"%to = phi ptr [%out, %{before}], [%to_next, %next]")
    e.line(f"%row = getelementptr i8, ptr %src, i64 {e.let(f'mul i64 %i, {stride}')}")
    _alive(e, "%row", "", "next")
    e.line(f"%state = {_load('%row', e, NodeRow.state)}")
    e.line(f"switch i64 %state, label %next [{' '.join(f'i64 {s}, label %state{s}' for s in states)}]")
    ways = [("%to", "loop"), ("%to", "alive")]
    for state in states:
        e.place(f"state{state}")
        ways.append(_arcs(e, classes, state, width, "%to", known, _Row("", True, counted, skips_marked)))
        e.goto("next")
    e.place("next")
    e.line("%to_next = phi ptr " + ", ".join(f"[{ssa}, %{block}]" for ssa, block in ways))
    e.line("%more = add i64 %i, 1")
    e.branch(e.let("icmp slt i64 %more, %n"), "loop", "beginning")
    e.place("beginning")
    e.line(f"%rest = phi ptr [%out, %{before}], [%to_next, %next]")
    _alive(e, "%begin", "_begin", "done")
    way = _arcs(e, classes, start, width, "%rest", known, _Row("_begin", False))
    e.goto("done")
    e.place("done")
    e.line(f"%end = phi ptr [%rest, %beginning], [{way[0]}, %{way[1]}]")


class _Row(NamedTuple):
    """The row that arcs are tried on: the suffix of its names, whether it may stay, and how that is told: see `put_step`."""

    suffix: str
    listed: bool
    counted: bool = False
    skips_marked: bool = False

    @property
    def pointer(self) -> str:
        return "%row" if self.listed else "%begin"


def _alive(e: Emitter, row: str, suffix: str, no: str) -> None:
    """Go on if the lifetime of a row lasts."""
    e.line(f"%m{suffix} = {_load(row, e, NodeRow.until)}")
    e.branch(e.let(f"icmp sle i64 %m{suffix}, %le"), no, f"alive{suffix}")
    e.place(f"alive{suffix}")
    e.line(f"%short{suffix} = icmp slt i64 %m{suffix}, %re")
    e.line(f"%until{suffix} = select i1 %short{suffix}, i64 %m{suffix}, i64 %re")
    e.line(f"%reg{suffix} = getelementptr i64, ptr {row}, i64 {HEAD}")
    e.pointers["r"] = f"%reg{suffix}"


def _arcs(
    e: Emitter, classes: Sequence[SlotClass], state: int, width: int, to: str, known: dict[Any, Value], row: _Row
) -> tuple[str, str]:
    """Try all arcs of a state on a row. Returns where the next result goes, and by which block."""
    stayed = "false"
    e.pointers["r"] = f"%reg{row.suffix}"
    for k, slot in enumerate(classes):
        if slot.state == state:
            e.known = dict(known)
            to, stayed = _slot(e, k, slot, width, to, stayed, row)
    return to, e.block


def _load(pointer: str, e: Emitter, word: int) -> str:
    return f"load i64, ptr {e.address(pointer, word)}, align 8"


def event_fields(e: Emitter, classes: Sequence[SlotClass]) -> None:
    """Read the fields of the event that the fences read, once."""
    seen: set[int] = set()

    def visit(t: Term) -> None:
        if t.op == "field" and t.data[0] == "e":
            e.value(t)
        elif "e" in t.reads and id(t) not in seen:
            seen.add(id(t))
            for item in t.items:
                visit(item)

    for slot in classes:
        if slot.code.fence is not None:
            visit(slot.code.fence)


def active(e: Emitter, k: int, code: ArcCode, no: str) -> str:
    """Go on if there is an arc in the slot; returns its destination."""
    on = e.name()
    dst = e.load("i64", "%slots", 2 * k)
    e.branch(e.let(f"icmp slt i64 {dst}, 0"), no, on, "!prof !0")
    e.place(on)
    e.words = code.words
    e.pointers["p"] = e.load("ptr", "%slots", 2 * k + 1)
    return dst


def _slot(e: Emitter, k: int, slot: SlotClass, width: int, to: str, stayed: str, row: _Row) -> tuple[str, str]:
    """Try one arc on a row. Returns where the next result goes, and whether the row stays."""
    if slot.skip and not row.listed:  # no run begins by a skip
        return to, stayed
    yes, no, end = e.name(), e.name(), e.name()
    dst = active(e, k, slot.code, no)
    if slot.code.fence is None:
        e.goto(yes)
    else:
        e.jump(slot.code.fence, yes, no)
    ways: list[tuple[str, str, str]] = []  # where the next result goes, whether the row stays, by which block
    e.place(yes)
    notes = slot.skip and slot.code.transfer is not None
    if slot.ignorable and row.listed and not notes:
        stays, moves, first = e.name(), e.name(), e.name()
        e.branch("true" if slot.skip else e.let("icmp sle i64 %m, %re"), stays, moves)
        e.place(stays)
        ways.append((to, "true", stays))
        e.branch(stayed, end, first)
        e.place(first)
        after = _room(e, to, width)
        e.copy("%row", to, NodeRow.end)
        _mark(e, to, row, slot.skip)
        e.copy("%reg", e.address(to, HEAD), width)
        ways.append((after, "true", e.block))
        e.goto(end)
        e.place(moves)
    after = _room(e, to, width)
    e.copy(row.pointer, to, 1)
    for word, ssa in (
        (NodeRow.until, f"%{'m' if slot.skip else 'until'}{row.suffix}"),
        (NodeRow.state, dst),
        (NodeRow.end, str(ALONE)),
    ):
        e.store("i64", ssa, to, word)
    if slot.code.transfer is None:
        e.copy(f"%reg{row.suffix}", e.address(to, HEAD), width)
    else:
        e.register(slot.code.transfer, e.address(to, HEAD))
        if slot.ignorable and notes:
            ways += _noted(e, to, after, width, stayed, end, row)
    ways.append((after, stayed, e.block))
    e.goto(end)
    e.place(no)
    ways.append((to, stayed, no))
    e.goto(end)
    e.place(end)
    to = e.phi("ptr", *((ssa, block) for ssa, _, block in ways))
    return to, e.phi("i1", *((flag, block) for _, flag, block in ways)) if slot.ignorable and row.listed else stayed


def _mark(e: Emitter, to: str, row: _Row, skip: bool = True) -> None:
    """Mark the result at ``to`` as a row that stays, by a skip or by an ignorable arc."""
    marked = not row.counted or (skip and row.skips_marked)
    e.store("i64", "%i" if marked else str(ALONE), to, NodeRow.end)
    if row.counted:
        e.store("i64", e.let(f"add i64 {e.load('i64', '%stays')}, 1"), "%stays")


def _noted(e: Emitter, to: str, after: str, width: int, stayed: str, end: str, row: _Row) -> list[tuple[str, str, str]]:
    """Keep the row, once, if a skip has left its register as it was; else go on."""
    same = same_register(e, "%reg", to, width)
    stays, first, moves = e.name(), e.name(), e.name()
    e.branch(same, stays, moves)
    e.place(stays)
    e.branch(stayed, end, first)
    e.place(first)
    _mark(e, to, row)
    e.goto(end)
    e.place(moves)
    return [(to, "true", stays), (after, "true", first)]


def same_register(e: Emitter, register: str, row: str, width: int) -> str:
    """Return whether a row has the words of a register."""
    same = "true"
    for word in range(width):
        before, now = e.load("i64", register, word), e.load("i64", row, HEAD + word)
        same = e.let(f"and i1 {same}, {e.let(f'icmp eq i64 {before}, {now}')}")
    return same


def _room(e: Emitter, to: str, width: int) -> str:
    """Write a return of -2 where there is no room for one more row. Returns where the row after it goes."""
    on = e.name()
    e.branch(e.let(f"icmp eq ptr {to}, %last"), "full", on, "!prof !0")
    e.place(on)
    return e.address(to, HEAD + width)


def unchanged_ir(classes: Sequence[SlotClass], start: int = 0) -> str:
    """Return the code that tells which states an event leaves as they are.

    Bit s (s < 62): of the arcs of s there is exactly one whose fence the event alone does not make false; by this one a row may
    stay, and the event alone makes it hold, and leave the register as it is. Bit 62: there is none such among the arcs of
    ``start``. What would ask: no bit.
    """
    e = Emitter({})
    e.line(f"ret i64 {put_unchanged(e, classes, start)}")
    return e.function(UNCHANGED)


def put_unchanged(e: Emitter, classes: Sequence[SlotClass], start: int) -> str:
    """Return the bits that `unchanged_ir` tells of, from the names of `UNCHANGED`."""
    mask = "0"
    for state in sorted({c.state for c in classes if c.state < START and may_pass(c)}):
        mask = _unchanged(e, classes, state, state, mask)
    return _unchanged(e, classes, start, START, mask)


def told(classes: Sequence[SlotClass]) -> int:
    """Return the bits that `put_unchanged` may give."""
    return sum(1 << state for state in {c.state for c in classes if c.state < START and may_pass(c)}) | 1 << START


def may_pass(slot: SlotClass) -> bool:
    """Return whether an event alone may let rows stay by an arc."""
    fence, transfer = slot.code.fence, slot.code.transfer
    return slot.ignorable and (fence is None or may_be(fence, True)) and (transfer is None or may_keep(transfer))


def _unchanged(e: Emitter, classes: Sequence[SlotClass], state: int, bit: int, mask: str) -> str:
    no, done, end = e.name(), e.name(), e.name()
    e.ask, known = no, dict(e.known)
    stays = "true" if bit == START else "false"
    for k, slot in enumerate(classes):
        if slot.state != state:
            continue
        holds, off, on = e.name(), e.name(), e.name()
        active(e, k, slot.code, off)
        passes = bit != START and may_pass(slot)
        if slot.code.fence is None:
            e.goto(holds)
        else:
            decide(e, slot.code.fence, holds, off, no)
        e.place(holds)
        e.known = dict(known)
        if passes and slot.code.transfer is not None:
            kept = e.name()
            keeps(e, slot.code.transfer, kept, no)
            e.place(kept)
        yes = e.block
        if passes:
            e.branch(stays, no, on)
        else:
            e.goto(no)
        e.place(off)
        e.goto(on)
        e.place(on)
        stays = e.phi("i1", (stays, off), *([("true", yes)] if passes else []))
        e.known = dict(known)
    e.branch(stays, done, no)
    e.place(done)
    found = e.let(f"or i64 {mask}, {1 << bit}")
    e.goto(end)
    e.place(no)
    e.goto(end)
    e.place(end)
    return e.phi("i64", (found, done), (mask, no))
