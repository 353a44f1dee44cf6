"""The rows of a list in columns that an event looks at: of each eight rows a summary has the best one, and the states they are in.

    group    until, start of the best    least until    states      looked at where
    0        70, 9                       61             a b         a row is over (LE), or its state may not stay
    1        62, 1                       62             b           or takes an arc of which not only the best row counts
    2        70, 9                       64             b           or has a better row than the best one that was found

Eight groups together have the same summary, which is asked first. At the very first come the groups where the last row came into a
state: it is mostly the best one, and then hardly another is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from afa.compiled.code.column_parts import ClassPart, Flag, makes_alike
from afa.compiled.code.column_rows import LEAST, ColumnFunction
from afa.compiled.code.lanes import I64, MANY, as_bits, both, either, splat
from afa.compiled.kernel import layout as k

LARGE, UNUSUAL = k.LARGE_STATE, k.UNUSUAL


def kept_and_others(e: ColumnFunction, parts: Sequence[ClassPart], flags: Sequence[Flag]) -> tuple[str, str]:
    """Return as bits the states whose rows all stay by this event, and those where the best row does not suffice."""
    stays, others, bests = "0", "0", "false"
    for part, (flag, _, _) in zip(parts, flags):
        bit = 1 << part.slot.state if part.slot.state < LARGE else 0
        on = e.let(f"select i1 {flag}, i64 {bit}, i64 0")
        if part.best:
            bests = e.let(f"or i1 {bests}, {flag}")
        elif not part.stays:
            others = e.let(f"or i64 {others}, {on}")
        elif part.eight and not part.rest:
            stays = e.let(f"or i64 {stays}, {on}")
    unusual = e.let(f"select i1 {bests}, i64 0, i64 {1 << UNUSUAL}")
    return e.let(f"or i64 {stays}, {unusual}"), others


class Look:
    """The groups of eight rows that are looked at."""

    def __init__(self, e: ColumnFunction, parts: Sequence[ClassPart], flags: Sequence[Flag], kept: str, others: str) -> None:
        self.e, self.parts = e, [(part, flag) for part, flag in zip(parts, flags) if part.best]
        self.needs = splat(e, "i64", e.let(f"or i64 {e.let(f'xor i64 {kept}, -1')}, {others}"))

    def groups(self, first: str, end: str) -> None:
        """Go from block ``first`` through the groups; for each ``%i`` and ``%group``, until ``eight_end``; to ``end``."""
        e, hints = self.e, len(self.parts)
        e.place(first)
        larger = e.let(f"lshr i64 {e.let('add i64 %n, 511')}, 9")
        steps = e.let(f"add i64 {larger}, {hints}")
        e.goto("each_step")
        e.place("each_step")
        e.line(f"%step = phi i64 [0, %{first}], [%step_next, %step_end]")
        ways = [self.hint(number, part, flag) for number, (part, flag) in enumerate(self.parts)]
        e.line(f"%large_first = shl i64 {e.let(f'sub i64 %step, {hints}')}, 3")
        ways.append((self.bits("overs", "%large_first"), "%large_first", "0", e.block))
        e.goto("within")
        e.place("within")
        for at, name in enumerate(("large0", "block0", "forced")):
            e.line(f"%{name} = phi i64 " + ", ".join(f"[{way[at]}, %{way[3]}]" for way in ways))
        e.goto("each_large")
        e.place("each_large")
        e.line("%large = phi i64 [%large0, %within], [%large_next, %large_over]")
        e.branch(e.let("icmp eq i64 %large, 0"), "step_end", "of_large")
        e.place("of_large")
        block = e.let(f"add i64 %block0, {e.call('i64', 'llvm.cttz.i64', 'i64 %large', 'i1 true')}")
        e.line(f"%group0 = shl i64 {block}, 3")
        bits = self.bits("sums", "%group0")
        e.line(f"%bits0 = select i1 {e.let('icmp ne i64 %forced, 0')}, i64 %forced, i64 {bits}")
        e.goto("each_group")
        e.place("each_group")
        e.line("%bits = phi i64 [%bits0, %of_large], [%bits_next, %eight_end]")
        e.branch(e.let("icmp eq i64 %bits, 0"), "large_end", "eight")
        e.place("large_end")
        e.branch(e.let("icmp eq i64 %bits0, 0"), "large_over", "large_found")
        e.place("large_found")
        for part, _ in self.parts:
            for name, ssa in zip(("m", "start"), e.best(part.number)):
                e.store("i64", ssa, f"%{name}{part.number}_best")
        e.goto("large_over")
        e.place("large_over")
        e.line(f"%large_next = and i64 %large, {e.let('add i64 %large, -1')}")
        e.goto("each_large")
        e.place("step_end")
        e.line("%step_next = add i64 %step, 1")
        e.branch(e.let(f"icmp slt i64 %step_next, {steps}"), "each_step", end)
        e.place("eight_end")
        e.line(f"%bits_next = and i64 %bits, {e.let('add i64 %bits, -1')}")
        e.goto("each_group")
        e.place("eight")
        e.line(f"%group = add i64 %group0, {e.call('i64', 'llvm.cttz.i64', 'i64 %bits', 'i1 true')}")
        e.line("%i = shl i64 %group, 3")

    def hint(self, number: int, part: ClassPart, flag: Flag) -> tuple[str, str, str, str]:
        """Name, in one of the first steps, the group to look at: the last one into which a row of the part's state came."""
        e = self.e
        here, on = e.name(), e.name()
        e.branch(e.let(f"icmp eq i64 %step, {number}"), here, on)
        e.place(here)
        row = e.load("i64", "%hints", min(part.slot.state, LARGE))
        there = e.let(f"and i1 {flag[0]}, {e.let(f'icmp ult i64 {row}, %n')}")
        group = e.let(f"and i64 {e.let(f'lshr i64 {row}, 3')}, 7")
        forced = e.let(f"shl i64 1, {group}")
        found = e.let(f"zext i1 {there} to i64"), e.let(f"lshr i64 {row}, 6"), forced, here
        e.goto("within")
        e.place(on)
        return found

    def bits(self, sums: str, first: str) -> str:
        """Return which of eight groups, of rows (``sums``) or of groups (``overs``), from ``first`` on are looked at."""
        e = self.e
        m, start, least, states = (self.read(sums, number, first) for number in range(4))
        look = e.let(f"icmp ne {I64} {e.let(f'and {I64} {states}, {self.needs}')}, zeroinitializer")
        look = either(e, look, e.let(f"icmp sle {I64} {least}, %le_eight"))
        look = either(e, look, e.let(f"icmp sgt {I64} {m}, %re_eight"))
        found = [(e.load("i64", f"%m{part.number}_best"), e.load("i64", f"%start{part.number}_best")) for part, _ in self.parts]
        for number, (part, (flag, dst, _)) in enumerate(self.parts):
            best = found[number]
            for other, (twin, (_, same, _)) in enumerate(self.parts):
                if other != number and makes_alike(part, twin):
                    alike = e.let(f"icmp eq i64 {dst}, {same}")
                    best = self.larger(best, found[other], alike)
            longer = e.let(f"icmp sgt {I64} {m}, {splat(e, 'i64', best[0])}")
            tie = e.let(f"icmp eq {I64} {m}, {splat(e, 'i64', best[0])}")
            later = both(e, tie, e.let(f"icmp sgt {I64} {start}, {splat(e, 'i64', best[1])}"))
            bit = 1 << part.slot.state if part.slot.state < LARGE else 0
            here = e.let(f"select i1 {flag}, i64 {bit}, i64 0")
            here = splat(e, "i64", here)
            held = e.let(f"icmp ne {I64} {e.let(f'and {I64} {states}, {here}')}, zeroinitializer")
            look = either(e, look, both(e, held, either(e, longer, later)))
        rows = e.let(f"icmp sgt {I64} {m}, {LEAST}")
        return e.let(f"zext i{MANY} {as_bits(e, both(e, look, rows))} to i64")

    def read(self, sums: str, number: int, first: str) -> str:
        e = self.e
        at = e.let(f"add i64 {e.let(f'mul i64 %{sums}_span, {number}')}, {first}")
        return e.let(f"load {I64}, ptr {e.let(f'getelementptr i64, ptr %{sums}, i64 {at}')}, align 8")

    def larger(self, one: tuple[str, str], other: tuple[str, str], if_: str) -> tuple[str, str]:
        """Return the better of two, each an ``until`` and a start; the first one unless a truth holds."""
        e = self.e
        tie = e.let(f"and i1 {e.let(f'icmp eq i64 {other[0]}, {one[0]}')}, {e.let(f'icmp sgt i64 {other[1]}, {one[1]}')}")
        longer = e.let(f"icmp sgt i64 {other[0]}, {one[0]}")
        wins = e.let(f"and i1 {if_}, {e.let(f'or i1 {longer}, {tie}')}")
        m, start = (e.let(f"select i1 {wins}, i64 {b}, i64 {a}") for a, b in zip(one, other))
        return m, start


def put_rows(e: ColumnFunction, parts: Sequence[ClassPart], flags: Sequence[Flag], kept: str, others: str) -> None:
    """Look at the groups of eight rows that may matter; the best rows of part n are then in ``%m<n>``, ``%start<n>``.

    ``kept``, ``others``: see `kept_and_others`.
    """
    look = Look(e, parts, flags, kept, others)
    e.branch(e.let("icmp sgt i64 %n, 0"), "first", "rows_end")
    look.groups("first", "rows_end")
    e.eight_rows(parts, flags)
    e.goto("eight_end")
    e.place("rows_end")
    e.known = dict(e.base)
