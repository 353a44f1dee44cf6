"""Turn expressions into terms: choose Python's meaning of each operation by the types of its operands.

What Python would raise at run time becomes a term that *asks* (the user's function then raises it itself); what has no native form
at all is `NotCompilable`, with the reason and how to write it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from afa.compiled.code import casts
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import TextEvent
from afa.compiled.code.term import BOOL, FLOAT, INT, MAKE, NUM, STR, Param, Term, ValueKind, term
from afa.expression import nodes
from afa.expression.functions import FUNCTIONS, NUMBER, Function
from afa.expression.functions import TEXT as OF_TEXT
from afa.expression.types import may_raise
from afa.schema import Schema

ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
BITS = {"&": "and", "|": "or", "^": "xor"}
ORDER = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
KINDS = {int: INT, float: FLOAT, bool: BOOL, str: STR}


class TermTypes:
    """The terms of expressions over an event (None: of an epsilon arc or a time-out) and a register.

    >>> from typing import NamedTuple
    >>> from afa.schema import Schema
    >>> class Tick(NamedTuple):
    ...     price: float
    ...     size: int | None = None
    >>> types = TermTypes(None, Layout.of(Schema.of(Tick, "register")))
    >>> size = nodes.FieldRead("r", "size")
    >>> str(types.value(size).kind), str(types.value(nodes.Binary("+", size, nodes.Const(1))).kind)
    ('int?', 'int')
    >>> types.value(nodes.Compare("<", nodes.Const("a"), nodes.Const("b")))
    Traceback (most recent call last):
    afa.compiled.code.casts.NotCompilable: < of two str has no native form; compare str with == or startswith
    """

    def __init__(self, event: Layout | None, register: Layout) -> None:
        self._layouts = {"e": event, "r": register}
        self._known: dict[Any, tuple[Any, Term]] = {}  # the expression is kept, so that its id stays its own

    def value(self, expr: nodes.Expr) -> Term:
        key = expr if isinstance(expr, nodes.FieldRead) else id(expr)
        if key not in self._known:
            found = self._of_text(expr) or VALUES[type(expr)](self, expr)
            if isinstance(expr, nodes.Const):  # one parameter a place, however often its value occurs
                return found
            self._known[key] = expr, found
        return self._known[key][1]

    def truth(self, expr: nodes.Expr) -> Term:
        """Return the term of ``bool(expr)``; `and`, `or`, `not` go no further than needed."""
        if isinstance(expr, (nodes.And, nodes.Or)):
            op = "all" if isinstance(expr, nodes.And) else "any"
            items: list[Term] = []
            for item in map(self.truth, expr.items):
                items += item.items if item.op == op else (item,)
            return term(op, BOOL, *items)
        if isinstance(expr, nodes.Not):
            return term("not", BOOL, self.truth(expr.x))
        if isinstance(expr, nodes.If):
            return term("if", BOOL, self.truth(expr.test), self.truth(expr.then), self.truth(expr.other))
        return casts.truth(self.value(expr))

    def _of_text(self, expr: nodes.Expr) -> Term | None:
        """Return the term of a truth about one str field that takes work, or of its length: a table by strs' numbers; or None."""
        counts = isinstance(expr, nodes.Call) and expr.name == "len"
        if not counts and not (isinstance(expr, TRUTHS) and takes_work(expr)):
            return None
        fields = {node for node in nodes.walk(expr) if isinstance(node, nodes.FieldRead)}
        if len(fields) != 1:
            return None
        (field,) = fields
        x = self.value(field)
        asked = nodes.renamed(expr, lambda _: nodes.FieldRead("e", "text"))
        if x.kind.base != "str" or may_raise(asked, TEXT, TEXT):
            return None
        if counts:
            return term("number", INT, casts.need(x), data=Param("table", ("number", (asked,))))
        return term("table", BOOL, casts.need(x), data=Param("table", ("satisfies", (asked,))))

    def number(self, expr: nodes.Expr, what: str) -> Term:
        """Return the term of an operand that must be a number: a bool as an int, an optional one if it is there."""
        return casts.number(self.value(expr), what)

    def field(self, expr: Any) -> Term:
        layout = self._layouts[expr.side]
        if layout is None:
            raise NotCompilable(f"e.{expr.name} is read where there is no event")
        if expr.name not in (slot.field.name for slot in layout.slots):
            raise NotCompilable(f"{expr.side} has no field {expr.name!r}")
        slot = layout.slot(expr.name)
        if slot.field.type is None:
            raise NotCompilable(f"{expr.side}.{expr.name} is annotated Any", "annotate it int, float, bool or str")
        kind = ValueKind(KINDS[slot.field.type].base, slot.field.optional)
        return term("field", kind, data=(expr.side, slot.offset, slot.width))

    def unary(self, expr: Any) -> Term:
        x = self.number(expr.x, expr.op)
        if expr.op == "+":
            return x
        if expr.op == "~":
            return term("invert", INT, casts.whole(x, "~"))
        return term("neg", x.kind, x)

    def binary(self, expr: Any) -> Term:
        left, right = self.value(expr.left), self.value(expr.right)
        if expr.op in BITS:
            if left.kind.base == right.kind.base == "bool":
                return term(BITS[expr.op], BOOL, casts.need(left), casts.need(right))
            return term(
                BITS[expr.op],
                INT,
                casts.whole(casts.number(left, expr.op), expr.op),
                casts.whole(casts.number(right, expr.op), expr.op),
            )
        if expr.op == "+" and left.kind.base == right.kind.base == "str":
            return term("never", STR)  # a new str: Python makes it
        op, left, right = ARITHMETIC[expr.op], casts.number(left, expr.op), casts.number(right, expr.op)
        if op == "pow":
            return casts.power(left, right)
        bases = {left.kind.base, right.kind.base}
        if bases == {"int"} and op != "div":
            return term(op, INT, left, right)
        if "float" in bases:
            return term(op, FLOAT, casts.rounded(left), casts.rounded(right))
        if op in ("floordiv", "mod"):
            raise NotCompilable(f"{expr.op} of what is now an int, now a float", "make it float(..) or int(..) first")
        return term(op, FLOAT if op == "div" else NUM, casts.exact(left), casts.exact(right))

    def compare(self, expr: Any) -> Term:
        left, right = self.value(expr.left), self.value(expr.right)
        if expr.op in ("==", "!="):
            same = casts.equal(left, right)
            return same if expr.op == "==" else term("not", BOOL, same)
        if left.kind.base == right.kind.base == "str":
            raise NotCompilable(f"{expr.op} of two str has no native form", "compare str with == or startswith")
        return term(ORDER[expr.op], BOOL, *casts.one_base(casts.number(left, expr.op), casts.number(right, expr.op)))

    def first(self, expr: Any) -> Term:
        """Return the value of `and`, `or`: of the operand that decides."""
        items = [self.value(item) for item in expr.items]
        if all(item.kind == BOOL for item in items):
            return self.truth(expr)
        kind = casts.union([item.kind for item in items], "and" if isinstance(expr, nodes.And) else "or")
        items = [casts.cast(item, kind) for item in items]
        result = items.pop()
        for item in reversed(items):
            ends = (result, item) if isinstance(expr, nodes.And) else (item, result)
            result = term("if", kind, term("truth", BOOL, item) if item.kind == BOOL else casts.truth(item), *ends)
        return result

    def choice(self, expr: Any) -> Term:
        then, other = self.value(expr.then), self.value(expr.other)
        kind = casts.union([then.kind, other.kind], "if .. else")
        return term("if", kind, self.truth(expr.test), casts.cast(then, kind), casts.cast(other, kind))

    def call(self, expr: Any) -> Term:
        if expr.name in ("min", "max"):
            return self._extreme(expr)
        known = FUNCTIONS.get(expr.name)
        if known is not None and known.of == NUMBER:
            return self._function(expr, known)
        if expr.name in ("str", "upper", "lower", "contains") or known is not None:
            for item in expr.items:
                self.value(item)  # a part without any native form is refused here
            return term("never", BOOL if expr.name == "contains" or (known and known.result is bool) else STR)
        if expr.name not in ("abs", "round", "int", "float", "bool") or not 1 <= len(expr.items) <= (
            2 if expr.name == "round" else 1
        ):
            hint = "keep the length in a field of its own" if expr.name == "len" else ""
            raise NotCompilable(f"{expr.name}() with {len(expr.items)} arguments has no native form", hint)
        if expr.name == "bool":
            return self.truth(expr.items[0])
        x = self.number(expr.items[0], f"{expr.name}()")
        if expr.name == "abs":
            return term("abs", x.kind, x)
        if expr.name == "float":
            return casts.rounded(x)
        if expr.name == "round" and len(expr.items) == 2:
            return casts.rounded_to(x, expr.items[1])
        return x if x.kind.base == "int" else term("trunc" if expr.name == "int" else "even", INT, x)

    def _function(self, expr: Any, known: Function) -> Term:
        """Return the term of a function of numbers."""
        items = [self.number(item, f"{expr.name}()") for item in expr.items]
        if known.written is not None:
            if known.result is int:
                casts.whole(items[0], f"{expr.name}()")
            return self.value(known.written(*expr.items))
        if known.library:
            return term("library", FLOAT, *map(casts.rounded, items), data=known.library)
        (x,) = items
        if known.result is int and x.kind.base == "int":
            return x
        if expr.name == "trunc":
            return term("trunc", INT, x)
        made = term("whole" if known.step == "trunc" else known.step, FLOAT, casts.rounded(x))
        return term("trunc", INT, made) if known.result is int else made

    def _extreme(self, expr: Any) -> Term:
        if len(expr.items) < 2:
            raise NotCompilable(f"{expr.name}() of {len(expr.items)} arguments has no native form")
        items = [casts.need(self.value(item)) for item in expr.items]
        for item in items:
            if item.kind.base not in casts.NUMBERS:
                raise NotCompilable(f"{expr.name}() of {item.kind} has no native form")
        kind = casts.union([item.kind for item in items], expr.name)
        return term(expr.name, kind, *(casts.cast(item, kind) for item in items))

    def within(self, expr: Any) -> Term:
        x = self.value(expr.x)
        values = [item.value for item in expr.items]
        kept = [found for found in (casts.alike(value, x.kind.base) for value in values) if found is not None]
        x = casts.bit(x)
        nan = x.kind.base in ("float", "num") and any(value != value for value in values)
        return term("in", BOOL, x, *(casts.param(value) for value in kept), data=(None in values, nan))

    def text(self, expr: Any) -> Term:
        x = self.value(expr.x)
        if x.kind.base != "str":
            raise NotCompilable(f"{expr.method} of {x.kind} has no native form")
        return term("table", BOOL, casts.need(x), data=Param("table", (expr.method, tuple(const.value for const in expr.consts))))

    def const(self, expr: Any) -> Term:
        if expr.value == 0 and isinstance(expr.value, float) and math.copysign(1, expr.value) < 0:
            return term("neg", FLOAT, casts.param(0.0))  # parameters have no -0.0
        return casts.param(expr.value)

    def missing(self, expr: Any) -> Term:
        return term("isnone", BOOL, self.value(expr.x))

    def make(self, expr: Any) -> Term:
        raise NotCompilable("a register is made where a value is expected")

    def register(self, expr: nodes.Expr, what: Layout) -> Term:
        """Return the term of a transfer: the fields of the register that it returns, each in its normal form."""
        if isinstance(expr, nodes.If):
            ends = self.register(expr.then, what), self.register(expr.other, what)
            return term("if", MAKE, self.truth(expr.test), *ends)
        if not isinstance(expr, nodes.Make):
            raise NotCompilable("a transfer returns no register", "return the register, r._replace(..) or a tuple")
        if len(expr.items) != len(what.slots):
            raise NotCompilable(f"a transfer returns {len(expr.items)} fields where the register has {len(what.slots)}")
        fields = [casts.stored(self.value(item), slot.field) for slot, item in zip(what.slots, expr.items)]
        return term("make", MAKE, *fields, data=tuple((slot.offset, slot.width) for slot in what.slots))


