"""Single events as calls of their own. The kernels end such a call, so that a call adds little to the cost of its event.

no output    the kernels end the call, in the step in which their serial moves
output       Python counts it, and ends the call: DONE
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from afa.change import Change
from afa.engine import Engine
from afa.errors import blame
from afa.journal import Journal
from afa.operator.gapless import Gapless
from punctuation.calls import DONE, ENTRIES, Calls, Member
from punctuation.progress import Progress
from punctuation.promise import Punctuation

Output = list["Change | Punctuation"]


class Single(Member):
    """The part of a `Core` that takes events one by one."""

    calls: Calls
    progress: Progress
    engine: Engine
    changes: int
    outputs: int
    withdrawn: int
    journal: Journal
    _alone: bool
    gapless: Gapless | None

    def typed(self, change: Change, key: Hashable) -> Change:
        """See `Core.typed`."""
        raise NotImplementedError

    def run(self, items: Iterable[tuple[str, Any, Hashable]], net: bool) -> Output:
        """See `Core.run`."""
        raise NotImplementedError

    def _count(self, changes: list[Any]) -> None:
        raise NotImplementedError

    def push(self, change: Any, key: Hashable) -> Output:
        """Take one item of the event input, as one call."""
        calls, mine, checked = self.calls, False, None
        try:
            with calls.lock:
                if calls.before is not None:
                    calls.enter()
                mine = True
                progress, engine = self.progress, self.engine
                le = change.le if self._alone and type(change) is Change else None
                if type(le) is not int or le < progress.events or le < progress.some:
                    return calls.carry_out(self.run, [("event", change, key)], True)
                engine.began = None
                calls.before = ((_back_from_push, (self, progress.now, self.changes, self.outputs, self.withdrawn)),)
                checked = self.typed(change, key)
                progress.see(le)
                self.changes += abs(checked.diff)
                out = engine.push(checked)
                if out is None:  # numbers are to be looked at
                    way = calls.before[0]
                    way[0](way[1])
                    checked, calls.before = None, None
                    return calls.carry_out(self.run, [("event", change, key)], True)
                if out or engine.began is None:
                    self._count(out)
                    calls.before = DONE
                    self.journal.commit()
                    engine.commit()
                calls.before = None
                return out  # type: ignore[return-value]  # a list of changes alone
        except BaseException as error:
            if mine:
                calls.leave()
            if checked is not None and key is not None and isinstance(error, Exception):
                blame(error, f"of key {key!r}")
            raise

    def takes_alone(self, change: Any) -> bool:
        """Return whether an item is an event that the engine can take as a call of its own: not late, nothing else to check."""
        le = change.le if self._alone and self.gapless is None and type(change) is Change else None
        return type(le) is int and le >= self.progress.events and le >= self.progress.some

    def begin_alone(self, stage: Member) -> None:
        """Begin a call of one such event, which a stage sees too."""
        self.engine.began = None
        before = self, self.progress.now, self.changes, self.outputs, self.withdrawn, stage, stage.call_begins()
        self.calls.before = ((_back_from_push, before),)

    def push_alone(self, checked: Change) -> Output:
        """Take the event, in its form. The kernels end the call if there is no output."""
        self.progress.see(checked.le)  # type: ignore[arg-type]
        self.changes += abs(checked.diff)
        try:
            out = self.engine.push(checked)
        except Exception as error:
            if checked.key is not None:
                blame(error, f"of key {checked.key!r}")
            raise
        if out:
            self._count(out)
        return out  # type: ignore[return-value]  # a list of changes alone

    def end_alone(self, stage: Member, out: Output) -> None:
        """End the call."""
        self.calls.before = DONE
        if out or self.engine.began is None:
            self.engine.commit()
        self.journal.commit()
        stage.call_worked()
        self.calls.before = None


ENTRIES.add(Single.push.__code__)


def _back_from_push(before: Any) -> None:
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
