"""What a trace keeps: events as they came, matches from their announcement to their withdrawal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

from afa.change import Change
from afa.explain.reasons.because import Because
from afa.explain.reasons.telling import short


class TracedChange(NamedTuple):
    """A change of an event as it came: the how many-th of all items it was, and whether it was late and left out."""

    change: Change
    arrival: int
    late: bool


@dataclass(slots=True)
class Announcement:
    """A match from its announcement to its withdrawal, if it was withdrawn.

    ``at`` and ``gone_at`` are the arrivals of the items that announced and withdrew it; ``path`` has the events of its first path
    when it was announced, at most 200, with their components; ``more``: it has further paths.
    """

    change: Change
    at: int
    because: Because
    path: list[tuple[str, Change]]
    more: bool
    gone_at: int | None = None
    gone_because: Because | None = None


def key_text(key: Hashable) -> str:
    """Return a key as the page shows it."""
    return short(" · ".join(map(str, key)) if isinstance(key, tuple) else str(key))
