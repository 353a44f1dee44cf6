"""A rule with an operator of its own: what any pattern can have, and the reference for all that runs rules faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from afa.change import Change
from afa.operator.tables import CallInput
from punctuation.calls import Member
from punctuation.promise import Punctuation


class _WithinSet:
    """Calls of an operator within a call of its set, which makes them all or nothing."""

    def call(self, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return work(*args, **options)

    def either(self, alone: Callable[..., Any], work: Callable[..., Any], *args: Any) -> Any:
        return work(*args)


class OwnOperator:
    """An operator that serves one rule, within the calls of its set.

    Parameters
    ----------
    operator : Operator, Keyed, or one with stages
    """

    def __init__(self, operator: Any) -> None:
        core = operator._core
        self.operator, self.promised = operator, core.progress.output
        self.members: list[Member] = core.calls.members
        core.calls = _WithinSet()
        for member in self.members:
            if hasattr(member, "_calls"):  # a stage
                member._calls = core.calls

    def take(self, items: Iterable[Change | Punctuation]) -> list[Change]:
        """Take changes and watermarks, in order; return the minimal difference of its matches. `promised` may move."""
        core = self.operator._core
        out = self.operator._run(CallInput([("event", item, core.key_of(item)) for item in items]), True)
        changes = []
        for item in out:
            if isinstance(item, Punctuation):
                self.promised = max(self.promised, item.t)
            else:
                changes.append(item)
        return changes

    # -- all or nothing: as of `punctuation.calls.Member` ---------------------------------------------------------------------

    def begins(self) -> Any:
        """Return what `failed` needs. Changes nothing."""
        return self.promised, [member.call_begins() for member in self.members]

    def failed(self, before: Any) -> None:
        """Restore the state from before the call. Can be repeated from the start."""
        self.promised, states = before
        for member, state in zip(self.members, states):
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
