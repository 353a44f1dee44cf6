"""Write LLVM IR as text: lines, blocks, values."""

from __future__ import annotations

COLD = "!prof !0"
"""The weights of a branch whose first side is hardly ever taken."""


WEIGHTS = '!0 = !{!"branch_weights", i32 1, i32 2000}\n!1 = !{}'
"""Of a branch that is hardly ever taken; of words that do not change while the function runs."""


class Writer:
    """The text of one function, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.block = "entry"
        self.ask = "ask"
        self._count = 0

    def name(self, prefix: str = "b") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        """Write a line that gives a value. Returns the value's name."""
        name = self.name("%v")
        self.lines.append(f"  {name} = {text}")
        return name

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def goto(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, test: str, yes: str, no: str, weights: str = "") -> None:
        self.line(f"br i1 {test}, label %{yes}, label %{no}{', ' if weights else ''}{weights}")

    def ask_if(self, test: str) -> None:
        """Leave the decision to the user's function."""
        on = self.name()
        self.branch(test, self.ask, on, COLD)
        self.place(on)

    def phi(self, type_: str, *ways: tuple[str, str]) -> str:
        """Return a value by the block that one comes from."""
        return self.let(f"phi {type_} " + ", ".join(f"[{ssa}, %{block}]" for ssa, block in ways))

    def address(self, pointer: str, word: int | str) -> str:
        return pointer if word == 0 else self.let(f"getelementptr i64, ptr {pointer}, i64 {word}")

    def load(self, type_: str, pointer: str, word: int | str = 0) -> str:
        """Return the value of a word; an i1 is any but 0."""
        if type_ == "i1":
            return self.let(f"icmp ne i64 {self.load('i64', pointer, word)}, 0")
        return self.let(f"load {type_}, ptr {self.address(pointer, word)}, align 8")

    def store(self, type_: str, ssa: str, pointer: str, word: int | str = 0) -> None:
        """Write a word; an i1 as 0 or 1."""
        if type_ == "i1":
            type_, ssa = "i64", self.let(f"zext i1 {ssa} to i64")
        self.line(f"store {type_} {ssa}, ptr {self.address(pointer, word)}, align 8")

    def copy(self, source: str, out: str, width: int) -> None:
        if width > 16:
            self.declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
            self.line(f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 {out}, ptr align 8 {source}, i64 {8 * width}, i1 false)")
            return
        for word in range(width):
            self.store("i64", self.load("i64", source, word), out, word)

    def call(self, type_: str, function: str, *arguments: str) -> str:
        """Call an intrinsic, or a function of the C library; arguments carry their types."""
        types = ", ".join(argument.split()[0] for argument in arguments)
        self.declared.add(f"declare {type_} @{function}({types})")
        return self.let(f"call {type_} @{function}({', '.join(arguments)})")

    def function(self, head: str) -> str:
        """Return the module: one function, and what it calls."""
        return "\n".join([*sorted(self.declared), self.body(head), WEIGHTS, ""])

    def body(self, head: str) -> str:
        """Return the function alone."""
        return "\n".join([f"define {head} {{", "entry:", *self.lines, "}"])
