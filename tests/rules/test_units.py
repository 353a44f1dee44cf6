"""Units: which events were sent, beside all instants one by one; promises, calls that fail, snapshots."""

from __future__ import annotations

import random

import numpy as np
import pytest

from afa.errors import SnapshotError
from afa.rules.units import Units
from punctuation.time import FOREVER

NAMES, SPAN = 12, 60
ALL = np.repeat(np.arange(1, NAMES + 1), SPAN), np.tile(np.arange(SPAN), NAMES)


def sent(units: Units) -> list[bool]:
    found: list[bool] = units.sent(*ALL).tolist()
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_is_sent(seed: int) -> None:
    r = random.Random(seed)
    units, promise, gaps = Units(), -1, 0
    begun: list[tuple[int, int, int]] = []
    for _ in range(150):
        before, kept, was_promise = sent(units), len(begun), promise
        if r.random() < 0.3:
            promise = max(promise, r.randrange(SPAN) * (len(begun) + 40) // 300)
            units.promise = promise
        n = r.choice((0, 1, 5))
        new = [(r.randint(1, NAMES), le := r.randrange(max(promise, 0), SPAN), le + r.randint(1, 20)) for _ in range(n)]
        if new:
            names, le, end = np.array(new).T
            known = sent(units)
            since, was = units.begin(names, le, end, end)
            told = dict(zip(zip(*(column.tolist() for column in ALL)), known))
            for i, (name, _, _) in enumerate(new):
                if name not in {other for other, _, _ in new[:i]}:
                    then = units.was_sent(np.repeat(was[:, i : i + 1], SPAN, 1), np.arange(SPAN)).tolist()
                    assert then == [told[name, at] for at in range(SPAN)]
            for name in set(names.tolist()):
                fresh = [at for at, now in enumerate(sent(units)[(name - 1) * SPAN : name * SPAN]) if now and not told[name, at]]
                first = min((int(s) for s, other in zip(since, names.tolist()) if other == name), default=FOREVER)
                assert not fresh or first <= fresh[0]
        begun += new
        if r.random() < 0.3:
            units.back()
            del begun[kept:]
            promise = was_promise
            assert sent(units) == before
        else:
            units.worked()
        must = {(name, at) for name, le, end in begun if end > promise for at in range(le, min(end, SPAN))}
        now = {(name, at) for name, at, one in zip(*(column.tolist() for column in ALL), sent(units)) if one}
        assert must <= now
        gaps += len(now - must)
        other = Units()
        other.promise = promise
        other.take(units.saved())
        assert (sent(other), other.saved()) == (sent(units), units.saved())
    assert gaps > 0


def test_a_clock_is_moved_up_to_the_last_event() -> None:
    units = Units()
    units.begin(np.array([7]), np.array([3]), np.array([FOREVER]), np.array([9]))
    assert units.sent(np.array([7, 7]), np.array([2, 30])).tolist() == [False, True]
    before = units.saved()
    units.moved(np.array([7]), np.array([30]))
    units.back()
    assert units.saved() != before
    units.begin(np.array([7]), np.array([3]), np.array([FOREVER]), np.array([9]))
    units.worked()
    units.moved(np.array([7]), np.array([30]))
    units.back()
    assert units.saved() == before
    units.moved(np.array([7]), np.array([30]))
    units.promise = 30
    units.worked()
    assert len(units) == 1
    units.promise = 31
    assert (len(units), units.sent(np.array([7]), np.array([40])).tolist()) == (0, [False])


def test_a_damaged_snapshot_is_refused() -> None:
    for wrong in (None, b"abc", np.zeros(6, "<i8").tobytes(), np.ones(12, "<i8").tobytes()):
        with pytest.raises(SnapshotError, match="expected units of rules and keys"):
            Units().take(wrong)
