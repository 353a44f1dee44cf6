"""One promise for several streams: what it promises, by whose condition, idle members, snapshots, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afa import BEGINNING, FOREVER, AfaError, Arc, Change, LateEventError, Operator, Punctuation, insert
from punctuation import BoundedDisorder, Union
from tests.sources import (
    KINDS,
    TABLES,
    TICKS,
    Tick,
    as_item,
    les,
    operator,
    promises,
    tick,
)


class Clock:
    """One that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


moves = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.one_of(st.integers(0, 40), st.integers(0, 45).map(Punctuation), les)),
        st.tuples(st.just("wait"), st.integers(0, 4)),
        st.tuples(st.just("end"), st.sampled_from("abc")),
        st.tuples(st.just("restore"), st.none()),
    ),
    max_size=30,
)


def union(clock: Clock, idle_after: float | None) -> Union:
    return Union({"a": BoundedDisorder(0), "b": BoundedDisorder(3), "c": KINDS["observed"]()}, idle_after, clock)


def carry_out(members: Union, clock: Clock, name: str, what: Any) -> tuple[Union, list[Any]]:
    if name == "wait":
        clock.now += what
        return members, members.advance()
    if name == "end":
        return members, members.end(what)
    if name == "restore":
        blob = members.snapshot()
        clock.now += 1000  # what passes while nothing runs is no silence
        members = union(clock, members.idle_after).restore(blob)
        assert members.advance() == []
        return members, []
    if isinstance(what, list):
        return members, members.push_many(name, TABLES["columns"](what))
    return members, members.push(name, as_item(what))


@given(steps=moves, idle_after=st.sampled_from([None, 2.0, 5]))
def test_a_union_promises_what_its_slowest_live_member_does(steps: list[tuple[str, Any]], idle_after: float | None) -> None:
    clock = Clock()
    members, promised, late, silent = union(clock, idle_after), BEGINNING, 0, dict.fromkeys("abc", 0.0)
    for name, what in steps:
        if name == "wait":
            silent = {member: since + what for member, since in silent.items()}
        elif name in silent and what != []:
            silent[name] = 0
        le = what if isinstance(what, list) else [what] if name in silent and isinstance(what, int) else []
        late += sum(t < promised for t in le)
        members, out = carry_out(members, clock, name, what)
        going = {member: source.promised for member, source in members.sources.items() if source.promised < FOREVER}
        live = [t for member, t in going.items() if idle_after is None or silent[member] < idle_after]
        moved = promises(out)
        assert all(t <= least for t in moved for least in live), "above a live member's"
        expected = max(promised, min(live) if live else max(going.values(), default=FOREVER))
        assert moved == ([expected] if expected > promised else [])
        promised = expected
        assert (members.promised, members.late) == (promised, late)
        assert members.idle == [member for member in going if idle_after is not None and silent[member] >= idle_after]


@given(streams=st.tuples(les, les), d=st.integers(0, 9))
def test_nothing_of_members_within_their_bounds_is_late_in_their_union(streams: tuple[list[int], list[int]], d: int) -> None:
    a, b = (sorted(stream) for stream in streams)
    shifted = [le + (d if i % 2 else 0) for i, le in enumerate(b)]
    op = operator()
    pairs = [(name, tick(le)) for name, stream in (("a", a), ("b", shifted)) for le in stream]
    for item in Union({"a": BoundedDisorder(0), "b": BoundedDisorder(d)})(pairs):
        op.push(item)
    assert op.statistics.changes == len(pairs)


def test_an_idle_member_holds_nothing_back_and_what_it_brings_later_is_late() -> None:
    clock, late = Clock(), list[Change]()
    members, op = union(clock, 10), operator(late.append)
    members.end("c")
    assert promises(members.push("a", tick(50))) == []
    clock.now += 9
    assert promises(members.push("a", tick(51))) == []
    assert members.idle == []
    clock.now += 1
    assert members.idle == ["b"]
    op.push_many(members.advance())
    assert (members.promised, members.advance()) == (51, [])
    for item in members.push("b", tick(20)):
        op.push(item)
    assert members.idle == []
    assert members.late == op.statistics.late == len(late) == 1
    assert promises(members.push("a", tick(60))) == [], "b is back, at 17"


