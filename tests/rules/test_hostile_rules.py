"""Hostile texts of rules: each is read, or refused by the rule's name, in bounded time; the set goes on as it was."""

from __future__ import annotations

import time

import pytest

from afa import AfaError, Operator, insert
from afa.rules.index import MOST, RuleIndex
from afa.rules.rules import Rules
from afa.rules.shape import NoShape, parts_of
from afa.rules.units import Units
from afa.schema import Schema
from tests.rules.hostile_texts import hostile
from tests.rules.patterns import Row
from tests.strategies import Seeded

GOOD = "PATTERN SEQ(a p) WHERE p.x > 1 WITHIN 9 RETURN p.seq AS c8"
EVENT = Row("a", 0, 2, 1.0, "w1", 1, True, None, 0, None, None)
SECONDS = 30
"""Of CPU, for one text: the worst of some thousands take a sixth of it."""


def tried(numbers: range) -> dict[str, int]:
    """How many texts are rules, and how many are refused."""
    found = {"read": 0, "refused": 0}
    op = Operator(Rules({"good": GOOD}, event=Row, key="key", tick="s"), engine="interpreted")
    for number in numbers:
        before, text, began = op.rules, hostile(Seeded(f"hostile {number}")), time.process_time()
        said = ""
        try:
            op.add("hostile", text)
        except AfaError as error:
            said = str(error)
        else:
            op.push(insert(EVENT, number))
            op.remove("hostile")
            found["read"] += 1
        if said:
            assert said.startswith("rule 'hostile': "), (number, said[:200])
            assert len(said) < 4000, number
            assert op.rules == before, number
            found["refused"] += 1
        assert time.process_time() - began < SECONDS, (number, text[:200])
    assert [change.rule for change in op.push(insert(EVENT, numbers.stop + 1))] == ["good"]
    return found


def test_texts_are_rules_or_refused_by_name() -> None:
    found = tried(range(101, 146))
    assert min(found.values()) > 10, found


@pytest.mark.stress
@pytest.mark.parametrize("part", range(6))
def test_thousands_of_texts(part: int) -> None:
    found = tried(range(1000 * part, 1000 * (part + 1)))
    assert min(found.values()) > 200, found


def test_a_condition_has_few_entries_in_the_index() -> None:
    """Alternatives multiply: beyond `MOST` the rest is asked of the rows that these leave."""
    some = [
        f"p.{name} in ({', '.join(map(str, range(n)))})" for name, n in (("x", 9), ("seq", 9), ("key", 9), ("paid", 9), ("y", 60))
    ]
    one_of = " or ".join(f"(p.x in ({i}, {i + 1}) and p.seq in (1, 2, 3) and p.y in (1, 2))" for i in range(40))
    for where, most in ((" and ".join(some), MOST), (one_of, MOST**2), (f"p.ok and ({one_of})", MOST**2)):
        query = Rules({"wide": f"PATTERN SEQ(_ p) WHERE {where} WITHIN 9 RETURN p.x AS c1"}, event=Row).rules["wide"].pattern
        try:
            bits = parts_of(query).bits
        except NoShape:
            continue
        index = RuleIndex(Schema.of(Row, "event"), Units())
        assert 0 < max(len(index._entries(bit)) for bit in bits) <= most, where


def test_a_text_that_is_none_is_taken_or_refused_by_name() -> None:
    op = Operator(
        Rules({"r": "PATTERN SEQ(a p) WHERE p.x > 0 WITHIN 9 RETURN p.s AS c2"}, event=Row, tick="s"), engine="interpreted"
    )
    try:
        found = [change.payload.c2 for change in op.push(insert(EVENT._replace(s="\ud800"), 5))]
    except AfaError as error:
        found = [str(error)]
    assert len(found) == 1
    assert found[0] == "\ud800" or "s=" in found[0]
