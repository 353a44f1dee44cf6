"""Find out which strings are in use, as the numbers of the others may be given again (`afa.compiled.code.strings`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.code.layout import Layout
from afa.compiled.kernel import names as k
from afa.compiled.memory import WordArray
from afa.compiled.store import Store


def forget_strings(store: Store) -> None:
    """Let the numbers of strings that nothing holds be given again. O(state), all keys at once.

    *Requires* that no call is under way: an undo log holds words too. Rows that a block has left behind count as in use until it
    is moved.
    """
    constants = [store.strings.number(text) for each in store.sharing() for text in each.arcs.constants()]
    n = len(store.strings)
    words: Any = np.zeros((3, max(n, store.payloads.layout.width, store.registers.layout.width, 1)), np.int64)
    words[0, _string_words(store.payloads.layout)] = 1
    words[1, _string_words(store.registers.layout)] = 1
    for each in store.sharing():
        each.call(k.STRINGS, 0, n, WordArray(words))
    initial = store.registers.words(store.automaton.register)
    words[2, [initial[word] for word in _string_words(store.registers.layout)]] = 1
    words[2, constants] = 1
    store.strings.keep(words[2, :n] != 0)


def _string_words(layout: Layout) -> list[int]:
    return [slot.value for slot in layout.slots if slot.field.type is str]
