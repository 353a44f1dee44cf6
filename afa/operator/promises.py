"""Promises of an operator's inputs, within a call: what becomes late, fires and is dropped by a punctuation."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError, ChangeError
from afa.operator.event_input import take_vain
from afa.schema import as_ticks
from punctuation.promise import Punctuation


def promise(core: Any, port: str, item: Punctuation) -> None:
    """Take a punctuation of an input, "event" or "arc"."""
    if item.where is not None:
        _promise_some(core, port, item)
        return
    t = as_ticks(item.t, "t", core.tick)
    if core.progress.promise_events(t) if port == "event" else core.progress.promise_arcs(t):
        advance(core)


def _promise_some(core: Any, port: str, item: Punctuation) -> None:
    """Take a punctuation with a condition ([AFA10] App. F.2)."""
    if port != "event":
        raise ChangeError(f"expected a Punctuation without a condition on the arc input but got {item!r}")
    if core.retractions:
        raise AfaError(f"expected an operator with retractions=False for a Punctuation with a condition but got {item!r}")
    if core.kept is not None:
        raise AfaError(f"expected a Punctuation without a condition, as lineages are kept (lineage=True), but got {item!r}")
    t, progress = as_ticks(item.t, "t", core.tick), core.progress
    if not core.conditions.add(item.where, t, progress.events):
        progress.stale += 1
        return
    progress.promise_some(t)
    promises = core.conditions.by_key(core.arcs.table, core.keys.fields if core.keys else (), progress.effective)
    core.engine.prune(promises, progress.arc_promise, core.changes)


def advance(core: Any) -> None:
    """Carry out what a promise that was taken brings: retractions that have waited in vain, time-outs, state that may go."""
    if not core.automaton.ties:
        core.engine.check_ties()  # before events are dropped
    promised = core.progress.events
    overdue = core.engine.overdue(promised)
    overdue.sort(key=lambda each: (each.le, each.re, repr(each.key), repr(each.payload)))  # neither by arrival nor by refused calls
    for change in overdue:
        take_vain(core, change, promised)
    if core.arcs.pending:
        core.arcs.overdue(core)
    core.engine.tick()
    if core.progress.advance() and core.kept is None:
        core.clean()
