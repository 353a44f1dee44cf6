"""What do partial matches cost that wait? `SEQ(A, B, C)` by skip till any match, A, B and C rare among other events, W = 2,000.

Each A and B of a window are a pair that waits for a C; hundreds of them, and twenty thousand where W is 20,000. In order, and with
5 % of the rows shifted. A before B: half of the events are an A, so that a thousand and ten thousand wait, and all but a few move
none; in order only. All events: each one is an A, a B or a C, so that each moves some of a hundred pairs, and tells 35 matches.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from bench.drive import batched, run
from bench.measure import Options, Row, interleaved, rates
from bench.workloads import Stream, punctuated, shifted, take

BATCH = 50_000
A, B, C = 1, 2, 3
CASES: dict[str, tuple[int, tuple[float, ...], int]] = {
    "hundreds wait": (2_000, (0.0125, 0.0125, 0.0125), 800_000),
    "twenty thousand wait": (20_000, (0.01, 0.01, 0.00005), 800_000),
    "A before B, a thousand wait": (2_000, (0.5, 0.0005), 800_000),
    "A before B, ten thousand wait": (20_000, (0.5, 0.00005), 800_000),
    "all events": (45, (0.34, 0.33, 0.33), 200_000),
}
"""The window, which share of the events are A, B and, where it is asked for, C, and how many events there are."""


class Signal(NamedTuple):
    """What came, and its number."""

    what: int
    number: int


def signals(n: int, shares: tuple[float, ...], seed: int = 1) -> Stream:
    """Signals of these shares, others in between, each at a tick of its own."""
    what = np.random.default_rng(seed).choice(len(shares) + 1, n, p=[1 - sum(shares), *shares])
    return {"what": what, "number": np.arange(n), "le": np.arange(n)}


def query(window: int, components: int = 3) -> afa.Query:
    """A before B before C, or A before B."""
    names = "abc"[:components]
    signals = ", ".join(f"Signal {name}" for name in names)
    fits = " and ".join(f"{name}.what == {what}" for name, what in zip(names, (A, B, C)))
    shown = ", ".join(f"{name}.number AS {name}" for name in names)
    return afa.query(
        f"PATTERN SEQ({signals}) WHERE skip_till_any_match({', '.join(names)}) {{ {fits} }} WITHIN {window} RETURN {shown}",
        event=Signal,
    )


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    for name in o.some(list(CASES)):
        window, shares, n = CASES[name]
        stream = signals(o.size(n, least=200_000 if o.scale == "small" and window > 2_000 else 500), shares)
        for disorder in (0.0, 0.05) if len(shares) > 2 else (0.0,):  # late rows among thousands that wait: gigabytes, at times
            make: Any = partial(query(window, len(shares)).operator, engine=o.engine)
            late = shifted(stream, disorder, by=200)
            fed = batched(punctuated(late, BATCH), BATCH)
            small = batched(punctuated(take(late, slice(0, window + 500)), 500), 500)
            other: Any = partial(
                query(window, len(shares)).operator, engine="interpreted" if o.engine == "compiled" else "compiled"
            )
            if window <= 2_000:  # the answer of the other engine, where it can be waited for
                assert run(make, small)[:2] == run(other, small)[:2], f"expected one answer of both engines: {name}"
            column = interleaved({"any": partial(run, make, fed)}, o.rounds)["any"]
            rows.append(
                {
                    "case": name,
                    "disorder": f"{disorder:.0%}",
                    "matches": column[0].final,
                    "M events/s": rates(column),
                }
            )
    return rows
