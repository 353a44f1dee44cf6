"""Threads of this process that carry out jobs side by side with the thread that asks for them.

    caller     job 0        job 1: taken?  no: carries it out itself      waits for those that were taken
    thread              job 1: taken?  no: carries it out

One write to a dictionary decides who has a job, and a caller can always do without the threads: it carries out what no thread has
taken. So nothing hangs where threads are few, busy, or gone with a fork. After an interrupt, at any line of the caller, `settle`
leaves no job at work. No lock is held where an interrupt could leave it.

A process that is forked must not get memory that a kernel has half written: forks wait for the jobs at work, and jobs for forks.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from afa.errors import AfaError

CALLER, THREAD = "caller", "thread"
PAUSE, PATIENCE = 0.0002, 0.05
"""Seconds between two looks of one who waits for forks, or for jobs before a fork; of one who waits for a job, if no bell rings."""


class WorkerTask:
    """A piece of work: it runs in the one thread that takes it, and keeps its result or exception."""

    __slots__ = ("_bell", "_by", "_home", "_work", "error", "found", "over")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work: Callable[[], Any] | None = work
        self._by: dict[str, str] = {}
        self._home = os.getpid()
        self._bell = threading.Lock()
        self._bell.acquire()
        self.over = False
        self.found: Any = None
        self.error: BaseException | None = None

    def carry_out(self, who: str) -> None:
        """Do the work, unless someone else does. An interrupt, which only a caller can get, passes."""
        if not self._is_of(who):
            return
        try:
            assert self._work is not None
            self.found = self._work()
        except BaseException as error:
            if who is CALLER and not isinstance(error, Exception):
                raise
            self.error = error
        finally:
            self._work = None
            self.over = True
            if who is THREAD:
                self._bell.release()

    def wait(self) -> None:
        """Wait until the work is done."""
        while not self.over:
            if os.getpid() != self._home:
                raise AfaError("expected the process in which a call began but got a fork of it, made within the call")
            self._bell.acquire(timeout=PATIENCE)

    def settle(self) -> None:
        """Return when nobody is at the work, and nobody will be. Called by the caller, or by whoever takes back its call."""
        if not self._is_of(CALLER) and os.getpid() == self._home:
            self.wait()

    def _is_of(self, who: str) -> bool:
        return self._by.setdefault("by", who) == who


class Workers:
    """The jobs of one caller at a time."""

    def __init__(self) -> None:
        self._jobs: Sequence[WorkerTask] = ()
        self._caller = 0

    def carry_out(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Carry out works side by side, and return what they return; or raise the error of the first that fails."""
        jobs = [WorkerTask(work) for work in works]
        self._caller = threading.get_ident()
        self._jobs = jobs  # INVARIANT: `settle` knows a job before any thread does
        _need(len(jobs) - 1)
        _enter(self._caller)
        for job in jobs[1:]:
            _queue.put(job)
        for job in jobs:
            job.carry_out(CALLER)
        _at_work.discard(self._caller)
        for job in jobs:
            job.wait()
        self._jobs = ()
        for job in jobs:
            if job.error is not None:
                raise job.error
        return [job.found for job in jobs]

    def settle(self) -> None:
        """End all jobs of an interrupted call. Can be repeated."""
        if self._jobs:
            for job in self._jobs:
                job.settle()
            _at_work.discard(self._caller)
            self._jobs = ()


def _serve(queue: SimpleQueue[WorkerTask]) -> None:
    me = threading.get_ident()
    while True:
        job: WorkerTask | None = queue.get()
        _enter(me)
        assert job is not None
        job.carry_out(THREAD)
        job = None  # or it would keep its engine until the next one comes
        _at_work.discard(me)


def _need(threads: int) -> None:
    """See that there are so many threads. If the system gives none, the caller works alone."""
    while len(_threads) < threads:
        thread = threading.Thread(target=_serve, args=(_queue,), name="afa", daemon=True)
        _threads.append(thread)
        try:
            thread.start()
        except RuntimeError:
            _threads.remove(thread)
            return


_queue: SimpleQueue[WorkerTask] = SimpleQueue()
_threads: list[threading.Thread] = []

# -- forks -----------------------------------------------------------------------------------------------------------------------

_at_work: set[int] = set()  # the threads in which a job may be at work
_forks: set[int] = set()  # those that are about to fork


def _enter(me: int) -> None:
    """Begin to work, unless a fork is about to happen. INVARIANT: each says that it works, or forks, before it looks for others."""
    _at_work.add(me)
    while _forks - {me}:
        _at_work.discard(me)
        time.sleep(PAUSE)
        _at_work.add(me)


def _before_fork() -> None:
    me = threading.get_ident()
    _forks.add(me)
    while _at_work - {me}:
        time.sleep(PAUSE)


def _forked() -> None:
    """Drop all threads in a new process: only the one that has forked is there."""
    global _queue
    _queue = SimpleQueue()
    _threads.clear()
    _at_work.clear()
    _forks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _forks.discard(threading.get_ident()),
        after_in_child=_forked,
    )
