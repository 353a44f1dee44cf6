"""An operator as an engine sees it that carries out a batch of columns for it (`afa.engine.Host`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.change import Change
from afa.model.arctable import ArcEvent, ArcTable
from afa.operator.promises import advance
from punctuation.promise import Punctuation


class BatchHost:
    """What the engine of a core asks of it during a batch."""

    def __init__(self, core: Any) -> None:
        self._core = core

    @property
    def changes(self) -> int:
        """How many changes of events were taken."""
        return self._core.changes  # type: ignore[no-any-return]

    @changes.setter
    def changes(self, count: int) -> None:
        self._core.changes = count

    @property
    def refuses_late(self) -> bool:
        """Whether a late event makes the call fail."""
        return self._core.late.policy == "raise"  # type: ignore[no-any-return]

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain."""
        self._core.settle_numbers()
        self._core.progress.promise_events(t)
        advance(self._core)

    def take_record(self, item: Change | Punctuation) -> None:
        """Take a punctuation, or a change of an arc, in the midst of the batch."""
        self._core.control("event" if isinstance(item, Punctuation) else "arc", item)

    def take_late(self, change: Change, promised: int) -> None:
        """Let the policy decide about an event that is late."""
        self._core.take_late(change, promised)

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event, counted already, take effect, where numbers are gapless."""
        found = self._core.gapless.take(change)
        left: int = 0 if found is None else found.diff
        self._core.changes -= abs(change.diff) - abs(left)
        return left

    def numbers_applied(self) -> None:
        """Take note that what `take_numbered` let pass is applied."""
        if self._core.gapless is not None:
            self._core.gapless.applied()

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        """Put a table in force, as one swap, that the batch leads to."""
        for event in come:
            self._core.automaton.check_arc(event.arc)
        self._core.arcs.replace(self._core, table, gone, come)

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs that the engine has made by carrying out changes of arcs itself."""
        self._core.arcs.follow(self._core, table)
