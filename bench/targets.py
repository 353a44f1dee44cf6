"""What the compiled engine must show (`targets.json`), and what the results say to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Row


class Target(NamedTuple):
    """A bound on one column of one benchmark, over the rows that it speaks of: the worst of them counts."""

    question: str
    bench: str
    column: str
    least: float | None = None  # the bound is this, or `most`
    most: float | None = None
    where: Mapping[str, Any] = {}  # the values that the columns of its rows must have, or one of several
    unit: str = ""  # what the figures are, in words

    def measured(self, rows: Sequence[Row]) -> float | None:
        """The worst median among the rows; None if there is none."""
        values = [middle(row[self.column]) for row in rows if row.get(self.column) is not None and self._speaks_of(row)]
        if not values:
            return None
        return min(values) if self.least is not None else max(values)

    def _speaks_of(self, row: Row) -> bool:
        return all(row.get(name) in (value if isinstance(value, list) else [value]) for name, value in self.where.items())

    def met(self, value: float) -> bool:
        """Whether a figure keeps the bound."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)

    @property
    def wanted(self) -> str:
        """The bound in words."""
        bound = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return f"{bound} {self.unit}".strip()


def middle(value: Any) -> float:
    """The median of a spread, or the figure itself."""
    return float(value["median"] if isinstance(value, dict) else value)


TARGETS = [Target(**each) for each in json.loads(Path(__file__).with_name("targets.json").read_text(encoding="utf-8"))]
