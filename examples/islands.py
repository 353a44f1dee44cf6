"""Gaps and islands that stay right: when was the pump running, and at which flow, while readings are revised?

`Derive` tells each stretch of time in which a condition holds as a record: its begin, its end, and what its readings add up to. A
reading holds until the next one, and here for 30 seconds at most: a sensor that falls silent ends the island. A reading that comes
late closes the gap, so that two islands become one; its retraction opens it again.

It prints:

    0.0 at 0: nothing
    2.0 at 20: + [20, ..) 1 reading, 2.0 l/s
    4.0 at 40: - [20, ..) 1 reading, 2.0 l/s, + [20, ..) 2 readings, 3.0 l/s
    3.0 at 90, after a silence: - [20, ..) 2 readings, 3.0 l/s, + [20, 70) 2 readings, 3.0 l/s, + [90, ..) 1 reading, 3.0 l/s
    0.0 at 110: - [90, ..) 1 reading, 3.0 l/s, + [90, 110) 1 reading, 3.0 l/s
    6.0 at 65, late: - [20, 70) 2 readings, 3.0 l/s, - [90, 110) 1 reading, 3.0 l/s, + [20, 110) 4 readings, 3.75 l/s
    6.0 at 65 was wrong: - [20, 110) 4 readings, 3.75 l/s, + [20, 70) 2 readings, 3.0 l/s, + [90, 110) 1 reading, 3.0 l/s
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Change, Punctuation, insert
from afa.situations import Derive, Situation


class Reading(NamedTuple):
    flow: float


def reading(flow: float, le: int) -> Change:
    return insert(Reading(flow), le=le, re=le + 30)


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(one(o) for o in out if isinstance(o, Change)) or "nothing"


def one(o: Change) -> str:
    _, begin, end, readings, flow = o.payload
    words = f"{readings} reading{'s' * (readings > 1)}, {flow} l/s"
    return f"{'+' if o.diff > 0 else '-'} [{begin}, {'..' if end is None else end}) {words}"


def main() -> None:
    running = Situation("flow > 0")
    pump = Derive(Reading, running=running, returns={"readings": "count(running)", "flow": "avg(running.flow)"})
    for flow, le in ((0.0, 0), (2.0, 20), (4.0, 40)):
        print(f"{flow} at {le}:", told(pump.push(reading(flow, le))))
    print("3.0 at 90, after a silence:", told(pump.push(reading(3.0, 90))))
    print("0.0 at 110:", told(pump.push(reading(0.0, 110))))
    between = reading(6.0, 65)
    print("6.0 at 65, late:", told(pump.push(between)))
    print("6.0 at 65 was wrong:", told(pump.push(between._replace(diff=-1))))


if __name__ == "__main__":
    main()
