"""What worlds have, by definition: each world's events in order, matched in one go by an operator of its own, or by brute force.

Draws are made anew here, number by number, so that what is drawn can't change unseen: the snapshot of one version means the same
worlds in the next.
"""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, Punctuation, insert

BITS = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Event(NamedTuple):
    """An event of an oracle: payload, ends of its interval, distribution, identity columns (None: all), key."""

    payload: Any
    lower: int
    upper: int
    shape: Any
    identity: tuple[Any, ...]
    key: Hashable = None


def _mixed(word: int) -> int:
    word ^= word >> 30
    word = word * 0xBF58476D1CE4E5B9 & BITS
    word ^= word >> 27
    word = word * 0x94D049BB133111EB & BITS
    return word ^ word >> 31


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _word(value: Any) -> int:
    if value is None:
        return 0x5DEECE66D
    if isinstance(value, str):
        return _digest(value)
    if isinstance(value, float):
        return int(struct.unpack("<Q", struct.pack("<d", value + 0.0))[0])
    return int(value) & BITS


def words(identity: Iterable[Any]) -> int:
    """The 64 bits that stand for an identity."""
    found = GOLDEN
    for value in identity:
        found = _mixed((found * GOLDEN & BITS) ^ _mixed(_word(value) + 1 & BITS))
    return found


def draw(seed: int, world: int, identity: Iterable[Any], what: str = "time") -> float:
    """The number of [0, 1) that is drawn for an event in a world."""
    of_world = _mixed(((world + 1) * GOLDEN & BITS) ^ _digest(f"{seed}/{what}"))
    return (_mixed(of_world + words(identity) & BITS) >> 11) * 2.0**-53


def times(events: list[Event], worlds: int, seed: int) -> list[list[int]]:
    """The time of each event in each world."""
    import numpy as np

    found = []
    for world in range(worlds):
        row = []
        for event in events:
            u = draw(seed, world, event.identity)
            n = event.upper - event.lower + 1
            row.append(event.lower + int(event.shape.drawn(np.array([u]), np.array([n]))[0]))
        found.append(row)
    return found


class Wanted(NamedTuple):
    """What is to be told of a match: in how many worlds it is, the range of its times."""

    worlds: int
    first: int
    last: int


def confidences(
    automaton: Automaton,
    events: list[Event],
    drawn: list[list[int]],
    window: int,
    dated: bool = False,
    swaps: Iterable[tuple[str, int]] = (),
) -> dict[tuple[Hashable, tuple[Any, ...]], Wanted]:
    """What each world has, matched by an operator of its own, for each key; automata as `passing` makes them."""
    found: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
    for world, row in enumerate(drawn):
        for key in {event.key for event in events}:
            op = Operator(automaton, window=window, engine="interpreted")
            for fence, at in swaps:
                op.swap("second", fence=fence, at=at)
            changes = [
                insert(event.payload._replace(at=t) if dated else event.payload, t)
                for event, t in zip(events, row)
                if event.key == key
            ]
            for match in op.push_many([*sorted(changes, key=lambda change: change.le), Punctuation(2**63 - 1)]):
                if isinstance(match, Punctuation):
                    continue
                found[key, tuple(match.payload)].append((world, match.re - window, match.le))
    return {
        name: Wanted(len({world for world, *_ in rows}), min(first for _, first, _ in rows), max(last for *_, last in rows))
        for name, rows in found.items()
    }


def passing(automaton: Automaton) -> Automaton:
    """The automaton in which ignorable arcs pass over instants: no event stands in for another one."""
    arcs = [
        Arc.skip(arc.src, arc.fence, name=arc.name)
        if arc.ignorable and arc.kind == "consume" and arc.src not in automaton.final
        else arc
        for arc in automaton.arcs
    ]
    return Automaton(
        start=automaton.start,
        final=automaton.final,
        arcs=arcs,
        register=automaton.register,
        event=automaton.event,
        ties=automaton.ties,
    )
