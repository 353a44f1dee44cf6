"""Kinds of functions: a fence, a transfer or an ``at`` of an arc; a condition. A kind says what a function is given and returns.

`Unreadable` is the reason why a function of any kind can't be taken apart into an expression.
"""

from __future__ import annotations

import ast
from typing import NamedTuple


class FunctionKind(NamedTuple):
    """The kind of a function: a fence or a condition returns a truth value, a transfer a register, an ``at`` an instant.

    A function of an arc sees ``(e, r)`` or ``(r)``, a condition ``(e)``.
    """

    role: str
    sees_event: bool
    sees_register: bool = True

    @property
    def parameters(self) -> str:
        """``"e, r"``, ``"r"`` or ``"e"``."""
        return ", ".join(name for name, seen in (("e", self.sees_event), ("r", self.sees_register)) if seen)

    @property
    def is_truth(self) -> bool:
        """Whether only the truth of the returned value counts."""
        return self.role in ("fence", "condition")


FENCE, TRANSFER = FunctionKind("fence", True), FunctionKind("transfer", True)
EPSILON_FENCE, EPSILON_TRANSFER = FunctionKind("fence", False), FunctionKind("transfer", False)
AT = FunctionKind("at", False)
CONDITION = FunctionKind("condition", True, False)

HINT = "write it as one expression of the fields, constants, and/or/not, if/else, arithmetic, min, max, abs, round, in, is None"


class Unreadable(Exception):  # noqa: N818  (no error: such a function runs in Python)
    """The function can't be taken apart into an expression, so Python runs it as it stands.

    ``reason``: what stands in the way; ``hint``: how to write it so that it compiles; ``node``: where.
    """

    def __init__(self, reason: str, hint: str = HINT, node: ast.AST | None = None) -> None:
        super().__init__(f"{reason}; {hint}")
        self.reason = reason
        self.hint = hint
        self.node = node
