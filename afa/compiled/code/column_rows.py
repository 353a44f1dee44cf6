"""Eight rows of a list in columns through all arcs, as IR; see `afa.compiled.code.column_step`."""

from __future__ import annotations

from collections.abc import Sequence

from afa.compiled.code.column_parts import ClassPart, Flag
from afa.compiled.code.emit import TYPES, Emitter, Known
from afa.compiled.code.lanes import I64, MANY, NEVER, Lane, Lanes, as_bits, both, either, opposite, splat, vector
from afa.compiled.code.step_function import HEAD, same_register
from afa.compiled.code.term import Term
from afa.compiled.kernel import layout as k

ALL = "splat (i1 true)"
LEAST = f"splat (i64 {k.BEGINNING})"


class ColumnFunction(Emitter):
    """The function in the making. ``%to``: where the address stands at which the next row goes."""

    def __init__(self, width: int) -> None:
        super().__init__({})
        self.width = width
        self.base: Known = {}
        self.events: dict[tuple[str, int, int], Lane] = {}

    def read_words(self) -> None:
        for name in ("src", "begin", "slots", "out", "last", "gone", "sums", "hints", "overs"):
            self.line(f"%{name} = load ptr, ptr {self.address('%x', getattr(k.Loop, name))}, align 8")
        for name in ("n", "stride", "sums_span", "overs_span"):
            self.line(f"%{name} = load i64, ptr {self.address('%x', getattr(k.Loop, name))}, align 8")
        self.line("%to = alloca ptr")
        self.line(f"%row = alloca [{max(1, self.width)} x i64]")
        self.store("ptr", "%out", "%to")
        self.store("i64", "0", "%x", k.Loop.ended)
        for word in range(HEAD + self.width):
            self.line(f"%column{word} = getelementptr i64, ptr %src, i64 {self.let(f'mul i64 %stride, {word}')}")
        self.line(f"%le_eight = add {I64} {splat(self, 'i64', '%le')}, zeroinitializer")
        self.line(f"%re_eight = add {I64} {splat(self, 'i64', '%re')}, zeroinitializer")

    def next(self) -> str:
        return self.load("ptr", "%to")

    def asked(self, part: ClassPart) -> Flag:
        """Ask the event part. Returns whether it may hold, the arc's destination, and where its constants stand."""
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

    def eight_rows(self, parts: Sequence[ClassPart], flags: Sequence[Flag]) -> None:
        """Take the eight rows from ``%i`` on through all arcs."""
        m, state, start = self.column(k.NodeRow.until), self.column(k.NodeRow.state), self.column(k.NodeRow.start)
        alive = self.let(f"icmp sgt {I64} {m}, %le_eight")
        shorter = self.let(f"icmp slt {I64} {m}, %re_eight")
        until = self.let(f"select {vector('i1')} {shorter}, {I64} {m}, {I64} %re_eight")
        stays = NEVER
        for part, (flag, dst, params) in zip(parts, flags):
            on, off, end = self.name(), self.name(), self.name()
            self.branch(flag, on, off)
            self.place(on)
            self.known = dict(self.base)
            self.words, self.pointers["p"] = part.slot.code.words, params
            mask = both(self, alive, self.let(f"icmp eq {I64} {state}, splat (i64 {part.slot.state})"))
            if part.eight and part.rest:
                lanes = Lanes(self, {**self.events, **self.register_lanes(part.rest)})
                for item in part.rest:
                    mask = both(self, mask, lanes.value(item).ssa)
            staying, moving = NEVER, mask
            if part.stays and part.eight:
                fits = ALL if part.slot.skip else self.let(f"icmp sle {I64} {m}, %re_eight")
                staying = both(self, mask, fits)
                moving = both(self, mask, opposite(self, fits))
            if part.best:
                usual = self.usual(part, moving)
                self.better(part.number, usual, until, start)
                if part.kept:
                    self.one_by_one(part, dst, both(self, moving, opposite(self, usual)), NEVER)
            elif not (part.stays and part.eight and part.slot.skip):
                staying = self.one_by_one(part, dst, moving, staying)
            on = self.block
            self.goto(end)
            self.place(off)
            self.goto(end)
            self.place(end)
            stays = either(self, stays, self.phi(vector("i1"), (staying, on), (NEVER, off)))
        there = self.let(f"icmp sgt {I64} {m}, splat (i64 {k.BEGINNING})")
        gone = as_bits(self, both(self, there, opposite(self, stays)))
        self.line(f"store i8 {gone}, ptr {self.let('getelementptr i8, ptr %gone, i64 %group')}, align 1")
        ended = self.let(f"or i64 {self.load('i64', '%x', k.Loop.ended)}, {self.let(f'zext i8 {gone} to i64')}")
        self.store("i64", ended, "%x", k.Loop.ended)

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

    def usual(self, part: ClassPart, mask: str) -> str:
        """Return which of the rows of a mask have the words of the initial register where a part takes them over."""
        for word in part.kept:
            mask = both(self, mask, self.let(f"icmp eq {I64} {self.column(HEAD + word)}, %initial{word}"))
        return mask

    def better(self, number: int, mask: str, until: str, start: str) -> None:
        """Note the best ``until`` and start of each lane so far, these eight rows among them."""
        m, begun = (self.let(f"load {I64}, ptr %{name}{number}") for name in ("m", "start"))
        longer = self.let(f"icmp sgt {I64} {until}, {m}")
        alike = both(self, self.let(f"icmp eq {I64} {until}, {m}"), self.let(f"icmp sgt {I64} {start}, {begun}"))
        wins = both(self, mask, either(self, longer, alike))
        for name, new, old in (("m", until, m), ("start", start, begun)):
            found = self.let(f"select {vector('i1')} {wins}, {I64} {new}, {I64} {old}")
            self.line(f"store {I64} {found}, ptr %{name}{number}")

    def best(self, number: int) -> tuple[str, str]:
        """Return the best ``until`` of a part so far, and its start; BEGINNING: there is none."""
        ms, starts = (self.let(f"load {I64}, ptr %{name}{number}") for name in ("m", "start"))
        m = self.most(ms)
        alike = self.let(f"icmp eq {I64} {ms}, {splat(self, 'i64', m)}")
        return m, self.most(self.let(f"select {vector('i1')} {alike}, {I64} {starts}, {I64} {LEAST}"))

    def one_by_one(self, part: ClassPart, dst: str, mask: str, staying: str) -> str:
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
        m, start = self.load("i64", f"%column{k.NodeRow.until}", row), self.load("i64", f"%column{k.NodeRow.start}", row)
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
            same = same_register(self, "%row", out, self.width)
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

    def put_row(self, part: ClassPart, dst: str, start: str, until: str) -> str:
        """Write a row, of the register that ``r`` points to. Returns where; the next one goes there too, until ``%to`` moves on."""
        out, on = self.next(), self.name()
        self.branch(self.let(f"icmp uge ptr {out}, %last"), "full", on, "!prof !0")
        self.place(on)
        for word, ssa in (
            (k.NodeRow.start, start),
            (k.NodeRow.until, until),
            (k.NodeRow.state, dst),
            (k.NodeRow.end, str(k.ALONE)),
        ):
            self.store("i64", ssa, out, word)
        if part.slot.code.transfer is None:
            self.copy(self.pointers["r"], self.address(out, HEAD), self.width)
        else:
            self.register(part.slot.code.transfer, self.address(out, HEAD))
        return out

    def put_best(self, part: ClassPart) -> None:
        """Write the best of the rows that a part makes, if there is any."""
        n, on, off = part.number, self.name(), self.name()
        m, start = self.best(n)
        self.branch(self.let(f"icmp eq i64 {m}, {k.BEGINNING}"), off, on)
        self.place(on)
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
        out = self.put_row(part, dst, "%le", "%re")
        self.store("ptr", self.address(out, HEAD + self.width), "%to")
        self.goto(no)
        self.place(no)
        self.known = dict(self.base)
