"""How many Vs until the price is back where it was before a drop: the number is known by the data only ([AFA10] Example 1, Q2).

One automaton counts them, in a register; a chain of operators would look for Vs everywhere, also where nothing has dropped.

It prints:

    dropped from 100, recovered at 110 after 2 Vs
    a late tick of 85 at 85 is one V more:
    - dropped from 100, recovered at 110 after 2 Vs
    + dropped from 100, recovered at 110 after 3 Vs
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert


class Tick(NamedTuple):
    price: int


class Vees(NamedTuple):
    before: int = 0
    vees: int = 0
    last: int = 0


PATTERN = Automaton(
    start="any",
    final={"recovered"},
    register=Vees(),
    event=Tick,
    arcs=[
        Arc("any", "high", "True", "r._replace(before=price, last=price)", name="before"),
        Arc("high", "down", "price < r.last - 10", "r._replace(last=price)", name="a large drop"),
        Arc("down", "down", "price < r.last", "r._replace(last=price)", name="falls"),
        Arc("down", "up", "price > r.last and price < r.before", "(r.before, r.vees + 1, price)", name="turns"),
        Arc("up", "up", "price > r.last and price < r.before", "r._replace(last=price)", name="rises"),
        Arc("up", "down", "price < r.last", "r._replace(last=price)", name="falls again"),
        Arc("down", "recovered", "price >= r.before", "(r.before, r.vees + 1, price)", name="back in one step"),
        Arc("up", "recovered", "price >= r.before", "r._replace(last=price)", name="back"),
    ],
)
PRICES = [98, 100, 85, 80, 84, 90, 88, 86, 87, 92, 99, 101]


def told(o: Any) -> str:
    return f"dropped from {o.payload.before}, recovered at {o.le} after {o.payload.vees} Vs"


def main() -> None:
    op = Operator(PATTERN, window=1000)
    for change in op.push_many([insert(Tick(price), 10 * i) for i, price in enumerate(PRICES)]):
        print(told(change))
    print("a late tick of 85 at 85 is one V more:")
    for change in op.push(insert(Tick(85), 85)):
        print("+" if change.diff > 0 else "-", told(change))


if __name__ == "__main__":
    main()
