"""Read lambdas and defs as expressions: from their source, through ast. Names from outside are replaced by their present values.

A ``def`` is read by substitution: a local name stands for its expression, an ``if`` for a choice between what follows either way, a
helper function for its body. Nothing is evaluated; a global, a cell or a default is taken as it is at the moment of reading.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from dataclasses import dataclass
from typing import Any

from afa.expression import live
from afa.expression.function_source import Function, node_of
from afa.expression.kinds import HINT, FunctionKind, Unreadable
from afa.expression.live import Live, constant, lookup
from afa.expression.nodes import Const, Expr, FieldRead, Make
from afa.expression.translate import BINARY, Translator
from afa.expression.values import SIZE, Event, Names, TupleValue, Value, check_size, returned
from afa.schema import Schema

NESTED = 20
"""How deep helper functions may call each other."""
_ODD = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def read(function: Any, kind: FunctionKind, event_schema: Schema | None, register_schema: Schema) -> Expr:
    """Take a fence, a transfer (a Make), an ``at`` or a condition apart: a lambda, a def, or a ``functools.partial`` of one.

    The expression means what the function means: same value, and where the function raises, it raises. O(nodes), about 50 us for a
    lambda whose code was read before; else its file is parsed (once) and its code proven. Raises Unreadable with the reason, and
    how to write it.

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> class R(NamedTuple):
    ...     n: int = 0
    >>> schemas = Schema.of(Tick, "event"), Schema.of(R, "register")
    >>> limit = 3
    >>> read(lambda e, r: r.n < limit, FENCE, *schemas)
    Compare(op='<', left=FieldRead(side='r', name='n'), right=Const(value=3))
    >>> read(lambda e, r: print(e), FENCE, *schemas)
    Traceback (most recent call last):
    afa.expression.kinds.Unreadable: print(...) is called; call only min, max, abs, round, int, float, bool, len, str and...
    """
    arguments: list[Value] = [Event()] if kind.sees_event else []
    if kind.sees_register:
        arguments.append(Make(tuple(FieldRead("r", field.name) for field in register_schema.fields)))
    task = Task(kind, event_schema, register_schema)
    try:
        return returned(apply(function, arguments, task), kind, register_schema)
    except RecursionError:
        raise Unreadable("a function too deeply nested", HINT) from None


def apply(function: Any, arguments: list[Value], task: Task) -> Value:
    """Return the value of what a Python function returns for these arguments."""
    return _apply(function, arguments, {}, task, ())


@dataclass
class Task:
    """The work on one expression, shared by all functions that are read for it. Counts the paths through them against a limit."""

    kind: FunctionKind
    event_schema: Schema | None
    register_schema: Schema
    reader: type[FunctionReader] | None = None
    ways: int = 0

    def step(self) -> None:
        """Count one path. Refuses a function whose paths double with each ``if``, or whose calls double with each level."""
        self.ways += 1
        if self.ways > SIZE:
            raise Unreadable(f"more than {SIZE} ways through it and what it calls", "split it over several arcs")


def _apply(function: Any, arguments: list[Value], keywords: dict[str, Value], task: Task, outer: tuple[Any, ...]) -> Value:
    """Return the expression of what a Python function returns for these arguments."""
    if type(function) is functools.partial:
        early = [constant(item, "an argument of partial") for item in function.args]
        named = {name: constant(item, name) for name, item in function.keywords.items()}
        return _apply(function.func, [*early, *arguments], {**named, **keywords}, task, outer)
    if type(function) is not types.FunctionType:
        what = getattr(function, "__name__", type(function).__name__)
        raise Unreadable(f"{what} is a {type(function).__name__}, not a function in Python", "use a lambda or a def")
    if any(function.__code__ is code for code in outer) or len(outer) >= NESTED:
        raise Unreadable(f"{function.__name__} calls itself, or {NESTED} functions call each other", "write it without recursion")
    if function.__code__.co_flags & _STARS:
        raise Unreadable(f"{function.__name__} takes * or **", "name its parameters")
    if function.__code__.co_flags & _ODD:
        raise Unreadable(f"{function.__name__} is a generator or async", "return the value")
    node = node_of(function)
    if node is None:
        raise Unreadable("no source that compiles to this function", "put it in a file; of an edited file, import it anew")
    names = _bind(function, arguments, keywords)
    task.step()
    reader = (task.reader or FunctionReader)(function, task, (*outer, function.__code__))
    result = reader.body(node, names)
    for value in reversed([value for value in names.values() if value is not None]):
        result = reader.keep(value, result, node)
    return result


def _bind(function: types.FunctionType, arguments: list[Value], keywords: dict[str, Value]) -> Names:
    """Return the parameters of a call, by name."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    names: Names = dict(zip(positional, arguments))
    if len(arguments) > len(positional) or names.keys() & keywords.keys() or not keywords.keys() <= set(named):
        raise Unreadable(f"{function.__name__} is called with other arguments than it takes", "call it with what it takes")
    names.update(keywords)
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ())), **(function.__kwdefaults__ or {}))
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if name not in names and name not in defaults:
            raise Unreadable(f"{function.__name__} is called without {name}", "call it with what it takes")
        if name not in names:
            names[name] = constant(defaults[name], name)
    return names


