"""Worlds in processes of their own, within seconds and bytes: one that dies is told, and the next one goes on."""

from __future__ import annotations

import ast
import gc
import os
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

PART = 500
"""Worlds of one process."""
COLLECTED = 25
"""So many worlds leave their circles of objects behind before these are collected."""


class Apart(NamedTuple):
    """What worlds may take."""

    seconds: float = 0
    """Of CPU time, each; 0: as many as it likes."""
    memory: int = 0
    """Bytes that the process takes beyond those of its parent; 0: as many as it likes."""


def apart(limits: Apart, work: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Counter[Any] | str]:
    """Do one task after another; of each what `work` returns, or how its process ended."""
    tasks = iter(tasks)
    while part := list(islice(tasks, PART)):
        while part:
            done = 0
            for done, found in enumerate(_results(limits, work, part), 1):  # noqa: B007
                yield found
            part = part[done:]


def _results(limits: Apart, work: Callable[[Any], Any], part: list[Any]) -> Iterator[Counter[Any] | str]:
    """The results of a process until it ends; of the task that ended it, how."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(limits, work, part, writing)
    os.close(writing)
    done = 0
    with os.fdopen(reading) as lines:
        for line in lines:
            found = ast.literal_eval(line)
            yield Counter(found) if isinstance(found, dict) else found
            done += 1
    _, status = os.waitpid(child, 0)
    if status:
        ended = f"by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"with status {os.WEXITSTATUS(status)}"
        hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
        yield f"{part[done]}: {f'hang: it took more than {limits.seconds} s' if hung else f'crash: its process ended {ended}'}"


def _child(limits: Apart, work: Callable[[Any], Any], part: list[Any], pipe: int) -> None:
    """Do tasks, tell of each what came of it, and end the process."""
    try:
        if limits.memory:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        gc.collect()
        gc.freeze()  # all that the modules have made: to look through it again and again took a tenth of the time
        gc.disable()
        for number, task in enumerate(part):
            if number % COLLECTED == 0:
                gc.collect()
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            found = work(task)
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(pipe, f"{dict(found) if isinstance(found, Counter) else found!r}\n".encode())
    except BrokenPipeError:  # nobody asks any more
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
