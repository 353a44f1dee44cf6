"""Sets of rules: random worlds, what a set takes and refuses, rules that are put aside, snapshots with other rules."""

from __future__ import annotations

import contextlib
import copy
import logging
import pickle
import random
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, ChangeError, LateEventError, Operator, Punctuation, Rules, SnapshotError, insert, retract
from afa.operator.plain_data import plain
from afa.operator.snapshot import unseal
from afa.rules.rule_set_operator import MAGIC, VERSION
from punctuation import sealed
from speculation import Cleanse, Consolidate, consolidate


class Pay(NamedTuple):
    card: str
    amount: int


LARGE = "PATTERN SEQ(Pay a) WHERE a.amount > 9 WITHIN 5 RETURN a.amount"
TWO = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { a.amount < 3 and b.amount > 5 } WITHIN 20 RETURN b.amount"
RAISES = Automaton(start="0", final={"1"}, event=Pay, arcs=[Arc("0", "1", lambda e, r: 1 // (e.amount - 7) >= 0, name="divides")])


def made(**rules: Any) -> Rules:
    return Rules(rules, event=Pay, key="card")


def test_rules_with_equal_matches_are_two() -> None:
    op = Operator(made(a=LARGE, b=LARGE))
    out = op.push(insert(Pay("x", 20), 1))
    assert [change.rule for change in out] == ["a", "b"]
    assert out[0] != out[1]
    assert len(set(out)) == 2
    assert out[0]._replace(diff=-1).rule == "a"
    assert pickle.loads(pickle.dumps(out[0])) == out[0] == copy.copy(out[0])
    assert repr(out[0]).endswith("key='x', rule='a')")


def test_stages_behind_a_set_keep_its_rules_apart() -> None:
    op = Operator(made(a=LARGE, b=LARGE))
    out = op.push(insert(Pay("x", 20), 1))
    assert [change.rule for change in consolidate(out)] == ["a", "b"]
    assert consolidate([*out, out[0]._replace(diff=-1)]) == [out[1]]
    for stage in (Consolidate(), Cleanse(0)):
        with pytest.raises(
            ChangeError, match="tables of a set of rules with their column 'rule', but got a change of the rule 'a'"
        ):
            stage.push(out[0])
    table = op.push_many(pa.table({"card": ["y"], "amount": [30], "le": [2]}))
    assert table.column("rule").to_pylist() == ["a", "b"]
    back = table.set_column(table.column_names.index("diff"), "diff", pa.array([-1, -1]))
    found = Consolidate(per="call").push_many(pa.concat_tables([table, back.slice(0, 1)]))
    assert found.column("rule").to_pylist() == ["b"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"bad": "PATTERN SEQ(Pay a) WHERE a.size > 9 WITHIN 5 RETURN a.amount"}, "rule 'bad': .*size"),
        ({"bad": "nonsense"}, "rule 'bad': "),
        ({"bad": "SELECT * FROM t MATCH_RECOGNIZE (nonsense)"}, "rule 'bad': "),
        ({"bad": 7}, "rule 'bad': expected the text of a query, a query or an automaton but got 7"),
        ({"": LARGE}, "expected the name of a rule"),
        ({"bad": Automaton(start="0", final={"0"}, arcs=[])}, "rule 'bad': expected a pattern of events .* any events"),
        ({"bad": LARGE + " " * 9 + "(" * 9000}, "rule 'bad': "),
    ],
)
def test_a_rule_that_can_not_be_read_is_named(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Rules(rules, event=Pay)


def test_hostile_texts_are_refused_by_name() -> None:
    rng = random.Random(1)
    for _ in range(300):
        text = list(rng.choice((LARGE, TWO)))
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(text))
            text[place] = rng.choice(("", "(", ")", "{", "~", "\0", "9" * 30, " and ", "SEQ", text[place] * 3))
        try:
            made(hostile="".join(text))
        except AfaError as error:
            assert str(error).startswith("rule 'hostile': ")  # noqa: PT017  (what it says, of any that is raised)


def test_columns_of_one_name_have_one_type() -> None:
    with pytest.raises(AfaError, match="rule 'b': expected one type of the column 'x' in all rules but got int and str"):
        Operator(
            made(
                a=LARGE.replace("RETURN a.amount", "RETURN a.amount AS x"), b=LARGE.replace("RETURN a.amount", "RETURN a.card AS x")
            )
        )


