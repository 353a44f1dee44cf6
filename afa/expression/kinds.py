"""The kinds of functions that stand in an arc: what each sees and what it returns."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A fence returns a truth value, a transfer a register, an ``at`` an instant; each sees ``(e, r)`` or ``(r)``."""

    role: str
    sees_event: bool

    @property
    def parameters(self) -> str:
        """``"e, r"`` or ``"r"``."""
        return "e, r" if self.sees_event else "r"


FENCE, TRANSFER = Kind("fence", True), Kind("transfer", True)
EPSILON_FENCE, EPSILON_TRANSFER = Kind("fence", False), Kind("transfer", False)
AT = Kind("at", False)
