"""`replay`: the matches of a static table, read only where one can lie; tasks are intervals of keys."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.model.option_values import names_of
from afa.model.renamed import renamed
from afa.operator.contract import Pattern
from afa.operator.options import IN_FRONT, OF_SPARK, SparkOptions, Unpack, options_of, takes_options
from afa.replay.witness.boxes import ArcLifetime
from afa.spark.box_conditions import FEW_KEYS, rows_within, stretches
from afa.spark.candidate_rows import CandidateSpans, History, HistoryEnds, ends_of, sought
from afa.spark.dealing import at_once, finished, labelled, packed, spark_schema, to_all, without
from afa.spark.job import Job, fields_of, job_of, policy_of
from afa.spark.ledger import Ledger
from afa.spark.packed_rows import ARC, packer
from afa.spark.pattern_said import PatternOptions, check_call, said_of, tell_of_carried, tell_of_python
from afa.spark.plan import match
from afa.spark.session import BUCKETS
from afa.spark.shipped import by_value, shipped
from afa.spark.span_rows import SpanRows
from afa.spark.typed import check_names, check_tables, column, key_types, keyed
from punctuation.time import BEGINNING

TAKES = tuple(name for name in OF_SPARK if name not in IN_FRONT)
log = logging.getLogger("afa.spark")
SPAN = "interval"
InFull = Callable[[], Callable[[DataFrame], DataFrame]]
"""Makes the function that pushes all rows through operators."""
BETWEEN = "a reading that is left out would change what holds after the one before it"


class Asking(NamedTuple):
    """What is said beside a pattern and the options of its operators; as of `replay`."""

    time: str
    until: str | None
    diff: str | None
    arcs: DataFrame | None
    end: str
    on_fault: str
    buckets: int


class SparkPlan(NamedTuple):
    """What a replay does; ``print`` shows it.

    Attributes
    ----------
    witnesses : tuple of str
        What a match must contain, in order.
    steps : tuple of str
        The jobs that looked for it, in the order in which they ran: how many rows each has found.
    spans, keys : int
        How many spans of time go through operators, and of how many keys.
    times : tuple of (int, int)
        The stretches of time, ``[low, high)`` in microseconds, in which rows are read.
    reason : str or None
        Why all rows go through operators; None: they do not.
    """

    witnesses: tuple[str, ...]
    steps: tuple[str, ...] = ()
    spans: int = 0
    keys: int = 0
    times: tuple[tuple[int, int], ...] = ()
    reason: str | None = None

    @property
    def full(self) -> bool:
        """Whether all rows go through operators."""
        return self.reason is not None

    def __str__(self) -> str:
        if self.full:
            return f"full run ({self.reason})"
        if not self.spans:
            return "; ".join([*self.steps, "so no match is possible"])
        counts = [_counted(len(self.times), "stretch", "stretches"), _counted(self.spans, "span"), _counted(self.keys, "key")]
        return "; ".join([*self.steps, "read in {} of time: {} of {}".format(*counts)])


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class SparkReplay:
    """What `replay` returns: called with a static table, it returns the matches. ``plan``: how, once it has been called."""

    def __init__(self, said: PatternOptions, options: Asking, require: bool, in_full: InFull) -> None:
        self._said, self._options, self._require, self._in_full = said, options, require, in_full
        self.plan: SparkPlan | None = None

    def __call__(self, events: DataFrame) -> DataFrame:
        """Return the matches of a static table."""
        with by_value(self._said.automaton, self._said.asked.event):
            return self._found(events)

    def _found(self, events: DataFrame) -> DataFrame:
        said, options = self._said, self._options
        check_tables(events, options.arcs)
        history = self._history(keyed(events, names_of(said.options.key, "key"), fields_of(said.automaton, said.asked)))
        if said.asked.readings is not None:
            return self._run_in_full(CandidateSpans(None, None, (), reason=BETWEEN), events)
        ends = ends_of(history, options.end)
        where = sought(history, ends)
        if where.reason is not None:
            return self._run_in_full(where, events)
        assert where.spans is not None
        times = tuple(stretches(where.spans))
        many = len(set(where.spans.key.tolist()))
        self._tell(SparkPlan(where.witnesses, where.steps, len(where.spans), many, times))
        return self._in_spans(history, where, times, ends, events.schema)

    def _run_in_full(self, where: CandidateSpans, events: DataFrame) -> DataFrame:
        if self._require:
            raise AfaError(f"expected a pattern that needs some rare event, with require=True, but got a full run: {where.reason}")
        self._tell(SparkPlan(where.witnesses, where.steps, reason=where.reason))
        return self._in_full()(events)

    def _tell(self, plan: SparkPlan) -> None:
        self.plan = plan
        log.info("replay: %s", plan)

    def _history(self, events: DataFrame) -> History:
        """Return a table with the job that is asked for, checked."""
        options = self._options
        if events.isStreaming:
            raise AfaError("expected a static table, all rows of which are there, but got a stream: afa.spark.match takes one")
        check_call(self._said, events, options.time, options.arcs, options.end)
        job = self._job(events, options)
        check_names(events, job)
        history = History(events, job, options.time, options.until, options.diff, _servings(job, options.arcs))
        history.typed(history.rows(events))  # which says what is missing
        tell_of_python(job)
        return history

    def _job(self, events: DataFrame, options: Asking, span: str | None = None) -> Job:
        """Return the job; with ``span`` that of operators whose key has the number of a span behind its own columns."""
        said, told = self._said, self._said.options
        names = names_of(told.key, "key")
        types = key_types(events.schema, names)
        return job_of(
            said.automaton,
            told if span is None else told.but(key=(*names, span)),
            buckets=options.buckets,
            on_fault=options.on_fault,
            key_types=types if span is None else [*types, pa.int64()],
            lifetimes=options.until is not None,
            asked=said.asked,
        )

    def _in_spans(
        self, history: History, where: CandidateSpans, times: Sequence[tuple[int, int]], ends: HistoryEnds, schema: StructType
    ) -> DataFrame:
        """Return what operators find in spans: one for each, as the number of the span is part of its key. ``schema``: of keys."""
        tell_of_carried(self._said.pattern)
        events, spans, keys, job = history.events, where.spans, where.keys, history.job
        assert spans is not None
        taken = {name.lower() for name in (*events.columns, *job.schema.names, *(field.name for field in job.shown.fields))}
        span = next(name for name in (SPAN, *(f"{SPAN}{n}" for n in range(len(taken)))) if name not in taken)
        by_span = self._job(events, self._options, span)
        rows = rows_within(events, history.time, times)
        for name, values in zip(job.keys, keys.values if keys is not None else ()):
            if len(values) <= FEW_KEYS:
                rows = rows.where(column(name).isin(values.to_pylist()))
        within, pack = SpanRows(keys, job.keys, spans, span), packer(by_span, history.time, history.until)
        parts, arcs = packed(history.typed(history.rows(rows)), by_span, lambda batches: pack(within(batches))), self._options.arcs
        if arcs is not None:
            parts = parts.unionByName(to_all(arcs, ARC, "value", by_span.buckets))
        grouped = labelled(parts, by_span.buckets).groupBy("bucket")
        work = shipped(at_once(by_span, ends.latest), by_span.automaton.arcs)
        found = grouped.applyInArrow(work, spark_schema(by_span)).drop(span)
        return without(finished(found, job, schema), job.dropped)


def _servings(job: Job, arcs: DataFrame | None) -> tuple[ArcLifetime, ...]:
    """Return the arcs that serve, with their lifetimes: the automaton's own, and those of an arc log."""
    if arcs is None:
        return tuple(map(ArcLifetime, job.automaton.arcs))
    ledger = Ledger(job, job.recipe, job.automaton)
    ledger.step(BEGINNING, [row[0] for row in arcs.select("value").collect()], [])
    return tuple(ArcLifetime(event.arc, event.le, event.re) for event in ledger.table(BEGINNING).events)


