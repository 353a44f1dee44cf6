"""Translate Python's ast into expressions: the allow-list that functions and text share.

Nothing is evaluated. A construct that is not listed here is refused, with a reason and a hint.
"""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

from afa.expression import nodes
from afa.expression.functions import FUNCTIONS, OBJECTS, unfit
from afa.expression.kinds import HINT, Unreadable
from afa.expression.live import Live, constant, plain
from afa.expression.nodes import Const, Expr, If, In, IsNone, Make, Not, Span
from afa.expression.spans import span
from afa.expression.types import FLOAT_BITS, NONE, NUMBERS, TEXTS, bits
from afa.expression.values import Event, Names, RecordTranslator, TupleValue, Value, as_scalar, check_size, forget
from punctuation.base_errors import AfaError
from punctuation.time import BEGINNING, FOREVER

BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARE: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
BUILTINS: dict[str, tuple[int, int]] = {
    "min": (2, 100), "max": (2, 100), "abs": (1, 1), "round": (1, 2), "int": (1, 1), "float": (1, 1), "bool": (1, 1), "len": (1, 1),
    "str": (1, 1),
}  # fmt: skip
"""How many arguments each builtin takes."""
COMPREHENSION = ("a comprehension", "write the items out")
REFUSED: dict[type, tuple[str, str]] = {
    ast.JoinedStr: ("an f-string", "compare with a constant str"),
    ast.ListComp: COMPREHENSION,
    ast.SetComp: COMPREHENSION,
    ast.GeneratorExp: ("a comprehension", "write the items out with and / or"),
    ast.DictComp: ("a comprehension", "use if / elif"),
    ast.Dict: ("a dict", "use if / elif"),
    ast.Lambda: ("a lambda", "write its body in place, or give it a name as a function of its own"),
    ast.List: ("a list", "use a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.NamedExpr: (":=", HINT),
    ast.Starred: ("a starred value", HINT),
    ast.FunctionDef: ("a def inside", HINT),
    ast.AugAssign: ("such an assignment", HINT),
}
"""What is refused, in words, and what to write instead."""


class Translator(RecordTranslator):
    """Translate the nodes of one function or text."""

    # -- what functions and text do differently ------------------------------------------------------------------------------

    def name(self, node: ast.Name, names: Names) -> Value:
        """Return the value of a name. Abstract: a function looks it up in its scopes, text among the fields."""
        raise NotImplementedError

    def call_other(self, called: Live, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """Return the value of a call of something that is neither a builtin nor the register's class."""
        raise Unreadable(
            f"{called.name}(...) is called",
            f"call only {', '.join(BUILTINS)} and helper functions in Python that call no others; of math sqrt, exp, log, pow, "
            "sin, cos, tan, asin, acos, atan, atan2, floor, ceil, trunc, degrees, radians",
            node,
        )

    # -- values --------------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, names: Names) -> Value:
        """Return the value of any syntax node, in Python's order of evaluation. Names bound on the way (``:=``) go to ``names``."""
        match node:
            case ast.Constant(value):
                return self.literal(value, node)
            case ast.Name():
                return self.name(node, names)
            case ast.Attribute(base, _):
                return self.attribute(self.value(base, names), node)
            case ast.Subscript(base, index):
                return self.item(self.value(base, names), self.scalar(index, names), node)
            case ast.UnaryOp():
                return self.unary(node, names)
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                return nodes.Binary(BINARY[type(op)], self.scalar(left, names), self.scalar(right, names))
            case ast.BoolOp(op, items):
                return self.short(op, items, names, truth=False)
            case ast.Compare():
                return self.compare(node, names, truth=False)
            case ast.IfExp(test, then, other):
                return self.choice(test, then, other, names)
            case ast.Call():
                return self.call(node, names)
            case ast.Tuple(items):
                return TupleValue(tuple(self.value(item, names) for item in items))
            case ast.NamedExpr(ast.Name(id=name), inner):
                found = names[name] = self.value(inner, names)
                check_size(found)
                return found
        raise self.refused(node)

    def scalar(self, node: ast.expr, names: Names) -> Expr:
        """Return the value of a syntax node that must be a scalar."""
        return as_scalar(self.value(node, names), node)

    def truth(self, node: ast.expr, names: Names) -> Expr:
        """Return the expression of a syntax node of which only the truth counts."""
        match node:
            case ast.Compare():
                return self.compare(node, names, truth=True)
            case ast.BoolOp(op, items):
                return self.short(op, items, names, truth=True)
            case ast.UnaryOp(ast.Not(), x):
                return Not(self.truth(x, names))
        return self.scalar(node, names)

    def literal(self, value: Any, node: ast.AST) -> Const:
        if type(value) is int and not BEGINNING <= value <= FOREVER:
            raise Unreadable("an int beyond int64", "keep constants within int64, or write a float", node)
        if value is not None and type(value) not in (int, float, bool, str):
            raise Unreadable(f"a constant of type {type(value).__name__}", "use an int, float, bool, str or None", node)
        return Const(value)

    def unary(self, node: ast.UnaryOp, names: Names) -> Expr:
        """``not x``, ``-x``, ``+x``, ``~x``."""
        inner = node.operand
        if isinstance(node.op, ast.Not):
            return Not(self.truth(inner, names))
        if isinstance(node.op, ast.USub):
            if isinstance(inner, ast.Constant) and inner.value == -BEGINNING and type(inner.value) is int:
                return Const(BEGINNING)  # the one int64 whose digits alone are none
            return nodes.minus(self.scalar(inner, names))
        return nodes.Unary("+" if isinstance(node.op, ast.UAdd) else "~", self.scalar(inner, names))

    def short(self, op: ast.boolop, items: list[ast.expr], names: Names, truth: bool) -> Expr:
        """``and``, ``or``: operands after the first may not be evaluated, so names bound in them may have no value."""
        take = self.truth if truth else self.scalar
        first = take(items[0], names)
        inner = dict(names)
        rest = [take(item, inner) for item in items[1:]]
        forget(names, inner)
        return (nodes.conjunction if isinstance(op, ast.And) else nodes.disjunction)([first, *rest])

    def choice(self, test: ast.expr, then: ast.expr, other: ast.expr, names: Names) -> Value:
        chosen = self.truth(test, names)
        inner, outer = dict(names), dict(names)
        found = self.join(chosen, self.value(then, inner), self.value(other, outer), test)
        forget(names, inner)
        forget(names, outer)
        return found

    def join(self, test: Expr, then: Value, other: Value, node: ast.AST | None) -> Value:
        """Return a choice between two values; between registers, field by field."""
        if isinstance(then, Make | TupleValue) and isinstance(other, Make | TupleValue) and len(then.items) == len(other.items):
            pairs = zip(then.items, other.items)
            items = tuple(a if a == b else self.join(test, a, b, node) for a, b in pairs)
            both = isinstance(then, Make) and isinstance(other, Make)
            made = Make(tuple(as_scalar(item, node) for item in items)) if both else TupleValue(items)
            check_size(made)  # the test stands in each field
            return self.keep(test, made, node)
        if isinstance(then, Event) and isinstance(other, Event):
            return self.keep(test, then, node)
        if type(then) is not type(other) and isinstance(then, Make | TupleValue) | isinstance(other, Make | TupleValue):
            raise Unreadable("a register on one way and something else on the other", "return a register on all ways", node)
        return If(test, as_scalar(then, node), as_scalar(other, node))

    # -- comparisons ---------------------------------------------------------------------------------------------------------

    def compare(self, node: ast.Compare, names: Names, truth: bool) -> Expr:
        """Return a chain of comparisons as an And of its links. A value in the middle is pure, so it may occur twice."""
        found: list[Expr] = []
        left = self.operand(node.left, names, truth)
        inner = names
        for i, (op, right_node) in enumerate(zip(node.ops, node.comparators)):
            if i == 1:
                inner = dict(names)
            if isinstance(op, ast.In | ast.NotIn):
                right: Value = self.members(right_node, inner)
                link = self.contains(left, right, right_node)
                found.append(Not(link) if isinstance(op, ast.NotIn) else link)
            else:
                right = self.operand(right_node, inner, truth)
                found.append(self.link(op, as_scalar(left, node), as_scalar(right, node), node))
            left = right
        forget(names, inner)
        if len(found) > 1:
            check_size(TupleValue(tuple(found)))  # what stands in the middle stands twice
        return nodes.conjunction(found)

    def operand(self, node: ast.expr, names: Names, truth: bool) -> Value:
        """Return one side of a comparison. numpy's scalars are allowed if only the truth counts (numpy's bool is not Python's)."""
        value = self.value(node, names)
        return plain(value) if truth and isinstance(value, Live) else value

    def link(self, op: ast.cmpop, left: Expr, right: Expr, node: ast.AST) -> Expr:
        negated = isinstance(op, ast.IsNot | ast.NotEq)
        const, x = (left, right) if isinstance(left, Const) and not isinstance(right, Const) else (right, left)
        same = isinstance(op, ast.Is | ast.IsNot)
        equal = isinstance(op, ast.Eq | ast.NotEq) and object not in self.types(x)
        if const == Const(None) and (same or equal):
            return Not(IsNone(x)) if negated else IsNone(x)
        if same:
            if not (isinstance(const, Const) and type(const.value) is bool and self.types(x) <= {bool, NONE}):
                raise Unreadable("is, of values that need not be one object", "use == (or is None)", node)
            return nodes.Compare("!=" if negated else "==", x, const)
        return nodes.Compare(COMPARE[type(op)], left, right)

    def members(self, node: ast.expr, names: Names) -> Value:
        """Return the right side of ``in``: a display of constants, a constant tuple or frozenset, or a str."""
        if isinstance(node, ast.List | ast.Set | ast.Tuple):
            items = tuple(self.value(item, names) for item in node.elts)
        else:
            found = self.value(node, names)
            if isinstance(found, TupleValue):
                items = found.items
            elif isinstance(found, Live) and type(found.value) in (tuple, frozenset):
                items = tuple(constant(item, found.name) for item in found.value)
            else:
                return found
        flat = [plain(item) if isinstance(item, Live) else item for item in items]
        if not all(isinstance(item, Const) for item in flat):
            raise Unreadable("in, over values that are no constants", "write x == a or x == b", node)
        if any(item.value != item.value for item in flat if isinstance(item, Const)):
            raise Unreadable("in, over a NaN", "use math.isnan(x), or x != x", node)  # Python asks for identity first
        ordered = isinstance(node, ast.List | ast.Tuple) or not (isinstance(node, ast.Set) or _is_set(found))
        return TupleValue(tuple(flat) if ordered else tuple(sorted(dict.fromkeys(flat), key=repr)))

    def contains(self, x: Value, members: Value, node: ast.AST) -> Expr:
        if isinstance(members, TupleValue):
            return In(as_scalar(x, node), tuple(item for item in members.items if isinstance(item, Const)))
        if isinstance(x, Const) and type(x.value) is str:
            return nodes.Text("contains", as_scalar(members, node), (x,))
        text = as_scalar(members, node)
        item = as_scalar(x, node)
        if not (self.types(text) | self.types(item)) <= TEXTS | {NONE}:
            raise Unreadable("in, of a value that is no constant in a str", "search for a str in a str, or among constants", node)
        return nodes.Call("contains", (item, text))

    # -- calls ---------------------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, names: Names) -> Value:
        """Return a builtin, a method of a str, ``r._replace``, the register's class, or a helper function."""
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, names)
            if isinstance(base, Make) and node.func.attr == "_replace":
                return self.replace(base, *self.arguments(node, names), node)
            if isinstance(base, Expr) and not isinstance(base, Make):
                return self.method(base, node.func.attr, node, names)
            called: Value = self.attribute(base, node.func)
        else:
            called = self.value(node.func, names)
        if not isinstance(called, Live):
            raise Unreadable("a value is called", HINT, node)
        return self.call_of(called, *self.arguments(node, names), node)

    def call_of(self, called: Live, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """Return the value of a call of a function or a class."""
        if not keywords and called.value is type and len(arguments) == 1 and isinstance(arguments[0], Make):
            return Live(self.register_schema.cls, self.register_schema.cls.__name__)
        if called.value is self.register_schema.cls:
            return self.construct(arguments, keywords, node)
        if called.value is span:
            return self.duration(arguments, keywords, node)
        for name, (least, most) in BUILTINS.items():
            if called.value is getattr(builtins, name):
                if keywords or not least <= len(arguments) <= most:
                    raise Unreadable(f"{name} of {len(arguments)} arguments or with keywords", f"give {name} plain values", node)
                items = tuple(as_scalar(item, node) for item in arguments)
                if name == "str" and any(isinstance(item, Span) for item in items):
                    raise Unreadable("str of a span", "write the text", node)
                return nodes.Call(name, items[:1] if name == "round" and items[1:] == (Const(None),) else items)
        function = OBJECTS.get(id(called.value))
        if function is not None:
            return self.tabled(function, arguments, keywords, node)
        of_float = next((f.__name__ for f in (math.isnan, math.isinf, math.isfinite) if f is called.value), None)
        if of_float and len(arguments) == 1 and not keywords:
            return self.of_float(of_float, as_scalar(arguments[0], node), node)
        return self.call_other(called, arguments, keywords, node)

    def tabled(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Expr:
        """``math.sqrt(x)``, and what else `FUNCTIONS` lists; ``math.log(x, base)`` is a quotient, as in Python."""
        items = tuple(as_scalar(item, node) for item in arguments)
        if name == "log" and len(items) == 2 and not keywords:
            return nodes.Binary("/", *(nodes.Call(name, (item,)) for item in items))
        if keywords or not FUNCTIONS[name].least <= len(items) <= FUNCTIONS[name].most:
            raise Unreadable(f"{name} of {len(items)} arguments or with keywords", f"give {name} plain values", node)
        wrong = unfit(name, items)
        if wrong is not None:
            raise Unreadable(wrong, "write it as a constant", node)
        return nodes.Call(name, items)

    @staticmethod
    def duration(arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Span:
        """``afa.span("10 minutes")``; of a name, of a str or a timedelta."""
        given = arguments[0] if len(arguments) == 1 and not keywords else None
        try:
            found: Span = span(given.value if isinstance(given, Const | Live) else None)  # type: ignore[arg-type]  # which refuses all else
        except AfaError as error:
            raise Unreadable(str(error), 'write span("10 minutes"), say', node) from None
        return found

    def arguments(self, node: ast.Call, names: Names) -> tuple[list[Value], dict[str, Value]]:
        """Positional and keyword arguments, in the order in which Python evaluates them."""
        if any(isinstance(item, ast.Starred) for item in node.args) or any(k.arg is None for k in node.keywords):
            raise Unreadable("a call with * or **", "write the arguments out", node)
        arguments = [self.value(item, names) for item in node.args]
        return arguments, {str(k.arg): self.value(k.value, names) for k in node.keywords}

    def method(self, base: Expr, name: str, node: ast.Call, names: Names) -> Expr:
        """``x.startswith(...)``, ``x.endswith(...)``, ``x.upper()``, ``x.lower()``, ``x.strip(" ")``."""
        if name in ("upper", "lower") and not node.args and not node.keywords and str in self.types(base):
            return nodes.Call(name, (base,))
        if name in ("strip", "lstrip", "rstrip") and node.args and str in self.types(base):
            arguments, keywords = self.arguments(node, names)
            return self.tabled(name, [base, *arguments], keywords, node)
        if name not in ("startswith", "endswith") or len(node.args) != 1 or node.keywords:
            allowed = "of a str only startswith(x), endswith(x), upper() and lower() compile, and 'x' in it"
            raise Unreadable(f".{name}(...) of a value", allowed, node)
        found = self.value(node.args[0], names)
        if isinstance(found, Live) and type(found.value) is tuple:
            found = TupleValue(tuple(constant(item, found.name) for item in found.value))
        consts = found.items if isinstance(found, TupleValue) else (found,)
        if not all(isinstance(item, Const) and type(item.value) is str for item in consts):
            raise Unreadable(f"{name} of something that is no constant str", "use a constant str or a tuple of them", node)
        return nodes.Text(name, base, tuple(item for item in consts if isinstance(item, Const)))

    def of_float(self, name: str, x: Expr, node: ast.AST) -> Expr:
        """``math.isnan`` and its like, as comparisons."""
        if not self.types(x) <= NUMBERS or bits(x) >= FLOAT_BITS:
            raise Unreadable(
                f"math.{name} of something that need not be a number", "test it for None first, by an arc of its own", node
            )
        nan, infinite = nodes.Compare("!=", x, x), In(x, (Const(math.inf), Const(-math.inf)))
        check_size(TupleValue((nan, infinite)))
        if name == "isfinite":
            return Not(nodes.Or((nan, infinite)))
        return nan if name == "isnan" else infinite

    @staticmethod
    def refused(node: ast.AST) -> Unreadable:
        """Return the reason why a syntax node is not in the allow-list."""
        if isinstance(node, ast.BinOp):
            return Unreadable(f"the operator {type(node.op).__name__} is used", HINT, node)
        name = type(node).__name__.lower()
        what, hint = REFUSED.get(type(node), (f"{'an' if name[0] in 'aeiou' else 'a'} {name}", HINT))
        return Unreadable(f"{what} is used", hint, node)


def _is_set(value: Any) -> bool:
    return isinstance(value, Live) and type(value.value) is frozenset
