"""Describe an arc in words, for pictures and tables: its kind, and the source text of its functions, proven to be their own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from afa.expression.arc_functions import GivenExpression, WrittenFunction
from afa.expression.function_source import Function, nodes_of
from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT, Arc, always
from afa.model.automaton import Automaton

COMPARED = {
    ast.Lt: "below",
    ast.LtE: "at most",
    ast.Gt: "above",
    ast.GtE: "at least",
    ast.Eq: "is",
    ast.NotEq: "is not",
    ast.In: "is in",
    ast.NotIn: "is not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
LISTED = {ast.In: "is one of", ast.NotIn: "is none of"}
"""Of values that stand there one by one."""
PAIRS = ((ast.Lt, ast.GtE), (ast.Gt, ast.LtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
COUNTED = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def said(text: str) -> str:
    """Return the text of a fence in words; what has no words stays as it is.

    >>> said("e.change < 0 and r.n >= 2")
    'change below 0 and n so far at least 2'
    >>> said("not (kind == 'buy' or price is None)")
    'not (kind is buy or price is missing)'
    >>> said("not e.kind == 'buy' and not price < 3")
    'kind is not buy and price at least 3'
    >>> said("kind in ('a', 'b') and 'x' in name"), said("kind == ''"), said("(1 if a else b) > 3")
    ('kind is one of a, b and x is in name', "kind is ''", '(1 if a else b) above 3')
    >>> said("True"), said("at r.last_seen + 300"), said("len(name) > (")
    ('any event', 'at last seen so far + 300', 'len(name) > (')
    """
    if text.startswith("at "):
        return f"at {said(text.removeprefix('at '))}"
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    if isinstance(tree, ast.Constant) and tree.value is True:
        return "any event"
    return _said(tree, 0)


def _said(node: ast.expr, depth: int) -> str:
    """Say an expression; ``depth``: how much binds around it, 0 nothing, 1 ``or``, 2 ``and``, 3 more."""
    if isinstance(node, ast.BoolOp):
        level, word = (1, " or ") if isinstance(node.op, ast.Or) else (2, " and ")
        return _bracketed(word.join(_said(value, level) for value in node.values), depth > level)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = node.operand
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            return _said(ast.Compare(inner.left, [OPPOSITE[type(inner.ops[0])]()], inner.comparators), depth)
        return _bracketed(f"not {_said(node.operand, 3)}", depth > 3)
    if isinstance(node, ast.Compare):
        return _bracketed(_compared(node), depth > 2)
    if isinstance(node, ast.BinOp) and type(node.op) in COUNTED:
        return _bracketed(f"{_said(node.left, 4)} {COUNTED[type(node.op)]} {_said(node.right, 5)}", depth > 4)
    if isinstance(node, ast.IfExp):
        return _bracketed(ast.unparse(node), depth > 0)
    return _term(node)


def _compared(node: ast.Compare) -> str:
    found = _said(node.left, 4)
    for op, right in zip(node.ops, node.comparators):
        missing = isinstance(right, ast.Constant) and right.value is None
        words = COMPARED | LISTED if isinstance(right, ast.Tuple | ast.List | ast.Set) and right.elts else COMPARED
        found += f" {words[type(op)]} {'missing' if missing else _said(right, 4)}"
    return found


def _term(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("e", "r"):
        return node.attr.replace("_", " ") + (" so far" if node.value.id == "r" else "")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value.strip() else repr(node.value)
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and node.elts:
        return ", ".join(_said(item, 3) for item in node.elts)
    if isinstance(node, ast.Name):
        return node.id.replace("_", " ")
    return ast.unparse(node)


def _bracketed(text: str, wanted: bool) -> str:
    return f"({text})" if wanted else text


KINDS = {CONSUME: "consume", SKIP: "skip", EPSILON: "epsilon", TIMEOUT: "time-out"}
LONGEST_DEF = 60
"""The most characters of a function's text; a longer ``def`` is shown by its name."""


