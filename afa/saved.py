"""The state of one key as plain data, the same for every engine: what can't be computed again.

[key, cover, events, pending]
cover     null, or [LE, since, [[start, m, state, register] ..]]: the list of the step before the punctuation ([AFA10] App. C.1)
event     [payload, LE, RE, copies]
pending   [payload, LE, RE, copies]: retractions that wait for their insertion

A payload or register of a schema is the list of its fields. All lists are in an order that only the state decides. What partial
matches the events leave, and what matches are in force, follows from these and the arcs in force.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from afa.automaton import Automaton
from afa.errors import SnapshotError
from afa.schema import Schema, any_payload
from punctuation.time import as_count, as_time


class KeyState(NamedTuple):
    """What `as_key_state` gives: payloads and registers in their schema's form."""

    key: Any
    cover: tuple[int, int, list[tuple[int, int, str, Any]]] | None
    events: list[tuple[Any, int, int, int]]
    pending: list[tuple[Any, int, int, int]]


def key_state(
    automaton: Automaton,
    key: Any,
    cover: tuple[int, int, Iterable[tuple[int, int, str, Any]]] | None,
    events: Iterable[tuple[Any, int, int, int]],
    pending: Iterable[tuple[Any, int, int, int]],
) -> list[Any]:
    """The plain data of a state."""
    schema = automaton.event_schema

    def plain(counted: Iterable[tuple[Any, int, int, int]]) -> list[Any]:
        rows = [[_plain(payload, schema), le, re, copies] for payload, le, re, copies in counted]
        return sorted(rows, key=lambda row: (row[1], row[2], repr(row[0])))

    rows = None
    if cover is not None:
        le, since, held = cover
        once = dict.fromkeys(held)  # with a sequence, two may have begun at steps of one LE
        rows = [le, since, sorted(([start, m, state, list(z)] for start, m, state, z in once), key=lambda row: (row[0], repr(row)))]
    return [key, rows, plain(events), plain(pending)]


def as_key_state(automaton: Automaton, data: Any) -> KeyState:
    """The state that plain data describes.

    Raises
    ------
    SnapshotError, ValueError, TypeError, AfaError
        It does not fit.
    """
    key, cover, events, pending = data
    schema, register = automaton.event_schema, automaton.register_schema

    def typed(counted: Any) -> list[tuple[Any, int, int, int]]:
        return [(_payload(p, schema), as_time(le, "le"), as_time(re, "re"), as_count(n)) for p, le, re, n in counted]

    held = None
    if cover is not None:
        le, since, rows = cover
        found = [(as_time(start, "start"), as_time(m, "m"), _state(state), register.take(tuple(z))) for start, m, state, z in rows]
        held = (as_time(le, "le"), as_time(since, "since"), list(dict.fromkeys(found)))
    return KeyState(key, held, typed(events), typed(pending))


def _state(state: Any) -> str:
    if not isinstance(state, str):
        raise SnapshotError(f"expected a state but got {state!r}")
    return state


def _plain(payload: Any, schema: Schema | None) -> Any:
    return payload if schema is None else list(payload)


def _payload(data: Any, schema: Schema | None) -> Any:
    return any_payload(data) if schema is None else schema.take(tuple(data))
