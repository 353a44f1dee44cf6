"""The ways into the library: how the arrivals of a case reach an operator. Each case goes through each of them, on each engine.

    Push            one by one             Restored        after each arrival a snapshot and a restore
    Listed          each arrival a list    Moved           the same, into the other engine
    Arrow           a mixed Arrow table    OneKey          a `Keyed` with one key
    Pandas          frames, without net    PayloadFree     keep_payloads=False
    Columns         dicts of columns       CleanseBefore   a `Cleanse` that holds nothing back before the operator
    SparkBucket     Spark's, without it    CleanseAfter    one after it
    Numbered        an `Ordered`

Where a way can't take an arrival it says why, and the case goes that way as far as that arrival. `python -m tests.ways` prints how
many arrivals go each way, and what the others are.
"""

from __future__ import annotations

from tests.ways.calls import CleanseAfter, CleanseBefore, Listed, Moved, Numbered, OneKey, PayloadFree, Push, Restored
from tests.ways.spark_bucket import SparkBucket
from tests.ways.tables import Arrow, Columns, Pandas
from tests.ways.way import Way

WAYS: tuple[type[Way], ...] = (
    Push,
    Listed,
    Arrow,
    Pandas,
    Columns,
    OneKey,
    Restored,
    Moved,
    PayloadFree,
    CleanseBefore,
    CleanseAfter,
    Numbered,
    SparkBucket,
)
