"""What an engine may ask of the operator while it carries out a batch of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from afa.change import Change
from afa.model.arctable import ArcEvent, ArcTable
from punctuation.promise import Punctuation


class Batch(Protocol):
    """Columns as an engine has encoded them."""

    def promised(self, t: int) -> Batch:
        """Return the same, where the operator promises ``t`` right behind it, in the same call: state may be dropped early."""

    def longest(self) -> int:
        """Return the longest lifetime of its events, in ticks."""


class Host(Protocol):
    """What an engine may ask of the operator while it carries out a batch of columns."""

    changes: int
    """How many changes of events were taken: the engine adds those of the batch."""

    @property
    def refuses_late(self) -> bool:
        """Whether a late event makes the call fail: the engine need not go on."""

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain: calls `Engine.tick` and `Engine.clean`."""

    def take_late(self, change: Change, promised: int) -> None:
        """Let the policy decide about an event that came behind a promise; it may refuse the call (LateEventError)."""

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event take effect, where numbers are gapless; see `afa.operator.gapless`."""

    def numbers_applied(self) -> None:
        """Take note that what `take_numbered` let pass is applied; that numbers ascend with time is checked later."""

    def take_record(self, item: Change | Punctuation) -> None:
        """Take a punctuation, or a change of an arc, in the midst of a batch: calls `Engine.swap`, or what a punctuation calls."""

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        """Put a table in force, as one swap, that a batch leads to: some arc events have gone, others have come."""

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs that the engine has made by carrying out changes of arcs itself."""