def kind_of(arc: Arc) -> str:
    """Return ``consume``, ``ignorable``, ``skip``, ``epsilon`` or ``time-out``."""
    return "ignorable" if arc.ignorable and arc.kind == CONSUME else KINDS[arc.kind]


def fence_of(arc: Arc) -> str:
    """Return the fence as text; of a time-out its instant; empty where an epsilon arc states none."""
    if arc.kind == TIMEOUT:
        return f"at {function_text(arc.at)}"
    return "" if arc.fence is always else function_text(arc.fence)


def transfer_of(arc: Arc, register: type | None = None) -> str:
    """Return the transfer as the values that it sets, where it makes the register in one call or tuple; else its text.

    Without the register's class only ``r._replace(..)`` is read.

    >>> transfer_of(Arc("a", "b", "x < 1", "r._replace(n=r.n + 1, low=e.x)"))
    'n = r.n + 1, low = e.x'
    >>> from typing import NamedTuple
    >>> class Low(NamedTuple):
    ...     n: int
    ...     low: int
    >>> transfer_of(Arc("a", "b", "x < 1", "(r.n + 1, r.low)"), Low)
    'n = r.n + 1'
    >>> transfer_of(Arc("a", "b", "x < 1", "Low(*e.both)"), Low)
    'Low(*e.both)'
    """
    if arc.transfer is None:
        return ""
    text = function_text(arc.transfer)
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    found = _values_set(node, register)
    told = [f"{name} = {_one_line(value)}" for name, value in found if name is not None and ast.unparse(value) != f"r.{name}"]
    return ", ".join(told) if told and all(name for name, _ in found) else text


def _values_set(node: ast.expr, register: type | None) -> list[tuple[str | None, ast.expr]]:
    """Return which fields an expression sets; of a name None: it is not known."""
    names: tuple[str, ...] = getattr(register, "_fields", ())
    if isinstance(node, ast.Tuple):
        whole = len(names) == len(node.elts) and not any(isinstance(value, ast.Starred) for value in node.elts)
        return list(zip(names, node.elts)) if whole else []
    if not isinstance(node, ast.Call):
        return []
    if any(isinstance(value, ast.Starred) for value in node.args):
        return []
    of = ast.unparse(node.func)
    if of != "r._replace" and (register is None or of != register.__name__ or len(node.args) > len(names)):
        return []
    if of == "r._replace" and node.args:
        return []
    return [*zip(names, node.args), *((keyword.arg, keyword.value) for keyword in node.keywords)]


def function_text(function: Callable[..., Any] | None) -> str:
    """Return the text of a function, or its name where there is no source; of none nothing."""
    if function is None:
        return ""
    name = getattr(function, "__name__", None)
    return text_of(function) or (name if isinstance(name, str) else type(function).__name__)


def final_states(automaton: Automaton) -> frozenset[str]:
    """Return the final states, those that an arc brings by ``final=True`` among them."""
    return automaton.final.union(arc.dst for arc in automaton.arcs if arc.final)


def text_of(function: Any) -> str | None:
    """Return the body of a lambda, or of a ``def`` that is one short return, as text; any other ``def`` goes by its name.

    The text is one line in the form of ``ast.unparse``; of an arc given as text that text. None: no source, a source that does not
    compile to this function (the file was edited since), or several that do and differ in text.

    >>> fences = [lambda e, r: e.change < 0, lambda e, r: e.change   >   0]
    >>> [text_of(fence) for fence in fences]
    ['e.change < 0', 'e.change > 0']
    >>> text_of(len) is None
    True
    """
    if isinstance(function, WrittenFunction | GivenExpression) and function.text is not None:
        return " ".join(function.text.split())
    texts = {_text(node) for node in nodes_of(function)}
    return texts.pop() if len(texts) == 1 else None


def _text(node: Function) -> str:
    if isinstance(node, ast.Lambda):
        return _one_line(node.body)
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        text = _one_line(body[0].value)
        return text if len(text) <= LONGEST_DEF else node.name
    return node.name


def _one_line(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split("\n"))
