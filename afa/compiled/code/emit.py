"""Write terms as LLVM IR, one method for each operation, each value computed where it is needed.

A value is known from where it was computed to the end of that branch, and computed once there. Whatever asks jumps to one block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.compiled.code import arithmetic
from afa.compiled.code.term import Term
from afa.compiled.code.writer import Writer

TYPES = {"int": "i64", "str": "i64", "none": "i64", "float": "double", "num": "double", "bool": "i1"}
ZEROS = {"i64": "0", "double": "0.0", "i1": "false"}
JUMPS = ("all", "any", "not", "if")
"""Operations made of other truths, evaluated no further than needed."""
CHEAP = 6
"""Up to so many operations, both sides of a choice are computed and one is selected."""
WHOLE = {"floor": "floor", "ceil": "ceil", "whole": "trunc", "round": "round"}
"""Operations that make floats whole, and LLVM's functions for them."""
UNROLL = 12
"""How many constants of an `in` are compared one by one; more make a loop."""


class Value(NamedTuple):
    """An SSA value, and whether it is there (an i1; None: always). A value that is not there is zero."""

    base: str
    ssa: str
    present: str | None = None

    @property
    def type(self) -> str:
        return TYPES[self.base]


Known = dict[Any, Value]
"""The computed values, by the keys of their terms."""


def _common(first: Known, *others: Known) -> Known:
    """Return the values that are known on all of several ways by one SSA value: they were computed before the ways part."""
    return {key: v for key, v in first.items() if all(other.get(key) == v for other in others)}


