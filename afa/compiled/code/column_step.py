"""One event against a list that stands in columns, eight partial matches at a time; where only the longest count.

    i64 step(ptr ev, i64 re, i64 le, ptr x)

    until                61   62   62   70   ..        at Loop.src, Loop.stride words a column; behind the rows BEGINNING
    state                a    b    b    b             columns stand in the order of a row's words
    register             0    7    9   12
    e.val >= r  (b)           T    T    F             one look at eight rows; event parts are asked once, before
    made                 (start, until, b, 10)        of rows with one register, as far as a transfer tells, only the best
    ended                .    .    .    .             a bit of Loop.gone a row that does not stay, eight a byte

It writes rows ``[start, until, state, ALONE, register..]`` to Loop.out, up to Loop.last, in no order, and in Loop.ended whether any
row ends. Returns how many, -1 (ask), -2 (no room) or REFUSED: see `afa.compiled.code.column_ranges`. For rows see
`afa.compiled.code.step_function`.
"""

from __future__ import annotations

from collections.abc import Sequence

from afa.compiled.code.arc_code import ends
from afa.compiled.code.column_groups import LARGE, kept_and_others, put_rows
from afa.compiled.code.column_parts import part_of
from afa.compiled.code.column_ranges import put_ranges
from afa.compiled.code.column_rows import LEAST, ColumnFunction
from afa.compiled.code.lanes import I64, Lane, splat
from afa.compiled.code.step_function import HEAD, SlotClass, event_fields, text_of
from afa.compiled.kernel import layout as k

COLUMNS = "i64 @f(ptr noalias readonly %ev, i64 %re, i64 %le, ptr noalias %x) nounwind"


def columns_key(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    return f"columns {start} {width} " + text_of(classes)


def columns_ir(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    """Return the code for classes in the order of the slots; computations begin in state ``start``."""
    e = ColumnFunction(width)
    parts = [part_of(number, slot) for number, slot in enumerate(classes)]
    e.read_words()
    for name in [f"%{name}{part.number}" for part in parts if part.best for name in ("m", "start")]:
        e.line(f"{name} = alloca {I64}")
        e.line(f"store {I64} {LEAST}, ptr {name}")
        e.line(f"{name}_best = alloca i64")
        e.store("i64", str(k.BEGINNING), f"{name}_best")
    event_fields(e, classes)
    e.base = dict(e.known)
    e.events = {
        key: Lane(v.base, splat(e, v.type, v.ssa), None if v.present is None else splat(e, "i1", v.present))
        for key, v in e.base.items()
        if isinstance(key, tuple)
    }
    for word in sorted({word for part in parts if part.best for word in part.kept}):
        e.line(f"%initial{word} = add {I64} {splat(e, 'i64', e.load('i64', '%begin', HEAD + word))}, zeroinitializer")
    flags = [e.asked(part) for part in parts]
    kept, others = kept_and_others(e, parts, flags)
    put_ranges(e, parts, flags, kept, others)
    e.place("slowly")
    put_rows(e, parts, flags, kept, others)
    for part in parts:
        if part.best:
            e.put_best(part)
    e.goto("begins")
    e.place("begins")
    for part, flag in zip(parts, flags):
        if part.slot.state == start and not part.slot.skip:
            e.begin(part, flag)
    size = e.let(f"sub i64 {e.let(f'ptrtoint ptr {e.next()} to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    e.line(f"ret i64 {e.let(f'sdiv exact i64 {size}, {8 * (HEAD + width)}')}")
    ends(e, ask=-1, full=-2, refused=k.REFUSED)
    return e.function(COLUMNS)


def kept_words(classes: Sequence[SlotClass]) -> tuple[int, int]:
    """Return the words of a register, as bits, that make a row unusual unless they are initial ones; -1: all; and the states."""
    parts = [part_of(number, slot) for number, slot in enumerate(classes)]
    words = {word for part in parts if part.best for word in part.kept}
    states = {min(part.slot.state, LARGE) for part in parts if part.best and part.kept}
    return -1 if any(word > LARGE for word in words) else sum(1 << word for word in words), sum(1 << state for state in states)