@renamed(automaton="pattern")
@takes_options(*TAKES)
def replay(
    pattern: Automaton | Pattern,
    *,
    time: str,
    until: str | None = None,
    diff: str | None = None,
    arcs: DataFrame | None = None,
    end: str = "latest",
    on_fault: str = "report",
    buckets: int = BUCKETS,
    require: bool = False,
    **options: Unpack[SparkOptions],
) -> SparkReplay:
    """Return a function that finds the matches of a static table, read only where one can lie: ``table.transform(replay(..))``.

    Which events a match must contain follows from the automaton. Spark looks for rows that may be the rarest of them, by conditions
    that its readers hold against the table's own statistics, so that files and row groups without any are left out; then, where
    that leaves many, for the next one's around these. The rows of their keys around them, within the window, go through operators.
    Of a temporal pattern all rows do.

    Parameters
    ----------
    pattern, time, until, diff, arcs, end, on_fault, buckets, options
        As of `match` for a static table.
    require : bool
        Whether a full run is refused, if only that would do.

    Returns
    -------
    callable
        Takes a static DataFrame and returns one: the rows of ``kind = match`` that `match` returns, in the same columns. Its
        attribute ``plan``, once it has been called, says what it does, as does a line of the log ("afa.spark", at level INFO).

    Raises
    ------
    AfaError
        As of `match`; the table is a stream; with ``require``, the reason why all of it would have to be read. Raised when the
        function is called.

    Notes
    -----
    Where a match can lie is found when the function is called, by a few jobs: one on the first rows, one for each witness, and one
    more over the times alone with time-outs or ``until=``. Rows around are read when the result is. A table that is costly to
    compute is better written, or cached, before.

    It is a full run, by `match`, without a window, where every event may be part of a match or at least every second one may be a
    witness, where more than a million rows may be each of them, and for a query that begins with a negation.

    Rows that no match can contain are not looked at: a bad one among them is not told, and no function is asked of them. Rows of
    ``kind = fault`` tell of the others.
    """
    asked = options_of(options, "replay", TAKES)
    said = said_of(pattern, asked, time=time, until=until, arcs=arcs)
    if said.asked.own is not None:
        raise AfaError(f"expected an automaton, a query or a temporal pattern but got {pattern!r}: match takes it, over all rows")
    on_fault = policy_of("on_fault", on_fault)
    given = Asking(time, until, diff, arcs, end, on_fault, buckets)
    return SparkReplay(said, given, require, partial(match, pattern, **given._asdict(), **asked.said))
