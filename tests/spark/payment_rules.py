"""Rules over payments, and what a set of them should hold: for worlds of sets in buckets (`tests.spark.rules_in_buckets`)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from afa import Change, Instant, Punctuation
from afa.rules.rules import Rules
from punctuation.time import BEGINNING, FOREVER


class Pay(NamedTuple):
    card: str
    shop: str
    amount: int
    at: Instant | None = None


KEYS = ("[card] and ", "", "[shop] and ")


def text_of(rng: random.Random, own_ends: bool, keys: Sequence[str] = KEYS, unit: int = 1) -> str:
    """A rule: one of many shapes, its constants at random; SQL refuses events with an RE of their own."""
    low, high, window = rng.randint(0, 4), rng.randint(3, 7), unit * rng.choice((3, 5, 9, 14))
    key = rng.choice(keys)
    strategy = rng.choice(("skip_till_any_match", "skip_till_next_match", "partition_contiguity" if key else "strict_contiguity"))
    two = f"{strategy}(a, b) {{ {key}a.amount > {low} and b.amount < {high} }}"
    shapes = [
        f"PATTERN SEQ(Pay a) WHERE a.amount > {high} WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n), Pay b) WHERE skip_till_any_match(a, b) {{ {key}a.amount > {low} and n.amount = {high}"
        f" and b.amount < {high} }} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n)) WHERE skip_till_any_match(a) {{ {key}a.amount > {low} and n.amount < {low} }}"
        f" WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay+ a[], Pay b) WHERE skip_till_next_match(a[], b) {{ {key}a[i].amount > {low} and b.amount < {low} }}"
        f" WITHIN {window} RETURN a.LEN, b.amount",
        "SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at, amount, shop MEASURES A.amount AS first, LAST(B.amount)"
        f" AS last AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) WITHIN {window} DEFINE A AS amount > {low}, B AS amount < {high})",
    ]
    return rng.choice(shapes[:-1] if own_ends else shapes)


class ExpectedSet:
    """What the set should hold, by the definition: events, rules with lifetimes, the watermark."""

    def __init__(self, world: dict[str, Any], engine: str) -> None:
        self.key, self.engine = world["key"], engine
        self.rules = [(name, text, BEGINNING, FOREVER) for name, text in world["rules"].items()]
        self.events: list[Change] = []
        self.promised = BEGINNING

    def matches(self) -> Counter[Any]:
        """The matches of each rule, each of an operator that is made anew and takes all events that it sees in order of LE."""
        found: Counter[Any] = Counter()
        for name, text, le, re in self.rules:
            op: Any = Rules({name: text}, event=Pay, key=self.key).rules[name].pattern
            options = {"key": self.key} if op.key is None and self.key else {}
            op = op.operator(engine=self.engine, late="drop", **options)
            seen = sorted((event for event in self.events if le <= event.le < re), key=lambda event: event.le)
            promise = [Punctuation(self.promised)] if self.promised > BEGINNING else []
            for item in op.push_many([*seen, *promise]):
                if isinstance(item, Change) and item.le < re:
                    found[name, item[:3], item.key] += item.diff
        return +found
