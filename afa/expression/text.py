"""Write expressions as text: one line, as few parentheses as possible; `parse` reads it back as an equal expression.

Fields are written ``e.name`` and ``r.name``. Floats by repr, so that they come back to the last bit; infinity and NaN are the names
``inf`` and ``nan``.
"""

from __future__ import annotations

from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Make,
    Not,
    Or,
    Span,
    Text,
    Unary,
)
from afa.schema import Schema

IF, OR, AND, NOT, COMPARISON, UNARY, POWER, ATOM = 1, 2, 3, 4, 5, 11, 12, 13
"""How tightly each form binds, as Python's grammar has it."""
BINARY = {"|": 6, "^": 7, "&": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "**": POWER}


def text_of_expr(expr: Expr, register_schema: Schema | None = None) -> str:
    """Return an expression as text. With a schema, a register of which some fields stay is written ``r._replace(...)``.

    >>> n = FieldRead("r", "n")
    >>> text_of_expr(Binary("*", Binary("+", n, Const(1)), Const(-2.0)))
    '(r.n + 1) * -2.0'
    >>> text_of_expr(Make((n,)))
    '(r.n,)'
    """
    if isinstance(expr, Make) and register_schema is not None:
        names = [field.name for field in register_schema.fields]
        new = [f"{name}={_text(x, IF)}" for name, x in zip(names, expr.items) if x != FieldRead("r", name)]
        if len(new) < len(names):
            return f"r._replace({', '.join(new)})" if new else "r"
    return _text(expr, IF)


def _text(expr: Expr, least: int) -> str:
    """Return the text, in parentheses if it binds less than ``least``."""
    text, binds = _form(expr)
    return text if binds >= least else f"({text})"


def _form(expr: Expr) -> tuple[str, int]:
    """Return the text and how tightly it binds."""
    match expr:
        case Const(value):
            text = repr(value)
            return text, UNARY if text[0] == "-" else ATOM
        case Span():
            return str(expr), ATOM
        case FieldRead(side, name):
            return f"{side}.{name}", ATOM
        case Unary(op, x):
            return f"{op}{_text(x, UNARY)}", UNARY
        case Not(IsNone(x)):
            return f"{_text(x, COMPARISON + 1)} is not None", COMPARISON
        case Not(In(x, items)):
            return f"{_text(x, COMPARISON + 1)} not in {_row(items)}", COMPARISON
        case Not(Text("contains", x, consts)):
            return f"{_text(consts[0], ATOM)} not in {_text(x, COMPARISON + 1)}", COMPARISON
        case Not(x):
            return f"not {_text(x, NOT)}", NOT
        case Binary(op, left, right):
            binds = BINARY[op]
            if op == "**":
                return f"{_text(left, ATOM)} ** {_text(right, UNARY)}", binds
            return f"{_text(left, binds)} {op} {_text(right, binds + 1)}", binds
        case Compare(op, left, right):
            return f"{_text(left, COMPARISON + 1)} {op} {_text(right, COMPARISON + 1)}", COMPARISON
        case And(items):
            return " and ".join(_text(item, AND + 1) for item in items), AND
        case Or(items):
            return " or ".join(_text(item, OR + 1) for item in items), OR
        case If(test, then, other):
            return f"{_text(then, OR)} if {_text(test, OR)} else {_text(other, IF)}", IF
        case Call(("upper" | "lower") as name, (x,)):
            return f"{_text(x, ATOM)}.{name}()", ATOM
        case Call(("strip" | "lstrip" | "rstrip") as name, (x, characters)):
            return f"{_text(x, ATOM)}.{name}({_text(characters, IF)})", ATOM
        case Call("contains", (x, text)):
            return f"{_text(x, COMPARISON + 1)} in {_text(text, COMPARISON + 1)}", COMPARISON
        case Call(name, items):
            return f"{name}({', '.join(_text(item, IF) for item in items)})", ATOM
        case In(x, items):
            return f"{_text(x, COMPARISON + 1)} in {_row(items)}", COMPARISON
        case IsNone(x):
            return f"{_text(x, COMPARISON + 1)} is None", COMPARISON
        case Text("contains", x, consts):
            return f"{_text(consts[0], ATOM)} in {_text(x, COMPARISON + 1)}", COMPARISON
        case Text(method, x, consts):
            return f"{_text(x, ATOM)}.{method}({_text(consts[0], IF) if len(consts) == 1 else _row(consts)})", ATOM
        case Make(items):
            return _row(items), ATOM
    return str(expr), ATOM  # a parameter of a shape


def _row(items: tuple[Expr, ...]) -> str:
    inner = ", ".join(_text(item, IF) for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"
