"""Q1, k = 1, written by hand over a dict of Python objects: events of each key in order, nothing revised, nothing saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Run:
    """A drop, and what has followed it: falls, then rises."""

    __slots__ = ("falls", "left", "until")

    def __init__(self, until: int) -> None:
        self.until, self.falls, self.left = until, 0, 0


class ByHand:
    """The open runs of each key."""

    def __init__(self, window: int, drop: float = 0.25) -> None:
        self.window, self.drop = window, drop
        self.runs: dict[Any, list[Run]] = {}

    def push(self, rows: Iterable[tuple[Any, float, int]]) -> list[tuple[Any, int, int]]:
        """Take rows of key, change and LE; the matches that end at them: key, LE, RE."""
        runs, window, drop, found = self.runs, self.window, -self.drop, []
        for key, change, le in rows:
            old = runs.get(key, ())
            new = []
            for run in old:
                if le >= run.until:
                    continue
                if change < 0:
                    if not run.left:
                        run.falls += 1
                        new.append(run)
                elif change > 0 and run.falls:
                    run.left = (run.left or run.falls) - 1
                    if run.left:
                        new.append(run)
                    else:
                        found.append((key, le, run.until))
            if change < drop:
                new.append(Run(le + window))
            if new:
                runs[key] = new
            elif old:
                del runs[key]
        return found

    def promise(self, t: int) -> None:
        """Forget runs that no event from ``t`` on can go on with."""
        for key in [key for key, runs in self.runs.items() if runs[-1].until <= t]:
            del self.runs[key]
