"""afa on Spark: one operator per key inside Structured Streaming.

    events.transform(afa.spark.match(automaton, key="tail", time="at", window="24 hours"))

plan            `match`
whole_sql       `sql`; changes_read: how a statement reads the changes of a stream
computed_rows   columns that a query in SQL computes of each row, its keys among them
pattern_said    what a pattern says itself; rules_said: what a set does; dealing: rows to buckets, and what these say as columns
feed_columns    `feed`: messages of a database as rows
backtest_plan   `backtest`: many patterns over a static table, after one shuffle
replay_plan     `replay`: a static table, read only where a match can lie
candidate_rows  rows that may be what a match must contain; box_conditions: as conditions that readers hold against statistics
span_rows       which rows lie in the spans around them, on workers
job             what every worker must know: pattern, keys, columns; and what a bucket answers
typed           columns of a DataFrame as fields of an event, and what is refused of a table
watermark       a stream's watermark: its own, ours, one before 1970
packed_rows     rows on their way to a bucket and back
hashing         which bucket a key belongs to
processor       the adapter to the stateful operator, and the state
bucket          the work of one bucket of keys, without Spark; held: its rows before the operator; stages: what stands in front
message_options rows as messages (``id=``); bucket_ids: what a bucket knows of ids
arc_lines       the folder of an arc log (`afa.arclog`), or of a log of rules, as a stream
ledger          the arcs of a bucket, worked out once for all buckets of a process
recipe          what a state depends on, for code that changes
moved           keys that move to another number of buckets
shared          operators in shared memory between batches; operator_image: one as a file
metrics         what each bucket tells of each batch
shipped         what workers are sent, and what they say if they lack a module
worlds_bucket   the work of one bucket of `Worlds`, without Spark; rules_bucket: of a set of rules
table_folder    changes folded into the matches in force, and where `keep_current` keeps them
session         Spark in this process, and what `match` wants of any
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from afa import ADDED
from afa.spark.arc_lines import SparkArcLog as arc_log  # noqa: N813  (it is called like a function: afa.spark.arc_log(path, automaton))
from afa.spark.arc_lines import SparkRuleLog as rule_log  # noqa: N813
from afa.spark.backtest_plan import backtest
from afa.spark.feed_columns import feed
from afa.spark.metrics import line, listener, metrics
from afa.spark.plan import match
from afa.spark.replay_plan import replay
from afa.spark.session import NEEDED, local_session
from afa.spark.table_folder import current, keep_current
from afa.spark.whole_sql import sql

__all__ = [
    "NEEDED",
    "Served",
    "arc_log",
    "backtest",
    "current",
    "feed",
    "keep_current",
    "line",
    "listener",
    "local_session",
    "match",
    "metrics",
    "replay",
    "rule_log",
    "serve",
    "sql",
]

if TYPE_CHECKING:  # see `afa.ADDED`
    Served: Any

    def serve(
        query: Any,
        pattern: Any,
        *,
        arcs: Any = None,
        name: str | None = None,
        text: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> Any:
        """Show a running query on a live page."""

else:

    def __getattr__(name: str) -> Any:
        if name in ADDED[__name__]:
            return getattr(importlib.import_module(ADDED[__name__][name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *ADDED[__name__]})
