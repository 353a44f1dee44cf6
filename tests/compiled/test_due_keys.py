"""Which keys a punctuation concerns: found by minima over their deadlines, and by looking at all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from afa.compiled.kernel import layout as k
from afa.compiled.kernel.due_keys import is_due, next_due, put_deadlines
from afa.compiled.memory import directory_at
from tests.compiled.plain import plain

is_due, next_due, put_deadlines = plain(is_due), plain(next_due), plain(put_deadlines)

KEYS = 9000
"""More than two of the minima above stand for."""


def directory(keys: int) -> Any:
    *places, end = directory_at(k.CONTROL, keys)
    m: Any = np.zeros(end, np.int64)
    m[places[1] :] = k.FOREVER
    m[k.Memory.dir : k.Memory.dir + 3] = places
    m[k.Memory.keys] = keys
    m[places[0] + k.KeyEntry.block : places[1] : k.KeyEntry.SIZE] = 1
    return m


def concerned(m: Any, act: int, clean: int) -> Iterator[int]:
    key = next_due(m, 0, act, clean)
    while key < m[k.Memory.keys]:
        yield key
        key = next_due(m, key + 1, act, clean)


@pytest.mark.parametrize("keys", [1, 16, 63, 64, 4096, KEYS])
def test_minima_lead_to_the_keys_that_are_due(keys: int) -> None:
    m, chance = directory(keys), random.Random(keys)
    known = {}
    for key in range(keys):
        known[key] = chance.randrange(1000), chance.randrange(1000)
        put_deadlines(m, key, *known[key])
    for _ in range(12):
        act, clean = chance.choice([-1, 2, 40]), chance.choice([k.BEGINNING, -1, 5, 300])
        due = [key for key, (soon, late) in sorted(known.items()) if soon <= act or late <= clean]
        assert list(concerned(m, act, clean)) == due
        for key in due:  # most of them are visited, and due later
            if chance.random() < 0.9:
                known[key] = chance.choice([k.FOREVER, 1000]), chance.randrange(1000)
                put_deadlines(m, key, *known[key])
        for key in chance.sample(range(keys), min(keys, 20)):
            known[key] = chance.randrange(-3, 1000), chance.randrange(1000)
            m[m[k.Memory.dir] + key * k.KeyEntry.SIZE + k.KeyEntry.block] = 1
            put_deadlines(m, key, *known[key])
        for key in chance.sample(range(keys), keys // 50):  # gone: nobody looks at them
            m[m[k.Memory.dir] + key * k.KeyEntry.SIZE + k.KeyEntry.block] = 0
            known.pop(key, None)


def test_minima_rise_where_they_have_led_to_nobody() -> None:
    m = directory(KEYS)
    for key in range(KEYS):
        put_deadlines(m, key, k.FOREVER, 7)
    for key in range(KEYS):
        put_deadlines(m, key, k.FOREVER, 900)
    assert is_due(m, m[k.Memory.above], 7, 7)
    assert not list(concerned(m, 7, 7))
    assert not is_due(m, m[k.Memory.above], 7, 7)
    assert not is_due(m, m[k.Memory.above], 7, 899)
    assert is_due(m, m[k.Memory.above], 7, 900)
