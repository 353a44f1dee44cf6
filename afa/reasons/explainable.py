"""Operators whose matches have reasons, the stages around them, and whether an input has times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.errors import AfaError
from punctuation.timestamps import is_time


def stages_of(operator: Any) -> list[Any]:
    """Return the stages around an operator."""
    found = []
    while hasattr(operator, "stage"):
        found.append(operator.stage)
        operator = operator.operator
    return found


def first_time(part: Any, names: Sequence[str | None]) -> Any:
    """Return the first value of a table's column of times, or a row's; None: there is none."""
    for name in names:
        try:
            column = part[name]
        except Exception:  # whatever a table of another library raises
            continue
        if isinstance(column, (int, str)) or is_time(column):
            return column
        values = column.to_pylist() if hasattr(column, "to_pylist") else column
        return next(iter(values), None)
    return None


def check_explainable(core: Any) -> None:
    """Refuse an operator whose matches have no reasons."""
    if core.told is not None and core.told.again:
        raise AfaError(
            "expected an operator that tells matches, without collapse=, having= and tell=, but got one with such an option"
        )
    if core.gapless is not None:
        raise AfaError(f"expected an operator without gapless= but got gapless={core.gapless.field!r}")
    if core.late.policy not in ("raise", "drop"):
        raise AfaError(f'expected late="raise" or "drop" beside reasons but got late={core.late.policy!r}')
    if core.faults is not None:
        raise AfaError("expected an operator whose faults are raised")
