"""Single events as calls of their own, alone or with a stage that sees them too; see the head of `afa.operator.call`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from afa.change import Change
from afa.errors import blame
from punctuation.calls import DONE, ENTRIES, Member


def push(core: Any, change: Any, key: Hashable) -> list[Any]:
    """Take one item of the event input, as one call."""
    calls, mine, checked = core.calls, False, None
    try:
        with calls.lock:
            if calls.before is not None:
                calls.enter()
            mine = True
            progress, engine = core.progress, core.engine
            le = change.le if core.alone and type(change) is Change else None
            if type(le) is not int or le < progress.events or le < progress.some or (core.kept and core.kept.lasts(core, change)):
                change = change if type(change) is Change else core.in_form(change)
                return calls.carry_out(core.run, [("event", change, key)], True)  # type: ignore[no-any-return]
            engine.began = None
            calls.before = ((back_from_push, (core, progress.now, core.changes, core.outputs, core.withdrawn)),)
            checked = core.typed(change, key)
            if le >= progress.now:
                progress.now = le + 1
            core.changes += abs(checked.diff)
            out = engine.push(checked)
            if out is None:  # numbers are to be looked at
                way = calls.before[0]
                way[0](way[1])
                checked, calls.before = None, None
                return calls.carry_out(core.run, [("event", change, key)], True)  # type: ignore[no-any-return]
            if out or engine.began is None:
                if core.told is not None:
                    out = core.told.told(core, out)
                core.count(out)
                calls.before = DONE
                core.journal.commit()
                engine.commit()
            calls.before = None
            return out  # type: ignore[no-any-return]
    except BaseException as error:
        if mine:
            calls.leave()
        if checked is not None and key is not None and isinstance(error, Exception):
            blame(error, f"of key {key!r}")
        raise


ENTRIES.add(push.__code__)


# -- with a stage ------------------------------------------------------------------------------------------------------------------


def takes_alone(core: Any, change: Any) -> bool:
    """Return whether an item is an event that the engine can take as a call of its own: not late, nothing else to check."""
    le = change.le if core.alone and core.gapless is None and type(change) is Change and type(change.payload) is not dict else None
    if type(le) is not int or le < core.progress.events or le < core.progress.some:
        return False
    return core.kept is None or not core.kept.lasts(core, change)


def begin_alone(core: Any, stage: Member) -> None:
    """Begin a call of one such event, which a stage sees too."""
    core.engine.began = None
    before = core, core.progress.now, core.changes, core.outputs, core.withdrawn, stage, stage.call_begins()
    core.calls.before = ((back_from_push, before),)


def push_alone(core: Any, checked: Change) -> list[Any]:
    """Take the event, in its form. The kernels end the call if there is no output."""
    core.progress.see(checked.le)
    core.changes += abs(checked.diff)
    try:
        out: list[Any] = core.engine.push(checked)
    except Exception as error:
        if checked.key is not None:
            blame(error, f"of key {checked.key!r}")
        raise
    if out and core.told is not None:
        out = core.told.told(core, out)
    if out:
        core.count(out)
    return out


def end_alone(core: Any, stage: Member, out: list[Any]) -> None:
    core.calls.before = DONE
    if out or core.engine.began is None:
        core.engine.commit()
    core.journal.commit()
    stage.call_worked()
    core.calls.before = None


# -- the way back ------------------------------------------------------------------------------------------------------------------


def back_from_push(before: Any) -> None:
    """Restore the state from before a single event, or from after it if the kernels had ended the call."""
    core, now, changes, outputs, withdrawn, *beside = before
    engine = core.engine
    if engine.began in (None, engine.serial):
        core.journal.rollback()
        core.progress.now, core.changes, core.outputs, core.withdrawn = now, changes, outputs, withdrawn
        engine.rollback()
        if beside:
            stage, was = beside
            stage.call_failed(was)
    else:
        core.call_worked()
        if beside:
            beside[0].call_worked()
