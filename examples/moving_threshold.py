"""A threshold is changed in the running job: from now on, or for a time that lies in the past.

The door of an oven should not be open while the oven is hot. Hot is above 200 degrees, until that is lowered to 180 in the running
job: what lies before it stays as it was told. Then the limit of 180 is set for the first 40 seconds, too: the past is told anew, no
reading has to be sent again. Undone in the same way, the match goes.

It prints:

    190 degrees, the door open from 20 to 30: nothing
    above 180 from now on: nothing
    190 degrees, the door open from 60 to 70: + open from 60 to 70, hot since 50
    above 180 in [0, 40): + open from 20 to 30, hot since 10
    above 200 in [0, 40): - open from 20 to 30, hot since 10
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Change, Operator, Punctuation, insert
from afa.situations import Situation, TemporalPattern


class Oven(NamedTuple):
    degrees: int
    open: bool


PATTERN = TemporalPattern(
    event=Oven,
    within=100,
    hot=Situation("degrees > 200"),
    door=Situation("open"),
    where="door overlaps|starts|during|finishes hot",
)


def opened(begin: int) -> list[Change]:
    """Return readings of an oven that gets warm, and whose door is opened for ten seconds."""
    readings = [Oven(150, False), Oven(190, False), Oven(190, True), Oven(190, False), Oven(150, False)]
    return [insert(reading, le=begin + 10 * i) for i, reading in enumerate(readings)]


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(one(o) for o in out if isinstance(o, Change)) or "nothing"


def one(o: Change) -> str:
    match = o.payload
    return f"{'+' if o.diff > 0 else '-'} open from {match.door_ts} to {match.door_te}, hot since {match.hot_ts}"


def main() -> None:
    operator = Operator(PATTERN)
    print("190 degrees, the door open from 20 to 30:", told(operator.push_many(opened(0))))
    print("above 180 from now on:", told(operator.redefine("hot", "degrees > 180")))
    print("190 degrees, the door open from 60 to 70:", told(operator.push_many(opened(40)[1:])))
    print("above 180 in [0, 40):", told(operator.redefine("hot", "degrees > 180", le=0, re=40)))
    print("above 200 in [0, 40):", told(operator.redefine("hot", "degrees > 200", le=0, re=40)))


if __name__ == "__main__":
    main()
