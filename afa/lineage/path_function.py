"""A condition on paths that is a function of a path: ``having=`` of an automaton. Paths are tried one by one."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import blame
from afa.lineage.having import BUDGET
from afa.lineage.satisfying import PathTest, Ranges, Value


class PathFunction:
    """A condition that needs to know all of a path: its value is the path. An `afa.lineage.satisfying.PathTest`."""

    def __init__(self, function: Any, budget: int) -> None:
        self._function, self.budget = function, budget
        self.text = getattr(function, "__qualname__", repr(function))

    def begin(self) -> Value:
        """Return the path that has taken nothing."""
        return ()

    def plus(self, value: Value, component: str, change: Change) -> Value:
        """Return the path with one more event."""
        return (*value, (component, change))

    def holds(self, value: Value) -> bool:
        """Return whether the function says so."""
        try:
            return bool(self._function(value))
        except Exception as error:
            blame(error, f"in having={self.text} of the path {value!r}")
            raise

    def weights(self, component: str, change: Change) -> tuple[Any, ...]:
        """Return nothing: paths are not cut."""
        return ()

    def decided(self, value: Value, ranges: Ranges) -> Value:
        """Return the path."""
        return value


def condition_of(having: Any) -> PathTest:
    """Return the condition that an automaton's ``having`` is, which it has checked."""
    if hasattr(having, "plus"):
        return having  # type: ignore[no-any-return]
    return PathFunction(*(having if isinstance(having, tuple) else (having, BUDGET)))
