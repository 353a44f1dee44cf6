"""Long streams over few instants and many keys, most of which wait for their cleaning: the engines agree, step by step.

The compiled engine cleans a key when it is touched; what a promise has made final must be final for it before that, too.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from afa import AfaError, Change, Keyed, Punctuation, insert, retract
from tests.strategies import STATES, Seeded, arc, automaton, lifetime, width_of
from tests.text import E, arc_of, automaton_of

STEPS = 60


def final(kept: Counter[Any], out: list[Any]) -> None:
    """Take changes in: what is final is never withdrawn, and no match is in force twice."""
    for item in out:
        if isinstance(item, Change):
            kept[item.key, item.payload, item.le, item.re] += item.diff
            assert kept[item.key, item.payload, item.le, item.re] in (0, 1), item


def world(seed: int) -> None:
    """Carry out one random stream on both engines."""
    choose = Seeded(f"many keys {seed}")
    spec = automaton(choose, waits=True)
    arcs = [arc_of(arc(choose, width_of(spec), STATES, f"more {i}", waits=True)) for i in range(3)]
    program, window, keys = automaton_of({**spec, "event": "E"}), choose.one([2, 3, 9]), choose.one([1, 3, 12, 40])
    ops = [Keyed(program, key="seq", window=window, engine=engine, late="drop") for engine in ("interpreted", "compiled")]
    kept: list[Counter[Any]] = [Counter(), Counter()]
    held, promised = [], 0
    for step in range(STEPS):
        kind = choose.number(0, 9)
        if kind < 5:
            le, re = lifetime(choose, "mixed", promised, promised + 4)
            item: Any = insert(E(choose.number(0, 2), choose.number(0, keys - 1)), le, re)
            held.append(item)
        elif kind < 6 and held:
            item = retract(*held.pop(choose.number(0, len(held) - 1))[:3])
        elif kind < 8:
            promised += choose.number(0, 2)
            item = Punctuation(promised)
        else:
            item = choose.one([insert, retract])(choose.one([*arcs, *program.arcs]))
        outs = []
        for op, of in zip(ops, kept):
            try:
                out = op.push_many([item])
            except AfaError as error:
                out = [str(error)]
            final(of, out)
            outs.append(out)
        assert outs[0] == outs[1], f"seed {seed}, step {step}: {item}"
    for op in ops:
        op._check()


@pytest.mark.parametrize("part", range(4))
def test_keys_that_wait_for_their_cleaning(part: int) -> None:
    for seed in range(part * 60, part * 60 + 60):
        world(seed)


@pytest.mark.stress
def test_many_more_keys_that_wait() -> None:
    for seed in range(1_000, 21_000):
        world(seed)
