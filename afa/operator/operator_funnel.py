"""The funnel of an operator: what it holds, counted when it is asked (`afa.funnel`)."""

from __future__ import annotations

from dataclasses import replace

from afa.errors import AfaError
from afa.funnel.counted import MOST, FunnelSource, funnel_of
from afa.funnel.funnel import Funnel
from afa.operator.call import Core
from afa.operator.told_anew import ToldAnew
from afa.rewrite.rewritten_engine import RewrittenEngine


def funnel_in(core: Core, most: int | None = MOST) -> Funnel:
    """Return the funnel of an operator, within a call. See `Matching.funnel`."""
    if most is not None and (type(most) is not int or most < 1):
        raise AfaError(f"expected a number of functions to ask, at least 1, or None but got most={most!r}")
    if isinstance(core.engine, RewrittenEngine):
        raise AfaError("expected an operator that keeps payloads, for its funnel, but got keep_payloads=False")
    if core.automaton.having is not None:
        raise AfaError(
            "expected an operator whose arcs ask all that there is to ask, for its funnel, but got one with a condition on paths, "
            "having= of its automaton; give Query.operator postpone=False"
        )
    held = core.held()
    progress, keys = held.progress, "" if core.keys is None else ", ".join(core.keys.names)
    source = FunnelSource(
        engine=held.engine,
        automaton=held.automaton,
        table=held.table,
        clock=progress.events,
        since=progress.floor,
        some=progress.some,
        longest=held.longest,
        window=core.window,
        tick=core.tick,
        keys=keys or ("its keys" if core.keyed else ""),
        late=core.late.count,
        taken=core.changes,
    )
    found = funnel_of(source, most)
    if found.cause == "matched" and isinstance(core.told, ToldAnew):
        names = " and ".join(f"{name}=" for name, _ in core.told.options)
        found = replace(found, why=f"{found.why}; these are the matches of the arcs, before {names}")
    return found
