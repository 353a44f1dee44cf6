"""Twenty fraud rules, each a file, as one operator: one is added while it runs, one removed; each match says its rule.

It prints:

    20 rules, 218 matches of 16 of them, most of two_countries
    then 238; travel: 14, two_countries: 0
"""

import csv
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import afa

FOLDER = Path(__file__).parent


class Payment(NamedTuple):
    card: str
    merchant: str
    country: str
    amount: int
    declined: bool
    at: afa.Instant | None = None


def payments():
    with (FOLDER / "payments.csv").open() as file:
        for row in csv.DictReader(file):
            amount, declined = int(row["amount"]), row["declined"] == "true"
            yield afa.insert(Payment(row["card"], row["merchant"], row["country"], amount, declined), le=int(row["at"]))


def main():
    rules = afa.Rules.of_folder(FOLDER / "rules", event=Payment, key="card", tick="ms")
    op = afa.Operator(rules)
    events = list(payments())
    found = Counter()
    for change in op.push_many(events[:60]):
        found[change.rule] += change.diff
    print(f"{len(rules)} rules, {sum(found.values())} matches of {len(found)} of them, most of {found.most_common(1)[0][0]}")
    op.add("travel", "PATTERN SEQ(Payment p) WHERE p.merchant == 'travel' WITHIN 1 h RETURN p.amount")
    op.remove("two_countries")
    later = Counter()
    for change in op.push_many(events[60:]):
        later[change.rule] += change.diff
    print(f"then {sum(later.values())}; travel: {later['travel']}, two_countries: {later['two_countries']}")


if __name__ == "__main__":
    main()
