"""Find a field that a function reads and its schema does not have: it would raise at the first event that comes there.

What is read is found in the function's syntax tree; nothing is run. A read that something guards is left alone:

    e.amout > 5                                  found
    e.kind == "buy" and e.amout > 5              found
    hasattr(e, "amout") and e.amout > 5          left alone, as the whole function is
    try: e.amout ..                              left alone, too
    e.old > 5 if OLD else e.amount > 5           left alone: a name from outside decides
    e.total if e.kind == "order" else e.amount   left alone: one function for several classes of events
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from afa.expression import live
from afa.expression.function_source import node_of
from afa.expression.kinds import FunctionKind, Unreadable
from afa.schema import Schema

LOOKING = frozenset(("hasattr", "getattr", "isinstance", "issubclass", "type", "vars", "dir", "suppress"))
"""Who calls one of these finds out itself what there is."""
GUARDS = (ast.Try, ast.With, ast.Match)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
INNER = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While, *COMPREHENSIONS)
"""What may run later, or not at all."""
NESTED = 10
"""How deep helper functions are followed."""


class Unknown(NamedTuple):
    """A read of a field that is none: as it is written, of which class, what to say, and where it stands."""

    read: str
    cls: str
    hint: str
    where: str


class Given(NamedTuple):
    """An argument of a function: the event ("e") or the register ("r")."""

    side: str
    schema: Schema


def unknown_field(function: Any, kind: FunctionKind, event_schema: Schema | None, register_schema: Schema) -> Unknown | None:
    """Return a field that a function of an arc reads and its schema does not have; None: there is none, or nobody can tell.

    >>> from afa.expression import FENCE
    >>> class Pay(NamedTuple):
    ...     amount: int
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> schemas = Schema.of(Pay, "event"), Schema.of(R, "register")
    >>> unknown_field(lambda e, r: r.n < 3 and e.amout > 5, FENCE, *schemas)[:3]
    ('e.amout', 'Pay', "its fields: amount; did you mean 'amount'?")
    >>> unknown_field(lambda e, r: hasattr(e, "amout") and e.amout > 5, FENCE, *schemas)
    """
    event = None if event_schema is None else Given("e", event_schema)
    return _of_call(function, [event] * kind.sees_event + [Given("r", register_schema)] * kind.sees_register, 0)


def _of_call(function: Any, arguments: list[Given | None], depth: int) -> Unknown | None:
    """Look into a function that is called with these arguments; None: something else."""
    while type(function) is functools.partial and not function.keywords:
        arguments, function = [*(None for _ in function.args), *arguments], function.func
    if type(function) is not types.FunctionType or depth > NESTED:
        return None
    node = node_of(function)
    if node is None:
        return None
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    known = {name: given for name, given in zip(names, arguments) if given is not None and _is_plain(given.schema.cls)}
    inside = list(ast.walk(node))
    if any(isinstance(each, GUARDS) or (isinstance(each, ast.Name) and each.id in LOOKING) for each in inside):
        return None
    for each in inside:
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            known.pop(each.id, None)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    return next(_UnknownReads(function, known, depth).of_block(body), None)


def _is_plain(cls: type) -> bool:
    """Return whether an attribute that a class does not have is one that its values don't have."""
    return live.static(cls, "__getattribute__") in (object.__getattribute__, tuple.__getattribute__) and not hasattr(
        cls, "__getattr__"
    )


class _UnknownReads:
    """The reads of unknown fields in one function, but for those that are guarded."""

    def __init__(self, function: types.FunctionType, known: dict[str, Given], depth: int) -> None:
        self._function, self._known, self._depth = function, known, depth
        self._events = [name for name, given in known.items() if given.side == "e"]

    def of_block(self, body: Iterable[ast.AST]) -> Iterator[Unknown]:
        """Yield those of statements one after the other, as far as they are reached in any case."""
        for statement in body:
            yield from self.of_node(statement)
            leaves = isinstance(statement, ast.If) and any(isinstance(x, ast.Return | ast.Raise) for x in ast.walk(statement))
            if isinstance(statement, ast.Return | ast.Raise) or (leaves and self._decides(statement.test)):  # type: ignore[attr-defined]
                return

    def of_node(self, node: ast.AST) -> Iterator[Unknown]:
        """Yield those of a node and of all below it."""
        match node:
            case ast.If(test, body, other) if not self._decides(test):
                yield from self.of_node(test)
                yield from self.of_block(body)
                yield from self.of_block(other)
            case ast.IfExp(test, body, other) if not self._decides(test):
                yield from self._of_all((test, body, other))
            case ast.If(test) | ast.IfExp(test):
                yield from self.of_node(test)
            case ast.BoolOp(_, items):
                free = next((i for i, item in enumerate(items) if not self._mentions(item, self._known)), len(items))
                yield from self._of_all(items[:free])
            case ast.Attribute(ast.Name(name), field) if name in self._known:
                yield from self._read(name, field, node)
            case ast.Call(ast.Attribute(ast.Name(name), "_replace"), [], keywords) if name in self._known:
                yield from self._of_all([keyword.value for keyword in keywords])
                for keyword in keywords:
                    if keyword.arg is not None and keyword.arg not in self._fields(name):
                        yield self._unknown(f"{name}._replace({keyword.arg}=..)", keyword.arg, name, node)
            case ast.Call(ast.Name(), arguments):
                yield from self._of_all(arguments)
                yield from self._within(node)
            case _ if not isinstance(node, INNER):
                yield from self._of_all(ast.iter_child_nodes(node))

    def _of_all(self, nodes: Iterable[ast.AST]) -> Iterator[Unknown]:
        for node in nodes:
            yield from self.of_node(node)

    def _decides(self, test: ast.AST) -> bool:
        """Return whether a test tells classes of events apart, or depends on nothing that is known here."""
        return self._mentions(test, self._events) or not self._mentions(test, self._known)

    @staticmethod
    def _mentions(node: ast.AST, names: Iterable[str]) -> bool:
        return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))

    def _read(self, name: str, field: str, node: ast.AST) -> Iterator[Unknown]:
        if field not in self._fields(name) and not hasattr(self._known[name].schema.cls, field):
            yield self._unknown(f"{name}.{field}", field, name, node)

    def _fields(self, name: str) -> list[str]:
        return [field.name for field in self._known[name].schema.fields]

    def _unknown(self, read: str, field: str, name: str, node: Any) -> Unknown:
        file = Path(self._function.__code__.co_filename).name
        schema = self._known[name].schema
        return Unknown(read, schema.cls.__name__, schema.hint(field), f"line {node.lineno} of {file}")

    def _within(self, node: ast.Call) -> Iterator[Unknown]:
        """Yield one of a helper function that is given the event or the register."""
        assert isinstance(node.func, ast.Name)
        given = [self._known.get(item.id) if isinstance(item, ast.Name) else None for item in node.args]
        if any(given) and not any(isinstance(item, ast.Starred) for item in node.args):
            try:
                helper = live.lookup(self._function, node.func)
            except Unreadable:
                return
            found = _of_call(helper, given, self._depth + 1)
            if found is not None:
                yield found
