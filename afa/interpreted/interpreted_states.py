"""The states of keys as columns, and back; see `afa.state.states`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from afa.interpreted.algorithm import Algorithm
from afa.interpreted.cleanup import clean
from afa.interpreted.state import Entry, State
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest, le_of
from afa.state.canonical import order_of_keys
from afa.state.key_columns import KeyColumns
from afa.state.states import CHANGES, COVER, NUMBER, OVER, ROWS, Pruned, States, columns, given_steps, records
from punctuation.time import BEGINNING, as_count, as_time


def save(automaton: Automaton, final: int, keys: Sequence[Hashable], held: Mapping[Hashable, State], gapless: bool) -> States:
    """Return the states of some keys, at a punctuation; of those that are not held, none. O(state log state)."""
    columns_of_keys = KeyColumns.of(keys)
    columns_of_keys = columns_of_keys.take(order_of_keys(columns_of_keys))
    keys = list(columns_of_keys)
    heads: Any = np.zeros((5, len(keys)), np.int64)
    rows: list[tuple[int, int, str, Any]] = []
    changes: list[tuple[int, int, int, Any]] = []
    pruned: list[Pruned] = []
    for i, key in enumerate(keys):
        if key not in held:
            continue
        s, before = held[key], (len(changes), len(rows))
        steps = list(s.index.values())
        if s.pruned is not None or s.promised > final:
            count = 0 if s.pruned is None else sum(y.key <= s.pruned for y in steps) + 1
            promised = s.promised if s.promised > final else BEGINNING
            pruned.append(Pruned(i, promised, s.pruned, given_steps((_step(s, y) for y in steps[:count]), _row)))
            steps = steps[count:]
        for y in steps:
            if not y.events:
                heads[COVER, i] = y.le
                if gapless:
                    heads[NUMBER, i], heads[OVER, i] = y.key[1], y.over
                rows += [(le_of(p.start), p.re, p.state, p.register) for p in y.nodes]
            changes += [(y.le, re, n, payload) for (payload, re), n in y.events.items()]
        changes += [(le, re, -n, payload) for (payload, le, re), n in s.pending.items()]
        heads[CHANGES, i], heads[ROWS, i] = len(changes) - before[0], len(rows) - before[1]
    names = {state: i for i, state in enumerate(dict.fromkeys(state for _, _, state, _ in rows))}
    return States(
        columns_of_keys,
        final,
        heads,
        list(names),
        _numbers([(start, m, names[state]) for start, m, state, _ in rows]),
        columns([register for *_, register in rows], automaton.register_schema),
        _numbers([(le, re, n) for le, re, n, _ in changes]),
        columns([payload for *_, payload in changes], automaton.event_schema),
        pruned,
    ).arranged()


def _step(s: State, y: Entry) -> tuple[int, Iterable[PMatch], list[Any]]:
    return y.le, s.layer(y), [[re, n, list(payload)] for (payload, re), n in y.events.items()]


def _row(p: PMatch) -> list[Any]:
    return [p.start, p.re, p.state, list(p.register)]


def _numbers(rows: list[tuple[int, int, int]]) -> Any:
    return np.array(rows, np.int64).reshape(-1, 3).T


def load(automaton: Automaton, states: States) -> Iterator[tuple[Hashable, Any, list[Any], Pruned | None]]:
    """Yield each key with its cover, ``(LE, since, [(start, m, state, register)..], number, over)`` or None, its
    changes, and its pruned steps.

    A change is ``(payload, LE, RE, copies)``.
    """
    pruned = {part.key: part for part in states.pruned}
    starts, ms, numbers = states.rows.tolist()
    registers = records(states.registers, automaton.register_schema, len(starts))
    rows = list(zip(starts, ms, map(states.names.__getitem__, numbers), registers))
    les, res, copies = states.changes.tolist()
    changes = list(zip(records(states.payloads, automaton.event_schema, len(les)), les, res, copies))
    row = change = 0
    for i, (key, count, length, le, number, over) in enumerate(zip(states.keys, *states.heads.tolist())):
        cover = (le, max(le + 1, states.final), rows[row : row + length], number, over) if length or over > le else None
        yield key, cover, changes[change : change + count], pruned.get(i)
        row, change = row + length, change + count


def fill(
    algorithm: Algorithm,
    s: State,
    cover: Any,
    changes: list[Any],
    sequence: Callable[[Any], Any] | None,
    pruned: Pruned | None,
    automaton: Automaton,
) -> None:
    """Fill an empty state: its lists are derived anew, and what has become final since it was saved is dropped."""
    if pruned is not None:
        s.promised = as_time(pruned.promised, "promised")
        s.pruned = None if pruned.last is None else as_time(pruned.last, "last")
        _fill_pruned(algorithm, s, pruned, automaton)
    if cover is not None:
        le, since, rows, number, over = cover
        y = Entry(s.place(le) if algorithm.gaps is None else (le, number), le, s.journal.serial)
        y.over = over
        y.rest, y.horizon = Rest(le, since), max(le, algorithm.progress.events)
        y.nodes = {PMatch(s.place(start), m, state, z): 1 for start, m, state, z in rows}
        y.nodes = dict(sorted(y.nodes.items(), key=lambda node: node[0].start))
        s.index[y.key] = y
        for p in y.nodes:
            algorithm.emit(s, y, p, 1)
    steps: dict[Any, tuple[int, dict[tuple[Any, int], int]]] = {}
    for payload, le, re, n in changes:
        if n < 0:
            s.pending[(payload, le, re)] = -n
            continue
        key = le if sequence is None else (le, sequence(payload))
        steps.setdefault(key, (le, {}))[1][(payload, re)] = n
    for key in sorted(steps):
        algorithm.change_step(s, key, *steps[key])
    clean(algorithm, s, algorithm.progress.floor)
    s.delta.clear()


def _fill_pruned(algorithm: Algorithm, s: State, pruned: Pruned, automaton: Automaton) -> None:
    """The steps whose lists are given."""
    assert automaton.event_schema is not None
    event, register = automaton.event_schema, automaton.register_schema
    times = [as_time(le, "le") for le, _, _ in pruned.steps]
    ends = {le: s.runs.after(before) for before, le in itertools.pairwise(times)} | {
        None: s.runs.end
    }  # behind the last step before
    for (le, rows, events), after in itertools.zip_longest(pruned.steps, times[1:]):
        y = Entry(le, le, s.journal.serial)
        y.events = {(event.take(event.cls(*payload)), as_time(re, "re")): as_count(n) for re, n, payload in events}
        for start, m, state, z, until in sorted(rows, key=lambda row: row[0]):
            p = PMatch(as_time(start, "start"), as_time(m, "m"), state, register.take(register.cls(*z)))
            y.nodes[p] = 1  # one way: by how many these lists are given matters to none of them
            if after not in (None, until):
                s.runs.cover(p, s.runs.after(le), ends[until])
        y.horizon = max(le, algorithm.progress.events) if after is None else after
        s.index[le] = y
    for y in s.index.values():
        for p in s.layer(y):
            algorithm.emit(s, y, p, 1)
