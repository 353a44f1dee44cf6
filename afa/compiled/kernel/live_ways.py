"""Of the ways ahead those that lead to the match: backward over groups and edges, then numbered anew.

groups    (3, q: from p)   (4, r: from p)   (5, q: from q)   (6, f: from q)         f is the match
live      *                                 *                *                      nothing leads on from r
"""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.names import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.way_names import *


@kernel
def keep_alive(c: Any) -> None:
    """Let Y_NEXT of each group tell whether it leads to the match: 1, else NOWHERE. O(groups + edges)."""
    group, edge, end = c[Y_ASKED, Q_GROUPS], c[Y_ASKED, Q_EDGES], c[Y_ASKED, Q_ENDS]
    while group > 0:
        place = c[Y_PLACE, group - 1]
        while end > 0 and c[Y_LAST, end - 1] >= place:
            end -= 1
            c[Y_ALIVE, c[Y_END, end]] = 1
        first = group
        while first > 0 and c[Y_PLACE, first - 1] == place:
            first -= 1
            c[Y_NEXT, first] = 1 if c[Y_ALIVE, c[Y_TO, first]] else NOWHERE
        for k in range(first, group):
            c[Y_ALIVE, c[Y_TO, k]] = 0
        while edge > 0 and c[Y_IN, edge - 1] >= first:
            edge -= 1
            if c[Y_NEXT, c[Y_IN, edge]] == 1:
                c[Y_ALIVE, c[Y_FROM, edge]] = 1
        group = first


@kernel
def renumber(m: Any, c: Any, b: int) -> None:
    """Drop all groups and edges that do not lead to the match, and number steps and partial matches anew, as they come."""
    for number in range(c[Y_ASKED, Q_NUMBERS]):
        c[Y_MOVED, number] = NOWHERE
    c[Y_MOVED, BEGUN_ANEW] = BEGUN_ANEW
    numbers, steps, groups, edges, place, end = STANDS, 0, 0, 0, NOWHERE, 0
    for group in range(c[Y_ASKED, Q_GROUPS]):
        if c[Y_NEXT, group] < 0:
            continue
        if c[Y_PLACE, group] != place:
            place = c[Y_PLACE, group]
            while end < c[Y_ASKED, Q_ENDS] and c[Y_LAST, end] < place:  # it rests since the step before
                c[Y_LAST, end] = steps - 1
                end += 1
            c[Y_LE, steps] = m[b + HEAD + LE * m[b + H_CAP] + m[b + HEAD + place]]
            steps += 1
        to = c[Y_TO, group]
        if c[Y_MOVED, to] < 0:
            c[Y_MOVED, to] = numbers
            numbers += 1
        c[Y_PLACE, groups], c[Y_TO, groups] = steps - 1, c[Y_MOVED, to]
        c[Y_EVENT, groups], c[Y_OF, groups] = c[Y_EVENT, group], c[Y_OF, group]
        c[Y_NEXT, group] = groups
        groups += 1
    for edge in range(c[Y_ASKED, Q_EDGES]):
        group = c[Y_NEXT, c[Y_IN, edge]]
        if group >= 0:
            c[Y_IN, edges], c[Y_FROM, edges] = group, c[Y_MOVED, c[Y_FROM, edge]]
            edges += 1
    for k in range(c[Y_ASKED, Q_ENDS]):
        c[Y_END, k] = c[Y_MOVED, c[Y_END, k]]
        if k >= end:
            c[Y_LAST, k] = steps - 1
    c[Y_ASKED, Q_NUMBERS], c[Y_ASKED, Q_STEPS], c[Y_ASKED, Q_GROUPS], c[Y_ASKED, Q_EDGES] = numbers, steps, groups, edges
