"""Calls served one after the other, each all or nothing: a call that raises, at whichever line, is taken back.

    before    None     no call is under way
              ways     a call is under way: for each member, how it returns to its state before the call. If that call is over
                       already, an interrupt has cut short both the call and its way back: the next call finishes the way back first
              DONE     the call has worked; only tidying up is left

A single write, of DONE, makes a call successful. Ways back and tidying up can be repeated from the start, so that an interrupt
within them (Ctrl-C, a signal handler that raises, a lack of memory) costs only the repetition. Threads wait for each other.
"""

from __future__ import annotations

import copy
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar, cast

from punctuation.base_errors import AfaError

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Ways = tuple[tuple[Callable[[Any], None], Any], ...]

DONE: Ways = ()
ENTRIES: set[CodeType] = set()
"""The code of the functions in whose frames a call is under way; each has its `Calls` as ``self`` or ``calls``."""


class Member:
    """An object whose state the calls change: an operator, a stage, a source."""

    __slots__ = ("__weakref__",)

    ends = False
    """Whether there is something to do at the end of a call."""

    def call_begins(self) -> Any:
        """Return what `call_failed` needs to restore the state. Changes nothing."""
        raise NotImplementedError

    def call_ends(self) -> None:
        """Do the last part of a call that may fail: hand callbacks what the call has gathered."""

    def call_failed(self, before: Any) -> None:
        """Restore the state from before the call. Can be repeated from the start."""
        raise NotImplementedError

    def call_worked(self) -> None:
        """Forget how to restore the earlier state, as the call has worked. Can be repeated from the start."""


class Calls:
    """The calls of one operator and the stages around it; ``lock`` is held during a call.

    The members are the objects that a call changes, all or none of them. They hold this `Calls`, which refers to them weakly: their
    memory is freed when the last user lets go of them.

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
        """The members that still exist."""
        return [member for ref in self._members if (member := ref()) is not None]

    def join(self, member: Member) -> None:
        """Make one more object part of each call."""
        if not any(known is member for known in self.members):
            self._members = (*self._members, weakref.ref(member))

    def include(self, member: Member) -> None:
        """Make an object part of the call under way, from here on: if the call fails, the object is restored with the others."""
        assert self.before is not None
        self.before = (*self.before, (member.call_failed, member.call_begins()))

    def call(self, work: Callable[..., R], *args: Any, **options: Any) -> R:
        """Carry out ``work(*args, **options)`` as one call, once no other call is under way, and return its result.

        Raises AfaError where the call comes from within a call of the same members, or an interrupted call can't be taken back.
        Whatever ``work`` raises, all members are as they were.
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
        """As `call`, but try ``alone(*args)`` first, which begins and ends a call by itself; if it returns None, do the work."""
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
        """Do what `call` does, for a caller that holds the lock and has called `enter`."""
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
        """Take back what an interrupt has left half done. The caller holds the lock.

        Raises AfaError where it was not an interrupt but a call from within another one, or the earlier state can't be restored.
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
        """Restore the state from before a call that has raised (after it, if the call had worked), and release the lock."""
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


def whole(work: F) -> F:
    """Make each call of a method one of its object's ``_calls``: all of it or nothing."""

    @functools.wraps(work)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        try:
            calls = self._calls
        except AttributeError:
            name, got = work.__qualname__, repr(self)[:40]
            raise AfaError(
                f"expected {name} of an object but got it of the class, with {got}: make one first, with the options of the one "
                f"that was saved, and call its {work.__name__}(..)"
            ) from None
        return calls.call(work, self, *args, **options)

    return cast(F, method)


ENTRIES.update((Calls.call.__code__, Calls.either.__code__))
_all: weakref.WeakSet[Calls] = weakref.WeakSet()


def _forked() -> None:
    """Give a forked process fresh locks: the threads that held them are gone; the next call takes back what they left half done."""
    for calls in list(_all):
        calls.lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)
