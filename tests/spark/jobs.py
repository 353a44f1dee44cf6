"""The jobs of buckets in tests: what `match` makes of its arguments, said in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.operator.options import Options
from afa.spark import job
from afa.spark.job import Job

OF_OPERATORS = ("speculation", "longest", "members", "partial_matches")


def job_of(
    automaton: Any,
    key: Any,
    window: Any = None,
    order_by: str | None = None,
    buckets: int = 1,
    on_fault: str = "report",
    key_types: Sequence[Any] = (),
    late: str = "report",
    **more: Any,
) -> Job:
    """Return the job of an automaton; ``more``: options of operators and of `afa.spark.job.job_of`."""
    own = {name: more.pop(name) for name in OF_OPERATORS if name in more}
    delay = more.pop("delay", 0)
    options = Options(key=key, window=window, order_by=order_by, **own)
    made = job.job_of(automaton, options, buckets=buckets, on_fault=on_fault, key_types=key_types, late=late, **more)
    return made._replace(delay=delay)