def test_members_that_are_idle_at_once_promise_what_they_would_one_after_the_other() -> None:
    clock = Clock()
    members = union(clock, 10)
    members.push("a", tick(50))
    members.push("b", tick(30))
    clock.now += 10
    assert members.advance() == [Punctuation(50)]


def test_a_union_ends_with_its_last_member() -> None:
    clock = Clock()
    members = union(clock, None)
    members.push("a", tick(50))
    assert [members.end("b"), members.push("c", Punctuation(FOREVER))] == [[], [Punctuation(50)]]
    assert [members.end("a"), members.end(), members.end("a")] == [[Punctuation(FOREVER)], [], []]
    assert members.push("a", tick(70)) == [tick(70)]
    assert members.late == 1


def test_a_union_of_pairs() -> None:
    members = Union({"a": BoundedDisorder(0), "b": BoundedDisorder(0)})
    table = {"le": [4, 9]}
    out = list(members([("a", table), ("b", tick(7)), ("b", Punctuation(6)), ("b", Punctuation(FOREVER))]))
    assert out == [table, tick(7), Punctuation(7), Punctuation(9), Punctuation(FOREVER)]
    assert members.stale == 1


def test_a_member_s_promises_go_out_with_its_condition_where_they_are_ahead() -> None:
    members = Union({"a": BoundedDisorder(0), "b": BoundedDisorder(5)}, where={"a": "venue == 'a'", "b": "venue == 'b'"})
    assert members.push("a", tick(9)) == [tick(9), Punctuation(9, "venue == 'a'")]
    assert members.push("a", tick(9)) == [tick(9)]
    assert members.push("b", tick(8)) == [tick(8), Punctuation(3)]
    assert members.push_many("b", {"le": [20]}) == [{"le": [20]}, Punctuation(9), Punctuation(15, "venue == 'b'")]
    assert members.push("a", Punctuation(99, "venue == 'a'")) == [], "nor is what the member's own promise did not move"
    with pytest.raises(AfaError, match=r"expected conditions of members but got where=.* with 'c'"):
        Union({"a": BoundedDisorder(0)}, where={"c": "x"})
    with pytest.raises(AfaError, match=r"expected a str or a callable condition\(e\) but got 3 for the member 'a'"):
        Union({"a": BoundedDisorder(0)}, where={"a": 3})
    with pytest.raises(AfaError, match=r"expected a mapping of names to conditions but got where=\['a'\]"):
        Union({"a": BoundedDisorder(0)}, where=["a"])  # type: ignore[arg-type]


def test_a_member_that_has_ended_promises_its_condition_as_far_as_the_furthest_of_the_others() -> None:
    def made() -> Union:
        return Union({name: BoundedDisorder(0) for name in "abc"}, where={name: f"venue == '{name}'" for name in "ab"})

    of_a, of_b = "venue == 'a'", "venue == 'b'"
    members = made()
    assert members.push("a", tick(4)) == [tick(4), Punctuation(4, of_a)]
    assert members.end("a") == []
    assert members.push("b", tick(9)) == [tick(9), Punctuation(9, of_b), Punctuation(9, of_a)]
    assert members.end("a") == []
    assert members.push("c", tick(7)) == [tick(7), Punctuation(7)]
    assert members.push("c", tick(12)) == [tick(12), Punctuation(9), Punctuation(12, of_a)]
    assert members.end("b") == [Punctuation(12)]
    assert members.end("c") == [Punctuation(FOREVER)]
    members = made()
    members.push("b", tick(9))
    assert members.push("a", Punctuation(FOREVER)) == [Punctuation(9, of_a)], "as its end"
    assert made().end() == [Punctuation(FOREVER)], "all promise that: no condition is needed"


