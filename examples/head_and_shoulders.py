"""Head and shoulders, a chart pattern ([AFA10] App. A, Figure 14): three tops, the second the highest, then below the start.

The register holds the start and the first two tops, as many numbers as the pattern compares with, however long the legs are.
A tick comes late, and makes a fourth top: the pattern is withdrawn. It was a mistake, and is taken out again.

It prints:

    from 20: shoulder 26, head 31, then below the start at 120
    a late tick of 25 at 65: - from 20: shoulder 26, head 31, then below the start at 120
    it is retracted: + from 20: shoulder 26, head 31, then below the start at 120
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert, retract


class Tick(NamedTuple):
    price: int


class Tops(NamedTuple):
    start: int = 0
    shoulder: int = 0
    head: int = 0
    last: int = 0


UP, DOWN = "price > r.last", "price < r.last and price > r.start"
PATTERN = Automaton(
    start="any",
    final={"broken"},
    register=Tops(),
    event=Tick,
    arcs=[
        Arc("any", "start", "True", "r._replace(start=price, last=price)"),
        Arc("start", "shoulder", UP, "r._replace(shoulder=price, last=price)"),
        Arc("shoulder", "shoulder", UP, "r._replace(shoulder=price, last=price)"),
        Arc("shoulder", "neck", DOWN, "r._replace(last=price)"),
        Arc("neck", "neck", DOWN, "r._replace(last=price)"),
        Arc("neck", "head", UP, "r._replace(head=price, last=price)"),
        Arc("head", "head", UP, "r._replace(head=price, last=price)"),
        Arc("head", "second neck", f"{DOWN} and r.head > r.shoulder", "r._replace(last=price)"),
        Arc("second neck", "second neck", DOWN, "r._replace(last=price)"),
        Arc("second neck", "second shoulder", f"{UP} and price < r.head", "r._replace(last=price)"),
        Arc("second shoulder", "second shoulder", f"{UP} and price < r.head", "r._replace(last=price)"),
        Arc("second shoulder", "falling", DOWN, "r._replace(last=price)"),
        Arc("falling", "falling", DOWN, "r._replace(last=price)"),
        Arc("second shoulder", "broken", "price < r.start"),
        Arc("falling", "broken", "price < r.start"),
    ],
)
PRICES = [20, 24, 26, 23, 22, 27, 31, 28, 25, 27, 24, 21, 18]


def told(out: list[Any], sign: bool = True) -> str:
    return "; ".join(
        f"{'+ ' if o.diff > 0 else '- '}"[: 2 * sign] + f"from {o.payload.start}: shoulder {o.payload.shoulder}, "
        f"head {o.payload.head}, then below the start at {o.le}"
        for o in out
    )


def main() -> None:
    op = Operator(PATTERN, window=600)
    print(told(op.push_many([insert(Tick(price), 10 * i) for i, price in enumerate(PRICES)]), sign=False))
    late = Tick(25)
    print("a late tick of 25 at 65:", told(op.push(insert(late, 65))))
    print("it is retracted:", told(op.push(retract(late, 65))))


if __name__ == "__main__":
    main()
