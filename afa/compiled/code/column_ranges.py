"""Events that ask for ranges: a fence that compares one field of the register with the event holds of the first rows in its order.

    e.val >= r.last    rows of state b, by r.last    2   5   7   11        e.val 7: those up to 7
                       of them the best so far       x   x       x         skyline: the last one up to 7 is the best of the range

The event makes one row of all rows of a range, with the start and until of the best of them, which bisection finds. So an event
that lets all other rows stay costs O(log n), whatever the list. `afa.compiled.kernel.skyline` keeps the order. An
event that ends rows which did not come with the last step, shortens lifetimes, or takes an arc of another kind is *refused*, then
asked in vectors (`afa.compiled.code.column_groups`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from afa.compiled.code.column_parts import ClassPart, Flag, part_of
from afa.compiled.code.column_rows import ColumnFunction
from afa.compiled.code.step_function import HEAD, SlotClass
from afa.compiled.code.term import FLOAT, INT, Term
from afa.compiled.kernel import layout as k

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
MAGNITUDE = 2**63 - 1


class RowOrder(NamedTuple):
    """The order of the rows of a state: by a word of the register, an int or a float; ``falls``: large values first."""

    word: int
    floats: bool
    falls: bool


class RowRange(NamedTuple):
    """The rows whose field is at or before a value of the event in an order; ``strict``: before it."""

    order: RowOrder
    bound: Term
    strict: bool


def range_of(part: ClassPart) -> RowRange | None:
    """Return the range of rows of which the rest of a part's fence holds, if it compares one field of theirs with the event."""
    if not part.best or len(part.rest) != 1 or part.rest[0].op not in MIRRORED:
        return None
    op, (field, bound) = part.rest[0].op, part.rest[0].items
    if field.op != "field" or field.data[0] != "r":
        op, field, bound = MIRRORED[op], bound, field
    plain = field.op == "field" and field.data[0] == "r" and "r" not in bound.reads
    if not plain or field.kind not in (INT, FLOAT) or bound.kind != field.kind:
        return None
    return RowRange(RowOrder(field.data[1], field.kind == FLOAT, op in ("gt", "ge")), bound, op in ("lt", "gt"))


def orders_of(parts: Sequence[ClassPart]) -> dict[int, RowOrder] | None:
    """Return the order of the rows of each state that has one; None: of this automaton no event asks for ranges.

    Nor where every event asks of a register whether it stays: skip till next, whose loop would be refused again and again. Few rows
    in no order are looked at in groups 10 to 15 % faster.
    """
    asked_always = any(is_unsure(part) and not part.alone for part in parts)
    if asked_always or any(part.slot.state >= k.LARGE_STATE for part in parts):
        return None
    found: dict[int, RowOrder] = {}
    for part in parts:
        asked = range_of(part)
        if asked is not None:
            found.setdefault(part.slot.state, asked.order)
    return found or None


def is_unsure(part: ClassPart) -> bool:
    """Return whether some rows of a state may stay by a part, and some not."""
    return part.stays and bool(part.rest or not part.eight)


def served_by_range(part: ClassPart, orders: Mapping[int, RowOrder]) -> bool:
    """Return whether the best row that a part takes is the best one of a range, or of a whole state."""
    asked = range_of(part)
    return part.best and (not part.rest or (asked is not None and orders.get(part.slot.state) == asked.order))


def orders_in(classes: Sequence[SlotClass]) -> tuple[tuple[int, int], ...] | None:
    """Return `orders_of` as words for the kernels: states, and of each ``word << 2 | floats << 1 | falls``."""
    orders = orders_of([part_of(number, slot) for number, slot in enumerate(classes)])
    if orders is None:
        return None
    return tuple((state, o.word << 2 | o.floats << 1 | o.falls) for state, o in sorted(orders.items()))


