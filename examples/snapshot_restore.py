"""State goes into bytes and comes back, perhaps in another process: the program is the automaton, the state is a snapshot.

Three growing orders of one customer. The job is stopped after the second, together with what it had already told.

It prints:

    order of 20: nothing
    order of 50: nothing
    the state is saved
    order of 90, after the restore: + Growth(first=20, last=90, orders=3) [5, 101)
    order of 50 is cancelled: - Growth(first=20, last=90, orders=3) [5, 101)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert, retract


class Order(NamedTuple):
    euros: int


class Growth(NamedTuple):
    first: int = 0
    last: int = 0
    orders: int = 0


GROWING = Automaton(
    start="start",
    final={"three"},
    register=Growth(),
    event=Order,
    arcs=[
        Arc("start", "growing", lambda e, r: True, lambda e, r: Growth(e.euros, e.euros, 1)),
        Arc("growing", "growing", lambda e, r: e.euros > r.last, lambda e, r: Growth(r.first, e.euros, r.orders + 1)),
        Arc("growing", "three", lambda e, r: e.euros > r.last and r.orders == 2, lambda e, r: Growth(r.first, e.euros, 3)),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    changes = [c for c in out if isinstance(c, Change)]
    return ", ".join(f"{'+' if c.diff > 0 else '-'} {c.payload} [{c.le}, {c.re})" for c in changes) or "nothing"


def main() -> None:
    operator = Operator(GROWING, window=100)
    print("order of 20:", told(operator.push(insert(Order(20), le=1))))
    print("order of 50:", told(operator.push(insert(Order(50), le=3))))
    blob: bytes = operator.snapshot()
    print("the state is saved")
    later = Operator.restore(GROWING, blob)
    print("order of 90, after the restore:", told(later.push(insert(Order(90), le=5))))
    print("order of 50 is cancelled:", told(later.push(retract(Order(50), le=3))))


if __name__ == "__main__":
    main()
