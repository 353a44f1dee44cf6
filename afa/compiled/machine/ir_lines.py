"""Write LLVM IR line by line, with names and labels; unreachable lines get a block of their own."""

from __future__ import annotations


class Lines:
    """The lines of one function.

    >>> lines = Lines()
    >>> lines.place("i64", "sum")
    '%sum.1'
    >>> lines.leave(f"ret i64 {lines.put('add i64 1, 2')}")
    >>> print(lines.text, end="")
      %sum.1 = alloca i64
      %v.2 = add i64 1, 2
      ret i64 %v.2
    """

    def __init__(self) -> None:
        self._places: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.left = False  # whether the last line leaves the block

    @property
    def text(self) -> str:
        """Return all lines so far; places on the stack come first."""
        return "".join(self._places) + "".join(self._lines)

    def name(self, kind: str) -> str:
        """Return a new name; no name in a kernel has a dot."""
        self._count += 1
        return f"{kind}.{self._count}"

    def place(self, kind: str, name: str) -> str:
        """Return a new place on the stack for a value of an LLVM type."""
        place = f"%{self.name(name)}"
        self._places.append(f"  {place} = alloca {kind}\n")
        return place

    def put(self, value: str) -> str:
        name = f"%{self.name('v')}"
        self.do(f"{name} = {value}")
        return name

    def do(self, line: str) -> None:
        """Write one line. After a line that has left its block it begins an unreachable one."""
        if self.left:
            self.label(self.name("nowhere"))
        self._lines.append(f"  {line}\n")

    def leave(self, line: str) -> None:
        """Write a line that ends the block: a return or a jump."""
        self.do(line)
        self.left = True

    def label(self, label: str) -> None:
        """Begin a block; the one before goes on here unless it was left."""
        if not self.left:
            self._lines.append(f"  br label %{label}\n")
        self._lines.append(f"{label}:\n")
        self.left = False
