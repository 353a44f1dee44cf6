"""What time-outs may still bring."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from punctuation.time import FOREVER

if TYPE_CHECKING:
    from afa.core import Core


class _TakenBack(Exception):  # noqa: N818  (no error: the way back)
    """What was tried is taken back."""


def open_timeouts(core: Core) -> int:
    """How many matches time-outs would still bring if no event came any more: tried, counted and taken back.

    Raises
    ------
    ClosureError
        There is no end of them.
    """
    found = 0
    if core.arcs.table.timeouts:
        with contextlib.suppress(_TakenBack), core.transaction():
            core.progress.promise_events(FOREVER)
            core.engine.overdue(FOREVER)
            core.engine.tick()
            found = sum(change.diff for change in core.engine.collect())
            raise _TakenBack
    return found
