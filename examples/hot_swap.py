"""An arc is swapped while the job runs: what has begun goes on, under the new rule.

An oven is too hot when its readings rise three times in a row and the last is above 200 degrees. In the middle of a rise the
limit is lowered to 180: the rise that began before the swap is completed after it.

It prints:

    170 degrees at 1: nothing
    175 degrees at 2: nothing
    limit 200 -> 180
    185 degrees at 3: + Rise(low=170, high=185, readings=3) [3, 11)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert


class Reading(NamedTuple):
    degrees: int


class Rise(NamedTuple):
    low: int = 0
    high: int = 0
    readings: int = 0


def too_hot(limit: int) -> Arc:
    return Arc(
        "rising",
        "too hot",
        lambda e, r: e.degrees > r.high and r.readings >= 2 and e.degrees > limit,
        lambda e, r: Rise(r.low, e.degrees, r.readings + 1),
        name=f"above {limit}",
    )


PATTERN = Automaton(
    start="start",
    final={"too hot"},
    register=Rise(),
    event=Reading,
    arcs=[
        Arc("start", "rising", lambda e, r: True, lambda e, r: Rise(e.degrees, e.degrees, 1)),
        Arc("rising", "rising", lambda e, r: e.degrees > r.high, lambda e, r: Rise(r.low, e.degrees, r.readings + 1)),
        too_hot(200),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    changes = [c for c in out if isinstance(c, Change)]
    return ", ".join(f"{'+' if c.diff > 0 else '-'} {c.payload} [{c.le}, {c.re})" for c in changes) or "nothing"


def main() -> None:
    operator = Operator(PATTERN, window=10)
    print("170 degrees at 1:", told(operator.push(insert(Reading(170), le=1))))
    print("175 degrees at 2:", told(operator.push(insert(Reading(175), le=2))))
    operator.swap("above 200", too_hot(180))  # serves the events after the largest LE so far
    print("limit 200 -> 180")
    print("185 degrees at 3:", told(operator.push(insert(Reading(185), le=3))))


if __name__ == "__main__":
    main()
