"""What the page shows of a job whose first rows have not come, and of the job from then on."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError
from afa.extra.live.board import Board
from afa.extra.live.picture import Picture, Pictures
from afa.extra.live.site import Watched
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from punctuation.time import BEGINNING


class WaitingJob:
    """A job that waits for its first rows, which say what its columns are; `begin` puts the running job in its place.

    ``told`` is what the page says of the job: title, where, log; ``automaton`` what it runs, if that is known before its columns.
    """

    def __init__(self, told: dict[str, Any], automaton: Automaton | None = None, tick: str | None = None) -> None:
        self.board = Board()
        self.board.status = "waiting"
        self._told, self._job = told, None  # type: dict[str, Any], Watched | None
        self._picture = Picture("", "", [])
        if automaton is not None:
            self._picture = Pictures(automaton, tick).of(ArcTable.of(automaton.arcs).events, BEGINNING)._replace(version="waiting")

    def begin(self, job: Watched) -> None:
        """Show a job that runs from now on, on the same board."""
        job.board, self._job = self.board, job

    def about(self) -> dict[str, Any]:
        if self._job is not None:
            return self._job.about()
        none: dict[str, Any] = {"query": None, "controls": [], "at": None, "unit": "ticks", "sigma": None, "speed": None}
        return {
            **none,
            **self._told,
            "hints": {"changes": "possible once the first rows have come; afa arcs writes them before, too"},
        }

    def picture(self) -> Picture:
        return self._picture if self._job is None else self._job.picture()

    def change(self, data: dict[str, Any]) -> str:
        if self._job is None:
            raise AfaError(f"expected a job that has begun but got do={data.get('do')!r} before its first rows have come")
        return self._job.change(data)
