"""Source of kernels -> LLVM IR: the same as Python does with it, and the same state as numba's code leaves, word for word."""

from __future__ import annotations

import ast
import ctypes
import random
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from afa.compiled import reserve, store
from afa.compiled.kernel.native_call import prefetch
from afa.compiled.machine import kernel_ir, kernels
from afa.compiled.machine.kernel_ir import _signature
from afa.compiled.machine.native import BASELINE, FULL, Effort, native
from afa.compiled.machine.statements import Body
from tests import nojit
from tests.compiled import by_numba
from tests.stress.worlds import WORLDS

CONSTANTS: dict[str, Any] = {"PAIRS": ((2, -1), (-3, 5)), "SEVEN": 7, "LOW": -(2**63), "TOP": 2**63 - 1}
HELPERS = """
def pair(a: Any, x: int) -> Any:
    return x + 1, a[x & 7]

def apart(old: Any) -> int:
    first, second = old
    return first * 3 - second

def put(a: Any, x: int) -> None:
    if x > 20:
        return
    a[x & 7] += 1

def at(c: Any, x: int) -> bool:
    return bool(c[x & 1, x & 3] > x)
"""
KERNEL = """
def kernel(a: Any, c: Any, x: int, y: int) -> int:
    z, v = x, y
{body}
    return z * 5 + v
"""


def ir_of(source: str, first: str = "kernel") -> str:
    """The IR of kernels that stand side by side, with ``@f`` that calls the first of them."""
    trees = {tree.name: tree for tree in ast.parse(source).body if isinstance(tree, ast.FunctionDef)}
    known: dict[str, Any] = CONSTANTS | {name: _signature(tree, f"t.{name}") for name, tree in trees.items()}
    text = "".join(Body(tree, "example", known[name], known.get).ir for name, tree in trees.items())
    declared = kernel_ir.DECLARES
    return (
        text
        + f"""
        define i64 @f(ptr %a, ptr %c, i64 %n, i64 %x, i64 %y) {{
          %found = call i64 @t.{first}(ptr %a, i64 0, ptr %c, i64 %n, i64 %x, i64 %y)
          ret i64 %found
        }}
        {declared}"""
    )


def both(source: str, x: int, y: int, effort: Effort) -> tuple[Any, Any]:
    """What Python and native code make of a kernel: the result and the arrays."""
    scope: dict[str, Any] = {**CONSTANTS, "Any": Any, "prefetch": prefetch}
    exec(source, scope)
    address = native.function(f"test {effort} {source}", lambda: ir_of(source), effort)
    function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 6)(address)

    def arrays() -> tuple[Any, Any]:
        return np.arange(-3, 5, dtype=np.int64), np.arange(8, dtype=np.int64).reshape(2, 4) * 9

    a, c = arrays()
    plain = int(scope["kernel"](a, c, x, y)), a.tolist(), c.tolist()
    a, c = arrays()
    found = function(a.ctypes.data, c.ctypes.data, 4, x, y)
    return plain, (found, a.tolist(), c.tolist())


