"""Policies for late changes: each says what becomes of a change that comes behind the watermark, and counts it."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from types import MethodType
from typing import Any

from punctuation.base_errors import AfaError, LateEventError
from punctuation.calls import Calls, Member, whole
from punctuation.time import as_time

Policy = str | Callable[[Any], Any]


class Late:
    """The policy for late changes of one operator: of events, of arcs, and retractions that waited in vain.

    - ``"raise"``: the call is rejected with `LateEventError`, and the operator is as it was before it.
    - ``"drop"``: the late change is left out.
    - A callable gets each late change, in the order of arrival, once all else of its call has worked; what it raises rejects the
      call.
    - A `SideOutput` is such a callable, one that keeps what it gets, raises nothing, and may have a bound.

    Under the last three the late change is counted (``statistics.late``), and the rest of the call takes effect. A copy of the
    operator calls the same function, or the same object's method; it has a `SideOutput` of its own.

    >>> late = Late("drop")
    >>> late.take("a tick", "le=1 < 5"), late.count
    (None, 1)
    >>> Late("ignore")
    Traceback (most recent call last):
    punctuation.base_errors.AfaError: expected late="raise", "drop" or a callable but got late='ignore'
    """

    __slots__ = ("count", "policy", "waiting")

    def __init__(self, policy: Policy) -> None:
        if policy not in ("raise", "drop") and not callable(policy):
            raise AfaError(f'expected late="raise", "drop" or a callable but got late={policy!r}')
        self.policy = policy
        self.count = 0
        self.waiting: list[Any] = []

    def take(self, change: Any, reason: str) -> None:
        """Apply the policy to ``change``, which is late: count it, or raise `LateEventError`."""
        if self.policy == "raise":
            raise LateEventError(reason)
        self.count += 1
        if callable(self.policy):
            self.waiting.append(change)

    def hand_over(self, calls: Calls) -> None:
        """Hand the callback the late changes of the call under way. A `SideOutput` drops them again if the call fails."""
        waiting, self.waiting = self.waiting, []
        if callable(self.policy):
            for change in waiting:
                if isinstance(self.policy, SideOutput):
                    calls.include(self.policy)
                self.policy(change)

    def __deepcopy__(self, memo: dict[int, Any]) -> Late:
        other = memo[id(self)] = Late(copied_callback(self.policy, memo))
        other.count, other.waiting = self.count, copy.deepcopy(self.waiting, memo)
        return other


def copied_callback(callback: Any, memo: dict[int, Any]) -> Any:
    """Return the callback of an operator's copy. A method stays the user's object's, unless that object is copied too."""
    if isinstance(callback, MethodType):
        return MethodType(callback.__func__, memo.get(id(callback.__self__), callback.__self__))
    return copy.deepcopy(callback, memo)


class SideOutput(Member):
    """A policy for late changes that keeps them, in the order of arrival: ``Operator(..., late=SideOutput())``.

    Parameters
    ----------
    limit : int, optional
        How many changes are kept; beyond it the oldest one is dropped and counted in ``lost``. None: all are kept.

    Attributes
    ----------
    count : int
        How many changes have ever come.
    lost : int
        How many changes were dropped because of ``limit``.

    Examples
    --------
    >>> side = SideOutput(limit=2)
    >>> for change in ("a", "b", "c"):
    ...     side(change)
    >>> side.changes, len(side), side.count, side.lost
    (['b', 'c'], 2, 3, 1)
    >>> side.take(), side.changes, side.count
    (['b', 'c'], [], 3)
    """

    __slots__ = ("_calls", "_kept", "count", "limit", "lost")

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and as_time(limit, "limit") < 1:
            raise AfaError(f"expected a limit of at least 1 (None: none) but got limit={limit!r}")
        self.limit = limit
        self.count = self.lost = 0
        self._kept: deque[tuple[int, Any]] = deque()  # with their numbers of arrival
        self._calls = Calls(self)

    @whole
    def __call__(self, change: Any) -> None:
        """Keep one late change."""
        self.count += 1
        self._kept.append((self.count, change))
        if self.limit is not None and len(self._kept) > self.limit:
            self._kept.popleft()
            self.lost += 1

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"SideOutput(limit={self.limit!r}): {len(self)} kept, {self.count} came, {self.lost} lost"

    @property
    @whole
    def changes(self) -> list[Any]:
        """The late changes that are kept, the oldest first."""
        return [change for _, change in self._kept]

    @whole
    def take(self) -> list[Any]:
        """Remove and return the changes that are kept, the oldest first."""
        taken = [change for _, change in self._kept]
        self._kept = deque()
        return taken

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return the changes that are kept, the counters, and the oldest change, which the limit may drop next."""
        return self._kept, self.count, self.lost, self._kept[0] if self._kept else None

    def call_failed(self, before: Any) -> None:
        """Restore the state from before a call."""
        self._kept, self.count, self.lost, first = before
        while self._kept and self._kept[-1][0] > self.count:
            self._kept.pop()
        if first is not None and (not self._kept or self._kept[0][0] > first[0]):
            self._kept.appendleft(first)
