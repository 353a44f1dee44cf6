"""Say a fence in words, for who does not read code: `change < 0 and r.n >= 2` is "change below 0 and n so far at least 2"."""

from __future__ import annotations

import ast

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

    Examples
    --------
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
