"""The way back from a single event, which is a call that the kernels end; see the head of `afa.operator.call`."""

from __future__ import annotations

from typing import Any


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
