"""Why is there no match? Four mistakes that all end in "0 matches", and what the funnel says of each.

Two declined payments of a card within an hour, the second one above a limit. Times are milliseconds.

It prints:

    as it is meant: 468 matches, from 666 beginnings; most others ended in `declined`: 14 by the window
    a window in seconds: 622 of 666 partial matches in `declined` ended by the window (3,600 ticks of 1 ms = 3.6 s, ..)
    a limit in cents: the largest amount is 98.97, not > 5000; is the limit in the unit of the field?
    a word misspelt: no status is 'declned', but 'approved', 'declined'; did you mean 'declined'?
    the wrong key: each of the 2,000 keys (id) has one event only; is this the key?

    arc                             asked   true  last true  stopped most by         times
    first: start -> declined        2,000    666    5997000  e.status == 'declined'  1,334
"""

from __future__ import annotations

import random
from typing import NamedTuple

from afa import Arc, Automaton, Funnel, Keyed, insert


class Pay(NamedTuple):
    id: int
    card: str
    amount: float
    status: str


class First(NamedTuple):
    amount: float = 0.0


def pattern(status: str = "declined", limit: float = 50) -> Automaton:
    arcs = [
        Arc("start", "declined", f"status == '{status}'", "(amount,)", name="first"),
        Arc.skip("declined", "status == 'approved'", name="approved"),
        Arc("declined", "again", f"status == '{status}' and amount > {limit}", name="again"),
        Arc("declined", "declined", f"status == '{status}' and amount <= {limit}", name="small"),
    ]
    return Automaton(start="start", final={"again"}, arcs=arcs, event=Pay, register=First())


PATTERN = pattern()


def funnel(automaton: Automaton, window: str | int = "1 hour", key: str = "card") -> Funnel:
    rng = random.Random(1)
    op = Keyed(automaton, key=key, window=window, tick="ms")
    for i in range(2000):
        pay = Pay(i, f"c{rng.randrange(100)}", round(rng.uniform(1, 99), 2), rng.choice(["declined", "approved", "approved"]))
        op.push(insert(pay, 3_000 * i))
    return op.funnel()


def main() -> None:
    print("as it is meant:", funnel(PATTERN).why)
    print("a window in seconds:", funnel(PATTERN, window=3600).why.partition(":")[2].partition(";")[0].strip() + ", ..)")
    for mistake, found in (
        ("a limit in cents", funnel(pattern(limit=5000))),
        ("a word misspelt", funnel(pattern("declned"))),
        ("the wrong key", funnel(PATTERN, key="id")),
    ):
        print(f"{mistake}:", found.why.partition(": ")[2])
    print()
    print("\n".join(str(funnel(PATTERN)).splitlines()[4:6]))


if __name__ == "__main__":
    main()
