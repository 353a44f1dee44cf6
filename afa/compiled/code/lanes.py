"""Terms of eight events at once, in vectors: as `emit` writes them for one event, where the event alone decides and nothing asks.

    row          0     1     2     3     4     5     6     7
    change     -0.5   0.0   0.0   0.7   0.0   0.0   0.0  -0.1        a column of the batch
    change == 0  F     T     T     F     T     T     T     F         `Lanes.told`: where a fence holds, and where it does not

All of it is computed, as nothing can go wrong: no row branches.
"""

from __future__ import annotations

from collections.abc import Callable

from afa.compiled.code.by_event import in_turn
from afa.compiled.code.emit import TYPES, UNROLL, Emitter, Value
from afa.compiled.code.term import Term

MANY = 8
NEVER = "zeroinitializer"
"""A truth that holds of no row."""


Lane = Value
"""A vector of values, and of which are there (None: all); those that are not are zero."""


def vector(type_: str) -> str:
    return f"<{MANY} x {type_}>"


I64 = vector("i64")


def splat(e: Emitter, type_: str, ssa: str) -> str:
    """Return a vector of one value."""
    one = e.let(f"insertelement {vector(type_)} poison, {type_} {ssa}, i64 0")
    return e.let(f"shufflevector {vector(type_)} {one}, {vector(type_)} poison, {vector('i32')} zeroinitializer")


def both(e: Emitter, x: str, y: str) -> str:
    return e.let(f"and {vector('i1')} {x}, {y}")


def either(e: Emitter, x: str, y: str) -> str:
    return e.let(f"or {vector('i1')} {x}, {y}")


def opposite(e: Emitter, x: str) -> str:
    return e.let(f"xor {vector('i1')} {x}, splat (i1 true)")


def as_bits(e: Emitter, truth: str) -> str:
    return e.let(f"bitcast {vector('i1')} {truth} to i{MANY}")


def tells(t: Term) -> bool:
    """Return whether `Lanes.told` knows of a fence all that an event alone decides."""
    if "r" not in t.reads:
        return served(t)
    if t.op == "not":
        return tells(t.items[0])
    if t.op in ("all", "any"):
        alone, others, whole = in_turn(t)
        return all(tells(item) for item in [*alone, *(others if whole else ())])
    return t.op != "if"


def served(t: Term) -> bool:
    """Return whether `Lanes.value` serves a term."""
    if t.asks or t.op not in OPERATIONS or (t.op == "in" and len(t.items) - 1 > UNROLL):
        return False
    if t.op in ("add", "sub", "mul") and t.kind.base != "float":
        return False
    return all(served(item) for item in t.items)


