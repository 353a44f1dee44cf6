"""What one event makes of a list of which only the best rows count; where only the longest count.

    i64 best_step(ptr ev, i64 re, i64 le, ptr x)

    e.val >= r.last    rows of state b, by r.last    2   5   7   11      e.val 7: those up to 7
                       of them the best so far       x   x       x       the skyline: the last one up to 7 is the best of the range
    e.val != r.last    rows as they stand            7   2   11   5      looked at, where they would be better than the best so far

All rows that an arc takes by an event have one register then, so one row is made of them, with the start and m of the best: found
by bisection where the fence is a range, which costs O(log n) whatever the list; else by a look at each row. The order of rows is
kept by `afa.compiled.kernel.skyline`; it does not serve an event that is over before any row is. *Refused*, and then taken row by
row, is an event that ends rows which did not come with the last step, shortens rows that stay, or takes an arc of another kind.

It writes rows ``[start, m, state, ALONE, register..]`` to Loop.out, up to Loop.last, in no order, and in Loop.leave the states of
which all rows go. Returns how many, -1 (ask), -2 (no room) or REFUSED. What else a row means: `afa.compiled.code.step_function`.
"""

from __future__ import annotations

from collections.abc import Sequence

from afa.compiled.code.arc_code import ends
from afa.compiled.code.best_parts import ClassPart, RowRange, orders_of, parts_of, range_of
from afa.compiled.code.emit import Emitter, Known
from afa.compiled.code.step_function import HEAD, SlotClass, event_fields, text_of
from afa.compiled.kernel import layout as k

BEST_STEP = "i64 @f(ptr noalias readonly %ev, i64 %re, i64 %le, ptr noalias %x) nounwind"
MAGNITUDE = 2**63 - 1
Flag = tuple[str, str, str]
"""Of a part: whether the event may take it, the arc's destination, where its constants stand."""