class Emitter(Writer):
    """The text of one function over terms; ``words``: of each constant, by its term's id, its word among the parameters."""

    def __init__(self, words: Mapping[int, int]) -> None:
        super().__init__()
        self.words = words
        self.known: Known = {}
        self.pointers = {"e": "%ev", "r": "%reg", "p": "%params"}

    def value(self, t: Term) -> Value:
        key = t.data if t.op == "field" else id(t)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = OPERATIONS[t.op](self, t)
        return found

    def jump(self, t: Term, yes: str, no: str) -> tuple[Known, Known]:
        """Go to ``yes`` or to ``no`` by a truth; returns the values known in each of them, if nothing else leads there.

        Afterwards that of ``yes`` is taken as known.
        """
        if t.op == "not":
            there, here = self.jump(t.items[0], no, yes)
        elif t.op in ("all", "any"):
            here, there = self._go_along(t, yes, no)
        elif t.op == "if":
            here, there = self._fork(t, yes, no)
        else:
            self.branch(self.value(t).ssa, yes, no)
            here = there = self.known
        self.known = dict(here)
        return here, there

    def _go_along(self, t: Term, yes: str, no: str) -> tuple[Known, Known]:
        """`jump` by one item after the other, no further than needed."""
        further = t.op == "all"
        left: list[Known] = []  # the values known where an item decides
        for item in t.items[:-1]:
            on = self.name()
            here, there = self.jump(item, *((on, no) if further else (yes, on)))
            left.append(there if further else here)
            self.known = dict(here if further else there)
            self.place(on)
        here, there = self.jump(t.items[-1], yes, no)
        return (here, _common(*left, there)) if further else (_common(*left, here), there)

    def _fork(self, t: Term, yes: str, no: str) -> tuple[Known, Known]:
        test, *ends = t.items
        labels = self.name(), self.name()
        known = self.jump(test, *labels)
        found = []
        for label, before, end in zip(labels, known, ends):
            self.place(label)
            self.known = dict(before)
            found.append(self.jump(end, yes, no))
        return _common(found[0][0], found[1][0]), _common(found[0][1], found[1][1])

    def register(self, t: Term, out: str) -> None:
        if t.op == "if":
            labels, end = (self.name(), self.name()), self.name()
            known = self.jump(t.items[0], *labels)
            for label, before, item in zip(labels, known, t.items[1:]):
                self.place(label)
                self.known = dict(before)
                self.register(item, out)
                self.goto(end)
            self.place(end)
            return
        for (word, width), item in zip(t.data, t.items):
            v = self.value(item)
            if width == 2:
                self.store("i1", v.present or "true", out, word)
            self.store(v.type, v.ssa, out, word + width - 1)

    def truth(self, t: Term) -> Value:
        if not t.asks and t.cost <= CHEAP:
            ssa = [self.value(item).ssa for item in t.items]
            if t.op == "not":
                return Value("bool", self.let(f"xor i1 {ssa[0]}, true"))
            while len(ssa) > 1:
                ssa[:2] = [self.let(f"{'and' if t.op == 'all' else 'or'} i1 {ssa[0]}, {ssa[1]}")]
            return Value("bool", ssa[0])
        yes, no, end = self.name(), self.name(), self.name()
        self.known = _common(*self.jump(t, yes, no))
        for label in (yes, no):
            self.place(label)
            self.goto(end)
        self.place(end)
        return Value("bool", self.phi("i1", ("true", yes), ("false", no)))

    def choice(self, t: Term) -> Value:
        test, *ends = t.items
        if test.op not in JUMPS:
            self.value(test)  # first: its items may be all that the ends need
        if all(id(end) in self.known or (not end.asks and end.cost <= CHEAP) for end in ends):
            flag = self.value(test).ssa
            x, y = (self.value(end) for end in ends)
            return self._merge(t, x, y, lambda type_, a, b: self.let(f"select i1 {flag}, {type_} {a}, {type_} {b}"))
        labels, end = (self.name(), self.name()), self.name()
        found, blocks, known = [], [], []
        for label, before, item in zip(labels, self.jump(test, *labels), ends):
            self.place(label)
            self.known = dict(before)
            found.append(self.value(item))
            blocks.append(self.block)
            known.append(self.known)
            self.goto(end)
        self.place(end)
        self.known = _common(*known)
        return self._merge(t, found[0], found[1], lambda type_, a, b: self.phi(type_, (a, blocks[0]), (b, blocks[1])))

    def _merge(self, t: Term, x: Value, y: Value, one: Callable[[str, str, str], str]) -> Value:
        type_ = TYPES[t.kind.base]
        present = one("i1", x.present or "true", y.present or "true") if x.present or y.present else None
        return Value(t.kind.base, one(type_, x.ssa, y.ssa), present)

    def param(self, t: Term) -> Value:
        base = t.kind.base
        return Value(base, self.load(TYPES[base], self.pointers["p"], self.words[id(t)]))

    def none(self, t: Term) -> Value:
        return Value(t.kind.base, ZEROS[TYPES[t.kind.base]], "false")

    def field(self, t: Term) -> Value:
        side, word, width = t.data
        pointer = self.pointers[side]
        present = self.load("i1", pointer, word) if width == 2 else None
        return Value(t.kind.base, self.load(TYPES[t.kind.base], pointer, word + width - 1), present)

    def need(self, t: Term) -> Value:
        v = self.value(t.items[0])
        if v.present is not None:
            self.ask_if(self.let(f"xor i1 {v.present}, true"))
        return Value(v.base, v.ssa)

    def never(self, t: Term) -> Value:
        self.goto(self.ask)
        self.place(self.name())  # nothing leads here
        return Value(t.kind.base, ZEROS[TYPES[t.kind.base]])

    def isnone(self, t: Term) -> Value:
        v = self.value(t.items[0])
        return Value("bool", "false" if v.present is None else self.let(f"xor i1 {v.present}, true"))

    def retag(self, t: Term) -> Value:
        return self.value(t.items[0])._replace(base=t.kind.base)

    def convert(self, t: Term) -> Value:
        """Write bit, float, exact, trunc, even, near, floor, ceil, whole, round, canon."""
        v = self.value(t.items[0])
        base = "float" if t.op == "float" else t.kind.base
        return Value(base, self._converted(t.op, v), v.present)

    def _converted(self, op: str, v: Value) -> str:
        if op == "bit":
            return self.let(f"zext i1 {v.ssa} to i64")
        if op == "float":
            return v.ssa if v.type == "double" else self.let(f"sitofp i64 {v.ssa} to double")
        if op in WHOLE:
            return self.call("double", f"llvm.{WHOLE[op]}.f64", f"double {v.ssa}")
        if op in ("even", "near"):
            near = self.call("double", "llvm.roundeven.f64", f"double {v.ssa}")
            return near if op == "near" else arithmetic.whole(self, near)
        return {"exact": arithmetic.exact, "trunc": arithmetic.whole, "canon": arithmetic.canonical}[op](self, v.ssa)

    def library(self, t: Term) -> Value:
        """Write a call of the C library's function; ask where Python looks whether it raises."""
        items = [self.value(item).ssa for item in t.items]
        ssa = self.call("double", t.data, *(f"double {each}" for each in items))
        arithmetic.ask_library(self, ssa, items)
        return Value("float", ssa)

    def arithmetic(self, t: Term) -> Value:
        """Write add, sub, mul, div, floordiv, mod, pow."""
        x, y = (self.value(item) for item in t.items)
        if x.base == "int":
            if t.op == "pow":
                return Value("int", arithmetic.int_power(self, x.ssa, y.ssa))
            function = arithmetic.int_division if t.op in ("floordiv", "mod") else arithmetic.checked
            return Value("int", function(self, t.op, x.ssa, y.ssa))
        if t.op in ("add", "sub", "mul"):
            ssa = self.let(f"f{t.op} double {x.ssa}, {y.ssa}")
            if t.kind.base == "num":
                arithmetic.below(self, ssa, arithmetic.EXACT)
        elif t.op in ("floordiv", "mod"):
            ssa = arithmetic.float_division(self, t.op, x.ssa, y.ssa)
        else:
            ssa = (arithmetic.true_division if t.op == "div" else arithmetic.float_power)(self, x.ssa, y.ssa)
        return Value(t.kind.base, ssa)

    def sign(self, t: Term) -> Value:
        x = self.value(t.items[0])
        if x.base != "int":
            ssa = self.let(f"fneg double {x.ssa}") if t.op == "neg" else self.call("double", "llvm.fabs.f64", f"double {x.ssa}")
            return Value(x.base, ssa)
        minus = arithmetic.checked(self, "sub", "0", x.ssa)
        if t.op == "neg":
            return Value("int", minus)
        return Value("int", self.let(f"select i1 {self.let(f'icmp slt i64 {x.ssa}, 0')}, i64 {minus}, i64 {x.ssa}"))

    def extreme(self, t: Term) -> Value:
        """Write min, max: the first of those that tie, or that NaN keeps from being compared."""
        best, *others = (self.value(item) for item in t.items)
        test = {"i64": "icmp s", "double": "fcmp o", "i1": "icmp u"}[best.type] + ("lt" if t.op == "min" else "gt")
        ssa = best.ssa
        for item in others:
            wins = self.let(f"{test} {best.type} {item.ssa}, {ssa}")
            ssa = self.let(f"select i1 {wins}, {best.type} {item.ssa}, {best.type} {ssa}")
        return Value(t.kind.base, ssa)

    def bits(self, t: Term) -> Value:
        x = self.value(t.items[0])
        if t.op == "invert":
            return Value("int", self.let(f"xor i64 {x.ssa}, -1"))
        return Value(x.base, self.let(f"{t.op} {x.type} {x.ssa}, {self.value(t.items[1]).ssa}"))

    def order(self, t: Term) -> Value:
        x, y = (self.value(item) for item in t.items)
        return Value("bool", self.let(f"{'icmp s' if x.type == 'i64' else 'fcmp o'}{t.op} {x.type} {x.ssa}, {y.ssa}"))

    def equal(self, t: Term) -> Value:
        x, y = (self.value(item) for item in t.items)
        alike = x.type == y.type and (x.base == "str") == (y.base == "str")
        same = self._same(x.type, x.ssa, y.ssa) if alike else "false"
        if x.present is None and y.present is None:
            return Value("bool", same)
        here, there = x.present or "true", y.present or "true"
        both = self.let(f"and i1 {self.let(f'and i1 {here}, {there}')}, {same}")
        neither = self.let(f"xor i1 {self.let(f'or i1 {here}, {there}')}, true")
        return Value("bool", self.let(f"or i1 {both}, {neither}"))

    def _same(self, type_: str, x: str, y: str) -> str:
        return self.let(f"{'fcmp oeq' if type_ == 'double' else 'icmp eq'} {type_} {x}, {y}")

    def true(self, t: Term) -> Value:
        """Write truth: not zero, not "", not None."""
        x = self.value(t.items[0])
        if x.base == "none":
            return Value("bool", "false")
        zero = self.value(t.items[1]).ssa if x.base == "str" else ZEROS[x.type]
        ssa = x.ssa if x.base == "bool" else self.let(f"{'fcmp une' if x.type == 'double' else 'icmp ne'} {x.type} {x.ssa}, {zero}")
        return Value("bool", ssa if x.present is None else self.let(f"and i1 {ssa}, {x.present}"))

    def within(self, t: Term) -> Value:
        """Write in, by ==. Where only the identity of a NaN would tell, ask."""
        none, nan = t.data
        x = self.value(t.items[0])
        if nan:
            self.ask_if(self.let(f"fcmp uno double {x.ssa}, {x.ssa}"))
        found = self._search(x, t.items[1:])
        if x.present is not None:
            found = self.let(f"and i1 {found}, {x.present}")
            if none:
                found = self.let(f"or i1 {found}, {self.let(f'xor i1 {x.present}, true')}")
        return Value("bool", found)

    def _search(self, x: Value, items: tuple[Term, ...]) -> str:
        if len(items) <= UNROLL:
            found = "false"
            for item in items:
                found = self.let(f"or i1 {found}, {self._same(x.type, x.ssa, self.value(item).ssa)}")
            return found
        before, loop, next_, end, i, more = self.block, self.name(), self.name(), self.name(), self.name("%v"), self.name("%v")
        begin = self.address(self.pointers["p"], self.words[id(items[0])])
        self.goto(loop)
        self.place(loop)
        self.line(f"{i} = phi i64 [0, %{before}], [{more}, %{next_}]")
        hit = self._same(x.type, x.ssa, self.load(x.type, begin, i))
        self.branch(hit, end, next_)
        self.place(next_)
        self.line(f"{more} = add i64 {i}, 1")
        self.branch(self.let(f"icmp eq i64 {more}, {len(items)}"), end, loop)
        self.place(end)
        return self.phi("i1", ("true", loop), ("false", next_))

    def table(self, t: Term) -> Value:
        """Return a truth, or an int, by the number of a str; ask for numbers beyond the table."""
        x, word = self.value(t.items[0]), self.words[id(t)]
        size = self.load("i64", self.pointers["p"], word + 1)
        self.ask_if(self.let(f"icmp uge i64 {x.ssa}, {size}"))
        table = self.load("ptr", self.pointers["p"], word)
        if t.op == "number":
            return Value("int", self.load("i64", table, x.ssa))
        byte = self.let(f"load i8, ptr {self.let(f'getelementptr i8, ptr {table}, i64 {x.ssa}')}")
        return Value("bool", self.let(f"icmp ne i8 {byte}, 0"))


OPERATIONS: dict[str, Callable[[Emitter, Term], Value]] = {
    "param": Emitter.param,
    "none": Emitter.none,
    "field": Emitter.field,
    **dict.fromkeys(("and", "or", "xor", "invert"), Emitter.bits),
    **dict.fromkeys(("add", "sub", "mul", "div", "floordiv", "mod", "pow"), Emitter.arithmetic),
    **dict.fromkeys(("neg", "abs"), Emitter.sign),
    **dict.fromkeys(("min", "max"), Emitter.extreme),
    **dict.fromkeys(("bit", "float", "exact", "trunc", "even", "near", "canon", *WHOLE), Emitter.convert),
    "library": Emitter.library,
    "as": Emitter.retag,
    **dict.fromkeys(("lt", "le", "gt", "ge"), Emitter.order),
    "eq": Emitter.equal,
    "isnone": Emitter.isnone,
    "truth": Emitter.true,
    **dict.fromkeys(("all", "any", "not"), Emitter.truth),
    "if": Emitter.choice,
    "in": Emitter.within,
    **dict.fromkeys(("table", "number"), Emitter.table),
    "need": Emitter.need,
    "never": Emitter.never,
}
