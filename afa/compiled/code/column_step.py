"""What one event makes of a list that stands in columns, eight partial matches at a time; where only the longest count.

    i64 step(ptr ev, i64 re, i64 le, ptr x)

    m        x.X_SRC +  61   62   62   70   ..        X_STRIDE words a column, X_N rows; behind them rows with m BEGINNING
    state                a    b    b    b             columns stand as the words of a row do
    register             0    7    9   12
    e.val >= r  (b)           T    T    F             one look at eight rows; event parts are asked once, before
    made                 (start, m, b, 10)            of rows with one register, as far as a transfer tells, only the best
    ended                .    .    .    .             a bit of X_GONE a row that does not stay, eight a byte

It writes rows ``[start, m, state, ALONE, register..]`` to X_OUT, up to X_LAST, in no order, and in X_ENDED whether any row ends.
Returns how many, -1 (ask) or -2 (no room). What else a row means: `afa.compiled.code.step_function`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from afa.compiled.code.arc_code import ends
from afa.compiled.code.by_event import stands_at
from afa.compiled.code.eight_rows import I64
from afa.compiled.code.emit import TYPES, Emitter, Known
from afa.compiled.code.lanes import MANY, NEVER, Lane, Lanes, as_bits, both, either, opposite, served, splat, vector
from afa.compiled.code.step_function import HEAD, SlotClass, event_fields, text_of
from afa.compiled.code.term import Term
from afa.compiled.kernel import names as k

COLUMNS = "i64 @f(ptr noalias readonly %ev, i64 %re, i64 %le, ptr noalias %x) nounwind"
ALL = "splat (i1 true)"


def columns_key(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    return f"columns {start} {width} " + text_of(classes)


class Part(NamedTuple):
    """How one class is asked: what the event alone says (``alone``), then the rest, in vectors if ``eight``; see `_part`."""

    number: int
    slot: SlotClass
    alone: tuple[Term, ...]
    rest: tuple[Term, ...]
    eight: bool

    @property
    def stays(self) -> bool:
        """Whether its rows stay, their registers unseen."""
        return self.slot.ignorable and not (self.slot.skip and self.slot.code.transfer is not None)

    @property
    def best(self) -> bool:
        """Whether all rows that it makes of an event have one register, but for what it takes over."""
        transfer = self.slot.code.transfer
        if self.stays or self.slot.skip or not self.eight or transfer is None or transfer.op == "if":
            return False
        return all("r" not in item.reads or stands_at(item, place) for item, place in zip(transfer.items, transfer.data))

    @property
    def kept(self) -> list[int]:
        """The words of the register that such rows take over."""
        transfer = self.slot.code.transfer
        assert transfer is not None
        places = [place for item, place in zip(transfer.items, transfer.data) if "r" in item.reads]
        return [word + i for word, width in places for i in range(width)]


def _part(number: int, slot: SlotClass) -> Part:
    fence = slot.code.fence
    items = () if fence is None else fence.items if fence.op == "all" else (fence,)
    if any(item.asks for item in items):  # in the order in which Python would ask
        return Part(number, slot, (), items, False)
    alone = tuple(item for item in items if "r" not in item.reads)
    rest = tuple(item for item in items if "r" in item.reads)
    return Part(number, slot, alone, rest, all(served(item) for item in rest))


def columns_ir(classes: Sequence[SlotClass], width: int, start: int = 0) -> str:
    """Return the code for classes in the order of the slots; computations begin in state ``start``."""
    e = _Columns(width)
    parts = [_part(number, slot) for number, slot in enumerate(classes)]
    e.read_words()
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
    e.rows(parts, flags)
    for part in parts:
        if part.best:
            e.put_best(part)
    for part, flag in zip(parts, flags):
        if part.slot.state == start and not part.slot.skip:
            e.begin(part, flag)
    size = e.let(f"sub i64 {e.let(f'ptrtoint ptr {e.next()} to i64')}, {e.let('ptrtoint ptr %out to i64')}")
    e.line(f"ret i64 {e.let(f'sdiv exact i64 {size}, {8 * (HEAD + width)}')}")
    ends(e, ask=-1, full=-2)
    return e.function(COLUMNS)


class _Columns(Emitter):
    """The function in the making. ``%to``: where the address stands at which the next row goes."""

    def __init__(self, width: int) -> None:
        super().__init__({})
        self.width = width
        self.base: Known = {}
        self.events: dict[tuple[str, int, int], Lane] = {}

    def read_words(self) -> None:
        for name in ("src", "begin", "slots", "out", "last", "gone"):
            self.line(f"%{name} = load ptr, ptr {self.address('%x', getattr(k, f'X_{name.upper()}'))}, align 8")
        for name in ("n", "stride"):
            self.line(f"%{name} = load i64, ptr {self.address('%x', getattr(k, f'X_{name.upper()}'))}, align 8")
        self.line("%to = alloca ptr")
        self.line(f"%row = alloca [{max(1, self.width)} x i64]")
        self.store("ptr", "%out", "%to")
        for word in range(HEAD + self.width):
            self.line(f"%column{word} = getelementptr i64, ptr %src, i64 {self.let(f'mul i64 %stride, {word}')}")
        self.line(f"%le_eight = add {I64} {splat(self, 'i64', '%le')}, zeroinitializer")
        self.line(f"%re_eight = add {I64} {splat(self, 'i64', '%re')}, zeroinitializer")

    def next(self) -> str:
        return self.load("ptr", "%to")

    def asked(self, part: Part) -> tuple[str, str, str]:
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

    def rows(self, parts: Sequence[Part], flags: Sequence[tuple[str, str, str]]) -> None:
        """Go through the rows; the best ones of part n are then ``%m<n>_best``, ``%start<n>_best``."""
        before = self.block
        self.branch(self.let("icmp sgt i64 %n, 0"), "eight", "rows_end")
        self.place("eight")
        self.line(f"%i = phi i64 [0, %{before}], [%i_next, %eight_end]")
        self.line(f"%any = phi i8 [0, %{before}], [%any_next, %eight_end]")
        for part in parts:
            if part.best:
                for name, zero in (("m", f"splat (i64 {k.BEGINNING})"), ("start", f"splat (i64 {k.BEGINNING})")):
                    self.line(f"%{name}{part.number} = phi {I64} [{zero}, %{before}], [%{name}{part.number}_next, %eight_end]")
        m, state = self.column(k.N_M), self.column(k.N_STATE)
        alive = self.let(f"icmp sgt {I64} {m}, %le_eight")
        shorter = self.let(f"icmp slt {I64} {m}, %re_eight")
        until = self.let(f"select {vector('i1')} {shorter}, {I64} {m}, {I64} %re_eight")
        fields = dict(self.events)
        stays, bests = NEVER, {}
        start = self.column(k.N_START)
        for part, (flag, dst, params) in zip(parts, flags):
            on, off, end = self.name(), self.name(), self.name()
            self.branch(flag, on, off)
            self.place(on)
            self.known = dict(self.base)
            self.words, self.pointers["p"] = part.slot.code.words, params
            here = self.let(f"icmp eq {I64} {state}, splat (i64 {part.slot.state})")
            mask = both(self, alive, here)
            if part.eight and part.rest:
                lanes = Lanes(self, {**fields, **self.register_lanes(part.rest)})
                for item in part.rest:
                    mask = both(self, mask, lanes.value(item).ssa)
            staying, moving = NEVER, mask
            if part.stays and part.eight:
                fits = ALL if part.slot.skip else self.let(f"icmp sle {I64} {m}, %re_eight")
                staying = both(self, mask, fits)
                moving = both(self, mask, opposite(self, fits))
            if part.best:
                usual = self.usual(part, moving)
                bests[part.number] = self.better(part.number, usual, until, start)
                if part.kept:
                    self.one_by_one(part, dst, both(self, moving, opposite(self, usual)), NEVER)
            elif not (part.stays and part.eight and part.slot.skip):
                staying = self.one_by_one(part, dst, moving, staying)
            on = self.block
            self.goto(end)
            self.place(off)
            self.goto(end)
            self.place(end)
            kept = self.phi(vector("i1"), (staying, on), (NEVER, off))
            if part.best:
                found = bests[part.number]
                for name, ssa in zip(("m", "start"), found):
                    own = f"%{name}{part.number}"
                    self.line(f"{own}_on = phi {I64} [{ssa}, %{on}], [{own}, %{off}]")
            stays = either(self, stays, kept)
        there = self.let(f"icmp sgt {I64} {m}, splat (i64 {k.BEGINNING})")
        gone = as_bits(self, both(self, there, opposite(self, stays)))
        group = self.let("lshr i64 %i, 3")
        self.line(f"store i8 {gone}, ptr {self.let(f'getelementptr i8, ptr %gone, i64 {group}')}, align 1")
        self.goto("eight_end")
        self.place("eight_end")
        self.line(f"%any_next = or i8 %any, {gone}")
        for part in parts:
            if part.best:
                for name in ("m", "start"):
                    self.line(f"%{name}{part.number}_next = add {I64} %{name}{part.number}_on, zeroinitializer")
        self.line(f"%i_next = add i64 %i, {MANY}")
        self.branch(self.let("icmp slt i64 %i_next, %n"), "eight", "rows_end")
        self.place("rows_end")
        ended = self.phi("i8", ("0", before), ("%any_next", "eight_end"))
        for part in parts:
            if part.best:
                for name in ("m", "start"):
                    own = f"%{name}{part.number}"
                    self.line(f"{own}_best = phi {I64} [splat (i64 {k.BEGINNING}), %{before}], [{own}_next, %eight_end]")
        self.store("i64", self.let(f"zext i8 {ended} to i64"), "%x", k.X_ENDED)
        self.known = dict(self.base)

    def column(self, word: int) -> str:
        return self.let(f"load {I64}, ptr {self.let(f'getelementptr i64, ptr %column{word}, i64 %i')}, align 8")

    def register_lanes(self, terms: Sequence[Term]) -> dict[tuple[str, int, int], Lane]:
        """Read the fields of eight registers that terms read."""
        found: dict[tuple[str, int, int], Lane] = {}

        def visit(t: Term) -> None:
            if t.op == "field" and t.data[0] == "r" and t.data not in found:
                _, word, width = t.data
                present = None
                if width == 2:
                    present = self.let(f"icmp ne {I64} {self.column(HEAD + word)}, zeroinitializer")
                value, type_ = self.column(HEAD + word + width - 1), TYPES[t.kind.base]
                if type_ == "i1":
                    value = self.let(f"icmp ne {I64} {value}, zeroinitializer")
                elif type_ == "double":
                    value = self.let(f"bitcast {I64} {value} to {vector('double')}")
                found[t.data] = Lane(t.kind.base, value, present)
            for item in t.items:
                visit(item)

        for term in terms:
            visit(term)
        return found

    def usual(self, part: Part, mask: str) -> str:
        """Return which of the rows of a mask have the words of the initial register where a part takes them over."""
        for word in part.kept:
            mask = both(self, mask, self.let(f"icmp eq {I64} {self.column(HEAD + word)}, %initial{word}"))
        return mask

    def better(self, number: int, mask: str, until: str, start: str) -> tuple[str, str]:
        """Return the best ``m`` and start of each lane so far, these eight rows among them."""
        m, begun = f"%m{number}", f"%start{number}"
        longer = self.let(f"icmp sgt {I64} {until}, {m}")
        alike = both(self, self.let(f"icmp eq {I64} {until}, {m}"), self.let(f"icmp sgt {I64} {start}, {begun}"))
        wins = both(self, mask, either(self, longer, alike))
        select = f"select {vector('i1')} {wins}, {I64}"
        return self.let(f"{select} {until}, {I64} {m}"), self.let(f"{select} {start}, {I64} {begun}")

    def one_by_one(self, part: Part, dst: str, mask: str, staying: str) -> str:
        """Take the rows of a mask through an arc. Returns which of the eight stay."""
        loop, body, over = self.name(), self.name(), self.name()
        bits0 = self.let(f"zext i{MANY} {as_bits(self, mask)} to i64")
        stay0 = self.let(f"zext i{MANY} {as_bits(self, staying)} to i64")
        before = self.block
        self.goto(loop)
        self.place(loop)
        bits, stay, bits_next, stay_next = (self.name("%v") for _ in range(4))
        end = self.name()
        self.line(f"{bits} = phi i64 [{bits0}, %{before}], [{bits_next}, %{end}]")
        self.line(f"{stay} = phi i64 [{stay0}, %{before}], [{stay_next}, %{end}]")
        self.branch(self.let(f"icmp eq i64 {bits}, 0"), over, body)
        self.place(body)
        lane = self.call("i64", "llvm.cttz.i64", f"i64 {bits}", "i1 true")
        row = self.let(f"add i64 %i, {lane}")
        m, start = self.load("i64", f"%column{k.N_M}", row), self.load("i64", f"%column{k.N_START}", row)
        for word in range(self.width):
            self.store("i64", self.load("i64", f"%column{HEAD + word}", row), "%row", word)
        self.pointers["r"] = "%row"
        self.known = dict(self.base)
        no = self.name()
        ways = [("0", no)]
        if not part.eight:
            for item in part.rest:
                further = self.name()
                self.jump(item, further, no)
                self.place(further)
        bit = self.let(f"shl i64 1, {lane}")
        if part.stays and not part.eight:
            moves, stays = self.name(), self.name()
            self.branch("true" if part.slot.skip else self.let(f"icmp sle i64 {m}, %re"), stays, moves)
            self.place(stays)
            ways.append((bit, stays))
            self.goto(end)
            self.place(moves)
        until = m
        if not part.slot.skip:
            until = self.let(f"select i1 {self.let(f'icmp slt i64 {m}, %re')}, i64 {m}, i64 %re")
        out = self.put_row(part, dst, start, until)
        if part.slot.skip and part.slot.ignorable and part.slot.code.transfer is not None:
            same = "true"
            for word in range(self.width):
                was, now = self.load("i64", "%row", word), self.load("i64", out, HEAD + word)
                same = self.let(f"and i1 {same}, {self.let(f'icmp eq i64 {was}, {now}')}")
            stays, moves = self.name(), self.name()
            self.branch(same, stays, moves)
            self.place(stays)
            ways.append((bit, stays))
            self.goto(end)
            self.place(moves)
        self.store("ptr", self.address(out, HEAD + self.width), "%to")
        ways.append(("0", self.block))
        self.goto(end)
        self.place(no)
        self.goto(end)
        self.place(end)
        found = self.phi("i64", *ways)
        self.line(f"{stay_next} = or i64 {stay}, {found}")
        self.line(f"{bits_next} = and i64 {bits}, {self.let(f'add i64 {bits}, -1')}")
        self.goto(loop)
        self.place(over)
        self.known = dict(self.base)
        return self.let(f"bitcast i{MANY} {self.let(f'trunc i64 {stay} to i{MANY}')} to {vector('i1')}")

    def put_row(self, part: Part, dst: str, start: str, until: str) -> str:
        """Write a row, of the register that ``r`` points to. Returns where; the next one goes there too, until ``%to`` moves on."""
        out, on = self.next(), self.name()
        self.branch(self.let(f"icmp uge ptr {out}, %last"), "full", on, "!prof !0")
        self.place(on)
        for word, ssa in ((k.N_START, start), (k.N_M, until), (k.N_STATE, dst), (k.N_END, str(k.ALONE))):
            self.store("i64", ssa, out, word)
        if part.slot.code.transfer is None:
            self.copy(self.pointers["r"], self.address(out, HEAD), self.width)
        else:
            self.register(part.slot.code.transfer, self.address(out, HEAD))
        return out

    def put_best(self, part: Part) -> None:
        """Write the best of the rows that a part makes, if there is any."""
        n, on, off = part.number, self.name(), self.name()
        m = self.most(f"%m{n}_best")
        self.branch(self.let(f"icmp eq i64 {m}, {k.BEGINNING}"), off, on)
        self.place(on)
        alike = self.let(f"icmp eq {I64} %m{n}_best, {splat(self, 'i64', m)}")
        least = f"{I64} splat (i64 {k.BEGINNING})"
        start = self.most(self.let(f"select {vector('i1')} {alike}, {I64} %start{n}_best, {least}"))
        self.known = dict(self.base)
        self.words, self.pointers["p"] = part.slot.code.words, self.load("ptr", "%slots", 2 * n + 1)
        self.pointers["r"] = self.address("%begin", HEAD)
        out = self.put_row(part, self.load("i64", "%slots", 2 * n), start, m)
        self.store("ptr", self.address(out, HEAD + self.width), "%to")
        self.goto(off)
        self.place(off)
        self.known = dict(self.base)

    def most(self, ssa: str) -> str:
        """Return the greatest of eight words."""
        self.declared.add(f"declare i64 @llvm.vector.reduce.smax.v{MANY}i64({I64})")
        return self.let(f"call i64 @llvm.vector.reduce.smax.v{MANY}i64({I64} {ssa})")

    def begin(self, part: Part, flag: tuple[str, str, str]) -> None:
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
        out = self.put_row(part, dst, "%le", "%re")
        self.store("ptr", self.address(out, HEAD + self.width), "%to")
        self.goto(no)
        self.place(no)
        self.known = dict(self.base)
