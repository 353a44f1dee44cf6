"""Read text as an expression: untrusted text, by the same allow-list over ``ast`` as functions. Nothing in it is run.

    change < -0.25 and r.patterns < 2            a bare name is a field of the event; of the register where there is no event
    e.change, r.patterns, e[0], r[-1]            fields by side
    r._replace(balance=r.balance + 1)            a transfer; also R(1, patterns=2), Vees(1), (1, 2), r
    inf, nan, True, False, None                  constants
    min max abs round int float bool len str     what may be called; and .startswith .endswith .upper .lower of a str
    kind + "/" + str(n), kind in r.kinds         of strs; a register's str may have 10,000 characters
    span('10 minutes')                           a duration, in ticks once the tick is known

The names ``e``, ``r``, ``R``, ``inf``, ``nan``, the register's class and what may be called come before fields: a field of such a
name is written with its side. Length, nesting and the size of numbers are limited before anything is done with the text.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import warnings
from typing import NoReturn

from afa.errors import ExpressionError
from afa.expression.functions import FUNCTIONS
from afa.expression.kinds import HINT, FunctionKind, Unreadable
from afa.expression.live import Live
from afa.expression.nodes import Binary, Call, Const, Expr, FieldRead, Make, walk
from afa.expression.translate import BUILTINS, Translator
from afa.expression.types import NONE, TEXTS, WHOLE, bits, types_of
from afa.expression.values import DEPTH, Event, Names, Value, returned
from afa.schema import Schema

LONGEST, OPERATORS = 10_000, 1_000
"""How many characters a text may have, and how many signs that can nest. Checked before Python's parser sees it."""
KEPT = 1 << 14
"""How many texts' expressions are cached: all operators of a worker use the same few."""
LARGEST = 100_000
"""The most bits that an int of an expression may come to have."""
SHOWN = 60

_LINE = re.compile(r"\r\n|\r|\n")
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_NESTS = re.compile(r"[-+~*/%&|^.({\[]|\b(?:not|if|else|lambda|await|for)\b")
_NODES = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
    ast.Tuple, ast.List, ast.Set, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


@functools.lru_cache(maxsize=KEPT)
def parse(text: str, kind: FunctionKind, event_schema: Schema | None, register_schema: Schema) -> Expr:
    """Read a fence, a transfer (a Make), an ``at`` or a condition from text. Nothing is evaluated.

    Raises ExpressionError with the place in the text, what is wrong and what is allowed.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE, text_of_expr
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> class Vees(NamedTuple):
    ...     patterns: int = 0
    >>> schemas = Schema.of(Tick, "event"), Schema.of(Vees, "register")
    >>> text_of_expr(parse("-0.5 < change <= 1 and not r.patterns", FENCE, *schemas))
    '-0.5 < e.change and e.change <= 1 and not r.patterns'
    >>> parse("price < 1", FENCE, *schemas)
    Traceback (most recent call last):
    afa.errors.ExpressionError: expected fence(e, r) as text but price is no field of Tick; its fields: change
        price < 1
        ^
    """
    if not isinstance(text, str):
        raise ExpressionError(f"expected {kind.role}({kind.parameters}) as text (str) but got {text!r}")
    text = text.strip()
    try:
        tree = syntax(text)
        translator = _TextTranslator(kind, event_schema, register_schema)
        found = returned(translator.truth(tree, {}) if kind.is_truth else translator.value(tree, {}), kind, register_schema)
        check_bounds(found, event_schema, register_schema)
    except SyntaxError as error:
        column = max(error.offset or 1, 1) - 1
        _refuse(text, kind, f"it is no Python expression ({error.msg}); {HINT}", error.lineno or 0, column)
    except Unreadable as error:
        line, column = getattr(error.node, "lineno", 0), getattr(error.node, "col_offset", 0)
        _refuse(text, kind, f"{error.reason}; {error.hint}", line, _characters(text, line, column))
    return found


