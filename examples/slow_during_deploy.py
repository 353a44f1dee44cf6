"""Was the service slow during the deploy? Two situations, how they overlap, and a sample that comes late.

Slow is a 99th percentile above half a second for a minute or more. It counts where it ends before the deploy does,
so it is told when it ends. The sample of 12:02:00 comes late: the service was fast then, neither part of the time lasted for a
minute, and the finding is withdrawn. Then that sample turns out to be of another service, and is taken back.

It prints:

    slow overlaps|during deploy: when slow ends
    12:00:30: nothing
    12:01:00: nothing
    12:01:30: nothing
    12:02:30: nothing
    12:03:00: + slow from 12:01:30 to 12:03:00, 0.9 s at worst
    12:04:00: nothing
    12:02:00, late: - slow from 12:01:30 to 12:03:00, 0.9 s at worst
    12:02:00 was another service: + slow from 12:01:30 to 12:03:00, 0.9 s at worst
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

from afa import Change, Operator, Punctuation, insert, retract
from afa.situations import Situation, TemporalPattern


class Sample(NamedTuple):
    p99: float
    deploying: bool


PATTERN = TemporalPattern(
    event=Sample,
    tick="s",
    within="1 hour",
    slow=Situation("p99 > 0.5", at_least="1 minute"),
    deploy=Situation("deploying"),
    where="slow overlaps|during deploy",
    returns={"worst": "max(slow.p99)"},
)
SAMPLES = {
    "12:00:30": Sample(0.2, False),
    "12:01:00": Sample(0.2, True),
    "12:01:30": Sample(0.7, True),
    "12:02:30": Sample(0.9, True),
    "12:03:00": Sample(0.3, True),
    "12:04:00": Sample(0.2, False),
}


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2024-05-06T{time}")


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(one(o) for o in out if isinstance(o, Change)) or "nothing"


def one(o: Change) -> str:
    begin, end = (datetime.fromtimestamp(t, timezone.utc).time() for t in (o.payload.slow_ts, o.payload.slow_te))
    return f"{'+' if o.diff > 0 else '-'} slow from {begin} to {end}, {o.payload.worst} s at worst"


def main() -> None:
    print(*PATTERN.explain().decided, sep="\n")
    operator = Operator(PATTERN)
    for time, sample in SAMPLES.items():
        print(f"{time}:", told(operator.push(insert(sample, le=at(time)))))
    fast = Sample(0.1, True)
    print("12:02:00, late:", told(operator.push(insert(fast, le=at("12:02:00")))))
    print("12:02:00 was another service:", told(operator.push(retract(fast, le=at("12:02:00")))))


if __name__ == "__main__":
    main()