def put_ranges(e: ColumnFunction, parts: Sequence[ClassPart], flags: Sequence[Flag], kept: str, others: str) -> None:
    """Go to ``slowly`` where events do not ask for ranges now, to ``refused``, or to ``begins`` with the rows written.

    ``kept``: bits of states whose rows all stay; ``others``: bits of states where the best row does not suffice.
    """
    orders = orders_of(parts)
    e.branch(e.let(f"icmp ne i64 {e.load('i64', '%x', k.Loop.quick)}, 0"), "quick", "slowly")
    e.place("quick")
    if orders is None:
        e.goto("refused")
        return
    for part, (flag, _, _) in zip(parts, flags):
        if is_unsure(part) or (part.best and not served_by_range(part, orders)):
            others = e.let(f"or i64 {others}, {e.let(f'select i1 {flag}, i64 {1 << part.slot.state}, i64 0')}")
    there, passing = e.load("i64", "%x", k.Loop.there), e.load("i64", "%x", k.Loop.passing)
    leaving = e.let(f"and i64 {there}, {e.let(f'xor i64 {kept}, -1')}")
    wrong = e.let(f"and i64 {there}, {others}")
    old = e.let(f"and i64 {leaving}, {e.let(f'xor i64 {passing}, -1')}")
    wrong = e.let(f"or i64 {wrong}, {old}")
    shorter = e.let(f"icmp slt i64 %re, {e.load('i64', '%x', k.Loop.farthest)}")
    e.branch(e.let(f"or i1 {shorter}, {e.let(f'icmp ne i64 {wrong}, 0')}"), "refused", "ranges")
    e.place("ranges")
    e.store("i64", leaving, "%x", k.Loop.leave)
    e.line(f"%skyline = load ptr, ptr {e.address('%x', k.Loop.skyline)}, align 8")
    numbers = {state: number for number, state in enumerate(sorted(orders))}
    for part, asked in zip(parts, flags):
        if served_by_range(part, orders):
            _put_best_of(e, part, asked, range_of(part), numbers.get(part.slot.state, 0))
    e.goto("begins")


def _put_best_of(e: ColumnFunction, part: ClassPart, flag: Flag, asked: RowRange | None, number: int) -> None:
    """Write the row that a part makes of the best row of its range, if there is one."""
    asked_for, dst, params = flag
    on, alive, off, state = e.name(), e.name(), e.name(), part.slot.state
    e.branch(asked_for, on, off)
    e.place(on)
    e.known = dict(e.base)
    e.words, e.pointers["p"] = part.slot.code.words, params
    if asked is None:
        m, start = e.load("i64", "%x", k.Loop.best_until + state), e.load("i64", "%x", k.Loop.best_start + state)
    else:
        last = _last_of(e, asked, state, number, off)
        m, start = (e.load("i64", "%skyline", e.let(f"add i64 {last}, {e.let(f'mul i64 %stride, {at}')}")) for at in (1, 2))
    e.branch(e.let(f"icmp sgt i64 {m}, %le"), alive, off)
    e.place(alive)
    e.pointers["r"] = e.address("%begin", HEAD)
    out = e.put_row(part, dst, start, m)
    e.store("ptr", e.address(out, HEAD + e.width), "%to")
    e.goto(off)
    e.place(off)
    e.known = dict(e.base)


def _last_of(e: ColumnFunction, asked: RowRange, state: int, number: int, none: str) -> str:
    """Return where in %skyline the last row of a range stands; goes to ``none`` where there is none."""
    bound = e.value(asked.bound).ssa
    if asked.order.floats:
        bound, on = e.let(f"fadd double {bound}, 0.0"), e.name()  # -0.0 is 0.0
        e.branch(e.let(f"fcmp ord double {bound}, {bound}"), on, none)
        e.place(on)
        word = e.let(f"bitcast double {bound} to i64")
        mirrored = e.let(f"xor i64 {word}, {MAGNITUDE}")
        bound = e.let(f"select i1 {e.let(f'icmp slt i64 {word}, 0')}, i64 {mirrored}, i64 {word}")
    if asked.order.falls:
        bound = e.let(f"xor i64 {bound}, -1")
    first = e.let(f"mul i64 {e.load('i64', '%x', k.Loop.skyline_room)}, {number}")
    count = e.load("i64", "%x", k.Loop.skyline_rows + state)
    before, loop, step, end = e.block, e.name(), e.name(), e.name()
    low, high, low_next, high_next = (e.name("%v") for _ in range(4))
    e.goto(loop)
    e.place(loop)
    e.line(f"{low} = phi i64 [0, %{before}], [{low_next}, %{step}]")
    e.line(f"{high} = phi i64 [{count}, %{before}], [{high_next}, %{step}]")
    e.branch(e.let(f"icmp slt i64 {low}, {high}"), step, end)
    e.place(step)
    middle = e.let(f"lshr i64 {e.let(f'add i64 {low}, {high}')}, 1")
    value = e.load("i64", "%skyline", e.let(f"add i64 {first}, {middle}"))
    within = e.let(f"icmp s{'lt' if asked.strict else 'le'} i64 {value}, {bound}")
    e.line(f"{low_next} = select i1 {within}, i64 {e.let(f'add i64 {middle}, 1')}, i64 {low}")
    e.line(f"{high_next} = select i1 {within}, i64 {high}, i64 {middle}")
    e.goto(loop)
    e.place(end)
    found = e.name()
    e.branch(e.let(f"icmp sgt i64 {low}, 0"), found, none)
    e.place(found)
    return e.let(f"add i64 {first}, {e.let(f'sub i64 {low}, 1')}")
