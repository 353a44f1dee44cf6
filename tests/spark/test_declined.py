"""Declined, declined, declined, approved on one card, on Spark: times with fractions of a second, in an int and as an `Instant`."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import afa
from afa.spark import match


class Pay(NamedTuple):
    card: int
    status: str
    sent: int  # a timestamp column, by the card's clock: microseconds
    at: afa.Instant = 0


DECLINED = afa.query(
    """
    PATTERN SEQ(Pay{3} d[], Pay ok)
    WHERE partition_contiguity(d[], ok) { [card] and d[i].status = 'declined' and ok.status = 'approved' }
    WITHIN 2500 ms
    RETURN d[1].at AS since, ok.at - d[1].at AS took, ok.sent AS sent
    """,
    event=Pay,
    tick="us",
)
BEGIN = datetime(2026, 3, 28, 23, 59, 50)
MICROSECOND = timedelta(microseconds=1)


def by_hand(rows: list[tuple[int, str, datetime, datetime]]) -> list[tuple[int, datetime, int, datetime]]:
    """Return card, first time, microseconds and the card's time of each match, in plain Python."""
    found = []
    for card in {row[0] for row in rows}:
        mine = sorted(((at, status, sent) for c, status, sent, at in rows if c == card), key=lambda row: row[0])
        for four in zip(mine, mine[1:], mine[2:], mine[3:]):
            (first, *_), (last, _, sent) = four[0], four[3]
            if [row[1] for row in four] == ["declined"] * 3 + ["approved"] and last - first < timedelta(seconds=2.5):
                found.append((card, first, (last - first) // MICROSECOND, sent))
    return sorted(found)


def test_declined_three_times_then_approved(spark: Any) -> None:
    rng, rows = random.Random(3), []
    for micros in rng.sample(range(40_000_000), 400):
        at = BEGIN + timedelta(microseconds=micros)
        status = rng.choice(["declined", "declined", "approved"])
        rows.append((rng.randrange(6), status, at + timedelta(microseconds=rng.randrange(9)), at))
    frame = spark.createDataFrame(rows, "card int, status string, sent timestamp, time timestamp")
    found = frame.transform(match(DECLINED, time="time")).where("kind = 'match' and diff = 1")
    assert found.schema["card"].dataType.simpleString() == "int"  # as it came
    zero = spark.createDataFrame([(BEGIN,)], "t timestamp").selectExpr("unix_micros(t) AS n").collect()[0].n

    def instant(micros: int) -> datetime:
        return BEGIN + timedelta(microseconds=micros - zero)

    got = sorted((row.card, row.since, row.took, instant(row.sent)) for row in found.collect())  # since is an LE, sent an int field
    assert got == by_hand(rows)
    assert len(got) > 10
    assert any(took % 1000 for _, _, took, _ in got)
