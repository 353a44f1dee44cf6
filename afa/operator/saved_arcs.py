"""How a snapshot refers to arcs: those of the automaton by their places, others by their names, or by the line of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.errors import SnapshotError
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent
from afa.model.automaton import Automaton
from afa.operator.arc_input import ArcInput
from punctuation.time import as_time


def references(automaton: Automaton, arcs: ArcInput) -> dict[int, Any]:
    """Return how each arc is written, by the arc's identity, as arcs of one name may do different things.

    A waiting retraction may refer to any equal arc.
    """
    refs: dict[int, Any] = {id(arc): i for i, arc in enumerate(automaton.arcs)}
    refs |= {id(arc): [i] for i, arc in enumerate(arcs.log.arcs if arcs.log is not None else ())}
    in_force = [event.arc for event in arcs.table.events]
    known = {arc: arc for arc in [*(event.arc for event in arcs.pending), *in_force, *automaton.arcs]}
    waiting = {id(event.arc): known[event.arc] for event in arcs.pending}
    later: dict[str, list[Arc]] = {}
    for arc in {id(arc): arc for arc in [*in_force, *waiting.values()] if id(arc) not in refs}.values():
        if arc.name is None:
            raise SnapshotError(f"expected a name but got {arc!r}, pushed after the automaton was built: give it name=")
        later.setdefault(arc.name, []).append(arc)
    refs.update({id(arc): [name, n, len(found)] for name, found in later.items() for n, arc in enumerate(found)})
    return {**refs, **{waiter: refs[id(arc)] for waiter, arc in waiting.items()}}


def arc_in(automaton: Automaton, arcs: list[Arc], lines: Sequence[Arc], ref: Any, le: Any, re: Any) -> ArcEvent:
    """Return an arc in force; ``arcs``: those that were given, ``lines``: those of a log."""
    if type(ref) is list and len(ref) == 1 and type(ref[0]) is int and ref[0] >= 0:
        return ArcEvent(lines[ref[0]], as_time(le, "le"), as_time(re, "re"))
    return ArcEvent(arc_at(automaton, arcs, ref), as_time(le, "le"), as_time(re, "re"))


def arc_at(automaton: Automaton, arcs: list[Arc], ref: Any) -> Arc:
    """Return an arc that no log has brought."""
    if type(ref) is int and ref >= 0:
        return automaton.arcs[ref]
    name, n, of = ref
    found: list[Arc] = list({id(arc): arc for arc in arcs if arc.name == name}.values())
    if len(found) != of:
        raise SnapshotError(
            f"expected arcs=[...] with {of} named {name!r}, pushed before the snapshot and still in force, "
            f"in the order in which they were pushed, but got {arcs!r}"
        )
    arc: Arc = found[n]
    return arc
