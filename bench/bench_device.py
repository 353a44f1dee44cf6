"""Lanes on a device beside threads: sweeps over prepared history, from the frame on, few keys, one variant; answers compared.

A device is the first one of CUDA, else of OpenCL: a graphics processor, or the processor itself through pocl. Wall time and that of
all threads; the best of the rounds, in turn. Then what parts of a query would win there: filter, windowed sums, join.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import afa
from afa.compiled.device.devices import Device, device
from afa.errors import DeviceError
from bench.bench_lanes import KEYS, ROWS, _best, _rates, _swept, ticks, vee
from bench.device_parts import parts
from bench.measure import Options, Row

VARIANTS = 16


def measure(o: Options) -> list[Row]:
    try:
        on = _first()
    except DeviceError as error:
        return [{"case": "", "skipped": str(error)}]
    return [*_sweeps(on, o), *parts(on, o)]


def _first() -> Device:
    try:
        return device("cuda")
    except DeviceError:
        return device("opencl")


def _sweeps(on: Device, o: Options) -> Iterator[Row]:
    scale = round(1 / o.size(1_000_000, 1000) * 1_000_000)
    keys = max(KEYS // scale, 4)
    for said, (many, rows, variants) in {
        "10,000 keys": (keys, ROWS, VARIANTS),
        "4 keys": (4, keys * ROWS // 4, VARIANTS),
        "10,000 keys, one variant": (keys, ROWS, 1),
    }.items():
        frame: dict[str, Any] = ticks(many, rows)
        patterns = {float(fall): vee(float(fall)) for fall in np.linspace(0.25, 1.0, variants)}
        by: dict[str, Any] = {"key": "key", "time": "at"}
        with afa.prepared(frame, **by) as here, afa.prepared(frame, **by, device=on.name) as there:
            for counts in (True, False):
                ways = {
                    "threads": lambda: _swept(patterns, here, counts=counts),  # noqa: B023
                    on.name: lambda: _swept(patterns, there, counts=counts),  # noqa: B023
                    f"{on.name}, from the frame on": lambda: _swept(patterns, frame, counts=counts, device=on.name, **by),  # noqa: B023
                }
                best = _best(ways, o.rounds)
                for way, spent in best.items():
                    rates = _rates(spent, variants * many * rows)
                    times = {
                        "times threads": best["threads"].wall / spent.wall,
                        "times threads, CPU": best["threads"].cpu / spent.cpu,
                    }
                    yield {"case": said, "matches": "counted" if counts else "written", "way": way, **rates, **times}