class Lanes:
    """The values of terms; ``fields``: of the events, by the data of their terms. Constants are read as `Emitter` reads them."""

    def __init__(self, e: Emitter, fields: dict[tuple[str, int, int], Lane]) -> None:
        self.e = e
        self.fields = fields

    def told(self, t: Term) -> tuple[str, str]:
        """Return where a fence holds, and where it does not, whatever the register. *Requires* `tells`."""
        if "r" not in t.reads:
            holds = self.value(t).ssa
            return holds, opposite(self.e, holds)
        if t.op == "not":
            holds, fails = self.told(t.items[0])
            return fails, holds
        if t.op not in ("all", "any"):
            return NEVER, NEVER
        alone, others, whole = in_turn(t)
        parts = [self.told(item) for item in [*alone, *(others if whole else ())]]
        if not parts:
            return NEVER, NEVER
        alike, first = (0, 1) if t.op == "all" else (1, 0)  # the truth that all must have, and the one for which one suffices
        found = [NEVER, NEVER]
        found[first] = self._joined("or", [part[first] for part in parts])
        if whole:
            found[alike] = self._joined("and", [part[alike] for part in parts])
        return found[0], found[1]

    def value(self, t: Term) -> Lane:
        return self.fields[t.data] if t.op == "field" else OPERATIONS[t.op](self, t)

    def _joined(self, op: str, items: list[str]) -> str:
        ssa, *others = items
        for item in others:
            ssa = self.e.let(f"{op} {vector('i1')} {ssa}, {item}")
        return ssa

    def param(self, t: Term) -> Lane:
        type_ = TYPES[t.kind.base]
        return Lane(t.kind.base, splat(self.e, type_, self.e.load(type_, self.e.pointers["p"], self.e.words[id(t)])))

    def none(self, t: Term) -> Lane:
        return Lane(t.kind.base, NEVER, NEVER)

    def truths(self, t: Term) -> Lane:
        found = [self.value(item).ssa for item in t.items]
        return Lane("bool", opposite(self.e, found[0]) if t.op == "not" else self._joined("and" if t.op == "all" else "or", found))

    def order(self, t: Term) -> Lane:
        x, y = (self.value(item) for item in t.items)
        test = f"{'icmp s' if x.type == 'i64' else 'fcmp o'}{t.op} {vector(x.type)} {x.ssa}, {y.ssa}"
        return Lane("bool", self.e.let(test))

    def equal(self, t: Term) -> Lane:
        x, y = (self.value(item) for item in t.items)
        alike = x.type == y.type and (x.base == "str") == (y.base == "str")
        same = self._same(x, y) if alike else NEVER
        if x.present is None and y.present is None:
            return Lane("bool", same)
        here, there = x.present or "splat (i1 true)", y.present or "splat (i1 true)"
        there_both = both(self.e, both(self.e, here, there), same)
        return Lane("bool", either(self.e, there_both, opposite(self.e, either(self.e, here, there))))

    def _same(self, x: Lane, y: Lane) -> str:
        return self.e.let(f"{'fcmp oeq' if x.type == 'double' else 'icmp eq'} {vector(x.type)} {x.ssa}, {y.ssa}")

    def missing(self, t: Term) -> Lane:
        x = self.value(t.items[0])
        return Lane("bool", NEVER if x.present is None else opposite(self.e, x.present))

    def true(self, t: Term) -> Lane:
        """Write truth: not zero, not "", not None."""
        x = self.value(t.items[0])
        if x.base == "none":
            return Lane("bool", NEVER)
        ssa = x.ssa
        if x.base != "bool":
            zero = self.value(t.items[1]).ssa if x.base == "str" else NEVER
            ssa = self.e.let(f"{'fcmp une' if x.type == 'double' else 'icmp ne'} {vector(x.type)} {ssa}, {zero}")
        return Lane("bool", ssa if x.present is None else both(self.e, ssa, x.present))

    def within(self, t: Term) -> Lane:
        x = self.value(t.items[0])
        found = self._joined("or", [NEVER, *(self._same(x, self.value(item)) for item in t.items[1:])])
        if x.present is not None:
            found = both(self.e, found, x.present)
            if t.data[0]:
                found = either(self.e, found, opposite(self.e, x.present))
        return Lane("bool", found)

    def arithmetic(self, t: Term) -> Lane:
        x, y = (self.value(item).ssa for item in t.items)
        return Lane("float", self.e.let(f"f{t.op} {vector('double')} {x}, {y}"))

    def retag(self, t: Term) -> Lane:
        return self.value(t.items[0])._replace(base=t.kind.base)


OPERATIONS: dict[str, Callable[[Lanes, Term], Lane]] = {
    "param": Lanes.param,
    "field": Lanes.value,
    "none": Lanes.none,
    **dict.fromkeys(("all", "any", "not"), Lanes.truths),
    **dict.fromkeys(("lt", "le", "gt", "ge"), Lanes.order),
    "eq": Lanes.equal,
    "isnone": Lanes.missing,
    "truth": Lanes.true,
    "in": Lanes.within,
    **dict.fromkeys(("add", "sub", "mul"), Lanes.arithmetic),
    "as": Lanes.retag,
}