@pytest.mark.parametrize("options", [{}, {"partial_matches": 99}])  # in the store, and by operators of their own
def test_what_a_match_shows_under_the_name_of_a_key_stands_in_its_column(options: dict[str, Any]) -> None:
    shows = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) {{ [card] }} WITHIN 9 RETURN {} AS card, b.amount AS n"
    same, other, plain = shows.format("b.card"), shows.format("'none'"), shows.replace("{} AS card, ", "").format()
    table = {"card": ["x", "x"], "amount": [1, 2], "le": [1, 2]}
    for kind in (dict, pa.table, pd.DataFrame):
        op = Operator(Rules({"other": other, "plain": plain, "same": same}, event=Pay), **options)
        out = op.push_many(kind(table))
        assert list(out["rule"].tolist() if kind is pd.DataFrame else map(str, out["rule"])) == ["other", "plain", "same"]
        assert [str(name) for name in out["card"]] == ["none", "x", "x"]
        assert op.statistics.rules["same"].matches == 1


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_what_each_rule_costs(engine: str) -> None:
    """By rule, of those that share an operator too: what an operator of its own would count."""
    high = TWO.replace("< 3", "< 2")
    given = {"two": TWO, "high": high, "own": RAISES, "large": LARGE}
    op = Operator(made(**given), engine=engine)
    alone = {name: Operator(made(**{name: each}), engine=engine) for name, each in given.items()}
    rows = [insert(Pay(who, amount), t) for t, (who, amount) in enumerate([("x", 1), ("y", 2), ("x", 2), ("z", 8), ("x", 9)])]
    for each in (op, *alone.values()):
        each.push_many(rows)
    held = op.statistics
    groups = [group.operator.statistics.partial_matches for group in op._store.groups.values()]
    assert held.partial_matches == sum(groups) + held.rules["own"].partial_matches
    assert held.rules["two"].partial_matches > held.rules["high"].partial_matches > held.rules["large"].partial_matches == 0
    for name, each in alone.items():
        assert each.statistics.rules[name][:3] == held.rules[name][:3]
    assert all((each.bytes > 0) == (engine == "compiled" and each.partial_matches > 0) for each in list(held.rules.values())[:2])
    assert all(each.seconds > 0 for each in held.rules.values() if each.events)


def test_one_rule_of_a_set_can_be_asked_alone() -> None:
    op = Operator(made(two=TWO, large=LARGE))
    op.push_many([insert(Pay("x", 1), 1), insert(Pay("x", 4), 3), insert(Pay("y", 9), 4)])
    assert "was asked" in op.alone("two").funnel().why
    reasons = afa.Reasons(op.alone("two", lineage=True))
    (change,) = reasons.push(insert(Pay("x", 7), 5))
    assert change.because.text == "Announced: '7, 5' is its last event."
    (change,) = reasons.push(retract(Pay("x", 1), 1))
    assert change.because.text.startswith("Withdrawn: ")
    assert op.statistics.rules["two"].matches == 0  # which knows nothing of it
    with pytest.raises(AfaError, match="expected a rule in force but got 'three'; there are: large, two"):
        op.alone("three")
    op.push(Punctuation(9))
    op.remove("two")
    assert [change.rule for change in op.push(insert(Pay("x", 70), 20))] == ["large"]
    assert op.alone("large").statistics.matches == 1


def test_a_rule_of_one_set_may_be_given_to_another() -> None:
    rules, op = made(large=LARGE, raises=RAISES), Operator(made())
    op.add("mine", rules.rules["large"])
    op.add("two", rules.rules["raises"])
    assert [change.rule for change in op.push(insert(Pay("x", 20), 5))] == ["mine", "two"]
    other = Rules({}, event=NamedTuple("Other", [("size", int)]))
    with pytest.raises(AfaError, match=r"rule 'large': .*expected the type Other but got 'Pay'"):
        Operator(other).add("large", rules.rules["large"])


