"""Say in one line why ``afa run`` has found no match: the sentence of ``afa why``, over a part of the input where it is large."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from afa.cli.kept_rows import KeptRows
from afa.cli.request import Job
from afa.cli.why import funnel_over, holding

ROWS = 20_000
"""How many events are looked at: half a second."""


def why_none(operator: Any, tables: Iterable[pa.Table], job: Job) -> str:
    """Return why a run without matches has none; empty where that can't be found out."""
    core: Any = getattr(operator, "_core", None)
    if core is None or core.taken is None or core.taken.cls is not core.automaton.event:  # a stage fills fields in
        return ""
    try:
        return diagnose(core, tables, job)
    except Exception:
        return ""


def diagnose(core: Any, tables: Iterable[pa.Table], job: Job) -> str:
    """Return why there is no match, in one sentence."""
    automaton = core.automaton
    job = job._replace(window=core.window, tick=core.tick)
    funnel = funnel_over(job, holding(automaton, job), automaton, KeptRows(job, ROWS).take(tables))
    some = "" if not funnel.part else f"of {funnel.events:,} events that were looked at: "
    return f"{some}{funnel.why}" + ("" if funnel.cause == "empty" else "; `afa why` with the same options counts it all")