class _TextTranslator(Translator):
    """Translate text, where only fields and a few names mean anything."""

    def __init__(self, kind: FunctionKind, event_schema: Schema | None, register_schema: Schema) -> None:
        super().__init__(event_schema, register_schema)
        self.register = Make(tuple(FieldRead("r", field.name) for field in register_schema.fields))
        self.kind = kind

    def name(self, node: ast.Name, names: Names) -> Value:
        """Returns the value of a name."""
        name = node.id
        if name in ("r", "R") and not self.kind.sees_register:
            raise Unreadable(f"{name} is the register, which a {self.kind.role} does not see", "name fields of the event", node)
        if name == "r":
            return self.register
        if name == "e" and self.kind.sees_event:
            return Event()
        if name in ("inf", "nan"):
            return Const(float(name))
        if name in ("R", self.register_schema.cls.__name__):
            return Live(self.register_schema.cls, name)
        if name in BUILTINS:
            return Live(getattr(builtins, name), name)
        base: Event | Make = Event() if self.kind.sees_event else self.register
        if self.kind.sees_event and not self._is_field(self.event_schema, name) and self._is_field(self.register_schema, name):
            raise Unreadable(f"{name} is a field of the register", f"write r.{name}", node)
        return self.attribute(base, ast.copy_location(ast.Attribute(node, name, ast.Load()), node))

    def call(self, node: ast.Call, names: Names) -> Value:
        """``span('10 minutes')``, ``sqrt(x)``: only where it is called, as a field may have that name; or any other call."""
        called = ast.unparse(node.func)
        if called in ("span", "afa.span"):
            return self.duration(*self.arguments(node, names), node)
        if called.removeprefix("math.") in FUNCTIONS:
            return self.tabled(called.removeprefix("math."), *self.arguments(node, names), node)
        return super().call(node, names)

    @staticmethod
    def _is_field(schema: Schema | None, name: str) -> bool:
        return schema is not None and any(field.name == name for field in schema.fields)


def syntax(text: str, also: tuple[type[ast.AST], ...] = ()) -> ast.expr:
    """Returns Python's syntax tree of a text; refuses nodes that are never allowed, but for those of the types ``also``.

    Raises SyntaxError or Unreadable. Python's parser recurses, so signs that could nest deeply are counted first, in the text
    without its strings.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text)} characters, more than {LONGEST}", "split it over several arcs")
    bare = _STRING.sub("''", text)
    if len(_NESTS.findall(bare)) > OPERATORS:
        raise Unreadable(f"it has more than {OPERATORS} operators", "split it over several arcs")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise Unreadable(f"it is no Python expression ({error})", HINT) from None
    todo: list[tuple[ast.AST, int]] = [(tree, 1)]
    while todo:
        node, depth = todo.pop()
        if not isinstance(node, _NODES + also):
            raise Translator.refused(node)
        if depth > DEPTH:
            raise Unreadable(f"it is nested more than {DEPTH} deep", "split it over several arcs", node)
        todo.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return tree


def check_bounds(expr: Expr, event_schema: Schema | None, register_schema: Schema) -> None:
    """Refuse an expression whose evaluation could take much time or memory: huge powers, repeated strs."""
    for node in walk(expr):
        if isinstance(node, Binary):
            left, right = (types_of(x, event_schema, register_schema) for x in (node.left, node.right))
            if str in left | right and not (node.op == "+" and left | right <= TEXTS | {NONE}):
                hint = "write str(x) of a number" if node.op == "+" else "calculate with int, float and bool fields only"
                raise Unreadable(f"{node.op} of something that could be a str", hint)
            if left & WHOLE and right & WHOLE and bits(node) > LARGEST:
                raise Unreadable(f"{node.op} could make a huge int", "keep exponents constant and small")
        if isinstance(node, Call) and node.name == "round" and len(node.items) == 2:
            digits = node.items[1]
            if not (isinstance(digits, Const) and type(digits.value) is int and abs(digits.value) <= 400):
                raise Unreadable("round to digits that are no small constant", "write round(x, 2), say")


def _characters(text: str, line: int, column: int) -> int:
    """Return a column counted in characters, from one counted in bytes."""
    lines = _LINE.split(text)
    return len(lines[line - 1].encode("utf-8", "replace")[:column].decode("utf-8", "ignore")) if 0 < line <= len(lines) else 0


def _refuse(text: str, kind: FunctionKind, why: str, line: int, column: int) -> NoReturn:
    """Raise an error that shows the place below the message."""
    lines = _LINE.split(text)
    shown = lines[line - 1] if 0 < line <= len(lines) else lines[0]
    begin = max(0, column - SHOWN)
    piece = "".join(c if c.isprintable() else "?" for c in shown[begin : column + SHOWN])
    place = f"\n    {piece}\n    {' ' * (column - begin)}^" if line else (f"\n    {piece}" if piece else "")
    raise ExpressionError(f"expected {kind.role}({kind.parameters}) as text but {why}{place}") from None
