"""Translate expressions of kernels into LLVM IR: words, arrays of words, tuples of words, and calls.

A word is an ``i64``, a truth value the word 0 or 1. An array is a pointer to its words and, for one with two indices, the length of
a row. Words wrap, ``//`` and ``%`` by 0 are 0, an index is neither checked nor counted from the end. All of these are errors where
the tests run the kernels as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from afa.compiled.kernel.layout import NAN_WORD
from afa.compiled.machine.ir_lines import Lines

ARRAY, WORD = 0, 1
"""The kind of a name or of a result: an array, a word, or a tuple of so many words."""
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
COMPARES: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "slt",
    ast.LtE: "sle",
    ast.Gt: "sgt",
    ast.GtE: "sge",
}
CONSTANT: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.LShift: lambda a, b: a << b,
    ast.Pow: lambda a, b: a**b,
}
"""Operations on two constants; they may leave int64 in between, as in ``2**63 - 1``."""
BY_ADDRESS = {"call1": 1, "call2": 2, "call4": 4, "call9": 9}
"""Calls of native code (`afa.compiled.kernel.native_call`), and how many words they pass."""


class Signature(NamedTuple):
    """A kernel as its callers see it: its name in the IR, the kinds of its parameters and of its result."""

    name: str
    takes: tuple[int, ...]
    gives: int


def type_of(kind: int) -> str:
    """Return LLVM's type of a word or of a tuple of words."""
    return "i64" if kind == WORD else f"[{kind} x i64]"