def best_step_key(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    return f"best {start} {width} " + text_of(classes)


def best_step_ir(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    """Return the code for classes in the order of the slots; computations begin in state ``start``."""
    e, parts = BestFunction(width), parts_of(classes)
    orders = orders_of(parts)
    e.read_words()
    event_fields(e, classes)
    e.base = dict(e.known)
    flags = [e.asked(part) for part in parts]
    e.refuse(parts, flags)
    numbers = {state: number for number, state in enumerate(sorted(orders))}
    for part, flag in zip(parts, flags):
        if part.best:
            asked = range_of(part)
            if asked is not None and orders[part.slot.state] != asked.order:
                asked = None
            e.put_best(part, flag, asked, numbers.get(part.slot.state, 0))
    for part, flag in zip(parts, flags):
        if part.slot.state == start and not part.slot.skip:
            e.begin(part, flag)
    size = e.let(f"sub i64 {e.let(f'ptrtoint ptr {e.next()} to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    e.line(f"ret i64 {e.let(f'sdiv exact i64 {size}, {8 * (HEAD + width)}')}")
    ends(e, ask=-1, full=-2, refused=k.REFUSED)
    return e.function(BEST_STEP)


class BestFunction(Emitter):
    """The function in the making. ``%to``: where the address stands at which the next row goes."""

    def __init__(self, width: int) -> None:
        super().__init__({})
        self.width = width
        self.base: Known = {}

    def read_words(self) -> None:
        for name in ("src", "begin", "slots", "out", "last", "skyline"):
            self.line(f"%{name} = load ptr, ptr {self.address('%x', getattr(k.Loop, name))}, align 8")
        for name in ("n", "stride"):
            self.line(f"%{name} = load i64, ptr {self.address('%x', getattr(k.Loop, name))}, align 8")
        self.line("%to = alloca ptr")
        self.store("ptr", "%out", "%to")

    def next(self) -> str:
        return self.load("ptr", "%to")

    def asked(self, part: ClassPart) -> Flag:
        """Ask what the event alone says. Returns whether it may hold, the arc's destination, and where its constants stand."""
        on, yes, no, end = (self.name() for _ in range(4))
        dst = self.load("i64", "%slots", 2 * part.number)
        params = self.load("ptr", "%slots", 2 * part.number + 1)
        self.branch(self.let(f"icmp slt i64 {dst}, 0"), no, on)
        self.place(on)
        self.words, self.pointers["p"] = part.slot.code.words, params
        for item in part.alone:
            further = self.name()
            self.known = dict(self.base)
            self.jump(item, further, no)
            self.place(further)
        self.goto(yes)
        self.place(yes)
        self.goto(end)
        self.place(no)
        self.goto(end)
        self.place(end)
        self.known = dict(self.base)
        return self.phi("i1", ("true", yes), ("false", no)), dst, params

    def refuse(self, parts: Sequence[ClassPart], flags: Sequence[Flag]) -> None:
        """Go to ``refused`` if best rows do not suffice; else say which states all rows leave."""
        self.line(f"%shorter = icmp slt i64 %re, {self.load('i64', '%x', k.Loop.farthest)}")
        kept, others, bests = "0", "0", "false"  # bits of states whose rows all stay; of those of which the best do not suffice
        for part, (flag, _, _) in zip(parts, flags):
            bit = self.let(f"select i1 {flag}, i64 {1 << part.slot.state}, i64 0")
            if part.best:
                bests = self.let(f"or i1 {bests}, {flag}")
            elif part.stays and not part.rest:
                kept = self.let(f"or i64 {kept}, {bit}")
                if not part.slot.skip:
                    others = self.let(f"or i64 {others}, {self.let(f'select i1 %shorter, i64 {bit}, i64 0')}")
            else:
                others = self.let(f"or i64 {others}, {bit}")
        unusual = self.let(f"select i1 {bests}, i64 0, i64 {1 << k.UNUSUAL}")
        kept = self.let(f"or i64 {kept}, {unusual}")
        there, passing = self.load("i64", "%x", k.Loop.there), self.load("i64", "%x", k.Loop.passing)
        leaving = self.let(f"and i64 {there}, {self.let(f'xor i64 {kept}, -1')}")
        old = self.let(f"and i64 {leaving}, {self.let(f'xor i64 {passing}, -1')}")
        wrong = self.let(f"or i64 {self.let(f'and i64 {there}, {others}')}, {old}")
        on = self.name()
        self.branch(self.let(f"icmp ne i64 {wrong}, 0"), "refused", on)
        self.place(on)
        self.store("i64", leaving, "%x", k.Loop.leave)

    def put_best(self, part: ClassPart, flag: Flag, asked: RowRange | None, number: int) -> None:
        """Write the row that a part makes of the best row of its range, or of those that it takes, if there is one."""
        asked_for, dst, params = flag
        on, each, ordered, found, alive, off = (self.name() for _ in range(6))
        self.branch(asked_for, on, off)
        self.place(on)
        self.known = dict(self.base)
        self.words, self.pointers["p"] = part.slot.code.words, params
        self.branch("true" if part.rest and asked is None else "%shorter", each, ordered)
        self.place(each)
        looked, looked_in = self.best_of(part), self.block
        self.goto(found)
        self.place(ordered)
        if asked is None:
            known = [self.load("i64", "%x", word + part.slot.state) for word in (k.Loop.best_until, k.Loop.best_start)]
        else:
            last = self.last_of(asked, part.slot.state, number, off)
            places = [self.let(f"add i64 {last}, {self.let(f'mul i64 %stride, {at}')}") for at in (1, 2)]
            known = [self.load("i64", "%skyline", place) for place in places]
        known_in = self.block
        self.goto(found)
        self.place(found)
        m, start = (self.phi("i64", (one, looked_in), (other, known_in)) for one, other in zip(looked, known))
        self.known = dict(self.base)
        self.branch(self.let(f"icmp sgt i64 {m}, %le"), alive, off)
        self.place(alive)
        self.put_row(part, dst, start, m)
        self.goto(off)
        self.place(off)
        self.known = dict(self.base)

    def best_of(self, part: ClassPart) -> tuple[str, str]:
        """Return m and start of the best row that a part takes; m ``%le``: there is none."""
        before, loop, row, further, end = self.block, *(self.name() for _ in range(4))
        i, m, start, i_next, m_next, start_next = (self.name("%v") for _ in range(6))
        self.goto(loop)
        self.place(loop)
        for now, first, later in ((i, "0", i_next), (m, "%le", m_next), (start, str(k.BEGINNING), start_next)):
            self.line(f"{now} = phi i64 [{first}, %{before}], [{later}, %{further}]")
        self.branch(self.let(f"icmp slt i64 {i}, %n"), row, end)
        self.place(row)
        at = self.let(f"getelementptr i64, ptr %src, i64 {self.let(f'mul i64 {i}, {HEAD + self.width}')}")
        over, begun, state = (self.load("i64", at, word) for word in (k.NodeRow.until, k.NodeRow.start, k.NodeRow.state))
        until = self.call("i64", "llvm.smin.i64", f"i64 {over}", "i64 %re")
        tie = self.let(f"and i1 {self.let(f'icmp eq i64 {until}, {m}')}, {self.let(f'icmp sgt i64 {begun}, {start}')}")
        better = self.let(f"or i1 {self.let(f'icmp sgt i64 {until}, {m}')}, {tie}")
        takes, no = self.name(), self.name()
        self.branch(self.let(f"and i1 {better}, {self.let(f'icmp eq i64 {state}, {part.slot.state}')}"), takes, no)
        self.place(takes)
        self.pointers["r"] = self.address(at, HEAD)
        for item in part.rest:
            holds = self.name()
            self.known = dict(self.base)
            self.jump(item, holds, no)
            self.place(holds)
        taken = self.block
        self.goto(further)
        self.place(no)
        self.goto(further)
        self.place(further)
        for ssa, new, old in ((m_next, until, m), (start_next, begun, start)):
            self.line(f"{ssa} = phi i64 [{new}, %{taken}], [{old}, %{no}]")
        self.line(f"{i_next} = add i64 {i}, 1")
        self.goto(loop)
        self.place(end)
        self.known = dict(self.base)
        return m, start

    def last_of(self, asked: RowRange, state: int, number: int, none: str) -> str:
        """Return where in %skyline the last row of a range stands; goes to ``none`` where there is none."""
        bound = self.value(asked.bound).ssa
        if asked.order.floats:
            bound, on = self.let(f"fadd double {bound}, 0.0"), self.name()  # -0.0 is 0.0
            self.branch(self.let(f"fcmp ord double {bound}, {bound}"), on, none)
            self.place(on)
            word = self.let(f"bitcast double {bound} to i64")
            mirrored = self.let(f"xor i64 {word}, {MAGNITUDE}")
            bound = self.let(f"select i1 {self.let(f'icmp slt i64 {word}, 0')}, i64 {mirrored}, i64 {word}")
        if asked.order.falls:
            bound = self.let(f"xor i64 {bound}, -1")
        first = self.let(f"mul i64 {self.load('i64', '%x', k.Loop.skyline_room)}, {number}")
        count = self.load("i64", "%x", k.Loop.skyline_rows + state)
        before, loop, step, end = self.block, self.name(), self.name(), self.name()
        low, high, low_next, high_next = (self.name("%v") for _ in range(4))
        self.goto(loop)
        self.place(loop)
        self.line(f"{low} = phi i64 [0, %{before}], [{low_next}, %{step}]")
        self.line(f"{high} = phi i64 [{count}, %{before}], [{high_next}, %{step}]")
        self.branch(self.let(f"icmp slt i64 {low}, {high}"), step, end)
        self.place(step)
        middle = self.let(f"lshr i64 {self.let(f'add i64 {low}, {high}')}, 1")
        value = self.load("i64", "%skyline", self.let(f"add i64 {first}, {middle}"))
        within = self.let(f"icmp s{'lt' if asked.strict else 'le'} i64 {value}, {bound}")
        self.line(f"{low_next} = select i1 {within}, i64 {self.let(f'add i64 {middle}, 1')}, i64 {low}")
        self.line(f"{high_next} = select i1 {within}, i64 {high}, i64 {middle}")
        self.goto(loop)
        self.place(end)
        found = self.name()
        self.branch(self.let(f"icmp sgt i64 {low}, 0"), found, none)
        self.place(found)
        return self.let(f"add i64 {first}, {self.let(f'sub i64 {low}, 1')}")

    def begin(self, part: ClassPart, flag: Flag) -> None:
        """Begin a computation by an arc, if it holds."""
        asked, dst, params = flag
        on, no = self.name(), self.name()
        self.branch(asked, on, no)
        self.place(on)
        self.words, self.pointers["p"] = part.slot.code.words, params
        self.pointers["r"] = self.address("%begin", HEAD)
        self.known = dict(self.base)
        for item in part.rest:
            further = self.name()
            self.jump(item, further, no)
            self.place(further)
        self.put_row(part, dst, "%le", "%re")
        self.goto(no)
        self.place(no)
        self.known = dict(self.base)

    def put_row(self, part: ClassPart, dst: str, start: str, until: str) -> None:
        """Write a row that a part makes of the initial register."""
        out, on = self.next(), self.name()
        self.branch(self.let(f"icmp uge ptr {out}, %last"), "full", on, "!prof !0")
        self.place(on)
        head = {k.NodeRow.start: start, k.NodeRow.until: until, k.NodeRow.state: dst, k.NodeRow.end: str(k.ALONE)}
        for word, ssa in head.items():
            self.store("i64", ssa, out, word)
        self.pointers["r"] = self.address("%begin", HEAD)
        if part.slot.code.transfer is None:
            self.copy(self.pointers["r"], self.address(out, HEAD), self.width)
        else:
            self.register(part.slot.code.transfer, self.address(out, HEAD))
        self.store("ptr", self.address(out, HEAD + self.width), "%to")
