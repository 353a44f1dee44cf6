"""Translate all kernels that `afa.compiled.kernel.entry.main` reaches into LLVM IR: one function each, and an entry.

Kernels are a small subset of Python over int64 words and arrays of them, so the translation is short. It takes 0.15 s; numba,
which infers types and knows all of Python and numpy, takes 16 s for the same functions, and its code is no faster. numba compiles
the same source, and a test compares both translations by each word of the state.
"""

from __future__ import annotations

import ast
import pkgutil
import types
from collections.abc import Callable, Mapping
from typing import Any

from afa.compiled.kernel.layout import Memory
from afa.compiled.kernel.named_fields import lowered
from afa.compiled.machine.kernel_words import ARRAY, WORD, Signature
from afa.compiled.machine.statements import Body, statements

ENTRY = f"""
define i64 @f(ptr %m, i64 %limit, ptr %w, ptr %p, ptr %c, i64 %n, i64 %what, i64 %low, i64 %high) {{
  %at_m = getelementptr i64, ptr %m, i64 {Memory.m_at}
  %at_w = getelementptr i64, ptr %m, i64 {Memory.w_at}
  %at_p = getelementptr i64, ptr %m, i64 {Memory.p_at}
  %at_limit = getelementptr i64, ptr %m, i64 {Memory.limit}
  store ptr %m, ptr %at_m
  store ptr %w, ptr %at_w
  store ptr %p, ptr %at_p
  store i64 %limit, ptr %at_limit
  %status = call i64 @entry.main(ptr %m, i64 0, ptr %w, i64 0, ptr %p, i64 0, ptr %c, i64 %n, i64 %what, i64 %low, i64 %high)
  ret i64 %status
}}
"""
"""Arrays as a caller has them: ``n`` is the length of a row of the batch ``c``. Where they are is in `Memory`: what is kept of that
could be out of date."""
DECLARES = """
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""


def kernels() -> str:
    """Return the IR of `main` and all that it calls, with a function ``@f`` that calls it."""
    from afa.compiled.kernel.entry import main

    return functions(main) + ENTRY + DECLARES


def functions(first: Callable[..., Any], holes: Mapping[str, Any] = {}) -> str:  # only read
    """Return the IR of a kernel and of all that it calls. Raises SyntaxError where one has in it what no kernel may have.

    ``holes``: by name what stands in the place of a module's own: an int, or the `Signature` of a function that is linked.
    """
    modules: dict[str, dict[str, ast.FunctionDef]] = {}
    trees: dict[Any, ast.FunctionDef] = {}
    found: dict[Any, Signature] = {}

    def tree(function: Any) -> ast.FunctionDef:
        module = function.__module__
        if module not in modules:
            modules[module] = _definitions(module)
        if function not in trees:
            trees[function] = lowered(modules[module][function.__name__], function.__globals__.get)
        return trees[function]

    def signature(function: Any) -> Signature:
        if function not in found:
            found[function] = _signature(tree(function), f"{function.__module__.rpartition('.')[2]}.{function.__name__}")
            wanted.append(function)
        return found[function]

    def meaning(function: Any) -> Callable[[str], Any]:
        def of(name: str) -> Any:
            value = holes.get(name, function.__globals__.get(name))
            return signature(value) if isinstance(value, types.FunctionType) and hasattr(value, "is_kernel") else value

        return of

    wanted: list[Any] = []
    signature(first)
    parts = []
    while wanted:
        function = wanted.pop()
        parts.append(Body(tree(function), function.__module__, found[function], meaning(function)).ir)
    return "".join(parts)


def _definitions(module: str) -> dict[str, ast.FunctionDef]:
    package, _, name = module.rpartition(".")
    source = pkgutil.get_data(package, f"{name}.py")
    assert source is not None, f"expected the source of {module}"
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def _signature(tree: ast.FunctionDef, name: str) -> Signature:
    """Return the kinds of a kernel's parameters and result: ``Any`` is an array, or a tuple where unpacked; all else a word."""
    found = list(statements(tree.body))
    apart = {
        node.value.id: len(node.targets[0].elts)
        for node in found
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Name)
    }
    takes = [
        apart.get(parameter.arg, ARRAY) if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "Any" else WORD
        for parameter in tree.args.args
    ]
    gives = [len(node.value.elts) for node in found if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple)]
    return Signature(name, tuple(takes), gives[0] if gives else WORD)
