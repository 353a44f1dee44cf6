"""On the driver: rows that may be a witness, the rarest first, each next one where those before leave something; spans of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)

from afa.model.arc import TIMEOUT
from afa.replay.key_spans import Candidates, Spans, later, spans_of
from afa.replay.scan_plan import short
from afa.replay.witness.boxes import ArcLifetime, Box
from afa.replay.witness.witnesses import Necessary, Witness, guessed, necessary
from afa.spark.box_conditions import Asker, rows_within, stretches
from afa.spark.job import Job
from afa.spark.span_rows import KeyCodes
from afa.spark.typed import column, timed, typed_rows
from punctuation.time import FOREVER

LOOK = 10_000
"""The first rows of the table, of which it is counted how many are in each box."""
MOST = 1_000_000
"""So many candidates of a witness, at most, come to the driver."""
COMMON = 0.5
"""A witness that so many of the first rows may be is not looked for."""
FEW = 200
"""Where there are no more spans than this, no other witness is looked for: a job of Spark costs more than their rows."""
BITS = 62


class History(NamedTuple):
    """A static table, how it is read, and the arcs that serve."""

    events: DataFrame
    job: Job
    time: str
    until: str | None
    diff: str | None
    servings: tuple[ArcLifetime, ...]

    @property
    def waits(self) -> bool:
        """Whether there are time-outs."""
        return any(serving.arc.kind == TIMEOUT for serving in self.servings)

    @property
    def asker(self) -> Asker:
        """What makes conditions about its rows."""
        return Asker(self.rows(self.events).schema, self.time, self.job)

    def rows(self, events: DataFrame) -> DataFrame:
        """Return some of its rows, with a timestamp as their time."""
        return timed(events, self.time)

    def typed(self, rows: DataFrame, job: Job | None = None) -> DataFrame:
        """Return rows in the columns that buckets take."""
        return typed_rows(rows, job or self.job, self.time, self.until, self.diff)


class HistoryEnds(NamedTuple):
    """What has to be known of all rows: the longest lifetime of one, and the largest LE where time-outs wait for it."""

    longest: int
    latest: int | None


class CandidateSpans(NamedTuple):
    """Where matches can lie, and how that was found."""

    spans: Spans | None  # None: anywhere, for a reason
    keys: KeyCodes | None  # their keys; None: there is no span
    witnesses: tuple[str, ...]  # what a match must contain
    steps: tuple[str, ...] = ()  # the jobs that looked for it
    reason: str | None = None


def ends_of(history: History, end: str) -> HistoryEnds:
    """Return what has to be known of all rows; a job, if there are time-outs or each row says how long it lives."""
    job = history.job
    window = FOREVER if job.window is None else job.window
    wanted = []
    if history.waits and end == "latest":
        wanted.append(F.max("le").alias("latest"))
    if history.until is not None:
        lasts = F.coalesce(F.try_subtract(F.coalesce(F.col("re"), F.lit(FOREVER)), F.col("le")), F.lit(FOREVER))
        lives = F.when(F.col("re").isNull(), F.lit(window)).otherwise(lasts)
        wanted.append(F.max(lives).alias("longest"))
    found = history.typed(history.rows(history.events)).agg(*wanted).first().asDict() if wanted else {}  # type: ignore[union-attr]
    longest = window if history.until is None else max(found["longest"] or 1, 1)
    return HistoryEnds(longest, found.get("latest") if end == "latest" else FOREVER if history.waits else None)


def sought(history: History, ends: HistoryEnds) -> CandidateSpans:
    """Find where matches can lie."""
    job = history.job
    if any(layer.stage(None).looks_back for layer in job.asked.layers):
        return CandidateSpans(None, None, (), reason="a stage in front of the operator looks at what was before a match")
    needs = necessary(job.automaton, history.servings)
    if needs.possible and needs.witnesses and ends.longest < FOREVER:
        shares = _shares(history, needs.boxes)
        needs = necessary(job.automaton, history.servings, shares.__getitem__)
        if needs.witnesses:
            return _located(history, needs, ends, [min(1.0, sum(map(shares.__getitem__, each.boxes))) for each in needs.witnesses])
    said = _said(history, needs)
    if not needs.possible:
        return CandidateSpans(_none(), None, said)
    without = "without a window an event may be part of a match at any distance"
    return CandidateSpans(None, None, said, reason=without if needs.witnesses else "every event may be part of a match")


def _said(history: History, needs: Necessary) -> tuple[str, ...]:
    return tuple(witness.text(history.job.automaton.event_schema) for witness in needs.witnesses)


def _none() -> Spans:
    return Spans(*np.zeros((3, 0), np.int64))


def _shares(history: History, boxes: Sequence[Box]) -> dict[Box, float]:
    """Return how many of the first rows are in each box; without any, or of too many boxes, a guess."""
    looked = list(boxes[:BITS])
    found = np.zeros(0, np.int64)
    if LOOK and looked:
        rows, asker = history.rows(history.events), history.asker
        bits = [F.when(asker.within(box), F.lit(1 << n).cast("bigint")).otherwise(F.lit(0)) for n, box in enumerate(looked)]
        found = np.array([row[0] for row in rows.select(sum(bits[1:], bits[0])).take(LOOK)], np.int64)
    shares = {box: guessed(box) for box in boxes}
    for n, box in enumerate(looked):
        shares[box] = (int((found >> n & 1).sum()) + shares[box]) / (len(found) + 1)
    return shares


def _located(history: History, needs: Necessary, ends: HistoryEnds, shares: Sequence[float]) -> CandidateSpans:
    """Return the spans that candidates of the witnesses have, taken from the rarest on."""
    said, witnesses = _said(history, needs), needs.witnesses
    kinds: list[Candidates] = []
    steps: list[str] = []
    spans: Spans | None = None
    keys: KeyCodes | None = None
    reason = "at least every second row may be part of a match, as the first rows show"
    for place in sorted(range(len(witnesses)), key=lambda n: shares[n]):
        if shares[place] >= COMMON or (spans is not None and len(spans) <= FEW):
            break
        rows = _candidates(history, witnesses[place], spans)
        if rows is None:
            reason = f"more than {short(MOST)} rows satisfy {said[place]}"
            continue
        steps.append(f"{said[place]}: {short(len(rows))} {'row' if len(rows) == 1 else 'rows'}")
        if keys is None:
            keys = KeyCodes.of([rows[n] for n in range(len(history.job.keys))])
        kinds = sorted([*kinds, _of_rows(rows, place, keys, history)], key=lambda kind: kind.place)
        first, last = witnesses[kinds[0].place[0]].first, witnesses[kinds[-1].place[1]].last and not needs.waits
        spans = spans_of(kinds, ends.longest, first, last, history.job.order_by is None)
        if not len(spans):
            break
    return CandidateSpans(spans, keys, said, tuple(steps), None if spans is not None else reason)


def _candidates(history: History, witness: Witness, spans: Spans | None) -> pa.Table | None:
    """Return key, LE and RE of the rows that may be a witness, of those in spans; None: there are too many."""
    events = history.events
    if spans is not None:
        events = rows_within(events, history.time, stretches(spans))
    typed = history.typed(history.rows(events).where(history.asker.may_be(witness.boxes)))
    times = ["le", "re"] if history.until is not None else ["le"]
    names = [*map(column, history.job.keys), *map(F.col, times)]
    rows = typed.select(*(name.alias(f"c{n}") for n, name in enumerate(names))).limit(MOST + 1).toArrow()
    return rows if len(rows) <= MOST else None


def _of_rows(rows: pa.Table, place: int, keys: KeyCodes, history: History) -> Candidates:
    """Return rows as candidates, but those without a time, or of a key that no candidate before has."""
    many, window = len(history.job.keys), FOREVER if history.job.window is None else history.job.window
    key = keys.numbers([rows[n] for n in range(many)])
    there = (key >= 0) & pc.is_valid(rows[many]).to_numpy()
    le = pc.fill_null(rows[many], 0).to_numpy()
    re = later(le, window)
    if history.until is not None:
        said = rows[many + 1]
        re = np.where(pc.is_valid(said).to_numpy(), pc.fill_null(said, 0).to_numpy(), re)
    le = le[there]
    return Candidates((place, place), key[there], le, le, re[there], np.ones(len(le), bool))
