"""From one temporal pattern to another in a running operator: arcs that go and come; the partial matches of those that stay go on.

States and arcs are named by what they mean, so that two patterns over the same definitions differ by two sets of names.
"""

from __future__ import annotations

from typing import Any

from afa.change import insert, retract
from afa.errors import AfaError
from afa.language.changes import QueryChanges


def changes_between(now: Any, then: Any) -> QueryChanges:
    """Return what leads from one pattern to another; see `TemporalPattern.changes_to`."""
    for what, one, other in (
        ("readings", now.event_schema.describe(), then.event_schema.describe()),
        ("definitions (a condition is changed by redefine)", now.definitions, then.definitions),
        ("within", now.window, then.window),
        ("returns", now.returns, then.returns),
        ("key", now.key, then.key),
    ):
        if one != other:
            raise AfaError(f"expected a pattern with the same {what} for a running operator, {one!r}, but got {other!r}")
    old, new = ({str(arc.name): arc for arc in pattern.automaton.arcs} for pattern in (now, then))
    gone = [retract(arc) for name, arc in old.items() if name not in new]
    come = [insert(arc) for name, arc in new.items() if name not in old]
    before, after = (set(pattern.automaton.states) - pattern.automaton.final - {pattern.automaton.start} for pattern in (now, then))
    stays, goes, comes = (tuple(sorted(part)) for part in (before & after, before - after, after - before))
    return QueryChanges((*gone, *come), stays, goes, comes, then)
