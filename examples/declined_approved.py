"""Declined, declined, declined, approved, each behind the other, within ten minutes on one card; then the rule changes.

A payment between them ends the run. After the change only payments of more than 50 cents count as tries: small ones no longer begin
or carry on a run, and a run that has begun goes on by the new rule.

It prints:

    three declined, one approved: + card 7, since second 10, paid 900
    a fourth declined one comes late, at 35: - card 7, since second 10, paid 900, + card 7, since second 20, paid 900
    an approved one at 25 was reported late: - card 7, since second 20, paid 900
    it was a mistake: + card 7, since second 20, paid 900
    the rule changes; partial matches go on in: d1, d2, d3
    three small ones declined, one approved: nothing
    one small one between larger ones ends the run: nothing
    three larger ones declined, one approved: + card 9, since second 310, paid 500
"""

from __future__ import annotations

from typing import NamedTuple

import afa
from afa import Change, Punctuation, insert, retract
from afa.language import many, one


class Pay(NamedTuple):
    card: int
    status: str
    cents: int
    at: afa.Instant = 0  # filled with the payment's time


def rule(least: int) -> afa.Query:
    """Return the query for tries of more than so many cents."""
    tries = many("d", Pay, where=lambda e: e.status == "declined" and e.cents > least).times(3).consecutive()
    approved = one("ok", lambda e: e.status == "approved")
    pattern = tries.next(approved).by("card").within(minutes=10)
    return pattern.returns(since=lambda m: m.d.first.at, paid=lambda m: m.ok.cents).query(Pay, tick="s")


def told(out: list[Change | Punctuation]) -> str:
    found = [f"{'+' if c.diff > 0 else '-'} card {c.key}, since second {c.payload.since}, paid {c.payload.paid}" for c in out]
    return ", ".join(found) or "nothing"


def main() -> None:
    now, then = rule(0), rule(50)
    op = now.operator()

    def push(card: int, start: int, *cents: int) -> str:
        status = ["declined"] * (len(cents) - 1) + ["approved"]
        return told(op.push_many([insert(Pay(card, s, c), start + 10 * i) for i, (s, c) in enumerate(zip(status, cents))]))

    print("three declined, one approved:", push(7, 10, 1, 1, 1, 900))
    print("a fourth declined one comes late, at 35:", told(op.push(insert(Pay(7, "declined", 1), 35))))
    print("an approved one at 25 was reported late:", told(op.push(insert(Pay(7, "approved", 5), 25))))
    print("it was a mistake:", told(op.push(retract(Pay(7, "approved", 5), 25))))
    changes = now.changes_to(then)
    op.push_many(changes.arcs)
    print("the rule changes; partial matches go on in:", ", ".join(changes.stays))
    print("three small ones declined, one approved:", push(8, 100, 1, 1, 1, 700))
    print("one small one between larger ones ends the run:", push(8, 200, 60, 60, 1, 700))
    print("three larger ones declined, one approved:", push(9, 310, 70, 80, 90, 500))


if __name__ == "__main__":
    main()
