"""Whatever is a pattern is taken by every door that takes one, and says the same everywhere."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, Gapless, Keyed, Operator, Punctuation, insert
from afa.explain.tracing.recorder import trace
from afa.language import one
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of
from afa.situations import Situation, TemporalPattern
from tests.automata import Count
from tests.contract.test_contract import net


class Step(NamedTuple):
    """An event of somebody, of one of two kinds."""

    who: str
    what: str
    n: int


ROWS = [("x", "a", 1), ("y", "a", 2), ("x", "b", 3), ("x", "c", 9), ("y", "b", 4), ("y", "b", 5), ("x", "c", 6), ("y", "c", 7)]
"""A second apart."""
FRAME = {name: [row[i] for row in ROWS] for i, name in enumerate(Step._fields)} | {"le": [*range(len(ROWS))]}


AUTOMATON = Automaton(
    start="0", final={"2"}, event=Step, register=Count(),
    arcs=[Arc("0", "1", "what == 'a'", "(n,)"), Arc.skip("1", "what == 'c'"), Arc("1", "2", "what == 'b'", "(n,)")],
)  # fmt: skip
WORDS = one("a", lambda e: e.what == "a").followed_by(one("b", lambda e: e.what == "b")).within("10 s").returns(n=lambda m: m.b.n)
PLAIN = {
    "automaton": AUTOMATON,
    "query": WORDS.of(Step, tick="s").query(),
    "words": WORDS.of(Step),
    "situations": TemporalPattern(
        event=Step, within=10, begun=Situation("what == 'a'"), done=Situation("what == 'b'"), where="begun meets done"
    ),
}
"""Patterns without a key of their own."""
OWN = {"query": WORDS.by("who").of(Step, tick="s").query(), "words": WORDS.by("who").of(Step)}
SAID = {"automaton": {"window": 10, "tick": "s"}, "words": {"tick": "s"}, "query": {"tick": "seconds"}, "situations": {}}
"""What each does not say itself, or may have said again."""


def changes(rows: slice = slice(None)) -> list[Any]:
    return [insert(Step(*row), le) for le, row in list(enumerate(ROWS))[rows]]


def told(op: Any) -> Counter[Any]:
    return net([each for change in changes() for each in op.push(change)] + op.push(Punctuation(100)))


def by_hand(name: str, key: Any) -> Counter[Any]:
    """What an operator of the pattern's automaton says, in which nothing makes it but this."""
    if name == "situations":
        return told(PLAIN[name].operator() if key is None else PLAIN[name].operator(key="who"))
    given = PLAIN["query" if name == "words" else name]
    automaton, window = (given, 10) if name == "automaton" else (given.automaton, given.window)
    return told(
        Operator(automaton, window=window, tick="s") if key is None else Keyed(automaton, key="who", window=window, tick="s")
    )


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("key", [None, "who", ["who"]])
def test_an_operator_of_any_pattern(name: str, key: Any) -> None:
    """With a key in the call or without: its matches, those of a frame, those that go on behind a snapshot."""
    given, options = PLAIN[name], SAID[name] | ({} if key is None else {"key": key})
    wanted = by_hand(name, key)
    assert wanted
    found = told(Operator(given, **options))
    alone = Counter({(*what, of[0] if type(of) is tuple else of): n for (*what, of), n in found.items()})
    assert alone == wanted
    assert Counter(afa.find(given, FRAME, time="le", **options)["le"].tolist()) == Counter(le for _, le, *_ in wanted.elements())
    whole = Operator(given, **options)
    whole.push_many(changes(slice(3)))
    again = {name: value for name, value in options.items() if name in ("key", "tick")}
    back = Operator.restore(given, whole.snapshot(), **again)
    assert net(back.push_many(changes(slice(3, None)))) == net(whole.push_many(changes(slice(3, None))))
    if key is not None:
        assert told(Keyed(given, **options)) == found
        Keyed.restore(given, Keyed(given, **options).snapshot(), **again)


@pytest.mark.parametrize("name", OWN)
def test_a_key_of_its_own_is_said_once(name: str) -> None:
    own = OWN[name]
    wanted = by_hand("query", "who")
    for made in (
        Operator(own, tick="s"),
        Operator(own, tick="s", key="who"),
        Keyed(own, tick="s"),
        Keyed(own, tick="s", key=["who"]),
    ):
        assert told(made) == wanted
    Keyed.restore(own, Keyed(own, tick="s").snapshot(), tick="s")
    for door in (Operator, Keyed, lambda given, **options: afa.find(given, FRAME, time="le", **options)):
        with pytest.raises(AfaError, match="expected the pattern's own key='who' but got key='n'"):
            door(own, key="n", tick="s")


