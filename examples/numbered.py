"""Events that are numbered without gaps: matched as far as numbers are adjacent, and nothing that is said is ever withdrawn.

A pump numbers its readings. One that is missing on the way holds back only what goes across it; what comes after it is matched at
once. When a watermark says that it can't come any more, the gap is told. The plain operator takes readings that follow each other
in time for neighbours, and withdraws what it said.

It prints:

    readings 1, 2, 4, 5: jump at 50
    reading 3: jump at 30
    readings 6, 9, 10: jump at 100
    all before 95 is known: readings 7 to 8 are lost
    retractions: 0; of the plain operator: 1
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert
from speculation import Ordered


class Reading(NamedTuple):
    bar: float
    number: int


class Before(NamedTuple):
    bar: float = 0.0


JUMP = Automaton(
    start="start",
    final={"jump"},
    register=Before(),
    event=Reading,
    arcs=[
        Arc("start", "seen", lambda e, r: True, lambda e, r: Before(e.bar)),
        Arc("seen", "jump", lambda e, r: e.bar >= r.bar + 2.0),
    ],
)
BARS = {1: 1.0, 2: 1.1, 3: 3.2, 4: 3.3, 5: 5.4, 6: 5.5, 9: 4.0, 10: 6.5}


def reading(number: int) -> Change:
    return insert(Reading(BARS[number], number), le=10 * number)


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(f"jump at {match.le}" for match in out if isinstance(match, Change))


def main() -> None:
    lost: list[str] = []
    pump = Ordered(JUMP, number="number", window=60, on_gap=lambda key, a, b: lost.append(f"readings {a} to {b} are lost"))
    plain = Operator(JUMP, order_by="number", window=60)
    for numbers in [1, 2, 4, 5], [3], [6, 9, 10]:
        readings = [reading(number) for number in numbers]
        text = ", ".join(map(str, numbers))
        print(f"reading{'s' * (len(numbers) > 1)} {text}:", told(pump.push_many(readings)))
        plain.push_many(readings)
    pump.push(Punctuation(95))
    print("all before 95 is known:", *lost)
    print(f"retractions: {pump.statistics.retractions}; of the plain operator: {plain.statistics.retractions}")


if __name__ == "__main__":
    main()
