"""The queries of the two papers, and the events of the trace that each is asked of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import afa
from afa.language.query import Query
from examples.hadoop.events import CLOCK, Event, Table, ends, samples, starts, table
from examples.hadoop.load import SLOTS, Load
from examples.hadoop.trace import ATTEMPTS, Trace

MINUTES = 60_000
Match = tuple[Any, ...]
"""A job or an attempt, and what RETURN shows of it."""


class Study(NamedTuple):
    """A query of the papers.

    Parameters
    ----------
    name, asks : str
    of : str
        What it is asked of; "derived" where the trace has no such events.
    text : str
        SASE+, as in the paper but for the names of fields, and what RETURN shows.
    table : function
        The events it is asked of.
    derived : bool
        Whether some of them are samples of the load.
    say : function, optional
        Puts into words what a match shows.
    order : bool
        Whether events of one ms are in the order of their numbers, as a repetition is to take each of them.
    """

    name: str
    asks: str
    of: str
    text: str
    table: Callable[[Trace, Load], Table]
    derived: bool
    say: Callable[[Match], str] | None = None
    order: bool = True

    @property
    def query(self) -> Query:
        """The query as `afa` reads it; its key is in brackets."""
        return afa.query(self.text, event=Event, tick="ms", order_by="id" if self.order else None)


def of_maps(trace: Trace, load: Load) -> Table:
    """Return jobs, and the maps that end."""
    return _with_jobs(trace, ends(trace.of("Map"), "Mapper"))


def of_reducers(trace: Trace, load: Load) -> Table:
    """Return jobs, and the reducers that end."""
    return _with_jobs(trace, ends(trace.of("Reduce"), "Reducer"))


def _with_jobs(trace: Trace, attempts: Table) -> Table:
    jobs = trace.of("Job")
    return table([starts(jobs, "JobStart"), attempts, ends(jobs, "JobEnd")])


def of_pulls(trace: Trace, load: Load) -> Table:
    """Return reducers of jobs with ten maps or more, and the load of their hosts."""
    maps = trace.of("Map")
    reducers = trace.of("Reduce").of_jobs(job for job in trace.jobs if (maps.job == job).sum() >= 10)
    return table([starts(reducers, "ReduceStart"), samples(reducers, "DataPull", load, 10 * MINUTES)])


def of_attempts(trace: Trace, load: Load) -> Table:
    """Return jobs of 300 attempts at most, one more under way with each start, one less with each end."""
    attempts = trace.of(*ATTEMPTS)
    few = [job for job in trace.jobs if (attempts.job == job).sum() <= 300]
    jobs, attempts = (runs.of_jobs(few) for runs in (trace.of("Job"), attempts))
    return table([starts(jobs, "JobStart"), starts(attempts, "DataIO", 1.0), ends(attempts, "DataIO", -1.0)])


def of_imbalance(trace: Trace, load: Load) -> Table:
    """Return reducers that may take ten minutes at most, and how unevenly the cluster is loaded while each of them runs."""
    reducers = _shorter(trace.of("Reduce"), 10 * MINUTES)
    uneven = samples(reducers, "LoadStd", load, int(reducers.length.max()), of_cluster=True)
    return table([starts(reducers, "ReduceStart"), uneven, ends(reducers, "ReduceEnd")])


def of_short_tasks(trace: Trace, load: Load) -> Table:
    """Return attempts that may take 15 seconds at most, and the load of their hosts, in percent of the slots."""
    tasks = _shorter(trace.of(*ATTEMPTS), 15_000)
    cpu = samples(tasks, "CPU", load, 15_000, share=100 / SLOTS)
    return table([starts(tasks, "TaskStart"), cpu, ends(tasks, "TaskFinish")])


def _shorter(runs: Trace, span: int) -> Trace:
    return runs.where((runs.length > 0) & (runs.length < span + 2 * CLOCK))


def say_lifetimes(match: Match) -> str:
    """Say what a match of Q1 or Q2 shows."""
    _, number, mean, _ = match
    return f"{number} attempts, {mean / 1000:.2f} s on average"


def say_highs(match: Match) -> str:
    """Say what a match of Q6 shows."""
    return f"{match[1]} {'high' if match[1] == 1 else 'highs'}"


STUDIES = [
    Study("Q1", "How long do the maps of each job take?",
        "of starts and ends of jobs, ends of maps", """
        PATTERN SEQ(JobStart a, Mapper+ b[], JobEnd c)
        WHERE skip_till_next_match(a, b[], c) { [job] }
        WITHIN 1 day
        RETURN b.LEN AS number, avg(b[].value) AS mean, max(b[].value) AS longest
        """, of_maps, derived=False, say=say_lifetimes),
    Study("Q2", "How long do the reducers of each job take?",
        "of starts and ends of jobs, ends of reducers", """
        PATTERN SEQ(JobStart a, Reducer+ b[], JobEnd c)
        WHERE skip_till_next_match(a, b[], c) { [job] }
        WITHIN 1 day
        RETURN b.LEN AS number, avg(b[].value) AS mean, max(b[].value) AS longest
        """, of_reducers, derived=False, say=say_lifetimes),
    Study("Q3", "Which pulls of data take more than twice as long as the mean of their reducer?",
        "of reducers of jobs with ten maps or more; derived: a pull for each sample of the load of their host", """
        PATTERN SEQ(ReduceStart a, DataPull+ b[])
        WHERE skip_till_next_match(a, b[]) { [attempt] and b[b.LEN].value > 2 * avg(b[].value) }
        WITHIN 10 minutes
        RETURN b[b.LEN].id AS pull
        """, of_pulls, derived=True),
    Study("Q4", "How much of a job is under way, after each event?",
        "of jobs with 300 attempts or fewer; derived: attempts in the place of megabytes, +1 at a start, -1 at an end", """
        PATTERN SEQ(JobStart a, DataIO+ b[])
        WHERE skip_till_next_match(a, b[]) { [job] }
        WITHIN 1 day
        RETURN b[b.LEN].id AS upto, sum(b[].value) AS size
        """, of_attempts, derived=False),
    Study("Q6", "While a reducer runs, how often does the imbalance of the cluster reach or pass its highest value so far?",
        "of reducers that take ten minutes or less; derived: the standard deviation of the load over all hosts", """
        PATTERN SEQ(ReduceStart a, LoadStd+ b[], ReduceEnd c)
        WHERE skip_till_next_match(a, b[], c) { [attempt] and b[i].value >= b[i-1].value }
        WITHIN 10 minutes
        RETURN b.LEN AS highs
        """, of_imbalance, derived=True, say=say_highs),
    Study("Query 1", "Which tasks max out the CPU of their host until they end?",
        "of attempts that take 15 s or less; derived: running attempts as a percentage of three slots", """
        PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
        WHERE skip_till_any_match(a, b, c, d) { [attempt] and b.value > 95 and d.value <= 70 }
        WITHIN 15 seconds
        RETURN b.id AS high, d.id AS low
        """, of_short_tasks, derived=True, order=False),
]  # fmt: skip
