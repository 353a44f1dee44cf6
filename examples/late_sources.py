"""Watermarks from two feeds of which one falls silent; what it brings when it is back goes aside.

Three losses in a row, at two gates that are watched together, are an alarm. What a gate reports is at most 2 ticks behind what it
reported before. After 30 seconds without a word the north gate no longer holds the south gate's alarms back. What it then brings
from before the watermark is late: it goes into the side output, counted, and may be looked at.

It prints:

    south 11 12 13, north 10: Punctuation(t=8)
    south 21: no watermark, the north gate may still bring something of 8
    half a minute later: ['north'] idle, Punctuation(t=19)
    north is back with 14 and 22: 1 late, watermark 19
    aside: [('north', 14)]
    both have ended: 4 final alarms
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, Punctuation, insert
from punctuation import BoundedDisorder, SideOutput, Union


class Loss(NamedTuple):
    gate: str


PATTERN = Automaton(
    start="0",
    final={"3"},
    event=Loss,
    arcs=[Arc(str(n), str(n + 1), lambda e, r: True) for n in range(3)],
)


class Watch:
    """A clock that the example moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def main() -> None:
    watch, side = Watch(), SideOutput()
    gates = Union({"north": BoundedDisorder(2), "south": BoundedDisorder(2)}, idle_after=30, clock=watch)
    operator = Operator(PATTERN, window=20, late=side)

    def give(items: list[Any]) -> list[Punctuation]:
        return [o for item in items for o in operator.push(item) if isinstance(o, Punctuation)]

    def report(gate: str, *times: int) -> list[Punctuation]:
        return give(gates.push_many(gate, [insert(Loss(gate), le=t) for t in times]))

    print("south 11 12 13, north 10:", *report("south", 11, 12, 13), *report("north", 10))
    watch.seconds = 29
    assert report("south", 21) == []
    print("south 21: no watermark, the north gate may still bring something of", gates.promised)
    watch.seconds = 30
    print(f"half a minute later: {gates.idle} idle,", *give(gates.advance()))
    report("north", 14, 22)
    print(f"north is back with 14 and 22: {gates.late} late, watermark {gates.promised}")
    print("aside:", [(change.payload.gate, change.le) for change in side.take()])
    give(gates.end())
    statistics = operator.statistics
    print(f"both have ended: {statistics.outputs - statistics.retractions} final alarms")


if __name__ == "__main__":
    main()
