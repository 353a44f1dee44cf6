"""A condition over columns of events: at once where columns answer it, else asked of events one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.conditions.condition import NO_REGISTER, Condition
from afa.rewrite.vectors import vector_of
from afa.state.plain import values_of
from afa.state.states import Column


class ColumnCondition:
    """A condition of which it is known whether columns answer it."""

    def __init__(self, condition: Condition, holds: Callable[[Any], bool] | None = None) -> None:
        """``holds`` asks one event in place of `Condition.holds`."""
        self._condition, self._holds = condition, holds or condition.holds
        self._vector = vector_of(condition.expr, condition.event_schema, NO_REGISTER)

    def truths(self, fields: dict[str, Column], n: int) -> Any:
        """Return of which of ``n`` events it is true: an array or a list, or one truth for all."""
        return self._one_by_one(fields, n) if self._vector is None else self._vector(fields)

    def _one_by_one(self, fields: dict[str, Column], n: int) -> list[bool]:
        """Ask the condition of each event, and once only of those that look alike to it."""
        condition, cls = self._condition, self._condition.event_schema.cls
        kinds = {field.name: field.type for field in condition.event_schema.fields if field.name in condition.fields}
        columns = [values_of(fields[name], kind) for name, kind in kinds.items()]
        known: dict[Any, bool] = {}
        found = []
        for items in zip(*columns) if columns else [()] * n:
            holds = known.get(items)
            if holds is None:
                record = dict(zip(kinds, items))
                holds = known[items] = self._holds(cls(*[record.get(name) for name in cls._fields]))  # type: ignore[attr-defined]
            found.append(holds)
        return found
