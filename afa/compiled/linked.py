"""Kernels with holes: names in capitals that are constants, and functions without a body, which the code of an automaton fills.

    i64 kernel(ptr x, ..)     ``x``: the words `Loop` of `afa.compiled.kernel.layout`, and words

LLVM inlines the functions. With ``NUMBA_DISABLE_JIT=1`` the kernel runs as the Python that it is, and calls them by address.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from afa.compiled.code.emit import Emitter
from afa.compiled.code.writer import WEIGHTS
from afa.compiled.kernel.named_fields import as_words
from afa.compiled.kernel.native_call import PLAIN, peek, poke
from afa.compiled.machine.kernel_ir import DECLARES, functions
from afa.compiled.machine.kernel_words import WORD, Signature
from afa.compiled.machine.native import FULL, digest_of, native

EFFORT = FULL._replace(lasting=False)
FAILED = -99
"""What a kernel that runs as Python returns where it has raised something: it has shown that, for no one can catch it."""
_kept: dict[str, Any] = {}
"""Kernels that run as Python, by key: native code calls them."""


class HoleCode(NamedTuple):
    """A function that fills a hole: its text, and the words that it takes, ``i64 %a, i64 %b``."""

    e: Emitter
    words: str

    @property
    def number(self) -> int:
        return self.words.count("i64 ")


class Linked(NamedTuple):
    """A kernel ``(w, x, at, ..)``, where ``at`` is the address of ``x``; what fills its holes; ``key``: what these depend on."""

    kernel: Any
    key: str
    constants: Mapping[str, Any]
    holes: Callable[[], Mapping[str, HoleCode]]

    def address(self, wanted: bool = True) -> int:
        """Return the address of the native function; not ``wanted``: 0 if no code of it is at hand."""
        module = self.kernel.__module__
        key = f"{module} {digest_of(__name__, module, self.holes.__module__)} {self.key}"
        if not PLAIN:
            return native.function(key, self.ir if wanted else None, EFFORT)
        if wanted and key not in _kept:
            _kept[key] = self._python(key)
        return ctypes.cast(_kept[key], ctypes.c_void_p).value or 0 if key in _kept else 0

    @property
    def _more(self) -> int:
        """How many words the kernel takes behind those that each one takes."""
        return int(self.kernel.__code__.co_argcount) - 3

    def ir(self) -> str:
        """Return the module: the kernel with its holes filled, and an entry ``@f``."""
        made = self.holes()
        known = {name: Signature(f"hole.{name}", (WORD,) * code.number, WORD) for name, code in made.items()}
        bodies = [code.e.body(f"internal i64 @hole.{name}({code.words}) alwaysinline nounwind") for name, code in made.items()]
        declared = set(DECLARES.strip().split("\n")).union(*(code.e.declared for code in made.values()))
        whole = functions(self.kernel, dict(self.constants) | known)
        name = f"{self.kernel.__module__.rpartition('.')[2]}.{self.kernel.__name__}"
        words = "".join(f", i64 %a{n}" for n in range(self._more))
        entry = f"""
define i64 @f(ptr noalias %x{words}) nounwind {{
  %at = ptrtoint ptr %x to i64
  %status = call i64 @{name}(ptr %x, i64 0, i64 0, i64 %at{words})
  ret i64 %status
}}
"""
        return "\n".join([*sorted(declared), *bodies, whole, entry, WEIGHTS, ""])

    def _python(self, key: str) -> Any:
        """Return the kernel as Python that native code can call."""
        module = sys.modules[self.kernel.__module__]
        scope: dict[str, Any] = vars(module) | dict(self.constants)
        for name, code in self.holes().items():
            at = native.function(f"{name} of {key}", partial(code.e.function, f"i64 @f({code.words}) nounwind"))
            scope[name] = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * code.number)(at)
        for name in {value.__module__ for value in vars(module).values() if hasattr(value, "is_kernel")}:
            scope = vars(sys.modules[name]) | scope  # what kernels of other modules call
        for name, value in list(scope.items()):
            if hasattr(value, "is_kernel"):
                scope[name] = as_words(value, scope)
        whole = scope[self.kernel.__name__]

        def called(x: int, *words: int) -> int:
            try:
                return int(whole(_Addressed(x), 0, x, *words))
            except Exception:
                traceback.print_exc()
                return FAILED

        return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (1 + self._more))(called)


def pointers(e: Emitter, *names: str) -> None:
    for name in names:
        e.line(f"%{name} = inttoptr i64 %{name}.word to ptr")


class _Addressed:
    """Words at an address, as an array."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __getitem__(self, i: int) -> int:
        return peek(self._at + 8 * i)

    def __setitem__(self, i: int, word: int) -> None:
        poke(self._at + 8 * i, word)
