"""Pickle operators: a snapshot travels with the automaton and the arcs pushed since, and another process goes on from it.

Only the user's own code unpickles; this library reads no pickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afa.operator import snapshot

if TYPE_CHECKING:
    from afa.operator.call import Core


def shipped(cls: type, core: Core) -> tuple[Any, ...]:
    """Return what ``__reduce__`` of an operator returns. Raises as `Operator.snapshot`."""
    keys, blob = core.keys, snapshot.blob_of(core)
    own = {id(arc) for arc in (*core.automaton.arcs, *(core.arcs.log.arcs if core.arcs.log is not None else ()))}
    arcs = {id(event.arc): event.arc for event in [*core.arcs.table.events, *core.arcs.pending] if id(event.arc) not in own}
    key = None if keys is None else keys.function or (keys.names[0] if keys.single else list(keys.names))
    given = core.options
    numbers = None if core.gapless is None else core.gapless.said
    return _arrived, (cls, core.automaton, blob, list(arcs.values()), core.late.policy, given.engine, key, numbers, given.threads)


def _arrived(
    cls: Any, automaton: Any, blob: bytes, arcs: list[Any], late: Any, engine: str, key: Any, numbers: Any, threads: int = 1
) -> Any:
    options = {} if key is None else {"key": key}
    if threads > 1:
        options["threads"] = threads
    if numbers is not None:
        options["gapless"] = numbers
    operator = cls.restore(automaton, blob, arcs=arcs, late=late, engine=engine, **options)
    operator._core.saved = None  # the first incremental snapshot has all: who asks for it knows no other
    return operator
