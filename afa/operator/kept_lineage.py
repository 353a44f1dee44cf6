"""What `lineage=True` asks of an operator: state of one lifetime more, and what can't be had beside it.

    steps of a key      a    b    c    d    e    f         lifetimes last at most 10 ticks
    LE                  3    9   14   21   25   28
    final, at 23        dropped  |..kept..| held           a partial match that may go on at 23 began at 14 or later

Nothing below the promise is ever written again: what is kept there answers `afa.lineage`, and no more. The bound is the longest
lifetime of any event so far, so that it holds whatever a partial match's start says. It moves at the beginning of a call: what the
call before has announced, and maybe made final, has its lineage until then. Where a lifetime was long among short ones, it moves
to where the first partial match began that may go on (`afa.engine.Living`).

What is kept is not thinned to what leads to a match or a living partial match. That would take a pass backward over all of it,
which reads as many bytes as were written; to write them costs 1 to 2 ns an event while the state of a call fits the cache, and 5 ns
beyond it (`bench/bench_lineage.py`: batches of 20,000 and of 100,000 rows).
"""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.model.copies import as_plain
from punctuation.time import BEGINNING, FOREVER

FEW = 64
"""At least so many changes come between two searches for where the first partial match began that may go on."""


class KeptLineage:
    """When an operator that keeps what lineages need lets go of it."""

    __slots__ = ("_call", "look_at")

    def __init__(self) -> None:
        self._call: int | None = None  # in which state was let go last
        self.look_at = 0  # after so many changes it is looked again where what may go on began

    def saved(self, core: Any) -> list[Any]:
        """Return as plain data where state may be let go."""
        progress = core.progress
        return [as_plain(t) for t in (progress.floor, progress.answers, progress.span, self.look_at)]

    def lasts(self, core: Any, change: Change) -> bool:
        """Return whether an event, of which only LE was looked at, may last longer than all before it."""
        le, re, window = change.le, change.re, core.window
        if re is None:
            re = FOREVER if window is None else le + window
        return type(re) is not int or bool(re - le > core.progress.span)  # type: ignore[operator]

    def let_go(self, core: Any) -> None:
        """Drop, once a call and before it takes anything, what no lineage of a match needs any more that is in force."""
        if self._call != core.journal.serial:
            self._call = core.journal.serial
            if core.progress.answers < core.progress.final and core.progress.let_go(self._begun(core)):
                core.clean()

    def _begun(self, core: Any) -> int:
        """Return where what may go on began, if that may be long after the floor; BEGINNING: it is not looked for now.

        One long lifetime among many short ones would keep all that came behind it. To look costs what is held, so that it is done
        once as many changes have come.
        """
        if core.progress.span <= (core.window or 0) or core.changes < self.look_at:
            return BEGINNING
        begun, rows, keys = core.engine.living(core.progress.final)
        core.journal.set(self, "look_at", core.changes + max(FEW, rows + keys))
        return begun  # type: ignore[no-any-return]