def test_arcs_may_change_when_a_member_has_ended(engine: str) -> None:
    op = Operator(TICKS, window=5, engine=engine, retractions=False)
    members = Union(
        {"a": BoundedDisorder(0), "b": BoundedDisorder(0), "c": BoundedDisorder(5)}, where={"a": "n == 1", "b": "n == 2"}
    )
    items = [*members.push("a", insert(Tick(1), 9)), *members.end("a"), *members.push("b", insert(Tick(2), 10))]
    assert [change.le for change in op.push_many(items) if isinstance(change, Change)] == [9, 10]
    with pytest.raises(LateEventError, match=r"expected le >= 10 \(promised, where e.n == 1\) but got le=9"):
        op.push(insert(Tick(1), 9))
    op.push_arc(insert(Arc("1", "1", "n == 3", name="new")))
    assert [change.le for change in op.push(insert(Tick(3), 11)) if isinstance(change, Change)] == [11, 11]


def test_a_promise_with_a_condition_is_passed_on_and_moves_nothing() -> None:
    source, some = BoundedDisorder(3), Punctuation(50, "venue == 'a'")
    assert source.push(some) == [some]
    assert source.push_many([{"le": [9]}, some, Punctuation(4)]) == [{"le": [9]}, some, Punctuation(4), Punctuation(6)]
    assert source.stale == 0
    assert Union({"a": BoundedDisorder(0), "b": BoundedDisorder(0)}).push("a", some) == []


def test_an_empty_batch_is_nothing_sent() -> None:
    clock = Clock()
    members = union(clock, 5)
    clock.now += 5
    members.push_many("a", TABLES["arrow"]([]))
    assert members.idle == ["a", "b", "c"]
    members.push_many("a", [Punctuation(3)])
    assert members.idle == ["b", "c"]


def test_a_punctuation_in_a_row_is_refused_by_a_union_which_would_pass_it_on() -> None:
    members = Union({"a": BoundedDisorder(0, kinds=True), "b": BoundedDisorder(0)})
    with pytest.raises(AfaError, match=r"expected a table without punctuations in a union .* but got TableWatermark\(t=9\)"):
        members.push_many("a", {"kind": [0, 2], "le": [5, 9]})
    assert members.sources["a"].promised == BEGINNING


def test_an_unknown_member_and_a_bad_pair_are_refused() -> None:
    members = Union({"a": BoundedDisorder(1), "b": BoundedDisorder(1)})
    for give in (lambda: members.push("c", tick(1)), lambda: members.push_many([], [tick(1)]), lambda: members.end("c")):  # type: ignore[arg-type]
        with pytest.raises(AfaError, match=r"expected one of the members 'a', 'b' but got name="):
            give()
    with pytest.raises(AfaError, match=r"expected a pair \(name, item\) but got 5"):
        list(members([5]))  # type: ignore[list-item]


def test_a_union_s_wrong_snapshot_is_refused_and_its_members_are_as_they_were() -> None:
    kept = Union({"a": BoundedDisorder(1), "b": BoundedDisorder(2)})
    kept.push("a", tick(5))
    before = {name: source.snapshot() for name, source in kept.sources.items()}
    other = Union({"a": BoundedDisorder(1), "b": BoundedDisorder(3)})
    with pytest.raises(
        AfaError, match=r"expected a union's state .* expected a snapshot of BoundedDisorder with the options \[2, "
    ):
        kept.restore(other.snapshot())
    with pytest.raises(
        AfaError, match=r"expected a snapshot of Union with the options \[\['a', 'b'\], None\] but got one of Union"
    ):
        kept.restore(Union({"a": BoundedDisorder(1)}).snapshot())
    assert {name: source.snapshot() for name, source in kept.sources.items()} == before
    with pytest.raises(AfaError, match=r"expected plain data .* in the state of a source"):
        Union({("a", 1): BoundedDisorder(1)}).snapshot()
