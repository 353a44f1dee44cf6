"""Collapsed output: by hand, what is refused, a sample of random worlds, a fault that they find."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, Keyed, Operator, Punctuation, insert, query, retract
from afa.operator import collapsed_output
from speculation import Cleanse, Consolidate
from tests.lineage import collapsed_output_worlds as worlds
from tests.lineage.test_lineage import MANY, Ev

Told = list[tuple[Any, ...]]


def told(out: Any) -> Told:
    return [(change.diff, change.le, change.re, *change.payload) for change in out if not isinstance(change, Punctuation)]


def events(text: str, val: int = 1) -> list[Any]:
    return [insert(Ev(word[0], val), int(word[1:])) for word in text.split()]


def test_a_record_is_told_again_when_its_paths_change(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, collapse="b.val")
    assert told(op.push_many(events("a1 a2 b4 c6", 5))) == [(1, 6, 62, 2.0, 2.0, 10.0, 5, 5)]
    assert told(op.push_many(events("b3", 7))) == [(-1, 6, 62, 2.0, 2.0, 10.0, 5, 5), (1, 6, 62, 6.0, 8.0, 48.0, 5, 7)]
    assert told(op.push(insert(Ev("x"), 5))) == []
    assert told(op.push(retract(Ev("b", 5), 4))) == [(-1, 6, 62, 6.0, 8.0, 48.0, 5, 7), (1, 6, 62, 2.0, 2.0, 14.0, 7, 7)]
    assert told(op.push(retract(Ev("a", 5), 2))) == [(-1, 6, 62, 2.0, 2.0, 14.0, 7, 7), (1, 6, 61, 1.0, 1.0, 7.0, 7, 7)]
    assert told(op.push_many([retract(Ev("c", 5), 6), Punctuation(7)])) == [(-1, 6, 61, 1.0, 1.0, 7.0, 7, 7)]
    op._check()


def test_within_a_call_nothing_is_told_that_goes_again(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, collapse=True)
    assert told(op.push_many([*events("a1 b2 c4"), *events("b3"), retract(Ev("b", 1), 2)])) == [(1, 4, 61, 1.0)]
    one_by_one = Operator(MANY, window=60, engine=engine, collapse=True).push_many([*events("a1 b2 c4"), *events("b3")], net=False)
    assert told(one_by_one) == [(1, 4, 61, 1.0), (-1, 4, 61, 1.0), (1, 4, 61, 3.0)]


def test_what_a_call_makes_final_is_told_whole(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, collapse="val")
    assert told(op.push_many([*events("a1 b2"), Punctuation(3)])) == []
    assert told(op.push_many([*events("b3 c4"), Punctuation(50)])) == [(1, 4, 61, 3.0, 10.0, 10.0, 1, 1)]


def test_arcs_that_come_later(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine, collapse=True)
    op.push_many(events("a1 b2 x3 c4"))
    odd = Arc("b", "b", "kind == 'x'", select="odd", name="odd")
    assert told(op.push_arc(insert(odd, 3, 4))) == [(-1, 4, 61, 1.0), (1, 4, 61, 2.0)]
    assert told(op.push_arc(retract(odd, 3, 4))) == [(-1, 4, 61, 2.0), (1, 4, 61, 1.0)]


def test_more_paths_than_an_int64_counts(engine: Any) -> None:
    n = 1100
    op = Operator(MANY, window=10 * n, engine=engine, collapse="b.val")
    rows = [*events("a0"), *(insert(Ev("b", 1), le) for le in range(1, 101)), *events("c2000")]
    (record,) = op.push_many(rows)
    assert record.payload == (float(2**100 - 1), float(100 * 2**99), float(100 * 2**99), 1, 1)
    assert op.collapsed(record._replace(payload=record.payload[:0])).count() == 2**100 - 1
    assert [collapsed_output.real(sign * 2 ** (2 * n)) for sign in (1, -1)] == [float("inf"), float("-inf")]


def test_tables_keys_and_the_longest(engine: Any) -> None:
    op = Keyed(MANY, key="val", window=60, engine=engine, collapse="b.val", longest=True)
    kinds = [*"abbc"] * 2
    out = op.push_many({"kind": kinds, "val": [1] * 4 + [2] * 4, "le": list(range(1, 9))})
    assert list(out) == ["val", "paths", "count", "sum", "min", "max", "le", "re", "diff"]
    assert list(zip(*(out[name].tolist() for name in out))) == [
        (1, 3.0, 4.0, 4.0, 1, 1, 4, 61, 1),
        (2, 3.0, 4.0, 8.0, 2, 2, 8, 65, 1),
    ]
    pa = pytest.importorskip("pyarrow")
    late = op.push_many(pa.table({"kind": ["b"], "val": [2], "le": [6], "diff": [-1]}))
    assert late.to_pylist()[1] == {
        "val": 2,
        "paths": 1.0,
        "count": 1.0,
        "sum": 2.0,
        "min": 2,
        "max": 2,
        "le": 8,
        "re": 65,
        "diff": 1,
    }


def test_a_query_in_the_usual_ways(engine: Any) -> None:
    """A snapshot, a copy and a pickle tell what the operator tells; a negation at the start adds a field that is not told."""
    asked = query(
        "PATTERN SEQ(~(n u), a x, b+ y[], c z) WHERE skip_till_any_match(x, y[], z) { x.val < 9 } WITHIN 60 RETURN x.val AS v",
        event=Ev, type="kind",
    )  # fmt: skip
    op = asked.operator(engine=engine, collapse="y.val")
    assert told(op.push_many(events("a1 b2 b3 c4"))) == [(1, 4, 61, 1, 3.0, 4.0, 4.0, 1, 1)]
    twins = [asked.restore(op.snapshot(), engine=engine), copy.deepcopy(op)]
    for each in (op, *twins):
        assert told(each.push(retract(Ev("b", 1), 2))) == [(-1, 4, 61, 1, 3.0, 4.0, 4.0, 1, 1), (1, 4, 61, 1, 1.0, 1.0, 1.0, 1, 1)]
    plain = Operator(MANY, window=60, engine=engine, collapse="b.val")
    plain.push_many(events("a1 b2 b3 c4"))
    again = pickle.loads(pickle.dumps(plain))
    assert told(again.push(retract(Ev("b", 1), 2))) == [(-1, 4, 61, 3.0, 4.0, 4.0, 1, 1), (1, 4, 61, 1.0, 1.0, 1.0, 1, 1)]


def test_events_may_be_held_back_before_it(engine: Any) -> None:
    op = Cleanse(0).before(Operator(MANY, window=60, engine=engine, collapse=True))
    assert told(op.push_many([*events("c4 a1 b3 b2"), Punctuation(9)])) == [(1, 4, 61, 3.0)]


class Clashing(NamedTuple):
    paths: int = 0


def test_what_is_refused() -> None:
    refused = {
        "expected True or a field of the event, .* but got collapse=7": {"collapse": 7},
        "expected True or a field of the event, .* but got collapse='b.'": {"collapse": "b."},
        "expected True or a field of the event, .* but got collapse='.val'": {"collapse": ".val"},
        "expected one of the components 'a', 'b', 'c' before the dot but got collapse='d.val'": {"collapse": "d.val"},
        "expected a field of numbers, of Ev.* but got field='kind'": {"collapse": "kind"},
        "collapse=True can't be combined with members='val' because a record stands for all": {"collapse": True, "members": "val"},
        "expected an operator that keeps payloads|keep_payloads=False": {
            "collapse": True, "keep_payloads": False, "retractions": False
        },
    }  # fmt: skip
    for message, options in refused.items():
        with pytest.raises(AfaError, match=message):
            Operator(MANY, window=60, **options)  # type: ignore[arg-type]
    clashing = Automaton(start="0", final={"a"}, event=Ev, register=Clashing(), arcs=[Arc("0", "a", "kind == 'a'")])
    with pytest.raises(AfaError, match=r"expected matches without a field 'paths', which collapse='.' adds, but got Clashing"):
        Operator(clashing, collapse=True)
    with pytest.raises(AfaError, match="expected an automaton with event= for the field of collapse='val'"):
        Operator(Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: True)]), collapse="val")
    with pytest.raises(AfaError, match="without members=, tell=, collapse= and having= in front of a Consolidate"):
        Consolidate().after(Operator(MANY, window=60, collapse=True))


def test_worlds() -> None:
    seen = worlds.WORLDS.run("suite", range(9))
    assert min(seen[name] for name in ("calls", "told", "withdrawn", "refused")) > 1, seen


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that stay while their matches do, whatever their paths are."""
    monkeypatch.setattr(collapsed_output.Collapsing, "touch", lambda self, core, key, le: None)
    assert any(worlds.WORLDS.failure(worlds.numbered("suite", number), "interpreted") for number in range(24))
