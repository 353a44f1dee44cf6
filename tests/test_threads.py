"""Threads on one operator: their calls come one after the other; `python -m tests.worlds threads` is the long run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from afa import Keyed, Operator, Punctuation, insert
from punctuation import SideOutput
from tests.kinds_of_calls import PLAIN, columns, tick

FORKS = hasattr(os, "fork")


def test_what_threads_push_is_what_one_would_have_pushed() -> None:
    """In a process of its own: what it dies of is told."""
    command = [sys.executable, "-m", "tests.worlds", "threads", "--worlds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_call_waits_for_that_of_another_thread(engine: str) -> None:
    began, go_on, served = threading.Event(), threading.Event(), []

    def wait(change: Any) -> None:
        began.set()
        go_on.wait(20)

    op = Operator(PLAIN, window=20, engine=engine, late=wait)
    op.push(Punctuation(9))
    slow = threading.Thread(target=lambda: op.push_many([tick(8, 10), tick(8, 3), tick(2, 12)]))
    other = threading.Thread(target=lambda: served.append(op.statistics))
    slow.start()
    began.wait(20)
    other.start()
    time.sleep(0.05)
    assert served == []
    go_on.set()
    slow.join()
    other.join()
    assert (served[0].changes, served[0].late, served[0].outputs) == (2, 1, 1)


def test_late_changes_are_taken_from_a_side_output_while_an_operator_hands_them_over() -> None:
    side, taken, going = SideOutput(), [], True
    op = Operator(PLAIN, window=20, late=side)
    op.push(Punctuation(1000))

    def take() -> None:
        while going:
            taken.extend(side.take())

    thread = threading.Thread(target=take)
    thread.start()
    for i in range(2000):
        op.push(tick(1, i % 1000, seq=i))
    going = False
    thread.join()
    taken += side.take()
    assert [change.payload.seq for change in taken] == list(range(2000))
    assert side.count == op.statistics.late == 2000


@pytest.mark.skipif(not FORKS, reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # what a fork beside threads may do is what this is about
def test_a_fork_in_the_midst_of_a_call_leaves_both_processes_an_operator(engine: str) -> None:
    began, go_on = threading.Event(), threading.Event()

    def wait(change: Any) -> None:
        began.set()
        go_on.wait(20)

    op = Keyed(PLAIN, key="sym", window=20, engine=engine, late=wait)
    op.push(Punctuation(9))
    before = op.snapshot()
    slow = threading.Thread(target=lambda: op.push_many([tick(8, 10), tick(8, 3)]))
    slow.start()
    began.wait(20)
    child = os.fork()
    if child == 0:
        good = op.snapshot() == before and op.push_many(columns(20)) is not None
        os._exit(0 if good else 1)
    go_on.set()
    slow.join()
    assert os.waitpid(child, 0)[1] == 0
    assert op.statistics.changes == 1


def test_two_operators_do_not_wait_for_each_other() -> None:
    """One may push into another from a callback."""
    behind = Operator(PLAIN, window=20)
    op = Operator(PLAIN, window=20, late=lambda change: behind.push(insert(change.payload, change.le)))
    op.push(Punctuation(9))
    op.push(tick(8, 3))
    assert behind.statistics.changes == 1
