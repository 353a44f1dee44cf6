"""The state of one key as plain data: lists of ints, floats, bools, strings and None.

[key, steps, runs, matches, pending]
step      [key of the step, le, since, horizon, [[payload, re, copies] ..], [[pmatch, count] ..]]
pmatch    [start, m, state, register]          a payload or register of a schema is the list of its fields
run       [begin, end, pmatch]
match     [le, re, register, count]
pending   [payload, le, re, copies]
"""

from __future__ import annotations

from typing import Any

from afa.automaton import Automaton
from afa.errors import SnapshotError
from afa.interpreted.pmatch import PMatch, Rest
from afa.interpreted.state import Entry, State
from afa.schema import Schema, any_payload
from punctuation.time import as_count, as_time


def save(automaton: Automaton, s: State) -> list[Any]:
    """The state as lists, in an order that only the state decides. O(state log state)."""
    event = automaton.event_schema

    def pmatch(p: PMatch) -> list[Any]:
        return [p.start, p.re, p.state, list(p.register)]

    steps = [
        [
            y.key,
            y.le,
            y.rest.since,
            y.horizon,
            sorted(([_plain(payload, event), re, n] for (payload, re), n in y.events.items()), key=repr),
            sorted(([pmatch(p), n] for p, n in y.nodes.items()), key=lambda node: (node[0][0], repr(node))),
        ]
        for y in s.index.values()
    ]
    runs = [[span.begin, span.end, pmatch(span.data)] for span in s.runs]
    matches = [[le, re, list(z), n] for le, bucket in s.matches.items() for (z, re), n in bucket.items()]
    pending = [[_plain(payload, event), le, re, n] for (payload, le, re), n in s.pending.items()]
    return [s.key, steps, *(sorted(part, key=repr) for part in (runs, matches, pending))]


def load(automaton: Automaton, s: State, data: Any) -> State:
    """Fill an empty state from lists; whatever does not fit raises ValueError, TypeError or an AfaError."""
    s.key, steps, runs, matches, pending = data
    event, register = automaton.event_schema, automaton.register_schema

    def pmatch(item: Any) -> PMatch:
        start, re, state, fields = item
        if not isinstance(state, str):
            raise SnapshotError(f"expected a state but got {state!r}")
        return PMatch(_place(start, s.ordered), as_time(re, "re"), state, register.take(tuple(fields)))

    for key, le, since, horizon, events, nodes in steps:
        y = Entry(_place(key, s.ordered), as_time(le, "le"), s.journal.serial)
        y.rest = Rest(y.le, as_time(since, "since"))
        y.horizon = as_time(horizon, "horizon")
        y.events = {(_payload(payload, event), as_time(re, "re")): as_count(n) for payload, re, n in events}
        y.nodes = {pmatch(p): as_count(n) for p, n in nodes}
        s.index[y.key] = y
    for begin, end, p in runs:
        s.runs.cover(pmatch(p), _place(begin, s.ordered), _place(end, s.ordered))
    for le, re, fields, n in matches:
        bucket = s.matches.setdefault(as_time(le, "le"), {})
        bucket[(register.take(tuple(fields)), as_time(re, "re"))] = as_count(n)
    for payload, le, re, n in pending:
        s.pending[(_payload(payload, event), as_time(le, "le"), as_time(re, "re"))] = as_count(n)
    return s


def _plain(payload: Any, schema: Schema | None) -> Any:
    return payload if schema is None else list(payload)


def _payload(data: Any, schema: Schema | None) -> Any:
    return any_payload(data) if schema is None else schema.take(tuple(data))


def _place(data: Any, ordered: bool) -> Any:
    if ordered:
        if not (isinstance(data, tuple) and data and all(type(part) in (int, float, str) for part in data)):
            raise SnapshotError(f"expected a place (le, sequence) but got {data!r}")
        return data
    if type(data) is not int:
        raise SnapshotError(f"expected a place (le) but got {data!r}")
    return data
