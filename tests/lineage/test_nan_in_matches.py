"""Matches that show NaN under ``collapse=``, ``having=``, ``members=`` and ``tell=``: as those of any other value."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from afa import Keyed, Operator, Punctuation, insert, query, retract
from tests.lanes import sample
from tests.worlds.kind import in_turn


class Quote(NamedTuple):
    kind: str
    price: float
    id: int
    k: int


TEXT = "PATTERN SEQ(a x, b+ y[], c z) WHERE skip_till_any_match(x, y[], z) {} WITHIN 12 RETURN x.price AS p, y[y.LEN].price AS q"
MADE = query(TEXT, event=Quote, type="kind")
OPTIONS: list[dict[str, Any]] = [
    {"collapse": True}, {"collapse": "id"}, {"collapse": "y.price"}, {"having": "sum(y.id) > 4"}, {"having": "count(y) > 1"},
    {"members": "id"}, {"members": "id", "tell": "lineage"}, {"tell": "lineage"}, {"longest": True, "collapse": "id"},
]  # fmt: skip
ODD = 777.0


def made(options: dict[str, Any], engine: Any, keyed: bool) -> Any:
    given: dict[str, Any] = {"window": 12, "engine": engine, **options}
    return Keyed(MADE.automaton, key="k", **given) if keyed else Operator(MADE.automaton, **given)


def said(change: Any) -> Any:
    """A change in words in which NaN and the odd price are one."""
    if isinstance(change, Punctuation):
        return change
    values = [ODD if isinstance(value, float) and value != value else value for value in change.payload]
    members = change.members and {name: tuple(each) for name, each in change.members.items()}
    return repr((values, change.le, change.re, change.diff, change.key, members))


@sample(2, 20)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("keyed", [False, True])
def test_a_nan_is_one_value(options: dict[str, Any], keyed: bool, numbers: range, turns: str) -> None:
    told = 0
    for seed in numbers:
        choose = random.Random(f"{options} {5 + seed}")  # of these two each option tells something
        engine = in_turn(seed, turns)
        nan, odd = made(options, engine, keyed), made(options, engine, keyed)
        held: list[Any] = []
        for _ in range(40):
            if held and choose.random() < 0.25:
                quote, le = held.pop(choose.randrange(len(held)))
                change = retract
            else:
                quote = Quote(
                    choose.choice("aabbcc"),
                    choose.choice((1.0, math.nan, math.nan)),
                    choose.randint(0, 4),
                    choose.choice((0, 0, 0, 1)),
                )
                le, change = choose.randint(1, 9), insert
                held.append((quote, le))
            other = quote._replace(price=ODD if quote.price != quote.price else quote.price)
            got, wanted = nan.push(change(quote, le)), odd.push(change(other, le))
            if options.get("collapse") == "y.price":  # a sum of NaN is none of the odd price
                got = [each._replace(payload=each.payload[:4]) for each in got]
                wanted = [each._replace(payload=each.payload[:4]) for each in wanted]
                counts = [Counter[Any](), Counter[Any]()]
                for count, changes in zip(counts, (got, wanted)):
                    for each in changes:
                        count[said(each._replace(diff=1))] += each.diff
                assert {k: n for k, n in counts[0].items() if n} == {k: n for k, n in counts[1].items() if n}
            else:
                assert Counter(map(said, got)) == Counter(map(said, wanted))
            told += len(got)
        nan._check()
    assert told > 2
