"""The source text of a fence or a transfer: found through ast, then proven by compiling what was found."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import types
from collections.abc import Iterator
from typing import Any

FUTURE = functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
LONG = 60
"""Characters; a ``def`` of more than this goes by its name."""

Function = ast.Lambda | ast.FunctionDef


def text_of(function: Any) -> str | None:
    """Return the body of a lambda, or of a ``def`` that is one short return, as text; any other ``def`` goes by its name.

    Parameters
    ----------
    function : callable
        Whatever stands in an `Arc`.

    Returns
    -------
    str or None
        One line in the form of ``ast.unparse``. None: no source, a source that does not compile to this function (the file
        was edited since), or several that do and differ in text.

    Notes
    -----
    Parses the file once for all its functions. Line numbers alone don't tell two lambdas of one line apart; their code does.

    Examples
    --------
    >>> fences = [lambda e, r: e.change < 0, lambda e, r: e.change   >   0]
    >>> [text_of(fence) for fence in fences]
    ['e.change < 0', 'e.change > 0']
    >>> text_of(len) is None
    True
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return None
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    nodes = _functions("".join(lines)).get(code.co_firstlineno, ())
    texts = {_text(node) for node in nodes if _is(node, code)}
    return texts.pop() if len(texts) == 1 else None


@functools.lru_cache(maxsize=8)
def _functions(source: str) -> dict[int, list[Function]]:
    """All functions of a file by the line that their code object names (for a def: its first decorator's)."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # no Python file, or edited while we run
        return {}
    found: dict[int, list[Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            found.setdefault(line, []).append(node)
    return found


def _text(node: Function) -> str:
    if isinstance(node, ast.Lambda):
        return _one_line(node.body)
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        text = _one_line(body[0].value)
        return text if len(text) <= LONG else node.name
    return node.name


def _one_line(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split("\n"))


def _is(node: Function, code: types.CodeType) -> bool:
    """Whether ``node`` compiles to ``code``; inside a function that owns its free variables, so that they stay free."""
    maker = ast.parse(f"def maker({', '.join(code.co_freevars)}): pass")
    inner = ast.Return(node) if isinstance(node, ast.Lambda) else node
    maker.body[0].body = [ast.copy_location(inner, node)]  # type: ignore[attr-defined]
    try:
        compiled = compile(ast.fix_missing_locations(maker), code.co_filename, "exec", code.co_flags & FUTURE, True)
    except (SyntaxError, ValueError):
        return False
    wanted = _identity(code)
    return any(_identity(found) == wanted for outer in _codes(compiled) for found in _codes(outer))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    return (const for const in code.co_consts if isinstance(const, types.CodeType))


def _identity(const: Any) -> Any:
    """What makes two code objects one program, where they stand aside; 1, 1.0 and True differ, as do 0.0 and -0.0."""
    if isinstance(const, types.CodeType):
        arguments = (const.co_argcount, const.co_posonlyargcount, const.co_kwonlyargcount)
        names = (const.co_names, const.co_varnames, const.co_freevars, const.co_cellvars)
        return const.co_code, arguments, names, [_identity(item) for item in const.co_consts]
    if isinstance(const, tuple):
        return [_identity(item) for item in const]
    if isinstance(const, frozenset):
        return sorted(repr(_identity(item)) for item in const)
    if isinstance(const, str):  # Python 3.10 keeps the path of an inner function as a constant
        return str, const.rpartition("<locals>.")[2]
    return type(const), repr(const)
