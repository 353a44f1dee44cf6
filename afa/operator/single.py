"""Single events that a stage sees too, as calls of their own; see the head of `afa.operator.call`."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import blame
from afa.operator.call import Core, Output
from afa.operator.kept_lineage import lasts
from afa.operator.way_back import back_from_push
from punctuation.calls import DONE, Member


def takes_alone(core: Core, change: Any) -> bool:
    """Return whether an item is an event that the engine can take as a call of its own: not late, nothing else to check."""
    le = change.le if core.alone and core.gapless is None and type(change) is Change and type(change.payload) is not dict else None
    if type(le) is not int or le < core.progress.events or le < core.progress.some:
        return False
    return not (core.lineage and lasts(core, change))


def begin_alone(core: Core, stage: Member) -> None:
    """Begin a call of one such event."""
    core.engine.began = None
    before = core, core.progress.now, core.changes, core.outputs, core.withdrawn, stage, stage.call_begins()
    core.calls.before = ((back_from_push, before),)


def push_alone(core: Core, checked: Change) -> Output:
    """Take the event, in its form. The kernels end the call if there is no output."""
    core.progress.see(checked.le)  # type: ignore[arg-type]
    core.changes += abs(checked.diff)
    try:
        out = core.engine.push(checked)
    except Exception as error:
        if checked.key is not None:
            blame(error, f"of key {checked.key!r}")
        raise
    if out and core.told is not None:
        out = core.told.told(out)
    if out:
        core.count(out)
    return out  # type: ignore[return-value]  # a list of changes alone


def end_alone(core: Core, stage: Member, out: Output) -> None:
    """End the call."""
    core.calls.before = DONE
    if out or core.engine.began is None:
        core.engine.commit()
    core.journal.commit()
    stage.call_worked()
    core.calls.before = None
