"""``afa devices``: what may take lanes, and at what rate, measured by a small sweep."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from afa.cli.console import Terminal, plain_table
from afa.compiled.device.devices import all_devices, device
from afa.errors import DeviceError
from afa.frames.prepared import prepared
from afa.frames.through import cores
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.replay.backtest import backtest

KEYS, ROWS, VARIANTS = 2_000, 400, 16
"""The sweep: so many keys with so many rows each, a V under so many constants."""


class Tick(NamedTuple):
    change: float


def show_devices(console: Terminal) -> None:
    """Print the devices: name, memory, and rows times variants a second, counted, of rows that are there; threads beside."""
    found = all_devices()
    rows = [["threads", f"{cores()} cores", "", f"{_rate(None):,.0f} M"]]
    rows += [[each.name, each.said, f"{each.memory / 2**30:,.1f} GiB", f"{_rate(each.name):,.0f} M"] for each in found]
    console.print(plain_table(("device", "what it is", "memory", "row-variants/s"), rows, ("memory", "row-variants/s")))
    if not found:
        try:
            device("opencl")
        except DeviceError as why:
            console.print(f"no device: {why}", markup=False, soft_wrap=True)


def _rate(device: str | None) -> float:
    """Return millions of rows times variants a second, the best of three sweeps behind one that compiles and copies."""
    rng = np.random.default_rng(1)
    frame: dict[str, Any] = {"key": np.repeat(np.arange(KEYS), ROWS), "change": rng.normal(0, 0.5, KEYS * ROWS)}
    frame["at"] = np.tile(np.arange(ROWS), KEYS)
    patterns = {float(fall): _vee(float(fall)) for fall in np.linspace(0.25, 1.0, VARIANTS)}
    best = 0.0
    with prepared(frame, key="key", time="at", device=device) as held:
        for turn in range(4):
            began = time.perf_counter()
            backtest(patterns, held, window=ROWS, withdrawn=False, counts=True)
            best = max(best, turn and KEYS * ROWS * VARIANTS / (time.perf_counter() - began) / 1e6)
    return best


def _vee(fall: float) -> Automaton:
    arcs = [("0", "1", f"change < -{fall}"), ("1", "2", "change < 0"), ("2", "2", "change < 0"), ("2", "3", "change > 0")]
    return Automaton(start="0", final={"3"}, event=Tick, arcs=[Arc(*arc) for arc in arcs])
