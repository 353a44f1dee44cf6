"""Q3 while its arcs are swapped ([AFA10] Sec. 6.3.1): every ``d`` events a random arc goes, its opposite comes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from afa import BEGINNING, Arc, Automaton
from bench.queries import down_arc, q3, q3_signs, up_arc
from bench.workloads import ARC, Stream, inserted

PLACES = 8


class Swaps(NamedTuple):
    """A stream of events and arcs, the arcs it numbers, and which way each place's tick goes between two swaps."""

    stream: Stream
    arcs: list[Arc]
    automaton: Automaton
    at: NDArray[np.int64]  # a swap comes before these events
    signs: NDArray[np.int8]  # (len(at) + 1, 8)


def swapped(stream: Stream, d: int, seed: int = 4) -> Swaps:
    """An ordered stream with a swap of one arc before every ``d``-th event; arcs come and go in the default mode."""
    n = len(stream["le"])
    at = np.arange(d, n, d)
    places = np.random.default_rng(seed).integers(0, PLACES, len(at))
    flips = np.ones((len(at) + 1, PLACES), np.int8)
    flips[0] = q3_signs()
    flips[1:][np.arange(len(at)), places] = -1
    signs = np.cumprod(flips, axis=0, dtype=np.int8)
    up = np.stack([signs[:-1][np.arange(len(at)), places] > 0, signs[1:][np.arange(len(at)), places] > 0], axis=1)
    rows = {"arc": (2 * places[:, None] + up).ravel(), "diff": np.tile([-1, 1], len(at))}
    plain = {**stream, "arc": np.zeros(n, np.int64), "diff": np.ones(n, np.int64)}
    mixed = inserted(plain, np.repeat(at, 2), kind=ARC, le=BEGINNING, **rows)
    automaton = q3(signs[0].tolist())
    own = {arc.name: arc for arc in automaton.arcs}
    arcs = [arc for place in range(PLACES) for arc in (down_arc(place), up_arc(place))]
    return Swaps(mixed, [own.get(arc.name, arc) for arc in arcs], automaton, at, signs)


def expected(stream: Stream, at: NDArray[np.int64], signs: NDArray[np.int8], replay: bool = False) -> int:
    """How many matches there are, counted without any automaton: the oracle of these streams.

    An event takes the arcs that were in force at its own time; after a restart with ``replay`` those of the last event of the run.
    """
    change: Any = stream["change"]
    n = len(change) - PLACES + 1
    segment = np.searchsorted(at, np.arange(len(change)), side="right")
    hit = np.ones(n, bool)
    for place in range(PLACES):
        of = segment[PLACES - 1 :] if replay else segment[place : place + n]
        hit &= np.sign(change[place : place + n]) == signs[of, place]
    return int(hit.sum())
