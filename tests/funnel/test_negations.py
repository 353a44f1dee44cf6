"""Why there is no match where a negation cuts it, named as the query has it, with the event that came; and where events tie."""

from __future__ import annotations

import pickle
import random
from typing import NamedTuple

import pytest

from afa import Instant, Keyed, Query, insert, query


class Event(NamedTuple):
    type: str
    card: str
    n: int
    at: Instant | None = None


T0 = 1_772_341_920_000
"""2026-03-01 05:12:00 in milliseconds."""
CARDS = (
    "PATTERN SEQ(declined d1, ~(verified v1), declined d2, ~(verified v2), declined d3, ~(verified v3), large a) "
    "WHERE skip_till_next_match(d1, d2, d3, a) { [card] } WITHIN 1 hour"
)


def of(text: str) -> Query:
    return query(text, event=Event, tick="ms")


def why(asked: Query, *types: str, at: tuple[int, ...] = ()) -> tuple[str, str]:
    operator = asked.operator(engine="interpreted")
    for n, name in enumerate(types):
        operator.push(insert(Event(name, "c4", n), T0 + 1000 * (at[n] if at else n)))
    found = operator.funnel()
    return found.cause, found.why


def test_the_negation_that_cut_a_match_is_named() -> None:
    """D D D V A: the third one's. D V D D A: the first one's, where the last state that was reached says nothing of it."""
    assert why(of(CARDS), "declined", "declined", "declined", "verified", "large") == (
        "between",
        "`~(verified v3)`: Event(type='verified', card='c4', n=3, at=2026-03-01 05:12:03) at 2026-03-01 05:12:03 came between "
        "(key 'c4'); `~(verified v3)` ended the one partial match in `d3`, without it there would be 1 match",
    )
    assert why(of(CARDS), "declined", "verified", "declined", "declined", "large") == (
        "between",
        "`~(verified v1)`: Event(type='verified', card='c4', n=1, at=2026-03-01 05:12:01) at 2026-03-01 05:12:01 came between "
        "(key 'c4'); `~(verified v1)` ended 1 of 3 partial matches in `d1`, without it there would be 1 match",
    )


def test_negations_that_cut_together() -> None:
    cause, text = why(of(CARDS), "declined", "verified", "declined", "verified", "declined", "verified", "large")
    assert cause == "between"
    assert text.startswith("`~(verified v1)` and `~(verified v2)` and `~(verified v3)`: Event(type='verified', card='c4', n=1, ")
    assert text.endswith("`~(verified v1)` ended 3 of 3 partial matches in `d1`, without them there would be 1 match")


def test_an_order_that_does_not_occur_without_the_negation_either() -> None:
    cause, text = why(of(CARDS), "declined", "verified", "declined", "large")
    assert cause == "between"
    assert "came between (key 'c4'); `~(verified v1)` ended 1 of 2 partial matches in `d1`" in text
    assert "without" not in text
    assert why(of(CARDS), "declined", "verified", "large", "large", "declined")[0] != "order"
    cause, text = why(of(CARDS), "verified", "large", "declined", "declined", "verified")
    assert (cause, "without" in text) == ("order", False)


def test_a_negation_at_the_end() -> None:
    asked = of("PATTERN SEQ(declined d, ~(verified v)) WHERE skip_till_next_match(d) { [card] } WITHIN 10 seconds")
    cause, text = why(asked, "declined", "verified", "large", at=(0, 3, 30))
    assert (cause, "n=1, at=2026-03-01 05:12:03) at 2026-03-01 05:12:03 came before the end" in text) == ("between", True)


def test_a_negation_with_a_condition_on_the_match() -> None:
    asked = of(
        "PATTERN SEQ(declined d, ~(verified v), large a) "
        "WHERE skip_till_any_match(d, a) { [card] and v.n > d.n and a.n < 9 } WITHIN 1 hour"
    )
    cause, text = why(asked, "declined", "verified", "large")
    assert (cause, text.split(":")[0]) == ("between", "`~(verified v)`")


def test_a_copy_of_an_automaton_knows_its_negations() -> None:
    automaton = pickle.loads(pickle.dumps(of(CARDS).automaton))
    operator = Keyed(automaton, key="card", window="1 hour", tick="ms")
    for n, name in enumerate(["declined", "declined", "declined", "verified", "large"]):
        operator.push(insert(Event(name, "c4", n), T0 + n))
    assert operator.funnel().why.startswith("`~(verified v3)`: ")


PATTERNS = [
    ("SEQ(a x, ~(v p), b y)", "SEQ(a x, b y)", "ab"),
    ("SEQ(a x, ~(v p), ~(w q), b y)", "SEQ(a x, b y)", "ab"),
    ("SEQ(a x, ~(v p), b y, ~(w q), a z)", "SEQ(a x, b y, a z)", "aba"),
    ("SEQ(a x, ~(v p), a+ y[], ~(v q), b z)", "SEQ(a x, a+ y[], b z)", "aab"),
]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_negation_exactly_where_there_is_a_match_without_it(seed: int) -> None:
    rng, seen = random.Random(seed), {True: 0, False: 0}
    pattern, without, events = PATTERNS[seed]
    for _ in range(40):
        how = rng.choice(["skip_till_next_match", "skip_till_any_match"])
        names = ", ".join(name for name in ("x", "y", "y[]", "z") if f" {name}," in f"{without[4:-1]},")
        asked, other = (of(f"PATTERN {text} WHERE {how}({names}) {{ [card] }} WITHIN 20 seconds") for text in (pattern, without))
        types = [rng.choice("aabbvvw") for _ in range(rng.randrange(2, 8))]
        if rng.random() < 0.6:  # those of a match, with others between them
            types = [name for each in events for name in (each, *rng.choices("vw", k=rng.randrange(2)))]
        at = tuple(sorted(rng.randrange(25) for _ in types))
        cause, text = why(asked, *types, at=at)
        matches = why(other, *types, at=at)[0] == "matched"
        if cause != "matched":
            assert text.startswith("`~(") is matches, (types, at, text)
            seen[matches] += 1
    assert min(seen.values()) >= 3, seen


def test_ties_are_named_where_they_keep_a_match_from_going_on() -> None:
    fails = "PATTERN SEQ(fail a, fail b, fail c) WHERE skip_till_next_match(a, b, c) { [card] } WITHIN 1 hour"
    said = "; 2 events share key and time with another, and no `order_by=` is given: of such events none comes behind the other"
    assert why(of(fails), "fail", "fail", "fail", at=(1, 2, 2))[1].endswith(said)
    assert why(of(fails), "fail", "fail", "fail", at=(1, 1, 2))[1].endswith(said)
    assert "share" not in why(of(fails), "fail", "fail", "other", at=(1, 2, 2))[1], "that would not have gone on"
    assert "share" not in why(of(fails), "fail", "fail", at=(1, 2))[1]
    assert why(of(fails), "fail", "fail", "fail", at=(1, 2, 3))[0] == "matched"
    ordered = query(fails, event=Event, tick="ms", order_by="n")
    assert why(ordered, "fail", "fail", "fail", at=(1, 2, 2))[0] == "matched"
