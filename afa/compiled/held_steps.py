"""The steps of a key, and its matches, for readers: what `afa.engine.Engine.steps` and `matches` tell of its block."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np

from afa.compiled.block import KeyBlock
from afa.compiled.kernel import names as k
from afa.compiled.store import Store
from afa.engine import Step
from afa.model.pmatch import PMatch

NO_NODES = np.empty((0, 0), np.int64)


def held_steps(store: Store, code: int, low: int, high: int, starts: Collection[Any] | None) -> list[Step]:
    """See `afa.engine.Engine.steps`. O(log steps + rows of the span, and of steps before it that reach into it)."""
    block = KeyBlock(store, code)
    order = block.order
    if not len(order):
        return []
    times = partial(block.word, k.LE)
    first = max(bisect_left(order, low, key=times) - 1, 0)
    last = min(bisect_right(order, high, key=times) + 1, len(order))
    among = np.array(sorted(starts or ()), np.int64)
    event, register, states = store.payloads.record, store.registers.record, store.arcs.states
    standing: list[tuple[int, PMatch]] = []  # until when, and what
    found = []
    wanted = starts is None or len(starts) > 0
    begin = bisect_left(order, min(block.word(k.REACH, order[first]), times(order[first])), key=times) if wanted else first
    for place, step in enumerate(order[begin:last].tolist(), begin):
        le = times(step)
        nodes = block.node_array(step) if wanted else NO_NODES
        if starts is not None and len(nodes):
            begun = nodes[:, k.N_START]
            nodes = nodes[begun == among[0] if len(among) == 1 else np.isin(begun, among)]
        standing = [node for node in standing if node[0] > le]
        standing += [(end, PMatch(start, m, states[q], register(words))) for start, m, q, end, *words in nodes.tolist()]
        if place >= first:
            events = {(event(words), re): copies for re, copies, *words in block.events(step)}
            follows = place > 0 and (store.gaps is None or block.linked(place))
            found.append(Step(le, le, follows, events, [p for _, p in standing]))
    return found


def held_matches(store: Store, code: int, low: int) -> list[tuple[Any, int, int]]:
    """See `afa.engine.Engine.matches`. What time-outs have brought stands at the step before."""
    block = KeyBlock(store, code)
    if not block.at:
        return []
    first, last, cap = (block.head(name) for name in (k.H_FIRST, k.H_LAST, k.H_CAP))
    order = block.m[k.HEAD + first : k.HEAD + last]
    begin = bisect_left(order, low, key=lambda step: block.m[k.HEAD + k.LE * cap + step])
    slices = block.m[k.HEAD + k.MT * cap + order[max(begin - 1, 0) :]]
    found: list[list[int]] = []
    for rows in slices[(slices & k.COUNT) != 0].tolist():
        found += block.rows(rows, k.H_MATCHES, k.M_REG + store.registers.layout.width)
    register = store.registers.record
    return [(register(words), le, re) for le, re, *words in found if le >= low]
