"""Options of restored operators, of subclasses, of patterns that make more of themselves: each counts, or is refused in words."""

from __future__ import annotations

import pickle

import pytest

import afa
from afa import AfaError, Gapless, Keyed, Operator, Options, Punctuation, SnapshotError, insert
from afa.situations import Derive, Situation
from afa.uncertain import Worlds
from speculation import Cleanse, Ordered
from tests.contract.operators import CHOSEN, LOW, PAIR, QUERY, SINGLE, E, pattern, worlds

WAITS = afa.query(
    "PATTERN SEQ(_ a, _+ b[], _ c) WHERE skip_till_any_match(a, b[], c) { avg(b[].n) > 2 and c.kind = 'b' } WITHIN 9", event=E
)
NEGATED = afa.query("PATTERN SEQ(~(_ z), _ a) WHERE skip_till_any_match(a) { z.kind = 'x' and a.kind = 'a' } WITHIN 9", event=E)
ITEMS = [insert(E("a", 1), 1), insert(E("x", 5), 2), insert(E("b", 3), 3), Punctuation(3)]


class Mine(Operator):
    pass


class MineKeyed(Keyed):
    pass


def test_a_query_that_waits_speculates_and_comes_back() -> None:
    op = WAITS.operator(speculation=1)
    op.push_many(ITEMS)
    again = Operator.restore(WAITS, op.snapshot())
    assert again.automaton.having == op.automaton.having is not None
    assert again.push(Punctuation(20)) == op.push(Punctuation(20))


def test_a_subclass_refuses_what_it_can_t_be() -> None:
    with pytest.raises(AfaError, match="but got a subclass and speculation=0"):
        Mine(PAIR, window=10, speculation=0)
    with pytest.raises(AfaError, match="expected a class that stands on Keyed, for operators with a key, but got key='kind'"):
        Mine(PAIR, key="kind")
    assert MineKeyed(SINGLE, key="kind").keys == []

    class Named(Operator):
        def __init__(self) -> None:
            super().__init__(automaton=PAIR, window=10)

    assert Named()._core.window == 10


def test_speculation_stands_before_the_stages_of_a_pattern() -> None:
    for made in (pattern(), NEGATED):
        op = made.operator(speculation=0)  # type: ignore[attr-defined]
        assert (type(op.stage), op.stage.sigma, op.operator.place) == (Cleanse, 0, "before")
        assert made.restore(op.snapshot(), speculation=7).stage.sigma == 7  # type: ignore[attr-defined]
        assert made.restore(op.snapshot()).snapshot() == op.snapshot()  # type: ignore[attr-defined]


def test_what_is_said_again_as_it_was_is_taken() -> None:
    for options in ({"keep_payloads": True}, {"retractions": True}, {"lineage": False}, {"key": None}, {"members": None}):
        assert QUERY.restore(QUERY.operator().snapshot(), **options)  # type: ignore[arg-type]
        assert Operator.restore(PAIR, Operator(PAIR).snapshot(), **options)  # type: ignore[arg-type]
    told = Operator(PAIR, window=9, members="n")
    assert Operator.restore(PAIR, told.snapshot(), members="n", lineage=False)._core.kept is not None


def test_what_rows_of_a_choice_tell_is_not_said_otherwise() -> None:
    chosen = afa.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le MEASURES b.n AS last PATTERN (a b) WITHIN 10 DEFINE a AS kind = 'a')", event=E
    )
    told, plain = chosen.operator(members="n").snapshot(), chosen.operator().snapshot()
    assert chosen.restore(told, members="n")
    for blob, said in ((told, "kind"), (plain, "n")):
        with pytest.raises(
            SnapshotError, match=f"expected members=.*, with which the operator was saved, but got members='{said}'"
        ):
            chosen.restore(blob, members=said)
    assert CHOSEN.restore(CHOSEN.operator().snapshot())


def test_derive_says_its_key_and_tick_itself() -> None:
    op = Derive(E, key="kind", tick="s", **LOW)
    blob = op.snapshot()
    for said in ({"key": "n"}, {"tick": "ms"}):
        with pytest.raises(SnapshotError, match="as it says itself, but got"):
            op.restore(blob, **said)
    assert op.restore(blob, key="kind", tick="s").snapshot() == blob
    assert op.as_pattern().restore(blob, arcs=()).snapshot() == blob
    assert Operator.restore(op.as_pattern(), blob).snapshot() == blob
    assert Derive.restore(blob, event=E, key="kind", tick="s", low=Situation("n < 4")).snapshot() == blob
    with pytest.warns(DeprecationWarning, match=r"again\(..\) is now"):
        assert op.again("n").as_pattern().key == "n"


def test_worlds_take_what_they_were_made_with() -> None:
    op = worlds()
    assert Operator(op, retractions=True, longest=False).snapshot() == op.snapshot()
    assert Operator.restore(op, op.snapshot(), partial_matches=5)._core.budget.partial_matches == 5
    with pytest.raises(AfaError, match="expected window='10 s', as Worlds say it, but got window=3"):
        op.restore(op.snapshot(), window=3)
    of_query = Worlds(QUERY, worlds=20, lower="lower", upper="upper")
    assert of_query.operator().query is QUERY


def test_options_as_one_object_reach_all_doors() -> None:
    assert isinstance(Keyed(QUERY, options=Options(key="kind")), Keyed)
    op = Ordered(PAIR, number="n", options=Options(key="kind"))
    assert Ordered.restore(PAIR, op.snapshot(), options=Options(key="kind"))._core.keyed
    rows = {"kind": ["a", "b"], "n": [1, 2], "le": [1, 2]}
    assert afa.find(PAIR, rows, options=Options(threads=2, window=5))["le"].tolist() == [2]


def test_defaults_under_old_names_pass() -> None:
    made = Operator(PAIR, gapless=None, gaps="break", repeated="raise", on_gap=None)  # type: ignore[call-arg]
    assert made._core.gapless is None


def test_a_time_is_said_once() -> None:
    with pytest.raises(AfaError, match="le= can't be combined with time="):
        Operator(PAIR).push_many({"kind": ["a"], "n": [1], "at": [1]}, le="at", time="other")
    with pytest.raises(TypeError, match="unexpected keyword argument 'le'"):
        Operator(PAIR, le=1)  # type: ignore[call-arg]


def test_copies_and_pickles_keep_their_options() -> None:
    op = Operator(PAIR, window=9, gapless=Gapless("n", repeated="drop"), late="drop")
    assert pickle.loads(pickle.dumps(op))._core.options.gapless == Gapless("n", repeated="drop")
    held = Cleanse(3).before(Operator(PAIR, window=9))
    assert Operator.restore(PAIR, held.snapshot(), speculation=5).stage.sigma == 5


def test_worlds_of_a_query_take_the_key_that_it_has_or_that_is_said() -> None:
    keyed = afa.query("PATTERN SEQ(_ a, _ b) WHERE skip_till_any_match(a, b) { [kind] and b.n > a.n } WITHIN 9", event=E)
    assert Worlds(keyed, worlds=20, key="kind").key == Worlds(keyed, worlds=20).key == "kind"
    assert Worlds(QUERY, worlds=20, key="n").key == "n"
    with pytest.raises(AfaError, match="expected the pattern's own key='kind' but got key='n'"):
        Worlds(keyed, worlds=20, key="n")
