"""The code of one arc: its shape, its constants, and its LLVM IR.

    i64 arc(ptr ev, ptr reg, ptr out, ptr params)
        1 taken (the new register is in out), 0 not taken, -1 ask: the user's Python function decides
        a time-out: out[0] is the instant

ev and reg are the first words of the event and of the register (`afa.compiled.code.payload_layout`), params the constants. Code
depends on the *shape* only; arcs that differ in constants share it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from afa.compiled.code import casts
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.emit import Emitter
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.code.term import Param, Term
from afa.compiled.code.term_types import TermTypes
from afa.expression.nodes import Expr
from afa.model.arc import CONSUME, SKIP, TIMEOUT
from afa.schema import NAN

DEPTH = 150
"""How deep operations may nest. Deeper ones have no native form, as text and code are made by recursion."""
LONGEST = 4_000
"""Lines of an arc's IR. LLVM takes 15 to 50 microseconds a line, more where there are many, and no signal reaches it there."""
SHORT = 100
"""How many operations, counted as often as they occur, never make so many lines."""
ARC = "i64 @f(ptr noalias readonly %ev, ptr noalias readonly %reg, ptr noalias %out, ptr noalias readonly %params) nounwind"
TEST = "i64 @f(ptr noalias readonly %ev, ptr noalias readonly %params) nounwind"


@dataclass(frozen=True, slots=True, eq=False)
class ArcCode:
    """An arc as terms."""

    shape: str  # all that its machine code depends on; equal shapes have equal code
    params: tuple[Param, ...]  # its constants, in the order of their words
    fence: Term | None
    transfer: Term | None
    at: Term | None
    ignorable: bool
    width: int  # words of a register
    words: dict[int, int]  # of each constant, by its term's id: its first word

    @property
    def event_part(self) -> tuple[Term, ...]:
        """The leading conjuncts of the fence that read nothing but the event."""
        if self.fence is None:
            return ()
        items = self.fence.items if self.fence.op == "all" else (self.fence,)
        count = next((i for i, item in enumerate(items) if "r" in item.reads), len(items))
        return items[:count]

    @property
    def key(self) -> str:
        return f"arc {self.width} {self.shape}"

    @property
    def ir(self) -> str:
        return arc_ir(self)

    @property
    def lines(self) -> int:
        return self.ir.count("\n")

    @property
    def test_key(self) -> str:
        return f"test {self.shape}"

    @property
    def test_ir(self) -> str:
        """Code that tells whether an event could take the arc, for all that its fields say: 1, also where that asks; or 0."""
        e = Emitter(self.words)
        for item in self.event_part:
            further = e.name()
            e.jump(item, further, "no")
            e.place(further)
        e.line("ret i64 1")
        ends(e, no=0, ask=1)
        return e.function(TEST)


def arc_code(
    kind: str,
    fence: Expr | None,
    transfer: Expr | None,
    at: Expr | None,
    ignorable: bool,
    event: Layout | None,
    register: Layout,
) -> ArcCode:
    """Return the shape and the constants of an arc. No fence: always; no transfer: the register stays; ``at`` is a time-out's.

    Raises NotCompilable, with the reason and a hint how to write it.

    >>> from typing import NamedTuple
    >>> from afa.expression.nodes import Compare, Const, FieldRead
    >>> from afa.schema import Schema
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> class Count(NamedTuple):
    ...     n: int = 0
    >>> tick, count = Layout.of(Schema.of(Tick, "event")), Layout.of(Schema.of(Count, "register"))
    >>> fence = Compare("<", FieldRead("e", "change"), Const(-0.25))
    >>> code = arc_code(CONSUME, fence, None, None, False, tick, count)
    >>> code.shape, code.params
    ('(lt e0float float) - -', (Param(kind='float', value=-0.25),))
    """
    types = TermTypes(event if kind in (CONSUME, SKIP) else None, register)
    try:
        terms = (
            None if fence is None else types.truth(fence),
            None if transfer is None else types.register(transfer, register),
            casts.instant(types.value(at)) if kind == TIMEOUT and at is not None else None,
        )
        if any(t.depth > DEPTH for t in terms if t is not None):
            raise RecursionError
        shape = _Shape()
        text = " ".join(shape.walk(t) if t is not None else "-" for t in terms)
    except RecursionError:
        raise NotCompilable("the expression is nested too deep") from None
    code = ArcCode(text, tuple(shape.params), *terms, ignorable, register.width, shape.words)
    if sum(t.cost for t in terms if t is not None) > SHORT and code.lines > LONGEST:
        reason = f"its machine code has {code.lines} lines, more than {LONGEST}"
        raise NotCompilable(reason, "split it over several arcs")
    return code


class _Shape:
    """The text of terms, and their constants."""

    def __init__(self) -> None:
        self.params: list[Param] = []
        self.words: dict[int, int] = {}
        self._width = 0
        self._seen: dict[int, int] = {}

    def walk(self, t: Term) -> str:
        if t.op == "field":
            side, word, width = t.data
            return f"{side}{word}{t.kind.base}{'?' if width == 2 else ''}"
        if id(t) in self._seen:
            return f"#{self._seen[id(t)]}"
        self._seen[id(t)] = len(self._seen)
        if isinstance(t.data, Param):
            self.words[id(t)] = self._width
            self._width += t.data.width
            self.params.append(t.data)
        if t.op == "param":
            return t.kind.base
        data = "" if t.data is None or isinstance(t.data, Param) else f" {t.data}"
        return f"({' '.join([t.op, *map(self.walk, t.items)])}{data})" if t.items else f"{t.op}:{t.kind}"


def words(params: tuple[Param, ...], strings: Strings) -> list[int]:
    """Return the words of constants, as signed int64.

    >>> words((Param("int", 7), Param("bool", True), Param("float", -0.0)), Strings())
    [7, 1, 0]
    """
    found: list[int] = []
    for kind, value in params:
        if kind == "float":
            found += struct.unpack("<q", struct.pack("<d", NAN if value != value else value or 0.0))
        elif kind == "str":
            found.append(strings.number(value))
        elif kind == "table":
            found += strings.table(*value)
        else:
            found.append(int(value))
    return found


def arc_ir(code: ArcCode) -> str:
    e = Emitter(code.words)
    if code.at is not None:
        e.store("i64", e.value(code.at).ssa, "%out")
    elif code.fence is not None:
        e.jump(code.fence, "yes", "no")
        e.place("yes")
    if code.transfer is not None:
        e.register(code.transfer, "%out")
    elif code.at is None:
        e.copy("%reg", "%out", code.width)
    e.line("ret i64 1")
    ends(e, no=0, ask=-1)
    return e.function(ARC)


def ends(e: Emitter, **codes: int) -> None:
    """Write the blocks that return a code."""
    for label, status in codes.items():
        e.place(label)
        e.line(f"ret i64 {status}")
