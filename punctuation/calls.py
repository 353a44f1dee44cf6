"""One call after the other, each of them all or nothing, whatever raises in it and at whichever line.

    before    None     no call is under way
              ways     one is: how each member goes back to what it was. Where that call has ended, it was interrupted, and so was
                       the way back: whoever comes next goes back first
              DONE     the call has worked; what is left to do is tidying up

That a call has worked is one write, of DONE. The ways back and the tidying up may be gone again from the start, so that an
interrupt in them (Ctrl-C, a signal handler that raises, a want of memory) costs nothing but another time. Threads wait for each
other.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from punctuation.base_errors import AfaError

R = TypeVar("R")
Ways = tuple[tuple[Callable[[Any], None], Any], ...]

DONE: Ways = ()
ENTRIES: set[CodeType] = set()
"""The code of the functions in whose frames a call is under way; each has its `Calls` as ``self`` or ``calls``."""


class Member:
    """Whose state the calls change: an operator, a stage, a source."""

    __slots__ = ("__weakref__",)

    ends = False
    """Whether there is something to do at the end of a call."""

    def call_begins(self) -> Any:
        """What `call_failed` needs to know; changes nothing."""
        raise NotImplementedError

    def call_ends(self) -> None:
        """The last of a call that may fail: callbacks get what it has gathered."""

    def call_failed(self, before: Any) -> None:
        """Be as before the call. May be done again from the start."""
        raise NotImplementedError

    def call_worked(self) -> None:
        """The call has worked: forget the way back. May be done again from the start."""


class Calls:
    """The calls of one operator and the stages around it.

    Parameters
    ----------
    members : Member
        Whose state a call changes, all of it or nothing. They hold this object, and it does not hold them: memory is free when the
        last one lets go.

    Attributes
    ----------
    lock : RLock
        Held during a call.

    Examples
    --------
    >>> class Counter(Member):
    ...     n = 0
    ...     def call_begins(self): return self.n
    ...     def call_failed(self, before): self.n = before
    ...     def add(self, by):
    ...         self.n += 1
    ...         self.n += by
    >>> counter = Counter()
    >>> calls = Calls(counter)
    >>> calls.call(counter.add, 1), counter.n
    (None, 2)
    >>> calls.call(counter.add, "1")
    Traceback (most recent call last):
    TypeError: unsupported operand type(s) for +=: 'int' and 'str'
    >>> counter.n
    2
    """

    __slots__ = ("__weakref__", "_members", "before", "lock")

    def __init__(self, *members: Member) -> None:
        self.lock = threading.RLock()
        self._members: tuple[weakref.ref[Member], ...] = tuple(map(weakref.ref, members))
        self.before: Ways | None = None
        _all.add(self)

    @property
    def members(self) -> list[Member]:
        """Those that are still there."""
        return [member for ref in self._members if (member := ref()) is not None]

    def join(self, member: Member) -> None:
        """Let one more be part of each call."""
        if not any(known is member for known in self.members):
            self._members = (*self._members, weakref.ref(member))

    def leave_out(self, member: Member) -> None:
        """Let one be part of no call any more."""
        self._members = tuple(ref for ref in self._members if ref() not in (None, member))

    def include(self, member: Member) -> None:
        """Let one be part of the call under way, from here on: what it does is taken back with the others."""
        assert self.before is not None
        self.before = (*self.before, (member.call_failed, member.call_begins()))

    def call(self, work: Callable[..., R], *args: Any, **options: Any) -> R:
        """Carry out ``work(*args, **options)`` as one call, once no other is under way.

        Raises
        ------
        AfaError
            It comes from within a call of the same; or one that was interrupted can't be taken back.
        BaseException
            What ``work`` raises. All members are as they were.
        """
        mine = False
        try:
            with self.lock:
                if self.before is not None:
                    self.enter()
                mine = True
                return self.carry_out(work, *args, **options)
        except BaseException:
            if mine:
                self.leave()
            raise

    def either(self, alone: Callable[..., R | None], work: Callable[..., R], *args: Any) -> R:
        """As `call`, but ``alone(*args)`` may do it in a way of its own, which begins and ends the call; None: it can't."""
        mine = False
        try:
            with self.lock:
                if self.before is not None:
                    self.enter()
                mine = True
                found = alone(*args)
                return self.carry_out(work, *args) if found is None else found
        except BaseException:
            if mine:
                self.leave()
            raise

    def carry_out(self, work: Callable[..., R], *args: Any, **options: Any) -> R:
        """`call`, by one who holds the lock and has entered."""
        members = self.members
        self.before = tuple([(member.call_failed, member.call_begins()) for member in members])
        found = work(*args, **options)
        for member in members:
            if member.ends:
                member.call_ends()
        self.before = DONE
        for member in members:
            member.call_worked()
        self.before = None
        return found

    def enter(self) -> None:
        """Take back what an interrupt has left half done; by one who holds the lock.

        Raises
        ------
        AfaError
            No interrupt: the call comes from within another one, or the state can't be brought back.
        """
        frame: Any = sys._getframe(2)
        while frame is not None:
            if frame.f_code in ENTRIES and (frame.f_locals.get("calls") or frame.f_locals.get("self")) is self:
                raise AfaError(
                    "expected a call from outside but got one from within a call of the same operator, by a function that it has "
                    "called; keep what is to be pushed, and push it when that call has returned"
                )
            frame = frame.f_back
        try:
            self._recover()
        except Exception as error:
            raise AfaError(
                f"expected a state that an interrupted call can be taken back from but got {type(error).__name__}: {error}; "
                f"go on from the last snapshot"
            ) from error

    def leave(self) -> None:
        """Be as before a call that has raised, or after it if it had worked; and let go of the lock, wherever it was raised."""
        with self.lock:
            if self.before is not None:
                self._recover()
        try:
            while True:  # an exception between the last line of a with block and its exit leaves it held
                self.lock.release()
        except RuntimeError:
            pass

    def _recover(self) -> None:
        before = self.before
        if before is DONE:
            for member in self.members:
                member.call_worked()
        elif before is not None:
            for back, was in before:
                back(was)
        self.before = None

    # -- copies and processes ------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Calls:
        other = memo[id(self)] = Calls()
        for member in self.members:
            other.join(copy.deepcopy(member, memo))
        return other

    def __reduce__(self) -> Any:
        return Calls, (), self.members

    def __setstate__(self, members: list[Member]) -> None:
        for member in members:
            self.join(member)


ENTRIES.update((Calls.call.__code__, Calls.either.__code__))
_all: weakref.WeakSet[Calls] = weakref.WeakSet()


def _forked() -> None:
    """In a forked process the threads are gone that held locks; what they left half done is taken back by whoever comes next."""
    for calls in list(_all):
        calls.lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)
