"""Make a digest of what a Python function does, by which a restarted job notices that its code has changed.

It covers code objects with those within them, constants, defaults, values of closures, and of the globals that the code reads plain
data and functions of the same module; of anything else its name. Of code of another version of Python nothing is claimed.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

VERSION = "{}.{}".format(*sys.version_info)
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def digest_of(function: Callable[..., Any]) -> str:
    """Return the digest of a function, or of anything that can be called.

    Examples
    --------
    >>> limit = 3
    >>> digest_of(lambda e, r: e.x > 3) == digest_of(lambda e, r: e.x > 3)
    True
    >>> digest_of(lambda e, r: e.x > 3) == digest_of(lambda e, r: e.x > 4)
    False
    """
    return hashlib.blake2b(_said(function, {}).encode(), digest_size=16).hexdigest()


def _said(value: Any, seen: dict[int, int]) -> str:
    """A value as text that is the same in each process; ``seen``: what it is in, and functions, each of which is told once."""
    if type(value) in PLAIN:
        return f"{type(value).__name__} {value!r}"
    if id(value) in seen:
        return f"again {seen[id(value)]}"
    seen[id(value)] = 1 + max(seen.values(), default=0)
    try:
        return _told(value, seen)
    finally:
        if not isinstance(value, FunctionType):
            del seen[id(value)]


def _told(value: Any, seen: dict[int, int]) -> str:
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} [{', '.join(_said(item, seen) for item in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"set [{', '.join(sorted(_said(item, seen) for item in value))}]"
    if isinstance(value, dict):
        return f"dict [{', '.join(sorted(f'{_said(k, seen)}: {_said(v, seen)}' for k, v in value.items()))}]"
    if isinstance(value, CodeType):
        return _code(value, seen)
    if isinstance(value, FunctionType):
        return _function(value, seen)
    if isinstance(value, functools.partial):
        return f"partial {_said([value.func, value.args, value.keywords], seen)}"
    if isinstance(value, MethodType):
        return f"method {_said([value.__func__, value.__self__], seen)}"
    name = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    call = getattr(type(value), "__call__", None)  # noqa: B004  (the function itself)
    return f"{name} {_said(call, seen)}" if isinstance(call, FunctionType) else name


def _function(function: FunctionType, seen: dict[int, int]) -> str:
    cells = [_held(cell) for cell in function.__closure__ or ()]
    parts: list[Any] = [function.__code__, function.__defaults__, function.__kwdefaults__, cells]
    for name in sorted(set(_globals(function.__code__))):
        value = function.__globals__.get(name)
        near = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if near or isinstance(value, (*PLAIN, tuple, frozenset)):
            parts += [name, value]
    return f"function {_said(parts, seen)}"


def _held(cell: Any) -> Any:
    """Return the value of a closure's variable."""
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return "nothing"


def _code(code: CodeType, seen: dict[int, int]) -> str:
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    return f"code {_said([code.co_code, list(code.co_consts), *names, *counts], seen)}"


def _globals(code: CodeType) -> Iterator[str]:
    """Yield the globals that code reads, with that of the functions within it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)
