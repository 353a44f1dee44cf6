"""Two Vees: the worked example of the paper ([AFA10] Examples 2-5), with the late event that completes the pattern.

A price falls by more than 0.25, and before it has made two Vees it is back at as many upticks as downticks. All within 7 ticks.

It prints:

    after seven events: nothing
    the late event at 6: + Vees(balance=0, patterns=2) [7, 8)
    it is taken out again: - Vees(balance=0, patterns=2) [7, 8)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert, retract


class Tick(NamedTuple):
    change: float


class Vees(NamedTuple):
    balance: int = 0  # downticks minus upticks
    patterns: int = 0


TWO_VEES = Automaton(
    start="start",
    final={"done"},
    register=Vees(),
    event=Tick,
    arcs=[
        Arc("start", "fall", lambda e, r: e.change < -0.25),
        Arc("fall", "fall", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("fall", "rise", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("rise", "rise", lambda e, r: e.change > 0, lambda e, r: r._replace(balance=r.balance - 1)),
        Arc(
            "rise",
            "fall",
            lambda e, r: e.change > 0 and r.patterns + 1 < 2,
            lambda e, r: Vees(r.balance - 1, r.patterns + 1),
        ),
        Arc(
            "rise",
            "done",
            lambda e, r: e.change > 0 and r.patterns + 1 == 2 and r.balance == 1,
            lambda e, r: Vees(r.balance - 1, r.patterns + 1),
        ),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    changes = [c for c in out if isinstance(c, Change)]
    return ", ".join(f"{'+' if c.diff > 0 else '-'} {c.payload} [{c.le}, {c.re})" for c in changes) or "nothing"


def main() -> None:
    operator = Operator(TWO_VEES, window=7)
    out = []
    for le, change in [(1, -1.0), (2, -1.0), (3, -1.0), (4, 1.0), (5, 1.0), (7, 1.0), (8, -1.0)]:
        out += operator.push(insert(Tick(change), le=le))
    print("after seven events:", told(out))
    print("the late event at 6:", told(operator.push(insert(Tick(-1.0), le=6))))
    print("it is taken out again:", told(operator.push(retract(Tick(-1.0), le=6))))


if __name__ == "__main__":
    main()
