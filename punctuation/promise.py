"""A punctuation: a promise about what can no longer come ([AFA10] Sec. 2.4)."""

from __future__ import annotations

from typing import NamedTuple


class Punctuation(NamedTuple):
    """No later change (insertion or retraction) of an event with LE < ``t``.

    Parameters
    ----------
    t : int
        Ticks of application time. ``FOREVER`` ends the stream.

    Examples
    --------
    >>> Punctuation(5)
    Punctuation(t=5)
    """

    t: int
