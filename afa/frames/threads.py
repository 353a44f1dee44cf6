"""Carry out jobs on all cores, in threads: kernels let them run side by side, columns and compiled code are shared as they are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from afa.model.option_values import threads_of

T = TypeVar("T")


class Ended(Exception):  # noqa: N818  (no error: another job has failed)
    """A job that is not begun any more."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(jobs: Sequence[Callable[[bool], T]], threads: int | None) -> list[T]:
    """Carry out jobs; return what they return, in their order. The first that fails, in this order, ends all.

    A job is told whether others run beside it. ``threads``: None: one for each core. One job, or one thread: in this thread.
    """
    threads = min(cores() if threads is None else threads_of(threads), len(jobs))
    if threads < 2:
        return [job(False) for job in jobs]
    over = threading.Event()

    def run(job: Callable[[bool], T]) -> T:
        if over.is_set():
            raise Ended
        return job(True)

    with ThreadPoolExecutor(threads, thread_name_prefix="afa") as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # an interrupt, too
            over.set()
    failed = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(failed, key=lambda error: isinstance(error, Ended)):
        raise error
    return [future.result() for future in futures]
