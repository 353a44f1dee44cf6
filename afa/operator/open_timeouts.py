"""Count the matches that time-outs may still bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from punctuation.time import FOREVER

if TYPE_CHECKING:
    from afa.operator.call import Core


class _TakenBack(Exception):  # noqa: N818  (no error: the way back)
    """Raised to take back what was tried."""

    def __init__(self, found: int) -> None:
        super().__init__(found)
        self.found = found


def open_timeouts(core: Core) -> int:
    """Return how many matches time-outs would still bring if no event came any more: try it, count, and take it back.

    Raises
    ------
    ClosureError
        The matches have no end.
    """
    if not core.arcs.table.timeouts:
        return 0
    try:
        core.calls.call(_try, core)
    except _TakenBack as tried:
        return tried.found
    raise AssertionError("what is tried is never kept")


def _try(core: Core) -> None:
    core.progress.promise_events(FOREVER)
    core.engine.overdue(FOREVER)
    core.engine.tick()
    raise _TakenBack(sum(change.diff for change in core.engine.collect()))
