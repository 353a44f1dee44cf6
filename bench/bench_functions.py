"""What do functions of `math` in a condition cost? Two payments within an hour, more than 500 km apart on the globe.

The distance by haversine, as machine code; left to Python, as every function was that is no operator; and by the places as columns
of three coordinates, without a function. One payment a tick, within 10 degrees; so that each is asked beside the one before it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton
from bench.drive import batched, operator, run
from bench.measure import Options, Row, interleaved, rates, ratio
from bench.workloads import punctuated

KM, WINDOW, BATCH = 500, 60, 100_000
LIMIT = (2 * math.sin(KM / 12_742)) ** 2


class Payment(NamedTuple):
    """A payment, and where; also as a point of the unit sphere."""

    lat: float
    lon: float
    x: float
    y: float
    z: float


class Place(NamedTuple):
    """Where the payment before was."""

    lat: float = 0.0
    lon: float = 0.0
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


def apart(e: Any, r: Any) -> bool:
    """Whether two places are far apart, by haversine."""
    lat, lon = math.sin(math.radians(e.lat - r.lat) / 2), math.sin(math.radians(e.lon - r.lon) / 2)
    across = math.cos(math.radians(e.lat)) * math.cos(math.radians(r.lat)) * lon * lon
    return 12_742 * math.asin(math.sqrt(lat * lat + across)) > KM


class InPython:
    """The same as an object that can't be taken apart."""

    def __call__(self, e: Any, r: Any) -> bool:
        return apart(e, r)


def by_columns(e: Any, r: Any) -> bool:
    """The same by the points."""
    return (e.x - r.x) * (e.x - r.x) + (e.y - r.y) * (e.y - r.y) + (e.z - r.z) * (e.z - r.z) > LIMIT  # type: ignore[no-any-return]


def rule(fence: Any) -> Automaton:
    """Two payments, one behind the other."""
    note = Arc("start", "paid", "True", "(e.lat, e.lon, e.x, e.y, e.z)")
    arcs = [note, Arc("paid", "fraud", fence)]
    return Automaton(start="start", final={"fraud"}, arcs=arcs, event=Payment, register=Place())


def measure(o: Options) -> list[Row]:
    n = o.size(1_000_000, least=4_000)
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(40, 50, n), rng.uniform(0, 10, n)
    a, b = np.radians(lat), np.radians(lon)
    points = {"x": np.cos(a) * np.cos(b), "y": np.cos(a) * np.sin(b), "z": np.sin(a)}
    stream = {"lat": lat, "lon": lon, **points, "le": np.arange(n)}
    fed = batched(punctuated(stream, BATCH), BATCH, arrow=True)
    few = batched(punctuated({name: values[: n // 20] for name, values in stream.items()}, BATCH // 20), BATCH // 20, arrow=True)
    fences = {"columns": by_columns, "machine code": apart}
    engine: Any = o.engine
    runs = {name: partial(run, operator(rule(fence), WINDOW, engine), fed) for name, fence in fences.items()}
    found = interleaved(runs, o.rounds)
    left = interleaved({"Python": partial(run, operator(rule(InPython()), WINDOW, "auto"), few)}, o.rounds)
    return [
        {
            "rule": "two payments 500 km apart",
            "matches": found["columns"][0].final,
            "three columns, M events/s": rates(found["columns"]),
            "haversine, M events/s": rates(found["machine code"]),
            "haversine, relative": ratio(found["machine code"], found["columns"]),
            "left to Python, M events/s": rates(left["Python"]),
            "haversine, times Python's": ratio(found["machine code"], left["Python"]),
        }
    ]