class Paid(NamedTuple):
    card: str
    amount: float


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_a_condition_that_waits_for_the_match_is_asked_of_tables_and_single_events_alike(engine: str) -> None:
    where = "sum(b[].amount) > 3.0 and sum(b[].amount) > avg(b[].amount)"
    waits = f"PATTERN SEQ(Paid a, Paid+ b[]) WHERE skip_till_any_match(a, b[]) {{ {where} }} WITHIN 11 RETURN a.amount"
    assert afa.query(waits, event=Paid).explain().waits
    rows = [insert(Paid("x", amount), le) for amount, le in [(7.0, 10), (3.0, 11), (5.0, 12), (1.0, 12)]]
    alone = afa.query(waits, event=Paid).operator(engine=engine).push_many(rows)
    op = Operator(Rules({}, event=Paid), engine=engine)
    op.push_many(pa.table({"card": ["x"] * 3, "amount": [7.0, 3.0, 5.0], "le": [10, 11, 12]}))
    op.push_many(rows[3:])
    assert [change[:4] for change in op.add("waits", waits, le=10)] == [change[:4] for change in alone] != []


def test_keys_are_fields() -> None:
    with pytest.raises(AfaError, match=r"expected fields of .* as key but got 'shop'"):
        Rules({"a": LARGE}, event=Pay, key="shop")
    with pytest.raises(AfaError, match="got a function"):
        Rules({"a": LARGE}, event=Pay, key=lambda event: event.card)


def test_a_rule_that_raises_is_put_aside_alone(caplog: pytest.LogCaptureFixture) -> None:
    op = Operator(made(good=LARGE, bad=RAISES))
    with caplog.at_level(logging.WARNING):
        out = op.push_many([insert(Pay("x", 20), 1), insert(Pay("x", 7), 2)])
    assert [change.rule for change in out] == ["good"]
    assert "rule 'bad' is put aside: ZeroDivisionError" in caplog.text
    assert [(rule.name, rule.state) for rule in op.rules] == [("bad", "put aside"), ("good", "in force")]
    assert [change.rule for change in op.push(insert(Pay("x", 30), 3))] == ["good"]
    assert op.push(Punctuation(9)) == [Punctuation(9)]


def test_what_is_no_event_refuses_the_call() -> None:
    op = Operator(made(good=LARGE))
    before = op.snapshot()
    for wrong in (insert(("x", "y"), 1), insert(Pay("x", 1)), 7, Punctuation(3, where="amount > 3")):
        with pytest.raises(AfaError):
            op.push_many([insert(Pay("x", 20), 5), wrong])
        assert op.snapshot() == before
    assert [rule.state for rule in op.rules] == ["in force"]


def test_late_is_told_once() -> None:
    told: list[Any] = []
    op = Operator(made(a=LARGE, b=TWO), late=told.append)
    op.push_many([retract(Pay("x", 1), 2), Punctuation(5), insert(Pay("x", 1), 4)])
    assert [(change.le, change.diff) for change in told] == [(2, -1), (4, 1)]
    assert op.statistics.late == 2
    other = Operator(made(a=LARGE))
    with pytest.raises(LateEventError, match="expected le >= 5"):
        other.push_many([Punctuation(5), insert(Pay("x", 1), 4)])


def test_lifetimes() -> None:
    op = Operator(made(a=LARGE))
    op.push_many([insert(Pay("x", 20), 5), Punctuation(4)])
    with pytest.raises(LateEventError, match="rule 'b': expected le >= 4, from where on events are held, but got le=3"):
        op.add("b", LARGE, le=3)
    with pytest.raises(AfaError, match=r"expected no rule 'a' in \[5, "):
        op.add("a", LARGE, le=5)
    with pytest.raises(AfaError, match="expected le < re"):
        op.add("b", LARGE, le=6, re=6)
    with pytest.raises(LateEventError, match="rule 'a': expected an end behind 4"):
        op.remove("a", at=4)
    with pytest.raises(AfaError, match="expected a rule in force beyond 6 but got 'b'; there are: a"):
        op.remove("b")
    assert [change.le for change in op.add("b", LARGE, le=5)] == [5]
    assert [(change.rule, change.diff) for change in op.remove("a", at=5)] == [("a", -1)]