def test_what_needs_a_key_says_so() -> None:
    for door in (lambda: Keyed(PLAIN["query"]), lambda: Keyed(AUTOMATON), lambda: Keyed.restore(PLAIN["query"], b"")):
        with pytest.raises(AfaError, match="expected key=, the column or columns that make the key, but got Keyed without one"):
            door()
    assert type(Operator(AUTOMATON, key="who", window=10)) is Keyed
    assert type(Operator(automaton=OWN["query"])) is Keyed
    with pytest.raises(AfaError, match="expected a key, as threads share out its values, but got threads=2 without one"):
        Operator(AUTOMATON, threads=2)
    with pytest.raises(AfaError, match="expected a field name, several, or a callable but got key=''"):
        Operator(AUTOMATON, key="")


def test_options_of_queries_go_with_them() -> None:
    """Also those that an operator of an automaton has not; and what a snapshot needs again."""
    for own in (PLAIN["query"], OWN["query"], OWN["query"]):
        assert told(Operator(own, postpone=False)) == told(own.operator(postpone=False))
    assert told(Keyed(OWN["query"], postpone=False)) == told(OWN["query"].operator())
    seen: list[Any] = []
    numbered = one("a", lambda e: e.what == "a").followed_by(one("b", lambda e: e.what == "b")).within(9).of(Step).query()
    made = Operator(numbered, gapless=Gapless("n", repeated=seen.append, on_gap=seen.append))
    Operator.restore(numbered, made.snapshot(), gapless=Gapless("n", on_gap=seen.append, repeated=seen.append))
    ordered = Operator(PLAIN["situations"], order_by="n")
    Operator.restore(PLAIN["situations"], ordered.snapshot(), order_by="n")
    with pytest.raises(AfaError, match="expected order_by=None, with which the operator was saved, but got order_by='n'"):
        Operator.restore(AUTOMATON, Operator(AUTOMATON).snapshot(), order_by="n")
    with pytest.raises(AfaError, match="order_by='n' can't be combined with a query because the query says it"):
        Operator.restore(numbered, b"", order_by="n")
    with pytest.raises(AfaError, match="members"):
        afa.find(AUTOMATON, FRAME, time="le", members="")


def test_a_key_beside_all_rows_is_refused() -> None:
    rows = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le MEASURES b.n AS last ALL ROWS PER MATCH PATTERN (a b) WITHIN 10 "
        "DEFINE a AS what = 'a', b AS what = 'b')",
        event=Step,
    )
    with pytest.raises(
        AfaError, match="expected ALL ROWS PER MATCH with PARTITION BY, by which rows show their key, but got key='who'"
    ):
        Operator(rows, key="who")
    assert "le" in afa.find(rows, FRAME, time="le", members=False, collapse=False)


def test_a_subclass_is_made_as_it_says() -> None:
    class Short(Operator):
        def __init__(self, query: Any) -> None:
            super().__init__(query.automaton, window=2)

    class Named(Operator):
        def __init__(self, automaton: Automaton, key: str) -> None:
            super().__init__(automaton)
            self.key = key

    assert type(Short(PLAIN["query"])) is Short
    assert Named(AUTOMATON, key="x").key == "x"


def test_more_threads_than_a_saved_bound_was_for() -> None:
    made = Keyed(AUTOMATON, key="who", window=10, max_bytes=1_000_000)
    back = Keyed.restore(AUTOMATON, made.snapshot(), key="who", threads=4)
    assert told(back) == told(made)


@pytest.mark.parametrize("door", [Operator, Keyed, trace, lambda given: afa.find(given, FRAME, time="le"), pattern_of])
@pytest.mark.parametrize("given", [3, "PATTERN SEQ(E a)", None, Step, object()])
def test_what_is_no_pattern_is_refused(door: Any, given: Any) -> None:
    with pytest.raises(AfaError):
        door(*([given, FRAME] if door is trace else [given]))


def test_patterns_are_told_by_their_class() -> None:
    assert all(isinstance(pattern_of(given), Pattern) for given in PLAIN.values())
    assert not isinstance(AUTOMATON, Pattern)
