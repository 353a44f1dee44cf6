"""Break the text of a function into lines: rather in front of `and` and behind commas than within a term, and evenly."""

from __future__ import annotations

import re

WITHIN = 700
"""What a break within a term costs, in squares of characters that a line is short of the longest."""
LINE_COST = 400
"""What one line more costs."""


def broken(text: str, room: int) -> list[str]:
    """Return text as lines of at most ``room`` characters, of words that are longer alone. O(words squared).

    Examples
    --------
    >>> broken("e.change > 0 and r.patterns + 1 == 2 and (r.balance == 1)", 36)
    ['e.change > 0 and r.patterns + 1 == 2', 'and (r.balance == 1)']
    >>> broken("/ Vees(r.balance - 1, r.patterns + 1)", 36)
    ['/ Vees(r.balance - 1,', 'r.patterns + 1)']
    >>> broken("", 9)
    ['']
    """
    words = text.split() or [""]
    best: list[tuple[int, int]] = [(0, 0)]  # for the first k words: the cost, and where the last line of them begins
    for end in range(1, len(words) + 1):
        options, width = [], -1
        for begin in range(end - 1, -1, -1):
            width += len(words[begin]) + 1
            if width > room and begin < end - 1:
                break
            options.append((best[begin][0] + _cost(words, begin, end, max(room - width, 0)), begin))
        best.append(min(options))
    lines: list[str] = []
    end = len(words)
    while end:
        begin = best[end][1]
        lines.append(" ".join(words[begin:end]))
        end = begin
    return lines[::-1]


def _cost(words: list[str], begin: int, end: int, short: int) -> int:
    if end == len(words):
        return LINE_COST  # the last line may be short
    good = words[end] in ("and", "or", "else", "if") or re.search(r",$", words[end - 1])
    worst = "=" in (words[end], words[end - 1])
    return LINE_COST + short * short // 4 + (0 if good else 2 * WITHIN if worst else WITHIN)
