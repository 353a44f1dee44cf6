"""Those of the paths found ahead that lead to the match: backward over groups and edges, then numbered anew.

groups    (3, q: from p)   (4, r: from p)   (5, q: from q)   (6, f: from q)         f is the match
live      *                                 *                *                      nothing leads on from r
"""

from __future__ import annotations

from afa.compiled.kernel.layout import *
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.path_layout import *


@kernel
def keep_alive(c: PathRows) -> None:
    """Set PathRows.next of each group that leads to the match to 1, of others to NOWHERE. O(groups + edges)."""
    # From the last step back: a group lives if its number does, then so do the numbers that its edges come from.
    group, edge, end = c.asked.groups, c.asked.edges, c.asked.ends
    while group > 0:
        place = c.place[group - 1]
        while end > 0 and c.last[end - 1] >= place:
            end -= 1
            c.alive[c.end[end]] = 1
        first = group
        while first > 0 and c.place[first - 1] == place:
            first -= 1
            c.next[first] = 1 if c.alive[c.target[first]] else NOWHERE
        for k in range(first, group):
            c.alive[c.target[k]] = 0
        while edge > 0 and c.group_of[edge - 1] >= first:
            edge -= 1
            if c.next[c.group_of[edge]] == 1:
                c.alive[c.source[edge]] = 1
        group = first


@kernel
def renumber(m: Memory, c: PathRows, b: Block) -> None:
    """Drop groups and edges that do not lead to the match, and number steps and partial matches anew, as they come."""
    for number in range(c.asked.numbers):
        c.moved[number] = NOWHERE
    c.moved[BEGUN_ANEW] = BEGUN_ANEW
    numbers, steps, groups, edges, place, end = STANDS, 0, 0, 0, NOWHERE, 0
    for group in range(c.asked.groups):
        if c.next[group] < 0:
            continue
        if c.place[group] != place:
            place = c.place[group]
            while end < c.asked.ends and c.last[end] < place:  # it rests since the step before
                c.last[end] = steps - 1
                end += 1
            c.le[steps] = b.le[b.order[place]]
            steps += 1
        to = c.target[group]
        if c.moved[to] < 0:
            c.moved[to] = numbers
            numbers += 1
        c.place[groups], c.target[groups] = steps - 1, c.moved[to]
        c.event[groups], c.component_of_group[groups] = c.event[group], c.component_of_group[group]
        c.next[group] = groups
        groups += 1
    for edge in range(c.asked.edges):
        group = c.next[c.group_of[edge]]
        if group >= 0:
            c.group_of[edges], c.source[edges] = group, c.moved[c.source[edge]]
            edges += 1
    for k in range(c.asked.ends):
        c.end[k] = c.moved[c.end[k]]
        if k >= end:
            c.last[k] = steps - 1
    c.asked.numbers, c.asked.steps, c.asked.groups, c.asked.edges = numbers, steps, groups, edges
