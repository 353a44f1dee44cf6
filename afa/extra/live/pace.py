"""How fast an input plays: as fast as can be, so many rows a second, or so many times as fast as the events happened."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from afa.errors import AfaError
from punctuation.durations import NANOSECONDS

MOST = 20_000
"""The most rows of a call: a change made in the page waits for no more than these."""


class Pace:
    """How many rows may go by now.

    ``text``: "max"; "500": rows a second; "60x": so many times as fast as the events' own times, by the largest so far. ``tick``:
    what one int of LE counts, for "60x".

    >>> pace = Pace("max", None)
    >>> pace.ready(np.arange(100)), pace.text
    (100, 'max')
    >>> pace.text = "pause"
    >>> pace.ready(np.arange(100)), pace.paused
    (0, True)
    """

    def __init__(self, text: str, tick: str | None) -> None:
        self._tick = tick
        self.paused = False
        self.text = text

    @property
    def text(self) -> str:
        """The speed. "pause" and "play" stop it, and let it go on."""
        return self._text

    @text.setter
    def text(self, text: Any) -> None:
        said = text.strip().lower() if isinstance(text, str) else text
        if said in ("pause", "play"):
            self.paused = said == "pause"
            self._begin()
            return
        found = re.fullmatch(r"(max)|([0-9]+(?:\.[0-9]+)?)(x?)", said) if isinstance(said, str) else None
        if found is None or (found[2] is not None and not 0 < float(found[2]) < 1e12):
            raise AfaError(f'expected a speed, "max", rows a second ("500") or times as fast ("60x"), but got speed={text!r}')
        if found[3] and self._tick is None:
            raise AfaError(f"expected --tick, what one int of the times counts, beside a speed of {said} but got none")
        self._rate = None if found[1] or found[3] else float(found[2])  # rows a second
        self._factor = float(found[2]) if found[3] else None
        self._text: str = said
        self._begin()

    def _begin(self) -> None:
        """Let the time count from the next row on."""
        self._since: float | None = None
        self._gone = 0
        self._first: int | None = None

    def ready(self, latest: Any) -> int:
        """Count some of the next rows as gone, and return how many; ``latest``: for each the largest LE up to it."""
        if self.paused or not len(latest):
            return 0
        if self._since is None:
            self._since = time.monotonic()
        passed = time.monotonic() - self._since
        if self._rate is not None:
            n = min(int(passed * self._rate) - self._gone, len(latest))
        elif self._factor is not None:
            self._first = int(latest[0]) if self._first is None else self._first
            until = self._first + passed * self._factor * 1e9 / NANOSECONDS[str(self._tick)]
            n = int(np.searchsorted(latest, until, "right"))
        else:
            n = len(latest)
        n = min(max(n, 0), MOST)
        self._gone += n
        return n
