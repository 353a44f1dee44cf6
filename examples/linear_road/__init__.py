"""Cars on a road with traffic lights, one reading a second each: seeded, and of our own making, in the manner of Linear Road.

A car keeps to its speed, stops once at a light, starts again mildly or sharply, stays at the speed that it has then for a while,
and brakes softly or hard. Speed and acceleration fit together: the one is the sum of the other.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

MPH = 2.23694
"""A metre a second in miles an hour."""


def readings(cars: int, seconds: int, seed: int = 1) -> pa.Table:
    """Return readings in order: ``at`` (seconds), ``car``, ``speed`` (mph), ``acceleration`` (m/s2)."""
    rng = np.random.default_rng(seed)
    usual = rng.uniform(12, 28, cars)
    light = rng.uniform(20, seconds * 0.8, cars).astype(np.int64)
    sharp, hard = rng.random(cars) < 0.4, rng.random(cars) < 0.6
    start = np.where(sharp, rng.uniform(8.2, 9.5, cars), rng.uniform(2, 6, cars))
    brake = np.where(hard, -rng.uniform(9.2, 10.5, cars), -rng.uniform(2, 6, cars))
    go = light + 12 + rng.integers(0, 10, cars)
    keep = go + rng.integers(5, 8, cars)
    stop = keep + rng.integers(2, 40, cars)
    calm = stop + rng.integers(2, 6, cars)
    speed = usual.copy()
    found = []
    for at in range(seconds):
        wanted = np.clip(0.4 * (usual - speed), -3, 3) + rng.normal(0, 0.3, cars)
        wanted = np.where((at >= light) & (at < go), np.maximum(-4, -speed), wanted)
        wanted = np.where((at >= go) & (at < keep), start, wanted)
        wanted = np.where((at >= keep) & (at < stop), rng.normal(0, 0.2, cars), wanted)
        wanted = np.where((at >= stop) & (at < calm), brake, wanted)
        after = np.maximum(speed + wanted, 0)
        acceleration, speed = after - speed, after
        found.append((np.full(cars, at), np.arange(cars), (speed * MPH).round(1), acceleration.round(2)))
    return pa.table([np.concatenate(column) for column in zip(*found)], ["at", "car", "speed", "acceleration"])


def late(table: pa.Table, share: float, most: int, seed: int = 1) -> pa.Table:
    """Return the rows in the order in which they arrive, where a share of them is late by up to ``most`` seconds."""
    rng = np.random.default_rng(seed)
    delay = rng.integers(1, most + 1, table.num_rows) * (rng.random(table.num_rows) < share)
    return table.take(np.argsort(table["at"].to_numpy() + delay, kind="stable"))
