"""`Punctuation`: the paper's word for a watermark, which says what can no longer come ([AFA10] Sec. 2.4, App. F.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Punctuation(NamedTuple):
    """A watermark: no change (insertion or retraction) of an event with LE < ``t`` comes any more.

    "Punctuation" is the paper's word for it. With ``where`` it is a watermark with a condition.

    Parameters
    ----------
    t : int
        Ticks of application time. ``FOREVER`` ends the stream.
    where : str or callable, optional
        A condition over the event, ``"floor <= 3"`` or ``lambda e: e.floor <= 3``: the watermark speaks only of events that satisfy
        it, of none on which it raises. The operator must have been told that nothing is retracted (``retractions=False``).

    Examples
    --------
    >>> Punctuation(5), Punctuation(20, where="floor <= 3")
    (Punctuation(t=5), Punctuation(t=20, where='floor <= 3'))
    """

    t: int
    where: str | Callable[[Any], Any] | None = None

    def __repr__(self) -> str:
        where = "" if self.where is None else f", where={self.where!r}"
        return f"Punctuation(t={self.t!r}{where})"
