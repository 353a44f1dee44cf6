"""Conditions of queries that wait for the match, and are asked of its paths; against the oracle, against registers, by hand."""

from __future__ import annotations

import math
import pickle
import random
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

import afa
from afa import (
    AfaError,
    Arc,
    Automaton,
    AutomatonError,
    Int64Error,
    Keyed,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    query,
    retract,
)
from afa.language.query import Query
from afa.lineage import BudgetError
from speculation import Cleanse, Consolidate
from tests.lanes import sample
from tests.language import worlds
from tests.lineage import query_worlds
from tests.worlds.kind import in_turn


class Pay(NamedTuple):
    kind: str
    val: float | None = 0.0
    n: int = 0


TEXT = "PATTERN SEQ(a x, b+ y[], c z) WHERE skip_till_any_match(x, y[], z) {{ {} }} WITHIN 40 RETURN x.n AS n"


def some(condition: str) -> Query:
    return query(TEXT.format(condition), event=Pay, type="kind")


def waits(made: Query) -> str | None:
    return made.explain().waits


# -- random worlds -----------------------------------------------------------------------------------------------------------------


def test_queries(turns: str) -> None:
    seen = worlds.WORLDS.run("waiting", range(16, 32), turns, family=2, kind="sums")
    assert not seen["declined"]
    assert seen["postponed"] > 6, seen
    assert seen["matches"] > 13, seen
    assert seen["retractions"] > 10, seen


def test_lineages(turns: str) -> None:
    seen = query_worlds.WORLDS.run("lineages", range(6), turns, family=1, kind="sums")
    assert not seen["declined"]
    assert seen["paths"] > 150, seen


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        ("FollowedCondition", "holds", lambda right: lambda self, value: True),
        ("FollowedCondition", "decided", lambda right: lambda self, *a: "kept" if (found := right(self, *a)) == "cut" else found),
        ("FollowedCondition", "decided", lambda right: lambda self, *a: "cut" if (found := right(self, *a)) == "kept" else found),
        ("FollowedCondition", "weights", lambda right: lambda self, *a: (0, 0)),
    ],
)
def test_a_planted_fault_is_found(owner: str, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from afa.language import path_conditions

    of = getattr(path_conditions, owner)
    monkeypatch.setattr(of, name, wrong(getattr(of, name)))
    assert any(worlds.WORLDS.failure(worlds.numbered("1", number, kind="sums"), "interpreted") for number in (60, 61))


VALUES = (0.1, 0.2, 0.3, 0.7, 1e16, -1e16, 1.0, None, math.nan, math.inf, -math.inf, -0.0)
CONDITIONS = (
    "sum(y[].val) > 0.6", "sum(y[].val) == 0.6", "sum(y[].val) != 0.6", "avg(y[].val) <= 0.2", "avg(y[].val) >= 0.3",
    "sum(y[].val) < 1", "avg(y[].val) > x.val", "sum(y[].val) > 0.3 or y.LEN == 2", "sum(y[].n) >= 4", "avg(y[].n) == 2",
)  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_sums_of_floats_are_those_of_a_register_to_the_bit(condition: str, turns: str) -> None:
    made, told = some(condition), 0
    assert waits(made) is not None
    for seed in range(5):
        choose, engine = random.Random(f"{condition} {seed}"), in_turn(seed, turns)
        carries, by_paths = made.operator(engine=engine, postpone=False), made.operator(engine=engine)
        plain = VALUES[:7] if seed < 3 else VALUES
        for _ in range(26):
            pay = Pay(choose.choice("aabbbbcc"), choose.choice(plain), choose.randint(-1, 4))
            change = (insert if choose.random() < 0.9 else retract)(pay, choose.randint(1, 9))
            found = by_paths.push(change)
            assert found == carries.push(change)
            told += len(found)
    assert told > 1


def test_no_sum_of_whole_numbers_is_too_large(engine: Any) -> None:
    made = some("sum(y[].n) > 9223372036854775807")
    events = [insert(Pay("a"), 0), insert(Pay("b", n=2**62), 1), insert(Pay("b", n=2**62), 2), insert(Pay("c"), 3)]
    assert [(match.le, match.diff) for match in made.operator(engine=engine).push_many(events)] == [(3, 1)]
    with pytest.raises(Int64Error, match="y_sum_n=9223372036854775808 in Register"):
        made.operator(engine=engine, postpone=False).push_many(events)


@pytest.mark.parametrize("condition", ["sum(y[].val) > 4", "sum(y[].val) < 4", "avg(y[].val) >= 2", "avg(y[].val) < 2"])
def test_no_path_of_a_lineage_has_a_sum_that_is_nan(condition: str) -> None:
    made, told = some(condition), 0
    for seed in range(40):
        choose = random.Random(f"lineages {condition} {seed}")
        odd = (0.1, 5.0, -3.0, 6.0, math.nan, math.nan, math.inf, -math.inf, 1e308, -1e308, None, 1e16)
        taken = [insert(Pay("b", choose.choice(odd)), choose.randint(1, 3)) for _ in range(5)]
        counts = []
        for postpone in (None, False):
            op = made.operator(engine="interpreted", postpone=postpone)
            found = op.push_many([insert(Pay("a"), 0), *taken, insert(Pay("c"), 20)])
            counts.append([op.lineage(match).count() for match in found])
        assert counts[0] == counts[1], (seed, taken)
        told += sum(counts[0])
    assert told > 100


# -- which conditions wait ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT.format("sum(y[].val) > 4"), "sum(y.val) > 4"),
        (TEXT.format("avg(y[].val) > x.val and y.LEN > 2"), "sum(y.val) / count(y.val) > last(x.val)"),
        (TEXT.format("sum(y[].val) > 4") + ", sum(y[].val) AS s", None),  # a match shows it
        (TEXT.format("sum(y[].val) > 4 and z.val > sum(y[].val)"), None),  # a later component reads it
        (TEXT.format("y[i].val > avg(y[..i-1].val)"), None),  # each event does
        (TEXT.format("max(y[].val) > 4"), None),  # by value anyway
        (TEXT.replace("any", "next").format("sum(y[].val) > 4"), None),
        (TEXT.format("sum(y[].val) > 4 and sum(y[].n) > 2 and z.n < sum(y[].n)"), "sum(y.val) > 4"),
    ],
)
def test_which_wait(text: str, expected: str | None) -> None:
    made = query(text, event=Pay, type="kind")
    assert (waits(made) or "").partition(";")[0] == (expected or "")
    assert (made.operator().automaton.having is not None) is (expected is not None)


