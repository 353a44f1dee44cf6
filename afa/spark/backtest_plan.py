"""`backtest`: many patterns over one static table, after one shuffle of its rows.

    rows, with a hash of the key --> its partition, sorted by hash --> groups of whole keys --> lanes, pattern by pattern

A worker holds a group at a time: of `GROUP` bytes, or of more where one key has more, which is never split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.pandas.types import from_arrow_schema

from afa.errors import AfaError
from afa.frames.asked import BACKTESTS, check_columns
from afa.frames.frame_reading import End, FrameReading
from afa.frames.prepared import prepared
from afa.io.frame import Frame
from afa.model.automaton import Automaton
from afa.model.option_values import yes_or_no
from afa.operator.options import FrameOptions, Options, options_of, takes_options
from afa.replay.backtest import Backtest, Labels, one_type, plans_of, swept, variants_of
from afa.spark.job import portable
from afa.spark.pattern_said import ONE_KEY
from afa.spark.shipped import by_value, shipped
from afa.spark.typed import arrow_schema, check_tables, column, key_types

if TYPE_CHECKING:
    from afa.operator.options import Unpack

GROUP = 1 << 26
"""How many bytes of rows go through the patterns at once: of 4 columns two million rows. With more of them less time is lost."""
TOGETHER = 8
"""How many patterns' matches are held at once."""
HASH, PLACE = "afa_hash", "afa_place"


@takes_options(*BACKTESTS)
def backtest(
    patterns: Mapping[Any, Any],
    events: DataFrame,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    end: End = "latest",
    counts: bool = False,
    **options: Unpack[FrameOptions],
) -> Backtest:
    """Find the matches of many patterns in one static table, whose rows are shuffled by key once.

    Parameters
    ----------
    patterns : mapping
        Automata or queries by their names: ints, floats, bools or texts. Their matches show the same.
    events : DataFrame
        A static table, with a key: ``key=``, or that of the queries.
    time, until, diff, end, options
        As of `afa.backtest`. ``time`` may be a column of ints, too; ``max_bytes`` holds for what one operator holds at a time.
    counts : bool
        True: matches are counted only; ``matches`` is None.

    Returns
    -------
    Backtest
        As of `afa.backtest` over the same rows. ``table``, ``variant`` and ``matches``, has a row for each pattern, in their order;
        rows of a table stand in no order of arrival, so that nothing counts what is withdrawn. ``matches`` has ``variant`` and what
        `afa.find` returns, in no order. Both are read from the table when they are asked for, each by itself.

    Raises
    ------
    AfaError
        As `afa.backtest`, before any row is read, where columns and patterns tell; a stream, or a pattern without a key.

    Notes
    -----
    With time-outs, or ``diff=``, a job reads the latest time first, when the function is called. A task that meets a row that can't
    be taken, or a function that raises, ends with the error of `afa.backtest`, which names the variant.
    """
    yes_or_no(counts=counts)
    labels, variants = variants_of(patterns)
    said = options_of(options, "backtest", BACKTESTS)
    check_tables(events, None)
    if events.isStreaming:
        raise AfaError("expected a static table, all rows of which are there, but got a stream: afa.spark.match takes one")
    empty = Frame(arrow_schema(events).empty_table())
    reading = FrameReading.of(empty, variants[0], time, until, diff, end)
    plans = plans_of(labels, variants, empty, reading, said)
    first = plans[0]
    for plan in plans:
        check_columns(plan.computed, "afa.spark.backtest")
    if not first.keys:
        raise AfaError(f"expected the names of key columns but got key=None{ONE_KEY}")
    key_types(events.schema, first.keys)
    if not first.shown.scalar:
        raise AfaError(f"expected matches with scalar fields (Spark's columns have types) but got {first.shown.describe()}")
    told = pa.array(one_type(labels["variant"]))
    labels = {"variant": told.to_pylist()}
    shown = swept({"variant": labels["variant"][:1]}, variants[:1], empty, reading, said, False, 1).matches.schema
    shown = shown.set(0, pa.field("variant", told.type))
    if end == "latest" and (diff is not None or any(plan.waits for plan in plans)):
        reading = reading._replace(end=_latest(events, reading, first.tick))
    names = [*first.keys, *(field.name for plan in plans for field in plan.fields), *reading.columns]
    made = [portable(each.bound(first.tick)) if isinstance(each, Automaton) else each for each in variants]
    sweep = Sweep(labels, made, list(dict.fromkeys(names)), reading, said.but(tick=first.tick), shown)
    arcs = [arc for plan in plans for arc in plan.automaton.arcs]
    with by_value(*(plan.automaton for plan in plans), *(plan.events.cls for plan in plans)):
        rows = sweep.rows(events, first.keys)
        counted = rows.mapInArrow(shipped(sweep.counted, arcs), f"{PLACE} bigint, matches bigint")
        numbered = from_arrow_schema(pa.schema({PLACE: pa.int64(), "variant": told.type}))
        every = events.sparkSession.createDataFrame(list(enumerate(labels["variant"])), numbered)
        each = every.unionByName(counted, allowMissingColumns=True).groupBy(PLACE)
        variant, matches = F.first("variant", ignorenulls=True), F.coalesce(F.sum("matches"), F.lit(0))
        table = each.agg(variant.alias("variant"), matches.alias("matches")).orderBy(PLACE).select("variant", "matches")
        found = None if counts else rows.mapInArrow(shipped(sweep.found, arcs), from_arrow_schema(shown))
    return Backtest(table, found)


