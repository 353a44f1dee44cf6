"""What becomes of a change that comes too late: a named policy decides, and every one is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from punctuation.errors import AfaError, LateEventError

Policy = str | Callable[[Any], Any]


class Late:
    """The policy for late changes of one operator.

    Parameters
    ----------
    policy : "raise" or "drop" or callable
        ``"raise"``: the call is rejected with `LateEventError`. ``"drop"``: left out and counted. A callable gets each late
        change, once all else of its call has worked; what it raises rejects the call.

    Examples
    --------
    >>> late = Late("drop")
    >>> late.take("a tick", "le=1 < 5"), late.count
    (None, 1)
    >>> Late("ignore")
    Traceback (most recent call last):
    punctuation.errors.AfaError: expected late="raise", "drop" or a callable but got late='ignore'
    """

    __slots__ = ("count", "policy", "waiting")

    def __init__(self, policy: Policy) -> None:
        if policy not in ("raise", "drop") and not callable(policy):
            raise AfaError(f'expected late="raise", "drop" or a callable but got late={policy!r}')
        self.policy = policy
        self.count = 0
        self.waiting: list[Any] = []

    def take(self, change: Any, reason: str) -> None:
        """Treat ``change`` as late.

        Raises
        ------
        LateEventError
            Under the policy ``"raise"``.
        """
        if self.policy == "raise":
            raise LateEventError(reason)
        self.count += 1
        if callable(self.policy):
            self.waiting.append(change)

    def hand_over(self) -> None:
        """Give the callback what the call has gathered."""
        waiting, self.waiting = self.waiting, []
        if callable(self.policy):
            for change in waiting:
                self.policy(change)
