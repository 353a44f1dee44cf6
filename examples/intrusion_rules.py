"""Intrusion rules that change all the time ([AFA10] App. A): 100 rules are arcs, one of them is swapped before every fifth packet.

An alarm: a host scans, then sends what a rule takes for an attack. A late packet meets the rules in force when it was sent.

It prints:

    2,000 packets, 400 swaps: 220 alarms, 220 by a plain loop, True
    rule 7 is swapped at 3011, for 99 bytes; these at 3012: + rule 7 at 3012
    what it took before, sent at 3005, which arrives last: + rule 7 at 3005
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert

RULES = 100


class Packet(NamedTuple):
    host: int
    port: int
    size: int


class Scan(NamedTuple):
    host: int = -1
    rule: int = -1


def rule(number: int, size: int) -> Arc:
    fence = f"host == r.host and port == {number} and size == {size}"
    return Arc("scanned", "alarm", fence, f"(r.host, {number})", name=f"rule {number}")


PATTERN = Automaton(
    start="quiet",
    final={"alarm"},
    register=Scan(),
    event=Packet,
    arcs=[
        Arc("quiet", "scanned", "size == 0", "(host, -1)", name="scan"),
        Arc("scanned", "scanned", "size > 0", name="other packets"),
        *(rule(number, 1) for number in range(RULES)),
    ],
)


def main() -> None:
    rng, op, sizes, scan = random.Random(1), Operator(PATTERN, window=20), [1] * RULES, (-20, 0)
    found: list[tuple[int, int]] = []
    expected: list[tuple[int, int]] = []
    for at in range(2000):
        if at % 5 == 0:
            number = rng.randrange(RULES)
            sizes[number] = rng.randint(1, 3)
            op.swap(f"rule {number}", rule(number, sizes[number]), at=at)
        packet = Packet(rng.randrange(3), rng.randrange(RULES), rng.choice([0, 1, 1, 1, 2, 3]))
        found += [(o.le, o.payload.rule) for o in op.push(insert(packet, at))]
        seen, host = scan
        if packet.size == 0:
            scan = at, packet.host
        elif at < seen + 20 and packet.host == host and packet.size == sizes[packet.port]:
            expected.append((at, packet.port))  # by a plain loop
    print(f"2,000 packets, 400 swaps: {len(found)} alarms, {len(expected)} by a plain loop, {found == expected}")
    op.push_many([insert(Packet(9, 0, 0), 3000), insert(Packet(8, 1, 1), 3010)])
    op.swap("rule 7", rule(7, 99), at=3011)
    print("rule 7 is swapped at 3011, for 99 bytes; these at 3012:", told(op.push(insert(Packet(9, 7, 99), 3012))))
    print("what it took before, sent at 3005, which arrives last:", told(op.push(insert(Packet(9, 7, sizes[7]), 3005))))


def told(out: list[Any]) -> str:
    return ", ".join(f"{'+' if o.diff > 0 else '-'} rule {o.payload.rule} at {o.le}" for o in out) or "nothing"


if __name__ == "__main__":
    main()
