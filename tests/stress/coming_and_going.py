"""Keys that come and go, no two of them equal, in flat memory: ``python -m tests.stress.coming_and_going --keys 100000000``.

Each batch brings new keys of one event, of a few, or of many, and a promise after it takes half of those before: so states of every
size take the places of others. Matches are counted without an automaton.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Keyed, Punctuation
from bench.bench_memory import resident

EVENTS = (1, 1, 2, 1, 1, 5, 1, 40, 1, 1, 12, 1)
"""How many events each key of a batch has, batch by batch."""
FLAT = 1.1
"""By what factor memory may be more, at any time, than when each kind of batch had come twice."""


class Tick(NamedTuple):
    price: float
    change: float


class Climb(NamedTuple):
    before: float = 0.0


def pairs() -> Automaton:
    """A fall and right after it a rise."""
    fall = Arc("start", "low", lambda e, r: e.change < 0, lambda e, r: Climb(e.price))
    rise = Arc("low", "done", lambda e, r: e.change > 0)
    return Automaton(start="start", final={"done"}, register=Climb(), event=Tick, arcs=[fall, rise])


def batches(keys: int, rows: int, text: bool) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Batches of about so many rows until so many keys have come; with each how many keys it has, and how many matches.

    The events of a key fall and rise in turn: each second one ends a match.
    """
    first, le, number = 0, 0, 0
    while first < keys:
        events = EVENTS[number % len(EVENTS)]
        n = max(1, rows // events)
        key = np.tile(np.random.default_rng(number).permutation(n) + first, events)
        turn = np.repeat(np.arange(events), n)
        change = np.where(turn % 2 == 0, -1.0, 1.0)
        names = np.char.add("customer ", key.astype("U12")).astype(object) if text else key * 1_000_003
        yield {"key": names, "price": key / 4.0, "change": change, "le": np.arange(le, le + len(key))}, n, n * (events // 2)
        first, le, number = first + n, le + rows, number + 1


class Held(NamedTuple):
    """What is held after a batch."""

    keys: int  # that have come so far
    words: int  # bytes, by the operator
    process: float  # MiB


def run(keys: int, rows: int, text: bool = False, say: bool = False, **options: Any) -> list[Held]:
    """Let keys come and go; what was held after each batch.

    An `AssertionError` tells that matches are missing, or keys stay, or memory grows.
    """
    op, found, wanted, held, come = Keyed(pairs(), key="key", window=rows, engine="compiled", **options), 0, 0, list[Held](), 0
    begin, end = time.process_time(), 0
    for batch, new, matches in batches(keys, rows, text):
        out = op.push_many(batch)
        assert (np.asarray(out["diff"]) == 1).all()
        found, wanted, come, end = found + len(out["le"]), wanted + matches, come + new, end + rows
        assert found == wanted, f"after {come} keys: {found} matches, expected {wanted}"
        op.push(Punctuation(end - rows // 2))
        held.append(Held(come, op._core.engine.store.memory.used, resident()))  # type: ignore[attr-defined]
        if say and len(held) % 10 == 0:
            print(f"{held[-1]}, {come / (time.process_time() - begin) / 1e6:.2f} M keys/s of CPU", flush=True)
    assert op.statistics.keys < 3 * rows
    op._check()
    flat(held)
    op.push(Punctuation(end + 2 * rows))
    assert op.statistics.state_size == op.statistics.keys == 0
    return held


def flat(held: list[Held]) -> None:
    """Check that memory is flat from where each kind of batch has come twice."""
    usual = 2 * len(EVENTS)
    for name in ("words", "process"):
        before = max(getattr(each, name) for each in held[:usual])
        after = max((getattr(each, name) for each in held[usual:]), default=0)
        assert after <= FLAT * before, f"{name}: {after}, and {before} after {usual} batches"


def main(arguments: list[str] | None = None) -> int:
    """Let so many keys come and go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--rows", type=int, default=500_000, help="of a batch")
    parser.add_argument("--text", action="store_true", help="keys that are strings")
    options = parser.parse_args(arguments)
    begin = time.process_time()
    held = run(options.keys, options.rows, options.text, say=True)
    print(f"{held[-1].keys:,} keys have come and gone in flat memory, {time.process_time() - begin:.0f} s of CPU, {held[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
