"""Filter, windowed sums, join on a device by kernels by hand, beside numpy on one core: what a part of a query would win there.

Each has its columns on the device, or copies them first; the answers are equal. What the thesis found on an integrated graphics
processor stands beside it in docs/performance.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from afa.compiled.device.arena import Arena
from afa.compiled.device.devices import Device
from bench.measure import Options, Row

WINDOWS = 16_000
FILTER = """
static long F_f(G char *B, long x) {
    G long *r = (G long *)(B + x); G double *column = (G double *)(B + r[0]); G long *bits = (G long *)(B + r[1]);
    for (long word = r[2]; word < r[3]; word++) {
        long found = 0;
        for (long k = 0; k < 64; k++) found |= (long)(column[64 * word + k] < -0.5) << k;
        bits[word] = found;
    }
    return 0;
}
"""
SUMS = """
static long F_f(G char *B, long x) {
    G long *r = (G long *)(B + x); G long *column = (G long *)(B + r[0]); G long *sums = (G long *)(B + r[1]);
    for (long window = r[2]; window < r[3]; window++) {
        long sum = 0;
        for (long row = window * r[4]; row < (window + 1) * r[4]; row++) sum += column[row];
        sums[window] = sum;
    }
    return 0;
}
"""
JOIN = """
static long F_f(G char *B, long x) {
    G long *r = (G long *)(B + x); G long *probe = (G long *)(B + r[0]); G long *place = (G long *)(B + r[1]);
    G long *build = (G long *)(B + r[5]);
    for (long row = r[2]; row < r[3]; row++) {
        long low = 0, high = r[4];
        while (low < high) { long middle = (low + high) / 2; if (build[middle] < probe[row]) low = middle + 1; else high = middle; }
        place[row] = low < r[4] && build[low] == probe[row] ? low : -1;
    }
    return 0;
}
"""


def parts(device: Device, o: Options) -> Iterator[Row]:
    """Rows of the three parts, resident and copied each time."""
    n = o.size(16_000_000, 64_000) // (64 * WINDOWS) * (64 * WINDOWS) or 64 * WINDOWS
    rng = np.random.default_rng(3)
    change, price, keys = rng.normal(0, 0.5, n), rng.integers(0, 1000, n), rng.integers(0, 200 * n, n // 16)
    build = np.unique(rng.integers(0, 200 * n, n // 8))

    def joined() -> Any:
        at = np.minimum(np.searchsorted(build, keys), len(build) - 1)
        return np.where(build[at] == keys, at, -1)

    by_hand: dict[str, tuple[str, list[Any], int, list[int], Callable[[], Any]]] = {
        "filter": (FILTER, [change], n // 64, [0, 0], lambda: np.packbits(change < -0.5, bitorder="little").view(np.int64)),
        f"sums of {WINDOWS:,} windows": (SUMS, [price], WINDOWS, [n // WINDOWS, 0], lambda: price.reshape(WINDOWS, -1).sum(axis=1)),
        "join, one row of 1,600 found": (JOIN, [keys, build], len(keys), [len(build), 0], joined),
    }
    for name, (text, columns, many, more, numpy) in by_hand.items():
        arena = Arena(device)
        at = [arena.put(column) for column in columns]
        more[1] = at[1] if len(at) > 1 else 0
        out, kernel = arena.room(8 * many), device.kernel(text)
        cuts = np.linspace(0, many, (64 * device.units if device.is_cpu else many) + 1).astype(np.int64)
        records = np.array([[at[0], out, low, high, *more] for low, high in pairwise(cuts)], np.int64)
        here = arena.put(records)

        def taken(copied: bool) -> Any:
            for place, column in zip(at, columns) if copied else ():  # noqa: B023
                device.write(arena.buffer, place, column)  # noqa: B023
            device.launch(kernel, arena.buffer, here, 48, len(records))  # noqa: B023
            return arena.read(out, np.empty(many, np.int64))  # noqa: B023

        rows = len(columns[0])
        ways: dict[str, Callable[[], Any]] = {
            "numpy": numpy,
            f"{device.name}, resident": lambda: taken(False),
            f"{device.name}, copied": lambda: taken(True),
        }
        best = {way: _best(run, numpy()) for way, run in ways.items()}
        for way, seconds in best.items():
            yield {"part": name, "way": way, "million rows a second": rows / seconds / 1e6, "times numpy": best["numpy"] / seconds}


def _best(run: Callable[[], Any], expected: Any) -> float:
    """Return the seconds of the best of five runs."""
    found = []
    for _ in range(6):
        began = time.perf_counter()
        answer = run()
        found.append(time.perf_counter() - began)
        assert np.array_equal(answer, expected)
    return min(found[1:])
