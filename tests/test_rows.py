"""Events as dicts and instances of dataclasses, rows of their own, and keys beside an event."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any, NamedTuple

import pytest

import afa
from afa import Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert, retract
from punctuation import BoundedDisorder
from speculation import Cleanse, LastBefore
from tests.automata import Total


class Pay(NamedTuple):
    kind: str
    amount: int
    note: str | None = None


class Dated(NamedTuple):
    kind: str
    amount: int
    at: afa.Instant


@dataclasses.dataclass
class Paid:
    kind: str
    amount: int
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Row:
    kind: str
    amount: int
    le: int
    re: int | None = None
    diff: int = 1


def two(event: type) -> Automaton:
    first = Arc("0", "1", "kind == 'a'", "(e.amount,)", name="first")
    return Automaton(
        start="0",
        final={"2"},
        event=event,
        register=Total(),
        arcs=[first, Arc("1", "2", "kind == 'b'", "(r.total + e.amount,)", name="b")],
    )


EVENTS = [("a", 1, 10), ("b", 2, 12), ("a", 5, 11), ("a", 7, 30), ("b", 8, 31)]
MAKERS: dict[str, Any] = {
    "operator": lambda automaton, **more: Operator(automaton, window=60, **more),
    "keyed": lambda automaton, **more: Keyed(automaton, key=lambda e: e.amount % 1, window=60, **more),
    "by note": lambda automaton, **more: Keyed(automaton, key="user", window=60, **more),
    "before": lambda automaton, **more: Cleanse(0).before(Operator(automaton, window=60, **more)),
    "before keyed": lambda automaton, **more: Cleanse(0).before(Keyed(automaton, key="user", window=60, **more)),
    "after": lambda automaton, **more: Cleanse(0).after(Operator(automaton, window=60, **more)),
}


def answers(op: Any, items: list[Any]) -> list[Any]:
    found = [op.push(item) for item in [*items, Punctuation(20)]]
    op._check()
    return [*found, op.statistics]


@pytest.mark.parametrize("maker", ["operator", "keyed", "before", "after"])
def test_dicts_and_dataclasses_are_events(maker: str, engine: str) -> None:
    def make() -> Any:
        return MAKERS[maker](two(Pay), engine=engine)

    plain = [insert(Pay(kind, amount), le) for kind, amount, le in EVENTS] + [retract(Pay(*EVENTS[2][:2]), 11)]
    expected = answers(make(), plain)
    whole = make().push_many([*plain, Punctuation(20)])
    forms = {
        "dicts": [Change(c.payload._asdict(), *c[1:4]) for c in plain],
        "parts": [Change({"amount": c.payload.amount, "kind": c.payload.kind}, *c[1:4]) for c in plain],
        "instances": [Change(Paid(*c.payload), *c[1:4]) for c in plain],
        "rows": [{**c.payload._asdict(), "le": c.le, "diff": c.diff} for c in plain],
        "own rows": [Row(c.payload.kind, c.payload.amount, c.le or 0, diff=c.diff) for c in plain],
    }
    for name, items in forms.items():
        assert answers(make(), items) == expected, name
        assert make().push_many([*items, Punctuation(20)]) == whole, name
    named = [{"kind": c.payload.kind, "amount": c.payload.amount, "at": c.le, "diff": c.diff} for c in plain]
    assert make().push_many([*named, Punctuation(20)], time="at") == whole


@pytest.mark.parametrize("maker", MAKERS)
def test_rows_say_their_time_by_the_instant(maker: str) -> None:
    beside = [{"user": "u"}, ["u"]] if MAKERS[maker] in (MAKERS["by note"], MAKERS["before keyed"]) else [{}, []]
    plain = [insert(Dated(*event), event[2], key=0) for event in EVENTS]
    rows = [{"kind": kind, "amount": amount, "at": at, **beside[0]} for kind, amount, at in EVENTS]
    found = [MAKERS[maker](two(Dated)).push_many([*items, Punctuation(99)]) for items in (plain, rows)]
    assert [c[:4] for c in found[0][:-1]] == [c[:4] for c in found[1][:-1]] != []
    times = [{**row, "at": dt.datetime(1970, 1, 1) + dt.timedelta(seconds=row["at"])} for row in rows]
    assert MAKERS[maker](two(Dated), tick="s").push_many([*times, Punctuation(99)]) == found[1]
    assert MAKERS[maker](two(Dated)).push_many([Dated(*EVENTS[0])] if not beside[1] else rows[:1]) == []


def test_a_list_of_rows_and_tables_and_changes() -> None:
    table = {"kind": ["a"], "amount": [1], "note": [None], "le": [1]}
    out = Operator(two(Pay), window=60).push_many(
        [table, {"kind": "b", "amount": 2, "le": 2}, insert(Pay("x", 0), 3), Row("a", 3, 4)]
    )
    assert {name: column.tolist() for name, column in out[0].items()} == {"total": [3], "le": [2], "re": [61], "diff": [1]}


def test_a_change_carries_its_key() -> None:
    for make in (MAKERS["by note"], MAKERS["before keyed"]):
        op = make(two(Pay))
        found = op.push_many(
            [insert(Pay("a", 1), 1, key="u"), insert({"kind": "b", "amount": 2}, 2, key="u"), insert(Pay("b", 3), 2, key="v")]
        )
        found += op.push(Punctuation(50))
        assert [(c.key, c.payload.total) for c in found if isinstance(c, Change)] == [("u", 3)]
        out = op.push_many(
            [
                insert({"kind": "a", "amount": 4, "user": "w"}, 60),
                {"kind": "b", "amount": 5, "user": "w", "le": 61},
                Punctuation(99),
            ]
        )
        assert [(c.key, c.payload.total) for c in out[:-1]] == [("w", 9)]
    op = make(two(Pay))
    op.push({"kind": "a", "amount": 4, "user": "w", "le": 6})
    op.push(retract({"kind": "a", "amount": 4}, 6, key="w"))
    op.push(Punctuation(9))
    assert op.statistics.pending == 0
    by_field = Keyed(two(Pay), key="kind")
    assert by_field.push(insert(Pay("a", 1), 1, key="other")) == []
    assert by_field.keys == ["a"]
    assert Keyed(two(Pay), key=("kind", "user")).push({"kind": "a", "amount": 4, "user": "w", "le": 6}) == []


def test_a_stage_takes_dicts() -> None:
    stage = LastBefore(Pay, {"alarm": "kind == 'a'"}, window=100)
    calm = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "kind == 'b' and alarm is not None")])
    op = stage.before(Operator(calm, window=10))
    assert op.push_many([insert({"kind": "a", "amount": 1}, 1), Row("b", 2, 2)])[0].le == 2


def test_sources_pass_rows_on() -> None:
    rows = [{"kind": "a", "amount": 1, "le": 10}, Row("b", 2, 12)]
    assert BoundedDisorder(5).push_many(rows) == [*rows, Punctuation(7)]
    assert BoundedDisorder(5).push(rows[0]) == [rows[0], Punctuation(5)]
    assert next(iter(BoundedDisorder(5)(rows))) is rows[0]


def test_what_does_not_fit_is_refused_in_words(engine: str) -> None:
    op = Operator(two(Pay), window=60, engine=engine)  # type: ignore[arg-type]
    for item, text in (
        (insert({"kind": "a", "amout": 1}, 1), r"expected a field 'amount' for Pay\(.*\) but got \{.*\}; did you mean 'amount'\?"),
        (
            insert({"kind": "a"}, 1),
            r"expected a field 'amount' for Pay\(kind: str, amount: int, note: str \| None\) but got \{'kind': 'a'\}$",
        ),
        (
            insert({"kind": "a", "amount": 1, "Note": 2}, 1),
            r"expected no field 'Note' for Pay.* but got \{.*\}; did you mean 'note'\?",
        ),
        (insert({"kind": "a", "amount": "1"}, 1), r"expected amount: int but got amount='1' in Pay"),
        (insert(Row("a", 1, 2), 1), r"expected no field 'le' for Pay"),
        ({"kind": "a", "amount": 1}, r"expected a row with a time under 'le' but got \{'kind': 'a', 'amount': 1\}"),
        ({"kind": "a", "amount": 1, "le": "1"}, r"expected an int \(ticks\) but got le='1'"),
        ({"kind": "a", "amount": 1, "le": 1, "user": 7}, r"expected no field 'user' for Pay"),
        (Paid("a", 1), r"expected a row with a time under 'le' but got .*Paid\(kind='a', amount=1, note=None\)"),
        ("a", r"expected a change \(insert, retract\) or a Punctuation but got 'a'"),
    ):
        before = op.statistics
        for call in (lambda item=item: op.push(item), lambda item=item: op.push_many([item])):
            with pytest.raises(ChangeError, match=text):
                call()
        assert op.statistics == before
    with pytest.raises(ChangeError, match=r"expected an event with the key's fields \('user',\) but got \{"):
        Keyed(two(Pay), key="user").push(insert({"kind": "a", "amount": 1}, 1))
    with pytest.raises(ChangeError, match=r"expected a hashable payload but got \{"):
        Operator(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)])).push(insert({"kind": "a"}, 1))
    with pytest.raises(ChangeError, match=r"expected a row with a time under 'when' but got"):
        op.push_many([{"kind": "a", "amount": 1, "le": 1}], time="when")