def test_options() -> None:
    made = some("sum(y[].val) > 4")
    for options in ({"longest": True}, {"members": "n"}, {"tell": "lineage"}, {"collapse": "n"}, {"retractions": False}):
        assert made.operator(**options).automaton.having is None
        with pytest.raises(AfaError, match=r"postpone=True can't be combined with .* because conditions that wait"):
            made.operator(postpone=True, **options)
    assert made.operator(postpone=True).automaton.having is not None
    with pytest.raises(AfaError, match=r"expected a query with a condition on a sum .* but got postpone=True and none"):
        some("x.n > 2").operator(postpone=True)
    with pytest.raises(AfaError, match="expected postpone=True, False or None but got postpone=7"):
        made.operator(postpone=7)  # type: ignore[arg-type]
    assert made.automaton.having is None  # whoever makes an operator of it himself has all in it


def test_snapshots_go_to_the_operator_that_they_are_of(engine: Any) -> None:
    made = some("sum(y[].val) > 4")
    for postpone in (None, False):
        op = made.operator(engine=engine, postpone=postpone)
        op.push_many([insert(Pay("a"), 1), insert(Pay("b", 3.0), 2), insert(Pay("b", 2.0), 3)])
        again = made.restore(op.snapshot(), engine=engine)
        assert (again.automaton.having is None) is (postpone is False)
        assert again.push(insert(Pay("c"), 4)) == op.push(insert(Pay("c"), 4)) != []
        pickled = pickle.loads(pickle.dumps(op))
        assert pickled.push(retract(Pay("b", 3.0), 2)) == op.push(retract(Pay("b", 3.0), 2)) != []
    with pytest.raises(SnapshotError, match="an automaton with other states, arcs or schemas"):
        some("sum(y[].val) > 5").restore(made.operator().snapshot())


