"""Uncertain events ([AFA10] Sec. 4): a reader is wrong now and then, and each match says how likely it is.

The register multiplies: by `sure` where a reading is taken, by what is left where it is taken for a ghost and passed over. Below a
threshold an arc does not serve, so that few ways stay. A tag's colour is several readings of one instant: alternatives.

It prints:

    in 90 %, red 70 % or pink 30 %, out 80 %: + red 50%, + pink 22%
    a reading of blue, 60 % sure, in between: - red 50%, - pink 22%, + red 20%
    it is retracted: - red 20%, + red 50%, + pink 22%
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert, retract


class Reading(NamedTuple):
    kind: str
    sure: float
    colour: str = ""


class Likely(NamedTuple):
    colour: str = ""
    share: float = 1.0


GHOST = "(r.colour, r.share * (1 - sure))"
PATTERN = Automaton(
    start="outside",
    final={"gone"},
    register=Likely(),
    event=Reading,
    arcs=[
        Arc("outside", "inside", "kind == 'in'", "('', sure)", name="comes in"),
        Arc("inside", "seen", "kind == 'colour' and r.share * sure >= 0.2", "(colour, r.share * sure)", name="is seen"),
        Arc("seen", "gone", "kind == 'out' and r.share * sure >= 0.2", "(r.colour, r.share * sure)", name="goes out"),
        Arc("seen", "seen", "kind == 'colour' and r.share * (1 - sure) >= 0.2", GHOST, name="a ghost"),
    ],
)


def told(out: list[Any]) -> str:
    ranked = sorted(out, key=lambda o: (o.diff, -o.payload.share))
    return ", ".join(f"{'+' if o.diff > 0 else '-'} {o.payload.colour} {o.payload.share:.0%}" for o in ranked) or "nothing"


def main() -> None:
    op = Operator(PATTERN, window=100)
    colours = [insert(Reading("colour", 0.7, "red"), 20), insert(Reading("colour", 0.3, "pink"), 20)]
    first = [insert(Reading("in", 0.9), 10), *colours, insert(Reading("out", 0.8), 40)]
    print("in 90 %, red 70 % or pink 30 %, out 80 %:", told(op.push_many(first)))
    between = Reading("colour", 0.6, "blue")
    print("a reading of blue, 60 % sure, in between:", told(op.push(insert(between, 30))))
    print("it is retracted:", told(op.push(retract(between, 30))))


if __name__ == "__main__":
    main()
