"""The reason why a function can't be taken apart into an expression."""

from __future__ import annotations

import ast

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
