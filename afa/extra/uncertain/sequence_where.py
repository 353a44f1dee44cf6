"""Constraints between the components of a sequence, as text: what each conjunct reads, and of which two events it is asked.

    a.task == c.task                       asked of the events of a and of c
    b[i].value >= b[i-1].value             of an event of the closure b and the one before it: b is a chain, in this order
    b[i].value > 3, b.value > 3            of each event of b alone

A conjunct becomes a fence in which the later event is ``e`` and the earlier one ``r``; so it is read by the same allow-list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from afa.errors import ExpressionError, did_you_mean
from afa.expression import FENCE, Unreadable, callable_of, parse
from afa.expression.from_text import syntax
from afa.expression.functions import FUNCTIONS
from afa.expression.nodes import Expr
from afa.expression.spans import in_ticks
from afa.expression.translate import BUILTINS
from afa.schema import Schema

Fence = Callable[[Any, Any], Any]
_KNOWN = {*BUILTINS, *FUNCTIONS, "inf", "nan", "span"}


class OrderConstraint(NamedTuple):
    """A conjunct: the numbers of the earlier and the later component; ``chain``: of two events of one closure, one behind another.

    ``earlier`` is None where one event alone is asked.
    """

    earlier: int | None
    later: int
    chain: bool
    expr: Expr
    function: Fence
    text: str

    def holds(self, later: Any, earlier: Any) -> bool:
        """Returns whether it holds of two events; where it raises it does not."""
        try:
            return bool(self.function(later, earlier))
        except Exception:  # whatever Python's operators raise
            return False


def constraints_of(
    where: str | Sequence[str], names: Sequence[str], kleene: Sequence[bool], event: Schema, tick: str | None
) -> list[OrderConstraint]:
    """Returns the constraints of a sequence, joined by ``and``; ``kleene``: which of the components ``names`` are closures.

    ExpressionError: a text is no expression of the allow-list, names no component, or reads more than two events.
    """
    if not isinstance(where, Sequence):
        raise ExpressionError(f"expected constraints as text but got where={where!r}")
    texts = [where] if isinstance(where, str) else list(where)
    found = []
    for text in texts:
        try:
            tree = syntax(text.strip()) if isinstance(text, str) else None
        except (SyntaxError, Unreadable) as error:
            _refuse(text, str(error))
        if tree is None:
            raise ExpressionError(f"expected a constraint as text but got where={text!r}")
        conjuncts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
        found += [_read(conjunct, names, kleene, event, tick) for conjunct in conjuncts]
    return found


def _read(tree: ast.expr, names: Sequence[str], kleene: Sequence[bool], event: Schema, tick: str | None) -> OrderConstraint:
    text = ast.unparse(tree)
    reads = _Reads(text, names, kleene)
    reads.visit(tree)
    asked = sorted(set(reads.found))
    chain = any(back for _, back in asked)
    if not asked:
        _refuse(text, "it reads no component")
    if len(asked) > 2 or (chain and {number for number, _ in asked} != {asked[0][0]}):
        said = ", ".join(names[number] + ("[i-1]" if back else "") for number, back in asked)
        _refuse(text, f"it reads the events {said}: a constraint is between two")
    if chain and len(asked) == 1:
        _refuse(text, f"it reads {names[asked[0][0]]}[i-1] without {names[asked[0][0]]}[i]")
    if chain:
        earlier, later = asked[0], (asked[0][0], False)
        earlier = (asked[0][0], True)
    else:
        earlier, later = asked[0], asked[-1]
    sides = {earlier: "r", later: "e"}
    made = ast.unparse(_Sided(sides, names).visit(tree))
    register = Schema.of(event.cls, "register")
    expr = in_ticks(parse(made, FENCE, event, register), tick, f"the constraint {text!r}")
    alone = len(asked) == 1
    return OrderConstraint(None if alone else earlier[0], later[0], chain, expr, callable_of(expr, FENCE, register), text)


class _Reads(ast.NodeVisitor):
    """Which events a conjunct reads: numbers of components, and whether of the one before."""

    def __init__(self, text: str, names: Sequence[str], kleene: Sequence[bool]) -> None:
        self.found: list[tuple[int, bool]] = []
        self._text, self._names, self._kleene = text, names, kleene

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name, place = _event_of(node.value)
        if name not in self._names:
            self.generic_visit(node)
            return
        number = self._names.index(name)
        if place and not self._kleene[number]:
            _refuse(self._text, f"{name} is one event, and has no {place}-th")
        if place not in ("", "i", "i-1"):
            _refuse(self._text, f"of a closure the events {name}[i] and {name}[i-1] can be read, not [{place}]")
        self.found.append((number, place == "i-1"))

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._names:
            _refuse(self._text, f"{node.id} is an event; write {node.id}.<field>")
        if node.id not in _KNOWN:
            hint = did_you_mean(node.id, self._names)
            _refuse(self._text, f"{node.id} is no component; components: {', '.join(self._names)}{hint}")


class _Sided(ast.NodeTransformer):
    """Write ``e`` for the later event, ``r`` for the earlier one."""

    def __init__(self, sides: dict[tuple[int, bool], str], names: Sequence[str]) -> None:
        self._sides, self._names = sides, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name, place = _event_of(node.value)
        if name not in self._names:
            return self.generic_visit(node)
        side = self._sides[self._names.index(name), place == "i-1"]
        return ast.Attribute(ast.Name(side, ast.Load()), node.attr, ast.Load())


def _event_of(node: ast.expr) -> tuple[str, str]:
    """Returns the name whose field is read, or "", and of ``b[i-1]`` the place."""
    base, place = (node.value, ast.unparse(node.slice).replace(" ", "")) if isinstance(node, ast.Subscript) else (node, "")
    return (base.id, place) if isinstance(base, ast.Name) else ("", "")


def _refuse(text: Any, why: str) -> NoReturn:
    raise ExpressionError(f"expected a constraint between components as text but {why}\n    {text}")