def test_restore_with_other_rules() -> None:
    op = Operator(made(stays=TWO, goes=LARGE))
    op.push(insert(Pay("x", 1), 1))
    other = Operator.restore(made(stays=TWO, comes=LARGE), op.snapshot())
    assert [(rule.name, rule.le > 0, rule.state) for rule in other.rules] == [
        ("comes", True, "in force"),
        ("goes", False, "ended"),
        ("stays", False, "in force"),
    ]
    assert [change.rule for change in other.push(insert(Pay("x", 20), 4))] == ["comes", "stays"]
    assert [change.rule for change in other.push(insert(Pay("x", 30), 1))] == ["goes"]
    blob = op.snapshot()
    with pytest.raises(SnapshotError):
        Operator.restore(made(stays=TWO), blob[:-3] + b"abc")
    with pytest.raises(SnapshotError, match="expected a snapshot"):
        Operator.restore(made(stays=TWO), Operator(RAISES).snapshot())


def test_a_snapshot_is_checked() -> None:
    rules = made(a=LARGE, b=TWO)
    op = Operator(rules, reach=5)
    op.push_many([insert(Pay("x", 20), 1), insert(Pay("x", 2), 3), Punctuation(2)])
    blob = op.snapshot()
    assert rules.restore(blob).snapshot() == blob
    single = afa.query(LARGE, event=Pay)
    other = single.operator().snapshot()
    for load in (
        lambda: single.restore(blob),
        lambda: rules.restore(other),
        lambda: rules.restore(blob[:-3]),
    ):
        with pytest.raises(SnapshotError):
            load()
    body = unseal(MAGIC, VERSION, blob)
    for place in range(len(body)):
        for wrong in (None, "x", 2**63, [1], [[1]]):
            torn = sealed.seal(MAGIC, VERSION, plain([*body[:place], wrong, *body[place + 1 :]]))
            with contextlib.suppress(SnapshotError):
                rules.restore(torn).push(insert(Pay("x", 30), 9))
    choose = random.Random(5)
    packed = plain(body)
    for _ in range(300):
        i = choose.randrange(len(packed))
        flipped = packed[:i] + bytes([packed[i] ^ 1 << choose.randrange(8)]) + packed[i + 1 :]
        with contextlib.suppress(SnapshotError):
            rules.restore(sealed.seal(MAGIC, VERSION, flipped))


def test_a_dropped_rule_is_told() -> None:
    op = Operator(made(a=LARGE, b=RAISES))
    op.push(insert(Pay("x", 20), 1))
    other = Operator.restore(made(a=LARGE), op.snapshot())
    assert [(rule.name, rule.state) for rule in other.rules] == [("a", "in force"), ("b", "dropped")]


def test_find_is_what_an_operator_says() -> None:
    rows = {"card": ["x", "y", "x"], "amount": [1, 20, 30], "le": [3, 1, 5]}
    rules = made(a=LARGE, b=TWO)
    for frame in (rows, pd.DataFrame(rows), pa.table(rows)):
        found = afa.find(rules, frame)
        pushed = Operator(rules).push_many([frame])[0]
        assert [int(str(le)) for le in found["le"]] == [1, 5, 5]
        assert sorted(map(str, found["rule"])) == sorted(map(str, pushed["rule"])) == ["a", "a", "b"]


def test_backtest_is_find_by_rule() -> None:
    rows = {"card": ["x", "x", "y", "x"], "amount": [1, 20, 30, 2], "le": [1, 5, 5, 3]}
    rules = made(a=LARGE, b=TWO, none="PATTERN SEQ(Pay a) WHERE a.amount > 99 WITHIN 5 RETURN a.card AS whose")
    for frame in (rows, pd.DataFrame(rows), pa.table(rows)):
        found, tested = afa.find(rules, frame), afa.backtest(rules, frame)
        assert type(tested.matches) is type(found)
        assert list(tested.matches) == list(found) if isinstance(found, dict) else True
        for name in ("rule", "card", "a_amount", "b_amount", "le", "re"):
            assert list(map(str, tested.matches[name])) == list(map(str, found[name])), name
        numbers = {str(rule): int(str(n)) for rule, n in zip(tested.table["rule"], tested.table["matches"])}
        assert numbers == {"a": 2, "b": 2, "none": 0}
        assert next(map(str, tested.table["withdrawn"])) == "0"
    one = afa.backtest({0: Rules({"b": TWO}, event=Pay).rules["b"].pattern}, rows, key="card")
    late = afa.backtest(rules, rows).table
    assert late["withdrawn"].tolist() == [0, one.table["withdrawn"][0], 0]
    assert afa.backtest(rules, rows, counts=True).matches is None
    with pytest.raises(AfaError, match="rule 'none': expected"):
        afa.backtest(Rules({"none": LARGE}, event=Pay), rows, time="none")