class Writer:
    """Random kernels: words stay small, loops short, indices within the arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self, depth: int = 3) -> str:
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.15:
            return choose(["x", "y", "z", "v", "SEVEN", "-3", "1", "0", "True", "12", f"a[{choose('xyzv')} & 7]"])
        one, two = self.word(depth - 1), self.word(depth - 1)
        return choose(
            [
                f"({one} + {two})",
                f"({one} - {two})",
                f"({one} * {choose(['3', '-2', 'SEVEN'])})",
                f"({one} // {choose(['4', '-3', f'(({two} & 7) + 1)'])})",
                f"({one} % {choose(['4', '-3', f'(({two} & 7) + 1)'])})",
                f"({one} {choose('&|^')} {two})",
                f"({one} >> {choose('0135')})",
                f"({one} << {choose('0123')})",
                f"(-{one})",
                f"(~{one})",
                f"int({self.truth(depth - 1)})",
                f"({one} if {self.truth(depth - 1)} else {two})",
                f"({one} {choose(['and', 'or'])} {two})",
                f"{choose(['min', 'max'])}({one}, {two}, 5)",
                f"abs({one})",
                f"a[{one} & 7]",
                f"c[{one} & 1, {two} & 3]",
                f"({one}, 4, {two})[{choose('012')}]",
                f"apart(pair(a, {one} & 15))",
            ]
        )

    def truth(self, depth: int = 2) -> str:
        choose = self.random.choice
        one, two = self.word(max(depth - 1, 0)), self.word(max(depth - 1, 0))
        if depth <= 0:
            return f"{one} {choose(['<', '<=', '==', '!=', '>', '>='])} {two}"
        return choose(
            [
                f"({one} < {two} <= 9)",
                f"({one} in (1, 2, {two}))",
                f"({one} not in (0, SEVEN))",
                f"(not {self.truth(depth - 1)})",
                f"({self.truth(depth - 1)} {choose(['and', 'or'])} {self.truth(depth - 1)})",
                f"at(c, {one} & 7)",
                one,
            ]
        )

    def body(self, depth: int = 3, loop: bool = False) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, loop)]

    def statement(self, depth: int, loop: bool) -> list[str]:
        choose = self.random.choice
        inner = [f"    {line}" for line in self.body(depth - 1, loop)] if depth else ["    z += 1"]
        looped = [f"    {line}" for line in self.body(depth - 1, True)] if depth else ["    v -= 2"]
        kinds = [
            [f"{choose('zv')} = {self.word()} % 65521 - 5"],
            [f"z, v = ({self.word()}) & 1023, ({self.word()}) % 77"],
            [f"z, v = (3, {self.word(1)} & 63) if {self.truth()} else (v, 1)"],
            [f"a[{self.word()} & 7], z = v & 4095, {self.word(1)} % 31"],
            [f"a[{self.word(1)} & 7] = c[{self.word(1)} & 1, 2] = {self.word()} % 4099"],
            [f"c[1, {self.word(1)} & 3] {choose(['+=', '-=', '|=', '&='])} {self.word(1)} & 255"],
            [f"z, v = pair(a, {self.word(1)} & 7)"],
            [f"held, z = pair(a, {self.word(1)} & 7), 2", "v = apart(held)"],
            [f"put(a, {self.word(1)} & 31)", f"prefetch({self.word(1)})"],
            [f"if {self.truth()}:", *inner],
            [f"if {self.truth()}:", *inner, "else:", *inner],
            [f"for z in range({choose(['3', 'v & 3', '1, 4', '5, 1, -1', 'z & 3, 7, 1'])}):", *looped],
            [f"for v in (1, SEVEN, {self.word(1)} & 7):", *looped],
            ["for z, v in PAIRS:", *looped],
            [f"w{depth} = 0", f"while w{depth} < 4 and {self.truth(1)}:", f"    w{depth} += 1", *looped],
            [f"if {self.truth()}:", "    " + choose(["break", "continue"]) if loop else f"    return {self.word()}"],
        ]
        return choose(kinds)  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_does_what_python_does(seed: int) -> None:
    for number in range(10):
        body = textwrap.indent("\n".join(Writer(seed * 1000 + number).body()), "    ")
        source = HELPERS + KERNEL.format(body=body)
        for x, y in ((0, 1), (-9, 4), (23, -2)):
            plain, found = both(source, x, y, FULL if number % 5 == 0 else BASELINE)
            assert found == plain, f"x={x}, y={y}, seed={seed * 1000 + number}:\n{source}"


def test_words_wrap_and_nothing_is_divided_by() -> None:
    source = KERNEL.format(body="    a[0], a[1] = x // y, x % y\n    return x + TOP + LOW + x * TOP")
    address = native.function("test wrap", lambda: ir_of(source), BASELINE)
    a = np.ones(8, np.int64)
    assert ctypes.CFUNCTYPE(*[ctypes.c_int64] * 6)(address)(a.ctypes.data, a.ctypes.data, 4, 3, 0) == 2**63 - 1
    assert a.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("return x / y", r"expected \+ - \* // % & \| \^ << >> in a kernel but got x / y"),
        ("return x ** y", r"expected \+ - \* // % & \| \^ << >> in a kernel but got x \*\* y"),
        ("return 0.5", "expected a name of its own, an int, an operation on words, a call of a kernel in a kernel but got 0.5"),
        ("return unknown", "but got unknown"),
        ("return x is y", "expected == != < <= > >=, in or not in with a tuple, in a kernel but got x is y"),
        ("return a", "expected the same kind of value in each return in a kernel but got return a"),
        (
            "return len(a)",
            r"expected a call of a kernel with all that it takes, or of int, .*, in a kernel but got len\(a\)",
        ),
        ("return max(x, key=y)", "expected a call of a kernel with all that it takes"),
        ("return kernel(a, c, x)", "expected a call of a kernel with all that it takes"),
        ("return kernel(x, c, x, y)", "expected an array in a kernel but got x"),
        ("return kernel(a, c, (x, y), y)", r"expected a word in a kernel but got \(x, y\)"),
        ("return x[0]", r"expected an item of an array in a kernel but got x\[0\]"),
        ("x = a", "expected one kind of value in 'x' in a kernel but got x = a"),
        ("x, y = 1, 2, 3", "expected as many names as values in a kernel but got x, y"),
        ("x, y = x", "expected as many names as values in a kernel but got"),
        ("for x in PAIRS: y = 1", "expected as many names as values in a kernel but got x"),
        ("x.y = 1", r"expected a name of a word or an item in a kernel but got x\.y"),
        ("assert x", "expected an assignment, if, for, while, break, continue, return or a call in a kernel but got assert x"),
        ("for x in a: y = 1", r"expected range\(\) or a tuple in a kernel but got a"),
        ("for x in range(0, 9, y): y = 1", r"expected a step of 1 or -1 in a kernel but got range\(0, 9, y\)"),
        ("while x: x = 0\n    else: y = 1", "expected a loop without else in a kernel"),
    ],
)
def test_what_no_kernel_may_have_is_refused(line: str, message: str) -> None:
    with pytest.raises(SyntaxError, match=message) as error:
        ir_of(f"def kernel(a: Any, c: Any, x: int, y: int) -> int:\n    {line}\n")
    assert (error.value.filename, error.value.lineno) == ("example", 2)


# -- the kernels themselves --------------------------------------------------------------------------------------------------------


def side_by_side(other: int) -> Callable[..., int]:
    """The kernels of this process, and others by address on a copy of the arrays: after each call all words must be equal.

    Where a word is an address, the two differ by as much as the arrays do.
    """
    function, main = kernels.PROTOTYPE(other), kernels.load(wait=True)

    def call(memory: Any, program: Any, batch: Any, *what: int) -> int:
        ours = [memory.m, memory.w, program.words, batch.words]
        copies = [np.array(array) for array in ours]
        addresses = [int(array.ctypes.data) for array in copies]
        before = [memory.m_at, memory.w_at, program.at, batch.at]
        status: int = function(addresses[0], memory.m_size, *addresses[1:], batch.n, *what)
        assert main(memory, program, batch, *what) == status
        apart = [mine - theirs for mine, theirs in zip(before, addresses)]
        for mine, theirs in zip([memory.m, memory.w, program.words, batch.words], copies):
            odd = mine != theirs
            if odd.any():
                assert np.isin(mine[odd] - theirs[odd], apart).all(), f"{what}: words {np.flatnonzero(odd)[:9]}"
        return status

    return call


def compare(key: str, make_ir: Callable[[], str], effort: Effort, worlds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    call = side_by_side(native.function(key, make_ir, effort))
    monkeypatch.setattr(store, "kernel", lambda wait: call)
    monkeypatch.setattr(reserve, "roomy", lambda: False)  # arrays no larger than need be: all of their words are copied
    monkeypatch.setattr(reserve, "_kept", [])
    assert WORLDS.run("translated", range(worlds), "compiled", steps=40)["matches"] > 5 * worlds


@pytest.mark.skipif(nojit.DISABLED, reason="nothing is compiled")
def test_code_made_in_haste_leaves_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(f"{kernels.key()} baseline", kernel_ir.kernels, BASELINE, 12, monkeypatch)


@pytest.mark.stress
def test_numba_s_code_leaves_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(f"{kernels.key()} by numba", by_numba.ir, FULL._replace(kept=False), 100, monkeypatch)
