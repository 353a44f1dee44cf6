"""Changes folded into what they leave in force."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from afa.change import Change
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER


def consolidate(changes: Iterable[Change | Punctuation]) -> list[Change]:
    """Merge changes of equal key, payload and lifetime; what annihilates is gone.

    Parameters
    ----------
    changes : iterable of Change and Punctuation
        Outputs of an operator, or inputs for one, in any order; punctuations are passed over.

    Returns
    -------
    list of Change
        One for each key, payload and lifetime whose diffs do not sum to zero, with the sum as ``diff``; by LE, then RE.

    Notes
    -----
    O(n log n). Source: [AFA10] Sec. 2.4, the net of a speculative stream.

    Examples
    --------
    >>> from afa import insert, retract, Punctuation
    >>> consolidate([insert("a", 1, 5), insert("b", 2, 5), Punctuation(1), retract("a", 1, 5)])
    [Change(payload='b', le=2, re=5, diff=1, key=None)]
    >>> consolidate([insert("a", 1), insert("b", 1, 5)])  # a lifetime that is left to the operator comes last
    [Change(payload='b', le=1, re=5, diff=1, key=None), Change(payload='a', le=1, re=None, diff=1, key=None)]
    >>> consolidate([])
    []
    """
    sums: dict[tuple[Hashable, Any, Any, Any], int] = {}
    for change in changes:
        if isinstance(change, Change):
            match = (change.key, change.payload, change.le, change.re)
            sums[match] = sums.get(match, 0) + change.diff
    left = [Change(payload, le, re, diff, key) for (key, payload, le, re), diff in sums.items() if diff]
    return sorted(left, key=_lifetime)


def _lifetime(change: Change) -> tuple[int, int]:
    """By what changes are ordered; a lifetime may be left to the operator."""
    return BEGINNING if change.le is None else change.le, FOREVER if change.re is None else change.re
