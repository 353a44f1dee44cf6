"""Something that does *not* happen: a trade in A and no trade in B within 300 seconds ([AFA10] App. E).

The absence is known once the clock has passed the deadline, and it is speculative until a watermark has: here a trade in B
turns up after all.

It prints:

    A at 0: nothing
    C at 100: nothing
    C at 310: + Waiting(deadline=300) [300, 600)
    B at 250, reported late: - Waiting(deadline=300) [300, 600)
    it was a mistake: + Waiting(deadline=300) [300, 600)
    all before 301 is reported: Punctuation(t=301)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert, retract


class Trade(NamedTuple):
    symbol: str
    at: int  # seconds: fences and transfers see the payload, not the lifetime


class Waiting(NamedTuple):
    deadline: int = 0


PATTERN = Automaton(
    start="start",
    final={"missed"},
    register=Waiting(),
    event=Trade,
    arcs=[
        Arc("start", "waiting", lambda e, r: e.symbol == "A", lambda e, r: Waiting(e.at + 300)),
        Arc("waiting", "waiting", lambda e, r: e.symbol != "B" and e.at < r.deadline),
        Arc.timeout("waiting", "missed", at=lambda r: r.deadline),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(map(one, out)) or "nothing"


def one(o: Change | Punctuation) -> str:
    return str(o) if isinstance(o, Punctuation) else f"{'+' if o.diff > 0 else '-'} {o.payload} [{o.le}, {o.re})"


def main() -> None:
    operator = Operator(PATTERN, window=600)
    late = Trade("B", 250)
    print("A at 0:", told(operator.push(insert(Trade("A", 0), le=0))))
    print("C at 100:", told(operator.push(insert(Trade("C", 100), le=100))))
    print("C at 310:", told(operator.push(insert(Trade("C", 310), le=310))))
    print("B at 250, reported late:", told(operator.push(insert(late, le=late.at))))
    print("it was a mistake:", told(operator.push(retract(late, le=late.at))))
    print("all before 301 is reported:", told(operator.push(Punctuation(301))))


if __name__ == "__main__":
    main()
