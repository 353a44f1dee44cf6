"""``having=``: matches of which a path satisfies a condition; against all paths, against queries that carry the sum, by hand."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from afa import FOREVER, AfaError, Arc, Keyed, Operator, Punctuation, insert, query, retract
from afa.lineage import BudgetError
from afa.operator import postponed_output
from punctuation.time import BEGINNING
from tests.lineage.brute_force import behind
from tests.lineage.test_having import said, satisfied
from tests.lineage.test_lineage import MANY, Ev
from tests.oracle import net

PARTS = ("sum b.val > 6", "avg val <= 1", "count b >= 3", "sum b.val == 4", "avg b.val != 2", "sum a.val < 1")


def changes_at_random(choose: random.Random, n: int) -> list[Any]:
    """Insertions over few instants, ties, retractions, and arcs that come and go."""
    odd = Arc("b", "b", "kind == 'x'", select="b", name="odd")
    held: list[Any] = []
    found: list[Any] = []
    for _ in range(n):
        kind = choose.random()
        if held and kind < 0.15:
            event = held.pop(choose.randrange(len(held)))
            found.append(retract(*event))
        elif kind < 0.22:
            found.append((choose.choice([insert, retract])(odd, 3, 6)) if found and kind < 0.19 else insert(odd, 3, 6))
        else:
            event = Ev(choose.choice("aabbbbxcc"), choose.randint(-1, 4)), choose.randint(1, 9), choose.choice([None, 14])
            held.append(event)
            found.append(insert(*event))
    return found


@pytest.mark.parametrize("seed", range(24))
def test_against_all_paths(seed: int, engine: Any) -> None:
    choose = random.Random(seed)
    parts = choose.sample(PARTS, choose.randint(1, 2))
    op = Operator(MANY, window=12, engine=engine, having=" and ".join(map(said, parts)))
    out: list[Any] = []
    events: list[Any] = []
    arcs: Counter[Any] = Counter()
    for change in changes_at_random(choose, 22):
        if isinstance(change.payload, Arc):
            arcs[change.payload] += change.diff
            if arcs[change.payload] not in (0, 1):
                arcs[change.payload] -= change.diff
                continue
            out += op.push_arc(change)
        else:
            events.append((change.payload, change.le, change.le + 12 if change.re is None else change.re, change.diff))
            out += op.push(change)
        there = [(arc, BEGINNING, FOREVER) for arc in MANY.arcs] + [(arc, 3, 6) for arc, n in arcs.items() if n]
        expected = {
            match for match, each in behind(MANY, events, there).items()
            if any(all(satisfied(path, part) for part in parts) for path in each.paths)
        }  # fmt: skip
        assert net(out) == expected
    op._check()


def test_as_a_query_that_carries_the_sum(engine: Any) -> None:
    text = "PATTERN SEQ(a x, b+ y[], c z) WHERE skip_till_any_match(x, y[], z) {{ x.val > 0 {} }} WITHIN 12 RETURN x.val AS v"
    whole = query(text.format("and sum(y[].val) > 4"), event=Ev, type="kind")
    assert "waits for the match: sum(y.val) > 4; asked of the paths" in str(whole.explain())
    assert "waits" not in str(query(text.format(""), event=Ev, type="kind").explain())
    told = 0
    for seed in range(8):
        choose = random.Random(f"query {seed}")
        carries = whole.operator(engine=engine, postpone=False)
        waits = query(text.format(""), event=Ev, type="kind").operator(engine=engine, having="sum(y.val) > 4")
        by_itself = whole.operator(engine=engine)
        assert by_itself.automaton.having is not None
        assert carries.automaton.having is None
        for change in changes_at_random(choose, 50):
            if not isinstance(change.payload, Arc):
                change = change._replace(re=None)
                found = waits.push(change)
                assert found == carries.push(change) == by_itself.push(change)
                told += len(found)
    assert told > 20


def test_by_hand(engine: Any) -> None:
    op = Keyed(MANY, key=lambda e: 0, window=60, engine=engine, having=("sum(b.val) > 8", 1000))
    assert op.push_many([insert(Ev("a"), 1), insert(Ev("b", 5), 2), insert(Ev("c"), 4)]) == []
    (come,) = op.push(insert(Ev("b", 4), 3))
    assert (come.diff, come.le, come.re, come.payload) == (1, 4, 61, ())
    again = Keyed.restore(MANY, op.snapshot(), key=lambda e: 0, engine=engine)
    for each in (op, again):
        assert each.push(insert(Ev("b", 4), 2)) == []
        assert each.push(retract(Ev("b", 5), 2)) == [come._replace(diff=-1)]
    (late, _) = op.push_many([insert(Ev("b", 9), 3), Punctuation(50)])
    assert late == come


def test_what_is_not_decided_is_refused(engine: Any) -> None:
    op = Operator(MANY, window=600, engine=engine, having=("sum(b.val) == 5000001", 500))
    op.push_many([insert(Ev("a"), 0), *(insert(Ev("b", 3**i % 1_000_003 * 2), i) for i in range(1, 30))])
    before = op.snapshot()
    with pytest.raises(BudgetError, match="to be decided within 500 steps"):
        op.push(insert(Ev("c"), 31))
    assert op.snapshot() == before


def test_what_is_refused() -> None:
    refused: dict[str, Any] = {
        "that with a budget of steps, but got having=7": {"having": 7},
        "expected comparisons of .* but got 'max": {"having": "max(b.val) > 3"},
        "expected one of the components 'a', 'b', 'c' but got 'd'": {"having": "sum(d.val) > 3"},
        "having='count.b. > 1' can't be combined with tell='lineage' because having= chooses matches by their paths": {
            "having": "count(b) > 1", "tell": "lineage"
        },
        "having='count.b. > 1' can't be combined with collapse=True because having= chooses matches by their paths": {
            "having": "count(b) > 1", "collapse": True
        },
        "longest=True can't be combined with having='count.b. > 1' because": {"having": "count(b) > 1", "longest": True},
    }  # fmt: skip
    for message, options in refused.items():
        with pytest.raises(AfaError, match=message):
            Operator(MANY, window=60, **options)


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postponed_output.Postponing, "touch", lambda self, core, key, le: None)
    with pytest.raises(AssertionError):
        _all_seeds()


def _all_seeds() -> None:
    for seed in range(24):
        test_against_all_paths(seed, "interpreted")
