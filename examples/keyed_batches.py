"""Many keys, whole tables: one automaton for every machine, batches in and out as Arrow tables.

A machine is in trouble when its load rises three times in a row. The second batch takes back what the first said of press 2.
A dict of numpy columns or a pandas DataFrame goes in and comes out the same way.

It prints:

    first batch
      press 1: +1 Climb(low=10, high=30) [3, 11)
      press 2: +1 Climb(low=40, high=60) [3, 11)
    second batch
      press 2: -1 Climb(low=40, high=60) [3, 11)
    Punctuation(t=4)
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from afa import Arc, Automaton, Keyed, Punctuation


class Load(NamedTuple):
    percent: int


class Climb(NamedTuple):
    low: int = 0
    high: int = 0


def climbs(e: Load, r: Climb) -> bool:
    return e.percent > r.high


PATTERN = Automaton(
    start="start",
    final={"third"},
    register=Climb(),
    event=Load,
    arcs=[
        Arc("start", "first", lambda e, r: True, lambda e, r: Climb(e.percent, e.percent)),
        Arc("first", "second", climbs, lambda e, r: Climb(r.low, e.percent)),
        Arc("second", "third", climbs, lambda e, r: Climb(r.low, e.percent)),
    ],
)


def show(table: pa.Table) -> None:
    for row in table.sort_by([("machine", "ascending"), ("le", "ascending")]).to_pylist():
        climb = Climb(row["low"], row["high"])
        print(f"  {row['machine']}: {row['diff']:+d} {climb} [{row['le']}, {row['re']})")


def main() -> None:
    keyed = Keyed(PATTERN, key="machine", window=10)
    machines = ["press 1", "press 2"] * 3
    print("first batch")
    show(keyed.push_many(pa.table({"machine": machines, "percent": [10, 40, 20, 50, 30, 60], "le": [1, 1, 2, 2, 3, 3]})))
    print("second batch")
    wrong = pa.table({"machine": ["press 2"], "percent": [50], "le": [2], "diff": [-1]})
    table, watermark = keyed.push_many([wrong, Punctuation(4)])
    show(table)
    print(watermark)


if __name__ == "__main__":
    main()
