"""The state of one key as plain data, and back, in the form of `afa.saved`."""

from __future__ import annotations

from typing import Any

from afa.automaton import Automaton
from afa.interpreted.algorithm import Algorithm
from afa.interpreted.pmatch import PMatch, Rest
from afa.interpreted.state import Entry, State
from afa.saved import as_key_state, key_state


def save(automaton: Automaton, s: State) -> list[Any]:
    """The state as lists. O(state log state)."""
    cover, events = None, []
    for y in s.index.values():
        if not y.events:
            cover = (y.le, y.rest.since, [(_le(p.start), p.re, p.state, p.register) for p in y.nodes])
        events += [(payload, y.le, re, n) for (payload, re), n in y.events.items()]
    return key_state(automaton, s.key, cover, events, ((*event, n) for event, n in s.pending.items()))


def load(automaton: Automaton, algorithm: Algorithm, s: State, data: Any, sequence: str | None) -> State:
    """Fill an empty state: its lists are derived anew. Whatever does not fit raises ValueError, TypeError or an AfaError."""
    s.key, cover, events, pending = as_key_state(automaton, data)
    if cover is not None:
        le, since, rows = cover
        y = Entry(s.place(le), le, s.journal.serial)
        y.rest, y.horizon = Rest(le, since), max(le, algorithm.progress.events)
        y.nodes = {PMatch(s.place(start), m, state, z): 1 for start, m, state, z in rows}
        y.nodes = dict(sorted(y.nodes.items(), key=lambda node: node[0].start))
        s.index[y.key] = y
        for p in y.nodes:
            algorithm.emit(s, y, p, 1)
    steps: dict[Any, tuple[int, dict[tuple[Any, int], int]]] = {}
    for payload, le, re, n in events:
        key = le if sequence is None else (le, getattr(payload, sequence))
        steps.setdefault(key, (le, {}))[1][(payload, re)] = n
    for key in sorted(steps):
        algorithm.change_step(s, key, *steps[key])
    for payload, le, re, n in pending:
        s.pending[(payload, le, re)] = n
    s.delta.clear()
    return s


def _le(place: Any) -> int:
    le: int = place[0] if isinstance(place, tuple) else place
    return le
