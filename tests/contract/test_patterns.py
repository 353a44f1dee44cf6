"""Whatever is a pattern is taken by every door that takes one, and says the same everywhere."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import afa
from afa import AfaError, Keyed, Operator, Punctuation, insert
from afa.language import one
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of
from afa.tracing.traced import trace
from tests.contract.operators import PAIR, PAIRS, QUERY, SINGLE, TICK, E, pattern

ROWS = [("a", 1), ("b", 2), ("a", 3), ("b", 9), ("b", 5)]
FRAME = {"kind": [kind for kind, _ in ROWS], "n": [n for _, n in ROWS], "le": [*range(len(ROWS))]}
KEYED = one("a", lambda e: e.n > 0).next(one("b", lambda e: e.n > 2)).by("kind").within("10 s").returns(n=lambda m: m.b.n)
PLAIN = {"automaton": PAIR, "query": QUERY, "builder": PAIRS.of(E, tick=TICK), "situations": pattern()}
"""Patterns without a key of their own, of events that have come a second apart."""
WINDOW = {"automaton": {"window": 10}}
"""What one of them does not say itself."""


def told(op: Any) -> Counter[Any]:
    found = [each for row in enumerate(ROWS) for each in op.push(insert(E(*row[1]), row[0]))] + op.push(Punctuation(100))
    return Counter((tuple(each.payload), each.le, each.re, each.key) for each in found if not isinstance(each, Punctuation))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("key", [None, "kind", ["kind"]])
def test_an_operator_of_any_pattern(name: str, key: Any) -> None:
    """With a key in the call or without: as the pattern makes it, as a snapshot brings it back, and as a frame is matched."""
    given, options = PLAIN[name], {} if key is None else {"key": key}
    more = {"tick": TICK, **WINDOW.get(name, {})}
    op = Operator(given, **options, **more)
    assert op._core.keyed is (key is not None)
    assert told(op) == told(pattern_of(given).operator(**options, **more))
    half, whole = Operator(given, **options, **more), Operator(given, **options, **more)
    out = whole.push_many([insert(E(*row), le) for le, row in enumerate(ROWS[:2])])
    assert half.push_many([insert(E(*row), le) for le, row in enumerate(ROWS[:2])]) == out
    back = Operator.restore(given, half.snapshot(), **options)
    for le, row in enumerate(ROWS[2:], 2):
        assert back.push(insert(E(*row), le)) == whole.push(insert(E(*row), le))
    found = afa.find(given, FRAME, time="le", **options, **more)
    final = Counter[Any]()
    for match in told(Operator(given, **options, **more)).items():
        final[match[0][1]] += match[1]
    assert set(found["le"].tolist()) <= set(final)


def test_a_key_of_its_own_is_said_once() -> None:
    own = KEYED.of(E, tick=TICK)
    assert told(Operator(own)) == told(Operator(own, key="kind")) == told(Keyed(own)) == told(Keyed(own.query(), key=["kind"]))
    for door in (Operator, Keyed, lambda given, **options: afa.find(given, FRAME, time="le", **options)):
        with pytest.raises(AfaError, match="expected the pattern's own key='kind' but got key='n'"):
            door(own, key="n")
    with pytest.raises(AfaError, match="expected key=, the column or columns that make the key, but got Keyed without one"):
        Keyed(QUERY)
    assert type(Operator(SINGLE, key="kind", window=10)) is Keyed
    with pytest.raises(AfaError, match="expected a key, as threads share out its values, but got threads=2 without one"):
        Operator(PAIR, threads=2)


@pytest.mark.parametrize("door", [Operator, Keyed, trace, lambda given: afa.find(given, FRAME, time="le"), pattern_of])
@pytest.mark.parametrize("given", [3, "PATTERN SEQ(E a)", None, E, object()])
def test_what_is_no_pattern_is_refused(door: Any, given: Any) -> None:
    with pytest.raises((AfaError, TypeError)) as error:
        door(*([given, FRAME] if door is trace else [given]))
    assert isinstance(error.value, AfaError) or "key" in str(error.value)


def test_patterns_are_told_by_their_class() -> None:
    assert all(isinstance(pattern_of(given), Pattern) for given in PLAIN.values())
    assert not isinstance(PAIR, Pattern)