class FunctionReader(Translator):
    """Translate one function in Python. A task may bring a reader of its own, for arguments that are neither event nor register."""

    def __init__(self, function: types.FunctionType, task: Task, outer: tuple[Any, ...]) -> None:
        super().__init__(task.event_schema, task.register_schema)
        self.function = function
        self.task = task
        self.outer = outer
        self.is_fence = len(outer) == 1 and task.kind.is_truth

    def body(self, node: Function, names: Names) -> Value:
        """Return the expression of what the function returns."""
        names = dict(names)
        if isinstance(node, ast.Lambda):
            return self.result(node.body, names)
        return self.block(node.body, names)

    def result(self, node: ast.expr, names: Names) -> Value:
        """Return the expression of a ``return``; in a fence, of its truth."""
        return self.truth(node, names) if self.is_fence else self.value(node, names)

    # -- names ---------------------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, names: Names) -> Value:
        """Return the value of a name: a local one's expression, any other's present binding."""
        name, code = node.id, self.function.__code__
        if name in names:
            found = names[name]
            if found is None:
                raise Unreadable(f"{name} is bound on some ways only", f"bind {name} on all ways", node)
            return found
        if name in code.co_varnames or name in code.co_cellvars:
            raise Unreadable(f"{name} has no value here", f"bind {name} before", node)
        return constant(lookup(self.function, node), name)

    def member(self, base: Live, node: ast.Attribute) -> Value:
        """``math.pi``, ``Limits.HIGH``, ``LIMITS.high``."""
        return constant(live.attribute(base, node), f"{base.name}.{node.attr}")

    def call_other(self, called: Live, arguments: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
        """Returns the value of a helper function, written out in place."""
        if type(called.value) not in (types.FunctionType, functools.partial):
            return super().call_other(called, arguments, keywords, node)
        result = _apply(called.value, arguments, keywords, self.task, self.outer)
        check_size(result)
        return result

    # -- statements ----------------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], names: Names) -> Value:
        """Returns the value of the function from this statement on; falling off the end is None."""
        self.task.step()
        if not body:
            return Const(None)
        head, rest = body[0], body[1:]
        match head:
            case ast.Return(value):
                return Const(None) if value is None else self.result(value, names)
            case ast.Pass():
                return self.block(rest, names)
            case ast.Expr(ast.Constant()):  # a docstring
                return self.block(rest, names)
            case ast.Expr(value):
                return self.kept([self.value(value, names)], rest, names, head)
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                return self.kept(self.assign(target, self.value(value, names), names), rest, names, head)
            case ast.AugAssign(ast.Name(id=name) as target, op, value) if type(op) in BINARY:
                left = ast.copy_location(ast.Name(name, ast.Load()), target)
                sum_ = ast.copy_location(ast.BinOp(left, op, value), head)
                return self.kept(self.assign(target, self.value(sum_, names), names), rest, names, head)
            case ast.If(test, then, other):
                chosen = self.truth(test, names)
                found = self.join(chosen, self.block(then + rest, dict(names)), self.block(other + rest, dict(names)), head)
                check_size(found)
                return found
        raise self.refused(head)

    def assign(self, target: ast.expr, value: Value, names: Names) -> list[Value]:
        """Bind a name, or several names to the items of a tuple. Returns the values that were evaluated."""
        check_size(value)
        if isinstance(target, ast.Name):
            names[target.id] = value
            return [value]
        plain = isinstance(value, TupleValue) or live.is_plain(self.register_schema.cls, "__iter__")
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, Make | TupleValue)
            and len(value.items) == len(target.elts)
            and plain
        ):
            return [v for inner, item in zip(target.elts, value.items) for v in self.assign(inner, item, names)]
        raise Unreadable("an assignment to something that is no local name", "assign to a name", target)

    def kept(self, values: list[Value], rest: list[ast.stmt], names: Names, node: ast.stmt) -> Value:
        """Returns the value of the rest of the function, with these values evaluated before it."""
        result = self.block(rest, names)
        for value in reversed(values):
            result = self.keep(value, result, node)
        return result
