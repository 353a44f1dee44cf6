"""The kernels as LLVM IR: ``python -m afa.compiled.kernel.translate`` writes it to the standard output.

numba links, optimises and compiles each function together with all that it calls, again at each level of calls: 40 s for these.
Here each function is translated once, and all of them are linked at the end: 12 s, and the caller's optimiser sees one module of
internal functions. That takes three of numba's steps out, so that it is done in a process of its own, where no other numba code can
meet them.
"""

from __future__ import annotations

import re
import sys
from typing import Any

WRAPPER = """
define i64 @f(ptr %m, i64 %ml, ptr %w, i64 %wl, ptr %p, i64 %pl, ptr %c, i64 %rows, i64 %n, i64 %what, i64 %low, i64 %high) {
  %value = alloca i64
  %fault = alloca ptr
  store i64 0, ptr %value
  store ptr null, ptr %fault
  %all = mul i64 %rows, %n
  %C_W = getelementptr i64, ptr %m, i64 1
  %C_P = getelementptr i64, ptr %m, i64 2
  %C_LIMIT = getelementptr i64, ptr %m, i64 4
  store ptr %m, ptr %m
  store ptr %w, ptr %C_W
  store ptr %p, ptr %C_P
  store i64 %ml, ptr %C_LIMIT
  %stride = mul i64 %n, 8
  %status = call i32 @main(ptr %value, ptr %fault,
    ptr null, ptr null, i64 %ml, i64 8, ptr %m, i64 %ml, i64 8,
    ptr null, ptr null, i64 %wl, i64 8, ptr %w, i64 %wl, i64 8,
    ptr null, ptr null, i64 %pl, i64 8, ptr %p, i64 %pl, i64 8,
    ptr null, ptr null, i64 %all, i64 8, ptr %c, i64 %rows, i64 %n, i64 %stride, i64 8,
    i64 %what, i64 %low, i64 %high)
  %result = load i64, ptr %value
  ret i64 %result
}
"""
"""numba passes an array of int64 as (owner, parent, items, bytes an item, data, shape.., strides..), after the places of the
result and of the error; no kernel raises. The arrays' addresses are told in C_*: what is kept of them could be out of date."""


WRAPAROUND = re.compile(r"(%\S+) = icmp slt i64 (\S+), 0(?=\n +(%\S+) = add i64 \2, %\S+\n +%\S+ = select i1 \1, i64 \3, i64 \2\n)")
"""How numba lets a negative index count from the end: no kernel has one, and the test is a third of the instructions."""


def kernels() -> str:
    """The IR of `afa.compiled.kernel.main.main` and all that it calls, with a function ``@f`` that calls it the C way."""
    import llvmlite.binding as llvm
    import numba
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.cpu import CPUContext

    from afa.compiled.kernel.main import main

    kept: list[Any] = []  # what stands for the functions that are never made: each another builtin
    CPUCodeLibrary.finalize = lambda self: setattr(self, "_finalized", True)
    CPUCodeLibrary._optimize_functions = lambda self, module: None
    CPUContext.get_executable = lambda self, library, fndesc, env: kept.append([].append) or kept[-1]
    word = numba.int64
    main.compile((word[::1], word[::1], word[::1], word[:, ::1], word, word, word))
    (compiled,) = main.overloads.values()
    libraries: dict[int, Any] = {}
    _visit(compiled.library, libraries)
    modules = [llvm.parse_assembly(str(library._final_module)) for library in libraries.values()]
    for module in modules[1:]:
        modules[0].link_in(module)
    text = str(modules[0]).replace("define linkonce_odr ", "define internal ")
    text = re.sub(r"^define (?!internal)", "define internal ", text, flags=re.MULTILINE)
    text = re.sub(r"^(define .*\))( [^)]*)?\{$", r'\1\2 "no-builtins" {', text, flags=re.MULTILINE)
    text = WRAPAROUND.sub(r"\1 = icmp ne i64 0, 0", text)
    name = re.search(rf'^define .*i32 (@"?{re.escape(compiled.fndesc.llvm_func_name)}"?)\(', text, re.MULTILINE)
    assert name is not None, "expected the function main in numba's IR"
    return text + WRAPPER.replace("@main", name.group(1))


def _visit(library: Any, found: dict[int, Any]) -> None:
    if id(library) not in found:
        found[id(library)] = library
        for other in library._linking_libraries:
            _visit(other, found)


if __name__ == "__main__":
    sys.stdout.write(kernels())