class Sweep(NamedTuple):
    """What workers are sent: patterns, and how they read rows."""

    labels: Labels
    patterns: list[Any]
    columns: list[str]  # of the rows, without the hash
    reading: FrameReading
    options: Options
    shown: pa.Schema  # of matches

    def rows(self, events: DataFrame, keys: Any) -> DataFrame:
        """Return the columns that patterns read, by numbers (PySpark takes names apart at dots), and rows by their keys' hashes."""
        named = (column(name).alias(f"c{place}") for place, name in enumerate(self.columns))
        found = events.select(*named, F.xxhash64(*map(column, keys)).alias(HASH))
        return found.repartition(HASH).sortWithinPartitions(HASH)

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield how many matches the patterns have in the rows of a partition."""
        for table in whole_keys(batches, GROUP):
            numbers = self._swept(Frame(table.rename_columns(self.columns)), slice(None), True).table["matches"]
            yield from pa.table([pa.array(np.arange(len(numbers))), numbers], [PLACE, "matches"]).to_batches()

    def found(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the matches in the rows of a partition."""
        for table in whole_keys(batches, GROUP):
            with prepared(table.rename_columns(self.columns)) as history:
                for low in range(0, len(self.patterns), TOGETHER):
                    matches = self._swept(history, slice(low, low + TOGETHER), False).matches
                    yield from matches.cast(self.shown).to_batches()

    def _swept(self, frame: Frame, some: slice, counts: bool) -> Backtest:
        labels = {name: values[some] for name, values in self.labels.items()}
        return swept(labels, self.patterns[some], frame, self.reading, self.options, False, 1, counts)


def whole_keys(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """Yield rows as tables of whole keys, of ``most`` bytes or more. The last column, a hash, ascends, and is left out."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not len(batch):
            continue
        held.append(batch)
        size += batch.nbytes
        last = batch[-1][-1]
        if size < most or held[0][-1][0] == last:  # one key so far
            continue
        table = pa.Table.from_batches(held)
        low = int(np.searchsorted(table[-1].to_numpy(), last.as_py()))
        yield table[:low].drop_columns(HASH)
        held = table[low:].to_batches()
        size = sum(each.nbytes for each in held)
    if held:
        yield pa.Table.from_batches(held).drop_columns(HASH)


def _latest(events: DataFrame, reading: FrameReading, tick: str | None) -> Any:
    """Return the latest time of a table, in ticks; of an empty one there is none."""
    last = events.agg(F.max(column(reading.time)).alias(reading.time)).toArrow()
    return int(Frame(last).ticks(reading.time, tick, "time")[0]) if last[0][0].is_valid else reading.end
