"""Sensors on several floors, each with watermarks of its own ([AFA10] App. F.2): one that is late holds back only its own.

Heat that rises three times within five minutes on one floor. ``Punctuation(t, where="floor <= 3")``: floors 1 to 3 have told all
before t: a watermark with a condition. Their state is let go, while floor 9 tells half an hour late, and keeps all that it needs.

It prints:

    an hour of readings: 8 alarms; held: 240 events
    floors 1 to 3 have told all; held: 60 events
    floor 9 tells of 27 degrees at 1805: + 28 degrees on 9 at 1860
    floor 2 is behind its watermark: expected le >= 3600 (promised, where e.floor <= 3) but got le=1805
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Keyed, LateEventError, Punctuation, insert


class Reading(NamedTuple):
    floor: int
    degrees: float


class Heat(NamedTuple):
    degrees: float = 0.0


PATTERN = Automaton(
    start="start",
    final={"alarm"},
    register=Heat(),
    event=Reading,
    arcs=[
        Arc("start", "warm", "degrees > 25", "(degrees,)"),
        Arc("warm", "warmer", "degrees > r.degrees", "(degrees,)"),
        Arc("warmer", "alarm", "degrees > r.degrees", "(degrees,)"),
    ],
)


def told(out: list[Any]) -> str:
    return ", ".join(f"{'+' if o.diff > 0 else '-'} {o.payload.degrees:g} degrees on {o.key} at {o.le}" for o in out) or "nothing"


def held(op: Keyed) -> str:
    return f"{op.statistics.events} events"


def main() -> None:
    op = Keyed(PATTERN, key="floor", window=300, retractions=False)
    floors = (1, 2, 3, 9)
    rows = [insert(Reading(floor, 22 + at // 60 * floor % 7), at) for at in range(0, 3600, 60) for floor in floors]
    print(f"an hour of readings: {len(op.push_many(rows))} alarms; held: {held(op)}")
    op.push(Punctuation(3600, where="floor <= 3"))
    print("floors 1 to 3 have told all; held:", held(op))
    print("floor 9 tells of 27 degrees at 1805:", told(op.push(insert(Reading(9, 27), 1805))))
    try:
        op.push(insert(Reading(2, 30), 1805))
    except LateEventError as error:
        print("floor 2 is behind its watermark:", str(error).partition(" for ")[0])


if __name__ == "__main__":
    main()
