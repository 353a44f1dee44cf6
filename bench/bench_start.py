"""How long until the first match, in a new process? Q1, with empty caches on disk, and with those of an earlier process.

With empty caches ``engine="compiled"`` waits until the kernels are compiled; ``"auto"`` does not, and neither does ``afa run``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench import fresh
from bench.measure import Options, Row, spread

COLD, WARM = 2, 8


def measure(o: Options) -> list[Row]:
    cold, warm = (1, 1) if o.scale == "tiny" else (COLD, WARM)
    engines = dict.fromkeys(["auto", o.engine])
    ways = {engine: partial(fresh.start, ["start", engine]) for engine in engines} | {"afa run": fresh.command}
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(cold):
        for way, go in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                cache = None if o.scale == "tiny" else Path(folder)  # no waiting for the kernels to compile
                runs.setdefault(("cold", way), []).append(go(cache))
                if way == "afa run":
                    fresh.start(["start", o.engine], cache)  # which waits until they are
                runs.setdefault(("warm", way), []).extend(go(cache) for _ in range(warm // cold))
    return [row(cache, way, found) for (cache, way), found in runs.items()]


def row(cache: str, way: str, runs: list[dict[str, Any]]) -> Row:
    """All runs with caches in that condition."""
    return {"cache": cache, "way": way, **{name: spread([one[name] for one in runs]) for name in runs[0]}}
