"""Which events a call has touched, for a stage that tells of them; see `Core.watch`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from afa.operator.members import Members
from punctuation.time import BEGINNING, FOREVER


class TouchedEvents:
    """The events that a part of a call has touched: ``events`` came one by one, by key and LE.

    ``since`` is the smallest LE of those that came as columns, whichever keys they have. ``members``: what the stage tells of the
    events behind a match, in place of the operator; ``tells``: whether it tells anything of them.
    """

    __slots__ = ("events", "members", "since", "tells")

    def __init__(self) -> None:
        self.members: Members | None = None
        self.tells = False
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.events: dict[tuple[Hashable, int], None] = {}
        self.since = FOREVER

    def touch(self, core: Any, key: Hashable, le: int) -> None:
        """Take note of an event that comes or goes."""
        self.events[key, le] = None

    def touch_rows(self, core: Any, rows: Any) -> None:
        """Take note of events in an engine's own form."""
        least = BEGINNING if rows.kind is not None else int(rows.le.min()) if len(rows.le) else FOREVER
        self.since = min(self.since, least)

    def touch_all(self, core: Any, le: int) -> None:
        """Do nothing: a change of an arc touches no event."""