def test_a_running_operator_goes_over_to_another_query() -> None:
    one = query(TEXT.format("sum(y[].val) > 4 and x.n > 1"), event=Pay, type="kind")
    other = query(TEXT.format("sum(y[].val) > 4 and x.n > 0"), event=Pay, type="kind")
    for postpone in (None, False):
        op = one.operator(postpone=postpone)
        for change in one.changes_to(other, postpone).arcs:
            op.push_arc(change)
        found = op.push_many([insert(Pay("a", n=1), 1), insert(Pay("b", 5.0), 2), insert(Pay("c"), 3)])
        assert [match.payload for match in found] == [(1,)]
    third = some("sum(y[].val) > 5 and x.n > 1")
    with pytest.raises(
        AfaError, match=r"the same conditions that wait .* got sum\(y.val\) > 4 and sum\(y.val\) > 5; .*postpone=False"
    ):
        one.changes_to(third)
    assert one.changes_to(third, postpone=False).arcs


# -- the budget --------------------------------------------------------------------------------------------------------------------


def test_what_is_not_decided_is_refused(engine: Any) -> None:
    made = some("sum(y[].n) == 5000001")
    op = made.operator(engine=engine)
    small = replace(op.automaton.having, budget=500)
    of = op.automaton
    op = Operator(
        Automaton(start=of.start, final=of.final, arcs=of.arcs, register=of.register, event=of.event, shown=of.shown, having=small),
        window=40,
        engine=engine,
    )
    op.push_many([insert(Pay("a"), 0), *(insert(Pay("b", n=3**i % 1_000_003 * 2), i) for i in range(1, 30))])
    before = op.snapshot()
    message = r"expected the match Match\(n=0\) from 31 to 40 to be decided within 500 steps, .* sum\(y.n\) == 5000001, .*postpone"
    with pytest.raises(BudgetError, match=message):
        op.push(insert(Pay("c"), 31))
    assert op.snapshot() == before


# -- functions ---------------------------------------------------------------------------------------------------------------------


def odd(path: Any) -> bool:
    return sum(change.payload.n for component, change in path if component == "b") % 2 == 1


def several(having: Any) -> Automaton:
    return Automaton(start="s", final={"c"}, event=Pay, having=having, arcs=[
        Arc("s", "a", "kind == 'a'", name="a"), Arc("a", "b", "kind == 'b'", name="b"),
        Arc("b", "b", "kind == 'b'", name="b2", select="b"),
        Arc.skip("a", "True", name="over a"), Arc.skip("b", "True", name="over b"), Arc("b", "c", "kind == 'c'", name="c"),
    ])  # fmt: skip


def test_a_function_of_a_path(engine: Any) -> None:
    op = Keyed(several(odd), key=lambda e: 0, window=60, engine=engine)
    assert op.push_many([insert(Pay("a"), 1), insert(Pay("b", n=2), 2), insert(Pay("b", n=4), 3), insert(Pay("c"), 5)]) == []
    (come,) = op.push(insert(Pay("b", n=3), 4))
    assert (come.diff, come.le) == (1, 5)
    found = op.lineage(come)
    assert found.count() == 4
    assert all(odd(path) for path in found.paths())
    assert [change.payload.n for change in found.events()["b"]] == [2, 4, 3]
    again = Keyed.restore(several(odd), op.snapshot(), key=lambda e: 0, engine=engine)
    for each in (op, again):
        assert each.push(retract(Pay("b", n=3), 4)) == [come._replace(diff=-1)]
        with pytest.raises(AfaError, match="none of its paths satisfies"):
            each.lineage(come)


def test_a_function_that_raises_or_is_none(engine: Any) -> None:
    def raises(path: Any) -> bool:
        raise ZeroDivisionError("in the user's code")

    op = Operator(several(raises), window=60, engine=engine)
    op.push_many([insert(Pay("a"), 1), insert(Pay("b"), 2)])
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError, match=r"in the user's code\nin having=.*raises of the path"):
        op.push(insert(Pay("c"), 3))
    assert op.snapshot() == before
    op = Operator(several((odd, 6)), window=60, engine=engine)
    with pytest.raises(BudgetError, match="decided within 6 steps, as its paths must satisfy odd"):
        op.push_many([insert(Pay("a"), 1), *(insert(Pay("b"), i) for i in range(2, 9)), insert(Pay("c"), 11)])
    for wrong in (7, (odd, 0), (odd, "x"), "sum(b.n) > 2"):
        with pytest.raises(AutomatonError, match="expected a function of a path, or one with a budget"):
            several(wrong)
    with pytest.raises(AfaError, match="members='n' can't be combined with an automaton with having= because it chooses"):
        Operator(several(odd), members="n")


