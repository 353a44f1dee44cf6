"""Decide whether the compiled engine can serve an automaton, and report the arcs that run in Python."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from afa.compiled.code.native_arc import CompiledArc, compiled_arc
from afa.compiled.code.payload_layout import Layout
from afa.errors import AfaError, AutomatonError
from afa.model.arc import Arc
from afa.model.automaton import Automaton

LOGGER = logging.getLogger("afa")
_told: weakref.WeakValueDictionary[int, Arc] = weakref.WeakValueDictionary()
"""Arcs that were logged, by id: arcs of one name are equal and still two."""
_said_elsewhere: ContextVar[bool] = ContextVar("said_elsewhere", default=False)


def serves(automaton: Automaton, strict: bool) -> bool:
    """Return whether the compiled engine can store all that the schemas of an automaton allow; ``strict``: raise AfaError else."""
    if strict:
        check_schemas(automaton)
    return unfit(automaton) is None


def unfit(automaton: Automaton) -> tuple[str, str] | None:
    """Return why only the interpreted engine serves an automaton, and a hint. None: the compiled engine serves it."""
    if automaton.event_schema is None:
        return "an automaton without event= takes any payload", "give it event=, a NamedTuple of int, float, bool and str"
    for schema in (automaton.event_schema, automaton.register_schema):
        for field in schema.fields:
            if field.type is None:
                return f"the field {schema.cls.__name__}.{field.name} holds any value", "annotate it int, float, bool or str"
    return None


def check_schemas(automaton: Automaton) -> None:
    """Refuse, by an AfaError, an automaton that only the interpreted engine serves."""
    why = unfit(automaton)
    if why is not None:
        raise AfaError(f'expected schemas of scalars for engine="compiled" but got {automaton!r}: {why[0]}; {why[1]}')


def check_arcs(automaton: Automaton, arcs: Iterable[Arc]) -> None:
    """Refuse arcs that would run in Python (AutomatonError), and an automaton that only the interpreted engine serves."""
    check_schemas(automaton)
    for arc in arcs:
        admitted(taken_apart(arc, automaton), strict=True)


def taken_apart(arc: Arc, automaton: Automaton) -> CompiledArc:
    """Compile an arc under an automaton's schemas, which are of scalars: see `compiled_arc`."""
    assert automaton.event_schema is not None
    return compiled_arc(arc, Layout.of(automaton.event_schema), Layout.of(automaton.register_schema))


def admitted(found: CompiledArc, strict: bool) -> CompiledArc:
    """Return the arc, unless Python would run it: with ``strict`` it is refused then, else the log says so, once for each arc."""
    if found.code is None:
        if strict:
            wanted = 'expected arcs that compile for engine="compiled"'
            raise AutomatonError(f"{wanted} but got {found.arc!r}: {found.role}: {found.why}")
        if _told.get(id(found.arc)) is not found.arc:
            _told[id(found.arc)] = found.arc
            if not _said_elsewhere.get():
                LOGGER.warning("%r runs in Python, once for each partial match: %s: %s", found.arc, found.role, found.why)
    return found


@contextmanager
def known() -> Iterator[None]:
    """Suppress the 'runs in Python' log for arcs rewritten from others: it was logged for the originals."""
    token = _said_elsewhere.set(True)
    try:
        yield
    finally:
        _said_elsewhere.reset(token)


def know(arcs: Iterable[Arc]) -> None:
    """Suppress the 'runs in Python' log for these arcs: it was logged elsewhere."""
    _told.update({id(arc): arc for arc in arcs})
