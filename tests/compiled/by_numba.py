"""The kernels as numba translates them: slow to make, without a line of ours; `afa.compiled.machine.kernel_ir` is held to it.

numba links, optimises and compiles each function with all that it calls, again at each level of calls. Here each is translated
once, and all of them are linked at the end. That takes three of numba's steps out, and puts numba's functions where the kernels
were: it is done in a process of its own, ``python -m tests.compiled.by_numba``, which writes the IR.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from typing import Any

from afa.compiled import kernel as package
from afa.compiled.kernel import native_call as call
from afa.compiled.kernel.layout import Memory
from afa.compiled.kernel.named_fields import as_words
from afa.compiled.machine.kernel_words import BY_ADDRESS

OPTIONS = {"boundscheck": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
ENTRY = f"""
define i64 @f(ptr %m, i64 %ml, ptr %w, ptr %p, ptr %c, i64 %n, i64 %what, i64 %low, i64 %high) {{
  %value = alloca i64
  %fault = alloca ptr
  store i64 0, ptr %value
  store ptr null, ptr %fault
  %at_m = getelementptr i64, ptr %m, i64 {Memory.m_at}
  %at_w = getelementptr i64, ptr %m, i64 {Memory.w_at}
  %at_p = getelementptr i64, ptr %m, i64 {Memory.p_at}
  %at_limit = getelementptr i64, ptr %m, i64 {Memory.limit}
  store ptr %m, ptr %at_m
  store ptr %w, ptr %at_w
  store ptr %p, ptr %at_p
  store i64 %ml, ptr %at_limit
  %stride = mul i64 %n, 8
  %status = call i32 @main(ptr %value, ptr %fault,
    ptr null, ptr null, i64 %ml, i64 8, ptr %m, i64 %ml, i64 8,
    ptr null, ptr null, i64 0, i64 8, ptr %w, i64 0, i64 8,
    ptr null, ptr null, i64 0, i64 8, ptr %p, i64 0, i64 8,
    ptr null, ptr null, i64 0, i64 8, ptr %c, i64 0, i64 %n, i64 %stride, i64 8,
    i64 %what, i64 %low, i64 %high)
  %result = load i64, ptr %value
  ret i64 %result
}}
"""
"""numba passes an array of int64 as (owner, parent, items, bytes an item, data, shape.., strides..), after the places of the result
and of the error; no kernel raises."""
WRAPAROUND = re.compile(r"(%\S+) = icmp slt i64 (\S+), 0(?=\n +(%\S+) = add i64 \2, %\S+\n +%\S+ = select i1 \1, i64 \3, i64 \2\n)")
"""How numba lets a negative index count from the end: no kernel has one, and the lengths above are none."""


def ir() -> str:
    """The IR of the kernels, with a function ``@f`` as `afa.compiled.machine.kernel_ir.kernels` has it."""
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _translated() -> str:
    import llvmlite.binding as llvm
    import numba
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.cpu import CPUContext

    kept: list[Any] = []  # what stands for the functions that are never made: each another builtin
    CPUCodeLibrary.finalize = lambda self: setattr(self, "_finalized", True)
    CPUCodeLibrary._optimize_functions = lambda self, module: None
    CPUContext.get_executable = lambda self, library, fndesc, env: kept.append([].append) or kept[-1]
    _put_in_place()
    main, word = importlib.import_module(f"{package.__name__}.entry").main, numba.int64
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
    return text + ENTRY.replace("@main", name.group(1))


def _visit(library: Any, found: dict[int, Any]) -> None:
    if id(library) not in found:
        found[id(library)] = library
        for other in library._linking_libraries:
            _visit(other, found)


def _put_in_place() -> None:
    """Let numba's functions stand wherever the kernels' names do."""
    made: dict[int, Any] = {id(getattr(call, name)): intrinsic for name, intrinsic in _intrinsics().items()}
    modules = [importlib.import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__)]
    for function in [value for module in modules for value in vars(module).values() if hasattr(value, "is_kernel")]:
        made.setdefault(id(function), _jitted(function))
    for module in modules:
        vars(module).update({name: made[id(value)] for name, value in vars(module).items() if id(value) in made})


def _jitted(function: Any) -> Any:
    """A literal argument is an int64 like any other: numba would compile a function anew for each."""
    from numba import njit
    from numba.core import types

    made = njit(**OPTIONS)(as_words(function))
    template = made.get_call_template
    made.get_call_template = lambda args, kws: template([types.unliteral(arg) for arg in args], kws)
    return made


def _intrinsics() -> dict[str, Any]:
    """Calls by address, as code."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    word = ir.IntType(64)

    def by_address(name: str, count: int) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function = builder.inttoptr(args[0], ir.FunctionType(word, [word] * count).as_pointer())
            return builder.call(function, args[1:])

        names = ", ".join("abcdefghi"[:count])
        scope = {"typed": lambda: (types.int64(*[types.int64] * (count + 1)), generate)}
        exec(f"def {name}(context, address, {names}):\n    return typed()", scope)
        return intrinsic(scope[name])

    def peek_at(bits: int) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()))
            return found if bits == 64 else builder.zext(found, word)

        def typed(context: Any, address: Any) -> Any:
            return types.int64(types.int64), generate

        return intrinsic(typed)

    def nothing(context: Any, address: Any) -> Any:
        return types.none(types.int64), lambda context, builder, signature, args: context.get_dummy_value()

    def put_at(context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[1], builder.inttoptr(args[0], word.as_pointer()))
            return context.get_dummy_value()

        return types.none(types.int64, types.int64), generate

    def itself(context: Any, word: Any) -> Any:
        return types.int64(types.int64), lambda context, builder, signature, args: args[0]

    others = {
        "peek": peek_at(64),
        "peek_byte": peek_at(8),
        "poke": intrinsic(put_at),
        "prefetch": intrinsic(nothing),
        "wrapped": intrinsic(itself),
    }
    return others | {name: by_address(name, count) for name, count in BY_ADDRESS.items()}


if __name__ == "__main__":
    sys.stdout.write(_translated())
