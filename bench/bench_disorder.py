"""What does disorder cost? Q1, k = 1, p = .5, W = 500; events shifted by 1..1000 places.

The rate is relative to the same events in order.
"""

from __future__ import annotations

from functools import partial

from bench.measure import interleaved, keep, run, spread
from bench.workloads import q1, shifted, ticks

N = 20_000


def main() -> None:
    stream = ticks(N)
    shares = {f"{share:.0%}": shifted(stream, share) for share in (0.0, 0.05, 0.10, 0.20)}
    outcomes = interleaved({name: partial(run, q1(), arrivals) for name, arrivals in shares.items()})
    answers = {outcome.final for column in outcomes.values() for outcome in column}
    assert len(answers) == 1, f"disorder changed the answer: {answers}"
    assert answers.pop() > 1000, "a benchmark without output measures nothing"
    base = outcomes["0%"]
    rows = []
    for name, column in outcomes.items():
        ratios = spread([in_order.seconds / outcome.seconds for in_order, outcome in zip(base, column)])
        rows.append(
            {
                "disorder": name,
                "rate relative to in order": ratios["median"],
                "low": ratios["low"],
                "high": ratios["high"],
                "records per final match": column[0].records / column[0].final,
                "state high-water mark": column[0].state,
            }
        )
    keep("disorder", rows)


if __name__ == "__main__":
    main()
