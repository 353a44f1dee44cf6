"""What a temporal pattern asks of an input: it says its window itself, and perhaps its key and its tick; its rows are readings."""

from __future__ import annotations

from typing import Any

from afa.cli.fault import CommandError
from afa.cli.request import Job
from afa.io.file_columns import TICKS
from afa.model.conflicts import TEMPORAL
from afa.situations.temporal_pattern import TemporalPattern


def job_of(job: Job, pattern: TemporalPattern, kinds: Any) -> Job:
    """Return the job that a temporal pattern asks for: its key, its tick, durations in ticks; ``kinds``: the columns of the input.

    Raises
    ------
    CommandError
        An option goes with no such pattern, or says another thing than the pattern does.
    """
    job.check(TEMPORAL)
    if job.window is not None:
        raise CommandError(f"--window can't be combined with {TEMPORAL} because it says that itself (within=)")
    own = () if pattern.key is None else (pattern.key,) if isinstance(pattern.key, str) else tuple(pattern.key)
    if own and job.keys and own != job.keys:
        raise CommandError(f"expected no --key beside {job.pattern}, whose key is {', '.join(own)}, but got {', '.join(job.keys)}")
    if None not in (pattern.tick, job.tick) and pattern.tick != job.tick:
        raise CommandError(f"{job.pattern}: expected --tick {pattern.tick}, as the pattern says, but got {job.tick}; leave it out")
    job = job._replace(keys=job.keys or own, tick=job.tick or pattern.tick)
    found = job.in_ticks(kinds, pattern.event_schema.cls)
    if found.tick is not None and found.tick not in TICKS and _of_timestamps(job, pattern, kinds):
        units = ", ".join(TICKS)
        raise CommandError(f"{job.pattern}: expected tick= as one of {units}, as times are timestamps, but got {found.tick!r}")
    return found


def _of_timestamps(job: Job, pattern: TemporalPattern, kinds: Any) -> bool:
    return job._replace(tick=None).in_ticks(kinds, pattern.event_schema.cls).tick is not None


def options_of(job: Job) -> dict[str, Any]:
    """Return the options of the operator that a job asks for."""
    return job.options("key", "order_by", "tick", "longest", "threads") | {"late": job.on_late}


def no_situations(found: Any, pattern: str, why: str) -> Any:
    """Return what a command takes; refuse a temporal pattern.

    Raises
    ------
    CommandError
        It is one; ``why``: what the command does that makes no sense then.
    """
    if isinstance(found, TemporalPattern):
        raise CommandError(f"expected an automaton or a query but got {pattern}, a temporal pattern: {why}")
    return found
