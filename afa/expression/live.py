"""Look up what a function refers to outside itself: cells, globals, defaults, attributes of modules and classes. Runs no code.

The value is the one at the moment of reading: a global that is bound anew later does not change what was read.
"""

from __future__ import annotations

import ast
import math
import operator
import types
from datetime import timedelta
from typing import Any, NamedTuple

from afa.expression.kinds import Unreadable
from afa.expression.nodes import Const, Span
from punctuation.time import BEGINNING, FOREVER

_GETTER: Any = type(NamedTuple("_", [("x", int)]).x)  # type: ignore[attr-defined]
_MISSING = object()


class Live(NamedTuple):
    """An object that is no scalar: a function, a class, a module, a tuple of constants."""

    value: Any
    name: str


def constant(value: Any, name: str) -> Const | Span | Live:
    """Return a scalar of exactly Python's types as a Const, a `Span` as it is, any other object as `Live`."""
    if isinstance(value, Span):
        return value
    small = type(value) is int and BEGINNING <= value <= FOREVER
    if small or value is None or type(value) in (float, bool, str):
        return Const(value)
    return Live(value, name)


def not_scalar(live: Live, node: ast.AST | None) -> Unreadable:
    """Return the reason why an object is no value of an expression."""
    value, name = live
    what = type(value).__name__
    if type(value) is int:
        return Unreadable(f"{name} is an int beyond int64", "keep constants within int64, or write a float", node)
    kind: str | None = next((kind.__name__ for kind in (int, float, str) if isinstance(value, kind)), None)
    if _is_numpy(value):
        kind, what = type(value.item()).__name__, f"numpy {what}"
    if kind is not None:
        return Unreadable(f"{name} is a {what}, not a plain {kind}", f"bind {kind}({name}) before", node)
    if isinstance(value, timedelta):
        return Unreadable(f"{name} is a {what}", f"times are ints: write afa.span({name}), which is one, too", node)
    if isinstance(value, (list, set, dict, bytearray)):
        return Unreadable(f"{name} is a {what}, which can change", "make it a tuple or a frozenset", node)
    return Unreadable(f"{name} is a {what}", "use an int, float, bool, str, None, or a tuple or frozenset of them", node)


def plain(live: Live) -> Const | Live:
    """Return a numpy scalar of 64 bits as Python's value. Only for a comparison, where both mean the same.

    From 2**53 on they don't: numpy rounds an int to a float to compare it.
    """
    value = live.value
    if _is_numpy(value):
        kind = type(value).__name__
        if kind == "str_" or (kind in ("float64", "int64", "longlong") and not 2**53 <= abs(value.item()) < math.inf):
            return Const(value.item())
    return live


def _is_numpy(value: Any) -> bool:
    """Return whether a value is a numpy scalar, without importing numpy."""
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()


def lookup(function: types.FunctionType, node: ast.Name) -> Any:
    """Return the value of a free or global name of ``function``."""
    name, code = node.id, function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise Unreadable(f"{name} has no value yet", "bind it before the arc is used", node) from None
    if name in function.__globals__:
        return function.__globals__[name]
    builtins: dict[str, Any] = operator.attrgetter("__builtins__")(function)
    if name not in builtins:
        raise Unreadable(f"{name} is not defined", "bind it before the arc is used", node)
    return builtins[name]


def attribute(base: Live, node: ast.Attribute) -> Any:
    """Return ``module.name``, ``Class.NAME`` or a field of a NamedTuple constant, without running any of their code.

    Anything else is refused: a descriptor, a metaclass, a module's ``__getattr__``.
    """
    owner, name = base.value, node.attr
    if type(owner) is types.ModuleType and name in vars(owner):
        return vars(owner)[name]
    if type(owner) is type:
        found = static(owner, name)
        if isinstance(found, staticmethod):
            return found.__func__
        if found is not _MISSING and (type(found) is types.FunctionType or not hasattr(type(found), "__get__")):
            return found
    elif isinstance(owner, tuple) and is_field(type(owner), name):
        return tuple.__getitem__(owner, type(owner)._fields.index(name))  # type: ignore[attr-defined]
    what, path = type(owner).__name__, f"{base.name}.{name}"
    raise Unreadable(f"{path} is an attribute of a {what}", f"bind it to a name of its own before: {name} = {path}", node)


def static(cls: type, name: str) -> Any:
    """Returns the object that a class or its bases hold under a name, before any descriptor acts."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), _MISSING)


def is_field(cls: type, name: str) -> bool:
    """Return whether ``value.name`` is the item of that field, not something that a subclass has put in its place."""
    fields, found = getattr(cls, "_fields", ()), static(cls, name)
    if name not in fields or not isinstance(found, _GETTER) or found.__reduce__()[1][0] != fields.index(name):
        return False
    return static(cls, "__getattribute__") in (object.__getattribute__, tuple.__getattribute__)


def is_plain(cls: type, method: str) -> bool:
    """Return whether a NamedTuple class has the ``method`` of tuple."""
    return static(cls, method) is getattr(tuple, method)


def is_own(cls: type, method: str) -> bool:
    """Return whether ``method`` of a NamedTuple class is NamedTuple's own; a subclass may have another."""
    own = next((base for base in cls.__mro__ if "_fields" in vars(base)), tuple)
    return next((base for base in cls.__mro__ if method in vars(base)), object) in (own, object)
