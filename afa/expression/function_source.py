"""Find the syntax node of a function in its source, and prove it by compiling it to the function's own code.

Line numbers alone don't tell two lambdas of one line apart, and a file may have been edited since; the code object settles both. A
node that compiles to the function's own code means what the function means, whatever else the line holds.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

FUTURE = functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
KEPT = 4096
"""How many functions' nodes are cached."""

Function = ast.Lambda | ast.FunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_proven: dict[int, tuple[types.CodeType, Function]] = {}


def nodes_of(function: Any) -> tuple[Function, ...]:
    """Return the nodes of the source that compile to the code of ``function``; all of them mean the same.

    Empty: no source, or one that does not compile to this function (the file was edited since). A file is parsed once.

    >>> fences = [lambda e, r: e.change < 0, lambda e, r: e.change   >   0]
    >>> [ast.unparse(node) for fence in fences for node in nodes_of(fence)]
    ['lambda e, r: e.change < 0', 'lambda e, r: e.change > 0']
    >>> nodes_of(len)
    ()
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return ()
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a source is warned about was said when it was imported
        file = _file("".join(lines))
        return tuple(node for node in file.functions.get(code.co_firstlineno, ()) if _is(node, code, file.imports))


def node_of(function: types.FunctionType) -> Function | None:
    """Return one of `nodes_of`, or None; cached, so that a code object is proven once for all closures of one lambda."""
    code = function.__code__
    known = _proven.get(id(code))  # by identity: code objects compare equal across files
    if known is not None:
        return known[1]
    node = next(iter(nodes_of(function)), None)
    if node is not None:
        while len(_proven) >= KEPT:
            _proven.pop(next(iter(_proven)), None)
        _proven[id(code)] = code, node
    return node


class _SourceFile(NamedTuple):
    """A parsed file: its functions, by the line that their code object names (a def's first decorator), and its imports."""

    functions: dict[int, list[Function]]
    imports: frozenset[str]


@functools.lru_cache(maxsize=8)
def _file(source: str) -> _SourceFile:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # no Python file, or edited while we run
        return _SourceFile({}, frozenset())
    found: dict[int, list[Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            found.setdefault(line, []).append(node)
    return _SourceFile(found, frozenset(_imports(tree)))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Return the names that imports bind in the scope of ``tree``: Python compiles ``math.isnan(x)`` differently after them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)) and not isinstance(node, _SCOPES):
            yield from _imports(node)


def _is(node: Function, code: types.CodeType, imports: frozenset[str]) -> bool:
    """Return whether ``node`` compiles to ``code``. It is compiled inside a function that owns its free variables."""
    seen = sorted(imports.intersection(code.co_names))
    maker = ast.parse(f"def maker({', '.join(code.co_freevars)}): pass\n" + "".join(f"import {name}\n" for name in seen))
    alone: Any = copy.copy(node)  # without decorators and defaults: functions in these have code of their own in the maker
    alone.args = copy.copy(node.args)
    alone.args.defaults = [ast.copy_location(ast.Constant(None), each) for each in node.args.defaults]
    alone.args.kw_defaults = [each and ast.copy_location(ast.Constant(None), each) for each in node.args.kw_defaults]
    inner: ast.stmt = ast.Return(alone) if isinstance(node, ast.Lambda) else alone
    if isinstance(node, ast.FunctionDef):
        alone.decorator_list = []
        alone.name = "<def>"  # its own name is no local name of the maker: a function that calls itself finds it elsewhere
    maker.body[0].body = [ast.copy_location(inner, node)]  # type: ignore[attr-defined]
    try:
        compiled = compile(ast.fix_missing_locations(maker), code.co_filename, "exec", code.co_flags & FUTURE, True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    wanted = _identity(code)
    return any(_identity(found) == wanted for outer in _codes(compiled) for found in _codes(outer))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    return (const for const in code.co_consts if isinstance(const, types.CodeType))


def _identity(const: Any) -> Any:
    """Return all of a code object but its place in a file. 1, 1.0 and True differ, as do 0.0 and -0.0."""
    if isinstance(const, types.CodeType):
        arguments = (const.co_argcount, const.co_posonlyargcount, const.co_kwonlyargcount)
        names = (const.co_names, const.co_varnames, const.co_freevars, const.co_cellvars)
        inner = any(isinstance(item, types.CodeType) for item in const.co_consts)
        return const.co_code, arguments, names, [_path_free(item) if inner else _identity(item) for item in const.co_consts]
    if isinstance(const, tuple):
        return [_identity(item) for item in const]
    if isinstance(const, frozenset):
        return sorted(repr(_identity(item)) for item in const)
    return type(const), repr(const)


def _path_free(const: Any) -> Any:
    """Return a constant without the path of an inner function, which Python 3.10 keeps among the outer one's constants."""
    return _identity(const.rpartition("<locals>.")[2] if isinstance(const, str) else const)
