"""Find out which strings are in use, as the numbers of the others may be given again (`afa.compiled.code.strings`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from afa.compiled.code.layout import Layout
from afa.compiled.kernel import names as k
from afa.compiled.store import Store

SECTIONS = (
    (k.H_EVENTS, k.H_EVENT_TOP, k.E_WORDS, True),
    (k.H_NODES, k.H_NODE_TOP, k.N_REG, False),
    (k.H_MATCHES, k.H_MATCH_TOP, k.M_REG, False),
    (k.H_PENDING, k.H_PENDING_TOP, k.Q_WORDS, True),
)
"""The section and count of rows; how many words stand before the record; whether that is a payload or a register."""


def forget_strings(store: Store) -> None:
    """Let the numbers of strings that nothing holds be given again. O(state), all keys at once.

    *Requires* that no call is under way: an undo log holds words too. Rows that a block has left behind count as in use until it
    is moved.
    """
    used = np.zeros(len(store.strings), np.bool_)
    for each in store.sharing():
        for numbers in _numbers(each):
            used[numbers[(numbers >= 0) & (numbers < len(used))]] = True  # what is left behind may be anything
    store.strings.keep(used)


def _numbers(store: Store) -> Iterator[Any]:
    m = store.memory.m
    blocks = store.directory.entries[:, k.D_BLOCK]
    blocks = blocks[blocks != 0]
    for section, top, head, payload in SECTIONS:
        layout = store.payloads.layout if payload else store.registers.layout
        words = _string_words(layout)
        if words:
            rows = _rows(blocks + m[blocks + section], m[blocks + top], head + layout.width)
            yield from (m[rows + head + word] for word in words)
    if store.ordered == 2:
        yield m[_rows(blocks + k.HEAD + k.SEQ * m[blocks + k.H_CAP], m[blocks + k.H_STEPS], 1)]
    initial = store.registers.words(store.automaton.register)
    yield np.array([initial[word] for word in _string_words(store.registers.layout)], np.int64)
    yield np.array([store.strings.number(text) for text in store.arcs.constants()], np.int64)


def _string_words(layout: Layout) -> list[int]:
    return [slot.value for slot in layout.slots if slot.field.type is str]


def _rows(begins: Any, counts: Any, width: int) -> Any:
    """Return where each row begins, of ``counts`` rows of one width from each of ``begins`` on.

    Examples
    --------
    >>> _rows(np.array([100, 200]), np.array([2, 1]), 5).tolist()
    [100, 105, 200]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before * width, counts) + np.arange(int(counts.sum())) * width
