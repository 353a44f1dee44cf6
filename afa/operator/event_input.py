"""The first input of an operator: events in the form of the schema, each with its lifetime; what of them is late.

LE is in ticks, and RE given, or LE + window, or FOREVER. In SQL a row has no lifetime of its own: with WITHIN all of them last as
long, and where a match begins is told by its RE.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.model.copies import as_diff
from afa.model.keys import take_key
from afa.operator.gapless import check_number
from afa.schema import as_ticks
from afa.state.plain import Unfit
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, end_of_time


def checked_event(core: Any, change: Change, key: Hashable) -> Change | None:
    """Return the change of an event in the form of `timed`. None: it is late, or its number is in force, and the policy took it."""
    checked = core.typed(change, key)
    le: Any = checked.le
    if le < core.progress.events:
        take_late(core, checked, core.progress.events)
        return None
    if le < core.progress.some and (broken := core.conditions.broken(checked.payload, le)) is not None:
        condition, t = broken
        take_late(core, checked, t, f", where {condition.text}")
        return None
    found: Change | None = checked if core.gapless is None else core.gapless.take(checked)
    if found is not None:
        if core.kept is not None:
            core.progress.span = max(core.progress.span, found.re - le)
        core.progress.see(le)
        core.changes += abs(found.diff)
        if core.watcher is not None:
            core.watcher.touch(core, key, le)
    return found


def as_it_came(core: Any, change: Change) -> Change:
    """Return the change of an event without the fields that a stage has computed of it."""
    if core.filled is None:
        return change
    return change._replace(payload=core.taken.cls(*change.payload[: len(core.taken.fields)]))


def take_late(core: Any, change: Change, promised: int, where: str = "") -> None:
    """Let the policy decide about an event that is late."""
    change = as_it_came(core, change)
    at = "" if change.key is None else f" of key {change.key!r}"
    core.late.take(change, f"expected le >= {promised} (promised{where}) but got le={change.le} for {change.payload!r}{at}")


def take_vain(core: Any, change: Change, promised: int) -> None:
    """Let the policy decide about a retraction that has waited in vain for its insertion."""
    change = as_it_came(core, change)
    at = "" if change.key is None else f" of key {change.key!r}"
    where = f"at le={change.le}{at} before {promised} (promised)"
    core.late.take(change, f"expected the insertion of {change.payload!r} {where} but got its retraction only")


def come(core: Any, change: Change, key: Hashable = None) -> Change:
    """Return the change of an event that comes, with the fields that are computed of it, its full lifetime and its key."""
    schema, event = core.taken, change.payload
    if schema is not None:
        event = schema.take(schema.dated(event, change.le))
    event = event if core.filled is None else core.filled(event)
    if key is None and core.keys is not None and not core.keys.columns:
        key = take_key(core.keys.of_change(change._replace(payload=event)))
    return timed(core, change, event, key)


def typed(core: Any, change: Change, key: Hashable) -> Change:
    """Return the change of an event with its payload in the schema's form, its full lifetime and its key."""
    payload = change.payload if core.dated is None else core.dated(change.payload, change.le)
    return timed(core, change, core.form(payload), key)


def timed(core: Any, change: Change, payload: Any, key: Hashable) -> Change:
    """Return the change of an event whose payload has its form with its full lifetime and its key."""
    if change.le is None:
        raise ChangeError(f"expected an event with a time but got le=None for {payload!r}")
    le, window = change.le, core.window
    if type(le) is not int or not BEGINNING <= le < FOREVER:
        le = as_ticks(le, "le", core.tick)
        if le == FOREVER:
            raise ChangeError(f"{end_of_time(le)} for {payload!r}")
    if change.re is not None:
        re = as_ticks(change.re, "re", core.tick)
        if core.rows_alike and re != le + window:
            raise ChangeError(
                f"expected rows that last as long as WITHIN says, {window} ticks, but got le={le}, re={re} for {payload!r}; "
                f"leave re out, or say the query as text or in Python"
            )
    elif window is None:
        re = FOREVER
    else:
        re = le + window
        if re > FOREVER:
            as_ticks(re, "le + window")
    if re <= le:
        raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
    diff = change.diff
    if type(diff) is not int or diff != 1:
        diff = as_diff(diff, payload)
    if diff < 0 and not core.retractions:
        raise ChangeError(f"expected insertions only (retractions=False) but got diff={diff} for {payload!r} at le={le}")
    if core.sequence is not None:
        check_number(payload, core.sequence, core.event_order, core.automaton.event_schema is not None)
    return Change(payload, le, re, diff, key)


def check_alike(le: Any, re: Any, window: int) -> None:
    """Raise `Unfit` if rows of a table don't all last as long as a window: rows that go one by one tell which.

    >>> check_alike(np.array([1, 2]), np.array([4, 5]), 3)
    >>> check_alike(np.array([1, 2]), np.array([4, 9]), 3)
    Traceback (most recent call last):
    afa.state.plain.Unfit
    """
    try:
        alike = (np.asarray(le) == np.asarray(re) - window).all()
    except Exception as error:
        raise Unfit from error
    if not alike:
        raise Unfit


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
