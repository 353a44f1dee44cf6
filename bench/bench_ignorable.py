"""What do ignorable runs save ([AFA10] App. D)? Q1 with quotes that do not move passed over, in order and with 5 % shifted.

The same automaton twice: with ignorable arcs, and with self-loops whose transfer happens to return the register unchanged.
"""

from __future__ import annotations

from functools import partial

from bench.measure import interleaved, keep, run, spread
from bench.workloads import q1, shifted, ticks

N = 6_000


def main() -> None:
    rows = []
    for share in (0.0, 0.5, 0.7, 0.9):
        for disorder in (0.0, 0.05):
            stream = shifted(ticks(N, ignorable=share), disorder)
            outcomes = interleaved({skip: partial(run, q1(skip=skip), stream) for skip in ("ignorable", "plain")}, rounds=3)
            ours, plain = outcomes["ignorable"], outcomes["plain"]
            assert {o.final for o in ours} == {o.final for o in plain}, "the optimisation changed the answer"
            assert ours[0].final > 30, "a benchmark without output measures nothing"
            rate = spread([b.seconds / a.seconds for a, b in zip(ours, plain)])
            rows.append(
                {
                    "ignorable": f"{share:.0%}",
                    "disorder": f"{disorder:.0%}",
                    "partial matches held, relative": ours[0].partial_matches / plain[0].partial_matches,
                    "rate, relative": rate["median"],
                    "low": rate["low"],
                    "high": rate["high"],
                    "records per final match": ours[0].records / ours[0].final,
                }
            )
    keep("ignorable", rows)


if __name__ == "__main__":
    main()
