"""The index finds the pairs that asking each condition of each event finds."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa.conditions.condition import Condition
from afa.expression.nodes import conjunction, disjunction
from afa.expression.text import text_of_expr
from afa.rules.index import RuleIndex
from afa.rules.units import Units
from afa.schema import Schema
from afa.state.states import Column


class Row(NamedTuple):
    kind: str
    who: str | None
    x: float
    y: float | None
    n: int
    at: int | None
    on: bool


SCHEMA = Schema.of(Row, "event")
MOST = 2**63 - 1
TEXTS, FLOATS = ["a", "b", "", "ü"], [0.0, -0.0, 1.5, -1.5, 5e-324, 2.0**53, float("inf"), -float("inf")]
INTS = [0, 1, -1, 7, 2**53 + 1, MOST, MOST - 1, -MOST - 1, -MOST]


def row(r: random.Random) -> Row:
    some = r.choice([0.0, r.choice(FLOATS), float("nan")])
    return Row(
        r.choice([*TEXTS, "unknown"]),
        r.choice([*TEXTS, None, "other"]),
        some,
        r.choice([None, some, 1.5]),
        r.choice(INTS),
        r.choice([None, *INTS]),
        r.random() < 0.5,
    )


def clause(r: random.Random) -> str:
    """A condition that may stand alone: nothing raises."""
    op = r.choice(["==", "<", "<=", ">", ">=", "!="])
    return r.choice(
        [
            f"e.kind == {r.choice(TEXTS)!r}",
            f"e.kind in ({r.choice(TEXTS)!r}, {r.choice(TEXTS)!r})",
            f"e.who == {r.choice(TEXTS)!r}",
            "e.who is not None",
            f"e.x {op} {r.choice([0.0, -0.0, 1.5, -1.5, 3])}",
            f"{r.choice([0.0, 1.5])} {op} e.x",
            f"e.y is not None and e.y {op} 1.5",
            f"e.n {op} {r.choice([0, 1, 7, 2**53 + 1, 2**62, 0.5, MOST])}",
            f"e.at is not None and e.at {op} {r.choice([0, 7, -1])}",
            "e.on",
            "not e.on",
            "e.n * 2 > 3" if r.random() < 0.2 else "e.kind != 'a'",
        ]
    )


def condition(r: random.Random) -> Any:
    parts = [Condition(clause(r), SCHEMA).expr for _ in range(r.randint(1, 3))]
    return (conjunction if r.random() < 0.8 else disjunction)(parts)


def columns(rows: list[Row]) -> dict[str, Column]:
    return {field.name: Column.of([each[i] for each in rows], field) for i, field in enumerate(SCHEMA.fields)}


@pytest.mark.parametrize("seed", range(12))
def test_pairs_are_those_of_each_condition_asked_alone(seed: int) -> None:
    r = random.Random(seed)
    index, rules, number = RuleIndex(SCHEMA, Units()), {}, 0
    for _ in range(12):
        for _ in range(r.choice([1, 3, 40])):
            low = r.randrange(20)
            rules[number] = [tuple(condition(r) for _ in range(r.randint(1, 3))), low, low + r.randrange(20)]
            index.add(number, *rules[number])
            number += 1
        for gone in r.sample(sorted(rules), min(len(rules), r.choice([0, 1, 20]))):
            index.drop({gone})
            del rules[gone]
        for ended in r.sample(sorted(rules), min(len(rules), 2)):
            rules[ended][2] = r.randrange(30)
            index.end(ended, rules[ended][2])
        rows, le = [row(r) for _ in range(r.choice([1, 30]))], np.array([r.randrange(40) for _ in range(30)])
        index.read(columns(rows), le[: len(rows)])
        found = index.pairs(columns(rows))
        wanted = []
        for i, each in enumerate(rows):
            for name, (conditions, since, until) in rules.items():
                if since <= le[i] < until:
                    truths = [Condition(text_of_expr(one), SCHEMA).holds(each) for one in conditions]
                    bits = sum(1 << bit for bit, truth in enumerate(truths) if truth)
                    wanted += [(i, name, bits)] if bits else []
        assert sorted(zip(*(part.tolist() for part in found))) == wanted, seed
        assert (np.diff(found[0]) >= 0).all()


def test_many_rules_of_one_constant() -> None:
    """Entries of one slot stand in the order of their bounds, as rules come and go; further ranges are asked on the way."""
    r, index = random.Random(1), RuleIndex(SCHEMA, Units())
    bounds = {i: r.uniform(-1, 1) for i in range(400)}
    for i, bound in bounds.items():
        index.add(i, (Condition(f"e.kind == 'a' and e.x > {bound} and e.n >= {i % 3} and e.n < 9", SCHEMA).expr,), 0, 9)
    for i in range(0, 400, 2):
        index.drop({i})
        del bounds[i]
    for x, n in ((0.25, 1), (-2.0, 5), (1.0, 8), (1.0, 9)):
        rows = columns([Row("a", None, x, None, n, None, True)])
        index.read(rows, np.array([3]))
        row, rule, bits = index.pairs(rows)
        assert sorted(rule.tolist()) == [i for i, bound in bounds.items() if x > bound and i % 3 <= n < 9]
        assert set(row.tolist()) <= {0}
        assert set(bits.tolist()) <= {1}
