"""What the study prints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from examples.hadoop.events import Table
from examples.hadoop.neighbours import NEAR, Neighbours
from examples.hadoop.queries import STUDIES, Study
from examples.hadoop.study import CONFIDENT, LIKELY, Comparison, Matches
from examples.hadoop.trace import ATTEMPTS, Trace

COLUMNS = "{:<8} {:>7} {:>9}   {:>12} {:>7}   {:>12} {:>7}"


def opening(trace: Trace, worlds: int) -> str:
    """Say what the trace is, and what is taken to be uncertain."""
    attempts = trace.of(*ATTEMPTS)
    hosts = len(np.unique(attempts.host.astype(str)))
    jobs = trace.of("Job")
    begun = dict(zip(jobs.job.tolist(), jobs.start.tolist()))
    early = [begun[job] - end for job, end in zip(attempts.job.tolist(), attempts.end.tolist()) if end < begun.get(job, end)]
    minutes = round(int(trace.end.max() - trace.start.min()) / 60_000)
    return (
        f"{len(trace.jobs)} jobs, {len(attempts.kind):,} attempts on {hosts:,} hosts within {minutes} minutes.\n"
        "Times of jobs and attempts may be off by 0.5 s, samples of the load by 7.5 s: these are derived, one every 15 s.\n"
        f"So the papers have it. Some times here are off by more: {len(early)} attempts end before their job starts, "
        f"one of them by {max(early, default=0) / 1000:.0f} s.\n"
        f"{worlds} possible worlds: a confidence is off by {0.5 / worlds**0.5:.3f} at most, one standard error."
    )


def order(found: Neighbours, worlds: int) -> str:
    """Say how many neighbours have no certain order."""
    own, shared = (int((each < CONFIDENT).sum()) for each in (found.each_on_its_own(), found.all_alike(worlds)))
    return (
        f"Which came first? Of {found.all:,} pairs of neighbouring events of a host {found.pairs:,} "
        f"({_percent(found.pairs, found.all)}) are of different attempts,\n"
        f"at most {NEAR // 1000} s apart. The recorded order has a confidence below {CONFIDENT}\n"
        f"- of {own:,} of them if each event is off on its own;\n"
        f"- of {shared} if all events of a host are off alike. {found.at_once} are recorded at the same millisecond."
    )


def legend() -> str:
    """Say what each query asks, and of what."""
    return "\n".join(f"{study.name:<8} {study.asks}\n{'':<8} {study.of}" for study in STUDIES)


def heading() -> str:
    """Return the head of the table."""
    return "\n".join(
        [
            "reported: matches of a run on exact times",
            f"doubtful: those of them that have a confidence below {CONFIDENT}",
            f"missed:   others, that have a confidence of {LIKELY} or more",
            "",
            f"{'':<28}{'each event off':>20}{'each host off':>23}",
            f"{'':<28}{'on its own':>20}{'as a whole':>23}",
            COLUMNS.format("query", "events", "reported", *["doubtful", "missed"] * 2),
        ]
    )


def line(study: Study, events: Table, own: Comparison, shared: Comparison | None) -> str:
    """Return a line of the table."""
    both = [*_counts(own), *(("", "") if shared is None else _counts(shared))]
    return COLUMNS.format(study.name, f"{len(events['id']):,}", f"{len(own.reported):,}", *both).rstrip()


def _counts(found: Comparison) -> tuple[str, str]:
    doubtful, all_ = len(found.doubtful), len(found.reported)
    share = f" ({_percent(doubtful, all_)})" if all_ else ""
    return f"{doubtful:,}{share}", f"{len(found.missed):,}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def examples(study: Study, found: Comparison) -> Iterator[str]:
    """Yield the least certain match that is reported, and what may have been instead."""
    if study.say is None or not found.doubtful:
        return
    worst = found.doubtful[0]
    for i, match in enumerate([worst, *found.instead(worst)[:2]]):
        said = f"{study.name}, {worst[0]}: reported" if i == 0 else "    perhaps"
        yield f"{said} {study.say(match)}, confidence {found.confidence.get(match, 0.0):.2f}"


def exact(confidence: Matches) -> str:
    """Say what exact confidences of Query 1 say, and why exact times say nothing."""
    likely = sum(p >= LIKELY for p in confidence.values())
    return (
        "Query 1 can't match on exact times: two samples of a host are 15 s apart, and a match takes less than 15 s. `Sequence`,\n"
        f"without worlds, in tenths of a second: {len(confidence)} matches, {likely} of them with {LIKELY} or more, "
        f"the likeliest with {max(confidence.values(), default=0.0):.3f}."
    )
