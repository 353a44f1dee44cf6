"""Keep a worker's imports out of garbage collection: PySpark collects after each task, which took 40 ms over all those objects.

A batch of few rows has five tasks, and the next one waits for the worker. What stands when the second task of a kind begins has
lasted through such a collection: it stays for good, and no collection looks at it again.
"""

from __future__ import annotations

import gc
from collections import Counter

from pyspark import TaskContext

_begun: Counter[str] = Counter()


def settle(kind: str) -> None:
    """Begin a task of this kind. Outside of a worker it does nothing."""
    if TaskContext.get() is None:
        return
    _begun[kind] += 1
    if _begun[kind] == 2:
        gc.freeze()
