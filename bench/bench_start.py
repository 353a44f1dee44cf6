"""How long until the first match, in a new process? Q1, with empty caches on disk, and with those of an earlier process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench import fresh
from bench.measure import Options, Row, spread

COLD, WARM = 2, 8


def measure(o: Options) -> list[Row]:
    rounds = (1, 1) if o.scale == "tiny" else (COLD, WARM)
    cold, warm = [], []
    for _ in range(rounds[0]):
        with tempfile.TemporaryDirectory() as folder:
            cache = None if o.scale == "tiny" else Path(folder)  # no waiting for the kernel to compile
            cold.append(fresh.start(["start", o.engine], cache))
            for _ in range(rounds[1] // rounds[0]):
                warm.append(fresh.start(["start", o.engine], cache))  # noqa: PERF401  # cold ones come in between
    return [row("cold", cold), row("warm", warm)]


def row(cache: str, runs: list[dict[str, Any]]) -> Row:
    """All runs with caches in that condition."""
    return {"cache": cache, **{name: spread([one[name] for one in runs]) for name in runs[0]}}
