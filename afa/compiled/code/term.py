"""Terms: expressions in which Python's meaning is worked out, so that each operation is one of the machine's.

    param   a constant: a word of the parameters         none   None
    field   a field of the event or of the register
    add sub mul div floordiv mod pow neg abs   of two ints, two floats, or two nums
    min max                                    of ints, floats, nums or bools: the first of those that tie
    and or xor invert                          of two bools or ints
    bit  float  exact  trunc  even             bool -> int, int -> float rounded, int -> float or ask, float -> int
    near floor ceil whole round  float -> a whole float: next to it, ties to even; below, above, towards zero; ties away from zero
    library                      what the C library's function gives
    as                           the same value under another kind
    lt le gt ge (of one base)    eq (of any two)    isnone    truth
    all any not          of truths, in order, no further than needed
    if                   test, then, other; both of one kind
    in  table  number    among parameters; in a table of truths, of ints by the number of a str
    need                 not None, or ask     never: ask
    canon                a float as payloads carry it: one NaN, no -0.0
    make                 a register: one term a field, each of the field's kind

*Ask* means: leave this event to the user's Python function. A term that may ask says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

ASKING = frozenset(("exact", "trunc", "even", "need", "never", "table", "number", "library"))
"""Operations that may ask, whatever they are of."""
ASKING_INT = frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "pow", "neg", "abs"))
ASKING_FLOAT = frozenset(("div", "floordiv", "mod", "pow"))
ASKING_NUM = frozenset(("add", "sub", "mul", "div"))


class ValueKind(NamedTuple):
    """The kind of a value: int, float, bool, str, none, or num; and whether it may be None.

    A *num* is a float64 that Python holds as an int or as a float: both have this value. ints beyond 2**53 ask instead.
    """

    base: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.base}?" if self.optional else self.base


class Param(NamedTuple):
    """A constant of an arc: "int", "float", "bool", "str" and its value; or "table" and (method, constants)."""

    kind: str
    value: Any

    @property
    def width(self) -> int:
        return 2 if self.kind == "table" else 1


INT, FLOAT, BOOL, STR, NUM, NONE = (ValueKind(base) for base in ("int", "float", "bool", "str", "num", "none"))
MAKE = ValueKind("make")


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term: one operation. A term that is used twice is one object, and computed once."""

    op: str
    kind: ValueKind
    items: tuple[Term, ...]
    data: Any  # param, table: its `Param`. library: its name. field: side, offset, width. in: are None, NaN among the items
    asks: bool  # whether it may
    cost: int  # how many operations it is made of
    depth: int  # how many of them stand one in the other
    reads: frozenset[str]  # the sides: "e", "r"


NOTHING: frozenset[str] = frozenset()


def term(op: str, kind: ValueKind, *items: Term, data: Any = None) -> Term:
    asks = op in ASKING
    cost, depth = 1, 0
    reads = frozenset(data[0]) if op == "field" else NOTHING
    for item in items:
        asks = asks or item.asks
        cost += item.cost
        depth = max(depth, item.depth)
        reads = reads | item.reads if item.reads else reads
    if not asks and items:
        asks = (op == "in" and data[1]) or _may_ask(op, items[0].kind.base)
    return Term(op, kind, items, data, asks, cost, depth + 1, reads)


def _may_ask(op: str, base: str) -> bool:
    if base == "int":
        return op in ASKING_INT
    if base == "float":
        return op in ASKING_FLOAT
    return base == "num" and op in ASKING_NUM
