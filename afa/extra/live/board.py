"""What is shown of a job: samples of its numbers, the last changes of its output, what was said. Bounded, and safe for threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from afa.errors import AfaError

SAMPLES = 1200
"""How many samples are kept: ten minutes of two a second."""
CHANGES = 200
"""How many changes of the output are kept."""
NOTES = 100
LONGEST = 2_000
"""The most characters of a note."""


def said_of(error: BaseException) -> str:
    """Return an error with its notes as text, with its type where that is not one of ours.

    >>> said_of(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    text = "\n".join(str(part) for part in (error, *getattr(error, "__notes__", [])) if str(part).strip())
    return text if isinstance(error, AfaError) else f"{type(error).__name__}: {text}"


class Board:
    """Numbers, changes and notes, each with a number of its own, so that a reader asks for what is new."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: deque[tuple[int, dict[str, Any]]] = deque(maxlen=SAMPLES)
        self._changes: deque[tuple[int, dict[str, Any]]] = deque(maxlen=CHANGES)
        self._notes: deque[tuple[int, dict[str, Any]]] = deque(maxlen=NOTES)
        self._count = 0
        self.status = "starting"
        """ "waiting" for the first rows, "starting", "playing", "paused", "ended", or "failed": it is held by a fault."""

    def sample(self, numbers: dict[str, Any]) -> None:
        """Add a sample: plain data, by name."""
        self._add(self._samples, {"at": time.time(), **numbers})

    def changes(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._add(self._changes, row)

    def note(self, kind: str, text: str) -> None:
        """Add what was said: ``kind`` is "done", "note" or "fault"."""
        self._add(self._notes, {"at": time.time(), "kind": kind, "text": text[:LONGEST]})

    def _add(self, to: deque[tuple[int, dict[str, Any]]], item: dict[str, Any]) -> None:
        with self._lock:
            self._count += 1
            to.append((self._count, item))

    def since(self, number: int) -> dict[str, Any]:
        """Return what was added behind a number, and the number to ask for next."""
        with self._lock:
            parts = {"samples": self._samples, "changes": self._changes, "notes": self._notes}
            found = {name: [item for n, item in part if n > number] for name, part in parts.items()}
            return {**found, "next": self._count, "status": self.status}
