"""CPU time of this process and all that it has started: Java, Python workers. Linux alone tells (/proc)."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def seconds() -> float:
    """Of the processes that are there, and of those that ended and were waited for."""
    spent: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        spent[int(process.name)] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(int(process.name))
    todo, total = [os.getpid()], 0
    while todo:
        process_id = todo.pop()
        total += spent.get(process_id, 0)
        todo += children.get(process_id, [])
    return total / TICKS
