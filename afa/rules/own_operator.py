"""An operator within the calls of a set of rules; and a rule with one of its own, which any pattern can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from afa.change import Change
from afa.operator.tables import CallInput, opened_table
from afa.rules.event_rows import EventRows
from punctuation.calls import Member
from punctuation.promise import Punctuation


class _WithinSet:
    """Calls of an operator within a call of its set, which makes them all or nothing."""

    def call(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return work(*args, **options)

    def either(self, alone: Callable[..., Any], work: Callable[..., Any], *args: Any) -> Any:
        return work(*args)


class OperatorWithin:
    """An operator within the calls of its set.

    Parameters
    ----------
    operator : Operator, Keyed, or one with stages
    """

    def __init__(self, operator: Any) -> None:
        core = operator._core
        self.operator, self.seconds = operator, 0.0  # of work
        self.members: list[Member] = core.calls.members
        core.calls = _WithinSet()
        for member in self.members:
            if hasattr(member, "_calls"):  # a stage
                member._calls = core.calls

    # -- all or nothing: as of `punctuation.calls.Member` ---------------------------------------------------------------------

    def begins(self) -> Any:
        """Return what `failed` needs. Changes nothing."""
        return [member.call_begins() for member in self.members]

    def failed(self, before: Any) -> None:
        """Restore the state from before the call. Can be repeated from the start."""
        for member, state in zip(self.members, before):
            member.call_failed(state)

    def ends(self) -> None:
        """Do the last part of a call that may fail."""
        for member in self.members:
            if member.ends:
                member.call_ends()

    def worked(self) -> None:
        """Forget how to restore the earlier state. Can be repeated from the start."""
        for member in self.members:
            member.call_worked()


class OwnOperator(OperatorWithin):
    """An operator that serves one rule: the reference for all that runs rules faster. ``promised``: what it has told last."""

    def __init__(self, operator: Any) -> None:
        super().__init__(operator)
        self.promised = operator._core.progress.output

    def take(self, parts: Iterable[EventRows | Punctuation]) -> list[Change]:
        """Take events and watermarks, in order; return the minimal difference of its matches. `promised` may move."""
        core = self.operator._core
        come: list[Any] = []
        for part in parts:
            if isinstance(part, Punctuation):
                come.append(("event", part, None))
            elif part.in_columns and len(part) > 1:
                come.append(opened_table(core, part.table()))
            else:
                come += [("event", item, core.key_of(item)) for item in part.changes()]
        like: Any = next((part for part in come if not isinstance(part, tuple)), None)
        changes = []
        for item in self.operator._run(CallInput(come, like), True):
            if isinstance(item, Punctuation):
                self.promised = max(self.promised, item.t)
            else:
                changes.append(item)
        return changes

    def begins(self) -> Any:
        return self.promised, super().begins()

    def failed(self, before: Any) -> None:
        self.promised = before[0]
        super().failed(before[1])
