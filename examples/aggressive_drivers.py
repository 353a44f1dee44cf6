"""Aggressive drivers: sharp acceleration runs into speeding, and speeding into hard braking. Situations, and how they overlap.

Each of the three lasts some seconds, and Allen's relations say how they may follow one another: the query of a doctoral thesis
(TPStream, Marburg 2021, Listing 5.1), on cars of our own. In order nothing that is told is ever withdrawn. Then a tenth of the
readings comes late: braking seems to last for three seconds, until a reading between says that it did not, and two drivers are
cleared. The other five that are withdrawn are told anew, with another average.

It prints:

    in order: 7 aggressive drivers
    a tenth late: 14 told, 7 withdrawn, 7 in force in the end
    + car 32, told at 182: speeding [172, 180) at 88.6 mph, braking from 179 on
    - car 32, told at 182: speeding [172, 180) at 88.6 mph, braking from 179 on
    + car 10, told at 263: speeding [237, 261) at 103.7 mph, braking from 260 on
    - car 10, told at 263: speeding [237, 261) at 103.7 mph, braking from 260 on
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from afa.situations import Situation, TemporalPattern
from examples.linear_road import late, readings


class Reading(NamedTuple):
    car: int
    speed: float
    acceleration: float


AGGRESSIVE = TemporalPattern(
    event=Reading,
    key="car",
    tick="s",
    within="5 minutes",
    sharp=Situation("acceleration > 8", at_least="5 s"),
    speeding=Situation("speed > 70", at_least="4 s", at_most="30 s"),
    braking=Situation("acceleration < -9", at_least="3 s"),
    where="""
        sharp meets|overlaps|starts|during speeding
        and speeding contains|finished_by|overlaps|meets braking
        and sharp before braking
    """,
    returns={"avg_speed": "avg(speeding.speed)"},
)


def run(arriving: pa.Table) -> list[dict[str, Any]]:
    """Return all changes of matches, the readings taken in batches of a thousand."""
    operator = AGGRESSIVE.operator()
    batches = (arriving.slice(begin, 1000) for begin in range(0, arriving.num_rows, 1000))
    return [row for batch in batches for row in operator.push_many(batch, time="at").to_pylist()]


def said(row: dict[str, Any]) -> str:
    what = (
        f"speeding [{row['speeding_ts']}, {row['speeding_te']}) at {row['avg_speed']:.1f} mph, braking from {row['braking_ts']} on"
    )
    return f"{'-' if row['diff'] < 0 else '+'} car {row['car']}, told at {row['le']}: {what}"


def main() -> None:
    cars = readings(100, 300, seed=3)
    guilty = {row["car"] for row in run(cars) if row["diff"] > 0}
    print(f"in order: {len(guilty)} aggressive drivers")
    found = run(late(cars, share=0.1, most=30))
    withdrawn = sum(row["diff"] < 0 for row in found)
    print(f"a tenth late: {len(found) - withdrawn} told, {withdrawn} withdrawn, {len(found) - 2 * withdrawn} in force in the end")
    print(*(said(row) for row in found if row["car"] not in guilty), sep="\n")


if __name__ == "__main__":
    main()