class KernelExpressions:
    """The expressions of one kernel; ``file``: for errors.

    ``meaning`` gives the value of a name that is not local: an int, or the `Signature` of another kernel.
    """

    def __init__(self, file: str, meaning: Callable[[str], Any]) -> None:
        self.lines = Lines()
        self.kinds: dict[str, int] = {}
        self.places: dict[str, str] = {}
        self._file, self._meaning = file, meaning

    def refused(self, node: ast.AST, wanted: str) -> SyntaxError:
        at = (self._file, getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1, ast.unparse(node))
        return SyntaxError(f"expected {wanted} in a kernel but got {ast.unparse(node)}", at)

    def own(self, name: str, kind: int, node: ast.AST) -> None:
        """Declare a local name and its kind."""
        if self.kinds.setdefault(name, kind) != kind:
            raise self.refused(node, f"one kind of value in {name!r}")
        if kind != ARRAY and name not in self.places:
            self.places[name] = self.lines.place(type_of(kind), name)

    def kind(self, node: ast.expr) -> int:
        if isinstance(node, ast.Tuple):
            return len(node.elts)
        if isinstance(node, ast.IfExp):
            return self.kind(node.body)
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, WORD)
        called = self._called(node)
        return WORD if called is None else called.gives

    # -- values ------------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> str:
        kind = self.kind(node)
        if isinstance(node, ast.Tuple):
            whole = "undef"
            for i, item in enumerate(node.elts):
                whole = self.lines.put(f"insertvalue {type_of(kind)} {whole}, i64 {self.word(item)}, {i}")
            return whole
        if isinstance(node, ast.Name) and kind > WORD:
            return self.lines.put(f"load {type_of(kind)}, ptr {self.places[node.id]}")
        if isinstance(node, ast.IfExp):
            return self._choice(node)
        return self._call(node) if isinstance(node, ast.Call) else self.word(node)

    def word(self, node: ast.expr) -> str:
        known = self._known(node)
        if known is not None:
            return str(known)
        if self.kind(node) != WORD:
            raise self.refused(node, "a word")
        if isinstance(node, ast.Name) and node.id in self.places:
            return self.lines.put(f"load i64, ptr {self.places[node.id]}")
        if isinstance(node, ast.Subscript):
            return self.lines.put(f"load i64, ptr {self.item(node)}")
        if isinstance(node, ast.BinOp):
            left = self.word(node.left)
            return self.operation(node.op, left, self.word(node.right), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.lines.put(f"sub i64 0, {self.word(node.operand)}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self.lines.put(f"xor i64 {self.word(node.operand)}, -1")
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return self.lines.put(f"zext i1 {self._truth(node)} to i64")
        if isinstance(node, ast.BoolOp):
            return self._decided(node)
        if isinstance(node, ast.IfExp):
            return self._choice(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self.refused(node, "a name of its own, an int, an operation on words, a call of a kernel")

    def _known(self, node: ast.expr) -> int | None:
        """Return the value of an expression of constants."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return int(node.value)
        if isinstance(node, ast.Name) and node.id not in self.kinds:
            value = self._meaning(node.id)
            return int(value) if isinstance(value, int) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            known = self._known(node.operand)
            return None if known is None else -known
        if isinstance(node, ast.BinOp) and type(node.op) in CONSTANT:
            left, right = self._known(node.left), self._known(node.right)
            return None if left is None or right is None else CONSTANT[type(node.op)](left, right)
        return None

    def operation(self, op: ast.operator, left: str, right: str, node: ast.AST) -> str:
        put = self.lines.put
        if type(op) in OPERATORS:
            return put(f"{OPERATORS[type(op)]} i64 {left}, {right}")
        if not isinstance(op, (ast.FloorDiv, ast.Mod)):
            raise self.refused(node, "+ - * // % & | ^ << >>")
        nothing = put(f"icmp eq i64 {right}, 0")
        by = put(f"select i1 {nothing}, i64 1, i64 {right}")
        whole, rest = put(f"sdiv i64 {left}, {by}"), put(f"srem i64 {left}, {by}")
        uneven, signs = put(f"icmp ne i64 {rest}, 0"), put(f"xor i64 {left}, {by}")
        below = put(f"and i1 {uneven}, {put(f'icmp slt i64 {signs}, 0')}")
        if isinstance(op, ast.FloorDiv):
            found = put(f"sub i64 {whole}, {put(f'zext i1 {below} to i64')}")
        else:
            found = put(f"add i64 {rest}, {put(f'select i1 {below}, i64 {by}, i64 0')}")
        return put(f"select i1 {nothing}, i64 0, i64 {found}")

    def item(self, node: ast.Subscript) -> str:
        put, array, index = self.lines.put, node.value, node.slice
        if isinstance(array, ast.Tuple):  # one of several words
            place = self.lines.place(type_of(len(array.elts)), "tuple")
            self.lines.do(f"store {type_of(len(array.elts))} {self.value(array)}, ptr {place}")
            return put(f"getelementptr i64, ptr {place}, i64 {self.word(index)}")
        if not isinstance(array, ast.Name) or self.kinds.get(array.id) != ARRAY:
            raise self.refused(node, "an item of an array")
        if isinstance(index, ast.Tuple):
            row, column = map(self.word, index.elts)
            at = put(f"add i64 {put(f'mul i64 {row}, %{array.id}.n')}, {column}")
        else:
            at = self.word(index)
        return put(f"getelementptr i64, ptr %{array.id}, i64 {at}")

    # -- truth -------------------------------------------------------------------------------------------------------------

    def jump(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump to label ``yes`` if an expression is true, else to ``no``."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.jump(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for item in node.values[:-1]:
                further = self.lines.name("further")
                self.jump(item, *((further, no) if isinstance(node.op, ast.And) else (yes, further)))
                self.lines.label(further)
            self.jump(node.values[-1], yes, no)
        else:
            self.lines.leave(f"br i1 {self._truth(node)}, label %{yes}, label %{no}")

    def _truth(self, node: ast.expr) -> str:
        """Return whether an expression is true, as an ``i1``."""
        put = self.lines.put
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return put(f"xor i1 {self._truth(node.operand)}, true")
        if not isinstance(node, ast.Compare):
            return put(f"icmp ne i64 {self.word(node)}, 0")
        left, whole = self.word(node.left), ""
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(node.comparators[0], ast.Tuple):
            for item in node.comparators[0].elts:
                found = put(f"icmp eq i64 {left}, {self.word(item)}")
                whole = put(f"or i1 {whole}, {found}") if whole else found
            return whole if isinstance(node.ops[0], ast.In) else put(f"xor i1 {whole}, true")
        for op, item in zip(node.ops, node.comparators):  # a chain is evaluated to its end
            if type(op) not in COMPARES:
                raise self.refused(node, "== != < <= > >=, in or not in with a tuple,")
            right = self.word(item)
            found = put(f"icmp {COMPARES[type(op)]} i64 {left}, {right}")
            left, whole = right, put(f"and i1 {whole}, {found}") if whole else found
        return whole

    def _decided(self, node: ast.BoolOp) -> str:
        """Return the value of ``and`` or ``or``: the item that decides it."""
        lines, end = self.lines, self.lines.name("end")
        place = lines.place("i64", "item")
        for item in node.values[:-1]:
            word, further = self.word(item), lines.name("further")
            lines.do(f"store i64 {word}, ptr {place}")
            yes, no = (further, end) if isinstance(node.op, ast.And) else (end, further)
            lines.leave(f"br i1 {lines.put(f'icmp ne i64 {word}, 0')}, label %{yes}, label %{no}")
            lines.label(further)
        lines.do(f"store i64 {self.word(node.values[-1])}, ptr {place}")
        lines.label(end)
        return lines.put(f"load i64, ptr {place}")

    def _choice(self, node: ast.IfExp) -> str:
        lines, kind = self.lines, type_of(self.kind(node))
        place = lines.place(kind, "choice")
        yes, no, end = lines.name("yes"), lines.name("no"), lines.name("end")
        self.jump(node.test, yes, no)
        lines.label(yes)
        lines.do(f"store {kind} {self.value(node.body)}, ptr {place}")
        lines.leave(f"br label %{end}")
        lines.label(no)
        lines.do(f"store {kind} {self.value(node.orelse)}, ptr {place}")
        lines.label(end)
        return lines.put(f"load {kind}, ptr {place}")

    # -- calls -------------------------------------------------------------------------------------------------------------

    def _called(self, node: ast.expr) -> Signature | None:
        found = self._meaning(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        return found if isinstance(found, Signature) else None

    def _call(self, node: ast.Call) -> str:
        called, put = self._called(node), self.lines.put
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if called is not None and len(called.takes) == len(node.args) and not node.keywords:
            given = [self._given(item, kind) for item, kind in zip(node.args, called.takes)]
            return put(f"call {type_of(called.gives)} @{called.name}({', '.join(given)})")
        words = [self.word(item) for item in node.args] if name in BUILTINS and not node.keywords else []
        if not words or len(words) != BUILTINS[name] != ANY:
            raise self.refused(node, f"a call of a kernel with all that it takes, or of {', '.join(BUILTINS)},")
        if name in ("int", "wrapped"):
            return words[0]
        if name == "bool":
            return put(f"zext i1 {put(f'icmp ne i64 {words[0]}, 0')} to i64")
        if name == "abs":
            return put(f"call i64 @llvm.abs.i64(i64 {words[0]}, i1 false)")
        if name in ("min", "max"):
            whole = words[0]
            for word in words[1:]:
                whole = put(f"call i64 @llvm.s{name}.i64(i64 {whole}, i64 {word})")
            return whole
        if name == "float_sum":
            one, other = (put(f"bitcast i64 {word} to double") for word in words)
            found = put(f"fadd double {one}, {other}")
            odd = put(f"fcmp uno double {found}, {found}")
            return put(f"select i1 {odd}, i64 {NAN_WORD}, i64 {put(f'bitcast double {found} to i64')}")
        address = put(f"inttoptr i64 {words[0]} to ptr")
        if name == "peek":
            return put(f"load i64, ptr {address}")
        if name == "poke":
            self.lines.do(f"store i64 {words[1]}, ptr {address}")
            return "0"
        if name == "prefetch":
            self.lines.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")
            return "0"
        if name == "peek_byte":
            return put(f"zext i8 {put(f'load i8, ptr {address}')} to i64")
        return put(f"call i64 {address}({', '.join(f'i64 {word}' for word in words[1:])})")

    def _given(self, node: ast.expr, kind: int) -> str:
        if kind == ARRAY:
            if not isinstance(node, ast.Name) or self.kinds.get(node.id) != ARRAY:
                raise self.refused(node, "an array")
            return f"ptr %{node.id}, i64 %{node.id}.n"
        if self.kind(node) != kind:
            raise self.refused(node, f"a tuple of {kind}" if kind > WORD else "a word")
        return f"{type_of(kind)} {self.value(node)}"


ANY = -1
BUILTINS = {
    "int": 1,
    "bool": 1,
    "abs": 1,
    "min": ANY,
    "max": ANY,
    "peek": 1,
    "peek_byte": 1,
    "poke": 2,
    "prefetch": 1,
    "wrapped": 1,
    "float_sum": 2,
}
BUILTINS |= {name: count + 1 for name, count in BY_ADDRESS.items()}
"""Other functions that kernels may call, and with how many words."""