TRUTHS = (nodes.Compare, nodes.In, nodes.Text, nodes.Call)
TEXT = Schema.of(TextEvent, "event")


def takes_work(expr: nodes.Expr) -> bool:
    """Return whether a truth about strs has no native form but by a table."""
    if isinstance(expr, nodes.Call) and expr.name not in ("contains", "like", "regexp_like"):
        return False
    return any(_makes_text(node) for node in nodes.walk(expr))


def _makes_text(node: nodes.Expr) -> bool:
    if isinstance(node, nodes.Call):
        return node.name in ("str", "upper", "lower", "contains") or (node.name in FUNCTIONS and FUNCTIONS[node.name].of == OF_TEXT)
    return isinstance(node, nodes.Binary) and node.op == "+"


VALUES: dict[type, Callable[[TermTypes, Any], Term]] = {
    nodes.Const: TermTypes.const,
    nodes.Ticks: TermTypes.const,
    nodes.Moment: TermTypes.const,
    nodes.Digits: TermTypes.const,
    nodes.FieldRead: TermTypes.field,
    nodes.Unary: TermTypes.unary,
    nodes.Not: TermTypes.truth,
    nodes.Binary: TermTypes.binary,
    nodes.Compare: TermTypes.compare,
    nodes.And: TermTypes.first,
    nodes.Or: TermTypes.first,
    nodes.If: TermTypes.choice,
    nodes.Call: TermTypes.call,
    nodes.In: TermTypes.within,
    nodes.IsNone: TermTypes.missing,
    nodes.Text: TermTypes.text,
    nodes.Make: TermTypes.make,
}