def test_doors_that_take_no_set_say_so() -> None:
    with pytest.raises(AfaError, match="expected one pattern here but got a set of rules"):
        made(a=LARGE).automaton  # noqa: B018  (it raises)
    with pytest.raises(AfaError, match="can't be combined with a set of rules"):
        Operator(made(a=LARGE), id="card")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "large.sase").write_text(LARGE)
    (tmp_path / "two.sase").write_text(TWO)
    assert list(Rules.of_folder(tmp_path, event=Pay).rules) == ["large", "two"]
    (tmp_path / "two.sql").write_text(TWO)
    with pytest.raises(AfaError, match="expected one file of each name but got two rules 'two'"):
        Rules.of_folder(tmp_path, event=Pay)
    (tmp_path / "two.sql").unlink()
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(AfaError, match=r"expected files .sase, .sql, .py in a folder of rules but got 'notes.txt'"):
        Rules.of_folder(tmp_path, event=Pay)
    with pytest.raises(AfaError, match="expected a folder of rules"):
        Rules.of_folder(tmp_path / "none", event=Pay)


def test_what_the_set_must_see_itself() -> None:
    """Copies beyond int64, and a rule that has ended but is reached yet, concern no rule alone."""
    op = Operator(made(a=LARGE, b=RAISES), reach=60)
    op.push(insert(Pay("x", 20), 1))
    before = op.snapshot()
    for second in (2**62, 2**63 - 1):
        with pytest.raises(ChangeError, match="expected at most 9223372036854775807 copies of an event but got"):
            op.push_many([afa.Change(Pay("x", 1), 9, None, 2**62), afa.Change(Pay("x", 1), 9, None, second)])
    assert op.snapshot() == before
    with pytest.raises(AfaError, match="expected no rule 'a'"):
        op.add("a", LARGE, le=5)
    assert op.snapshot() == before
    op.remove("a", at=23)
    op.push(Punctuation(24))
    with pytest.raises(AfaError, match=r"expected no rule 'a' in \[0, 5\) but got one in force in"):
        op.add("a", LARGE, le=0, re=5)


def test_a_damaged_rule_of_the_same_text_is_no_other_rule() -> None:
    rules = made(a=LARGE, b="PATTERN SEQ(Pay a, Pay b) WHERE strict_contiguity(a, b) { a.amount < 3 } WITHIN 20 RETURN b.amount")
    body = unseal(MAGIC, VERSION, Operator(rules).snapshot())
    for place in range(2):
        torn: list[Any] = copy.deepcopy(body)
        torn[3][place][6][1] = b"no snapshot" if len(torn[3][place][6]) == 2 else ["another"]
        with pytest.raises(SnapshotError):
            rules.restore(sealed.seal(MAGIC, VERSION, plain(torn)))


def test_a_replacement_tells_nothing_of_a_match_that_stays() -> None:
    op = Operator(made(a=LARGE))
    assert len(op.push_many([insert(Pay("x", 20), 5), insert(Pay("x", 11), 6)])) == 2
    found = op.replace("a", LARGE.replace("9", "15"), at=3)
    assert [(change.payload.a_amount, change.diff) for change in found] == [(11, -1)]


def test_held_events_of_tables_come_back() -> None:
    """Columns as tables have them: text by number, bools, what is missing; with an RE of some."""

    class Seen(NamedTuple):
        who: str
        paid: bool
        x: float | None
        n: int | None

    rows = {"who": ["a", "b", "a"], "paid": [True, False, True], "x": [0.5, None, float("nan")], "n": [1, None, 3]}
    table = pa.table(rows | {"le": [3, 1, 2], "re": pa.array([None, 9, None], pa.int64())})
    text = "PATTERN SEQ(_ p) WHERE p.n > {} WITHIN 5 RETURN p.x AS x, p.who AS who"
    rules = Rules({"a": text.format(9)}, event=Seen)
    op: Any = Operator(rules)
    op.push_many(table)
    other: Any = Operator.restore(rules, op.snapshot())
    assert other.snapshot() == op.snapshot()
    assert [(c.payload.who, c.le, c.re) for c in other.add("b", text.format(0), le=0)] == [("a", 2, 7), ("a", 3, 8)]
