"""What a job has to offer to be shown on the page, and to be steered from there."""

from __future__ import annotations

from typing import Any, Protocol

from afa.extra.live.board import Board
from afa.extra.live.picture import Picture


class Watched(Protocol):
    """A job that runs, here or elsewhere. Its methods are called by threads of the server."""

    board: Board

    def about(self) -> dict[str, Any]:
        """Return what the page says of the job, as plain data.

        title, where  where: what it reads
        log           the folder that changes are written to, or None
        query         its text, or None
        controls      which of swap, insert, end, query, sigma, speed the page offers; hints: why one is not there, by its name
        at            the instant that a change of arcs holds from where the user says none, as text, or None
        sigma, speed  as they are
        unit          of the lag, "s" or "ticks"
        output        False where the output is not told
        """

    def picture(self) -> Picture:
        """Return its automaton as it is drawn now."""

    def change(self, data: dict[str, Any]) -> str:
        """Carry out a change that the page has sent, and return what is said of it. Refused (`AfaError`), nothing has changed."""