# -- ways in -----------------------------------------------------------------------------------------------------------------------


def changes_at_random(choose: random.Random, n: int) -> list[Any]:
    found, held, promised = [], list[Any](), 0
    for _ in range(n):
        kind = choose.random()
        late = [each for each in held if each[1] >= promised]
        if late and kind < 0.2:
            each = choose.choice(late)
            held.remove(each)
            found.append(retract(*each))
        elif kind < 0.23:
            promised += choose.randint(0, 2)
            found.append(Punctuation(promised))
        else:
            each = Pay(choose.choice("aabbbbcc"), 0.5, choose.randint(1, 5)), promised + choose.randint(0, 8)
            held.append(each)
            found.append(insert(*each))
    return found


@pytest.mark.parametrize("stage", [Consolidate, lambda: Cleanse(3), lambda: Cleanse(0)], ids=["consolidate", "3", "0"])
@pytest.mark.parametrize("place", ["before", "after"])
@sample(1, 12)
def test_stages_around_an_operator(stage: Any, place: str, numbers: range, engine: Any) -> None:
    if not hasattr(stage(), place):
        return
    made, told = some("sum(y[].n) > 5"), 0
    for seed in numbers:
        choose = random.Random(f"stages {seed}")
        waits, carries = (getattr(stage(), place)(made.operator(engine=engine, postpone=each)) for each in (None, False))
        changes = changes_at_random(choose, 70)
        low = 0
        while low < len(changes):
            part = changes[low : low + choose.randint(1, 4)]
            low += len(part)
            net = choose.random() < 0.5
            if len(part) == 1:
                got, wanted = waits.push(part[0]), carries.push(part[0])
            elif not any(isinstance(change, Punctuation) for change in part) and choose.random() < 0.5:
                columns = {name: [getattr(change.payload, name) for change in part] for name in Pay._fields}
                columns |= {name: [getattr(change, name) for change in part] for name in ("le", "diff")}
                tables = [each.push_many(columns, net=net) for each in (waits, carries)]
                got, wanted = ({name: column.tolist() for name, column in table.items()} for table in tables)
                assert sum(map(abs, got["diff"])) == sum(map(abs, wanted["diff"]))
            else:
                got, wanted = waits.push_many(part, net=net), carries.push_many(part, net=net)
            assert got == wanted
            told += len(got)
        waits._check()
        assert waits.statistics.outputs == carries.statistics.outputs
    assert told > 5


def test_reasons_and_traces(engine: Any) -> None:
    made = some("sum(y[].n) > 5")
    with pytest.raises(AfaError, match=r"query with conditions that wait for the match: give Query.operator postpone=False"):
        afa.Reasons(made.operator(engine=engine))
    op = afa.Reasons(made.operator(engine=engine, postpone=False))
    assert op.push_many([insert(Pay("a"), 1), insert(Pay("b", n=9), 2), insert(Pay("c"), 3)])
    with pytest.raises(AfaError, match=r"expected an operator whose arcs ask all .*give Query.operator postpone=False"):
        made.operator(engine=engine).funnel()
    assert made.operator(engine=engine, postpone=False).funnel().arcs
    for option, name in ({"having": "sum(y.n) > 100"}, "having="), ({"collapse": "n"}, "collapse="):
        told = made.operator(engine=engine, **option)
        told.push_many([insert(Pay("a"), 1), insert(Pay("b", n=9), 2), insert(Pay("c"), 3)])
        assert told.funnel().why == f"1 match, from 1 beginning; these are the matches of the arcs, before {name}"
    assert afa.trace(made, [insert(Pay("a"), 1), insert(Pay("b", n=9), 2), insert(Pay("c"), 3)])


def test_on_spark_a_query_carries_its_conditions_and_a_function_is_refused() -> None:
    pytest.importorskip("pyspark")
    from afa.spark import match

    with pytest.raises(AfaError, match=r"expected an automaton without having= on Spark, .* but got <function odd"):
        match(several(odd), key="k", time="t")
