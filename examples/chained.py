"""The output of one operator is the input of the next: retractions pass through.

The first finds dips (a price falls, then rises), the second two dips of which the later is deeper. When a price is corrected,
its dip is retracted, and with it what was built on it.

It prints:

    prices 9 7 8 5 6: + Deeper(before=2, now=3)
    all before 4 is known: Punctuation(t=4)
    the 5 was a 7: - Deeper(before=2, now=3)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert, retract


class Price(NamedTuple):
    euros: int


class Dip(NamedTuple):  # register of the first, event of the second
    top: int = 0
    depth: int = 0


class Deeper(NamedTuple):
    before: int = 0
    now: int = 0


DIPS = Automaton(
    start="start",
    final={"risen"},
    register=Dip(),
    event=Price,
    arcs=[
        Arc("start", "top", lambda e, r: True, lambda e, r: Dip(e.euros, 0)),
        Arc("top", "bottom", lambda e, r: e.euros < r.top, lambda e, r: Dip(r.top, r.top - e.euros)),
        Arc("bottom", "risen", lambda e, r: e.euros > r.top - r.depth),
    ],
)
DEEPER = Automaton(
    start="start",
    final={"second"},
    register=Deeper(),
    event=Dip,
    arcs=[
        Arc("start", "first", lambda e, r: True, lambda e, r: Deeper(e.depth, 0)),
        Arc("first", "second", lambda e, r: e.depth > r.before, lambda e, r: Deeper(r.before, e.depth)),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    words = [str(o) if isinstance(o, Punctuation) else f"{'+' if o.diff > 0 else '-'} {o.payload}" for o in out]
    return ", ".join(words) or "nothing"


def main() -> None:
    dips, deeper = Operator(DIPS, window=10), Operator(DEEPER)

    def push(*inputs: Change | Punctuation) -> str:
        return told([out for item in inputs for change in dips.push(item) for out in deeper.push(change)])

    prices = [insert(Price(euros), le=le) for le, euros in enumerate([9, 7, 8, 5, 6], start=1)]
    print("prices 9 7 8 5 6:", push(*prices))
    print("all before 4 is known:", push(Punctuation(4)))
    print("the 5 was a 7:", push(retract(Price(5), le=4), insert(Price(7), le=4)))


if __name__ == "__main__":
    main()
