"""LastBefore against brute force: events that come late, go, tie and become final, in any order; alone and before an operator."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from afa import (
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    NoRegister,
    Operator,
    Punctuation,
    insert,
    retract,
)
from afa.errors import SnapshotError
from afa.schema import Instant
from speculation import Choose, Cleanse, LastBefore
from tests import oracle


class Tick(NamedTuple):
    kind: str
    key: int
    seq: int
    x: float | None = None


class Seen(NamedTuple):
    """A tick, and when the last a and the last small x came before it."""

    kind: str
    key: int
    seq: int
    x: float | None
    last_a: int | None
    at: Instant
    small: int | None


WHERE: dict[str, Any] = {"last_a": "kind == 'a'", "small": lambda e: e.x < 1}
Event = tuple[Any, Tick, int, int | None]


def holds(name: str, event: Tick) -> bool:
    return event.kind == "a" if name == "last_a" else event.x is not None and event.x < 1


def brute(copies: Counter[Event], stage: LastBefore) -> Counter[Any]:
    """All events in force as they must have left."""
    there = [event for event, n in copies.items() if n > 0]

    def place(event: Event) -> tuple[int, Any]:
        return event[2], getattr(event[1], stage.order) if stage.order else 0

    def last(name: str, event: Event) -> int | None:
        les = [x[2] for x in there if x[0] == event[0] and place(x) < place(event) and holds(name, x[1])]
        if stage.window is not None:
            les = [le for le in les if le > event[2] - stage.window]
        return max(les, default=None)

    found: Counter[Any] = Counter()
    for event in there:
        key, tick, le, re = event
        found[key, Seen(*tick, last("last_a", event), le, last("small", event)), le, re] = copies[event]
    return found


class World:
    """One stage under random events."""

    def __init__(self, seed: int, keyed: bool = True) -> None:
        self.random = choose = random.Random(seed)
        self.keys: list[Any] = [0, 1] if keyed else [None]
        self.stage = self.fresh(choose.choice([None, 3, 6]), choose.choice([None, "seq", "kind"]))
        self.copies: Counter[Event] = Counter()
        self.promised = -(10**9)
        self.owed: list[Event] = []

    @staticmethod
    def fresh(window: int | None, order: str | None) -> LastBefore:
        return LastBefore(Tick, WHERE, window=window, order_by=order, filled=Seen)

    def change(self, number: int) -> tuple[int, Event] | None:
        choose = self.random
        if self.owed and choose.random() < 0.3:
            return 1, self.owed.pop()
        there = [event for event, n in self.copies.items() if n > 0 and event[2] >= self.promised]
        if there and choose.random() < 0.35:
            return -1, choose.choice(there)
        le = choose.randint(0, 10) + number // 3
        if le < self.promised:
            return None
        key = choose.choice(self.keys)
        tick = Tick(choose.choice("abbcc"), key or 0, choose.randint(0, 2), choose.choice([None, 0.5, 2.0]))
        event = (key, tick, le, choose.choice([None, le + 4]) if self.keys == [0, 1] else le + 9)
        if choose.random() < 0.05 and self.copies[event] == 0:
            self.owed.append(event)
            return -1, event
        return choose.choice([1, 1, 1, 2]), event

    def call(self, number: int) -> list[Any]:
        """The items of a call; noted here."""
        items: list[Any] = []
        for _ in range(self.random.randint(1, 4)):
            found = self.change(number)
            if found is None:
                continue
            diff, event = found
            self.copies[event] += diff
            items.append(Change(event[1], event[2], event[3], diff, event[0]))
            if self.random.random() < 0.08:
                limit = min([event[2] for event in self.owed], default=10**9)
                self.promised = max(self.promised, min(limit, self.random.randint(number // 3, number // 3 + 12)))
                items.append(Punctuation(self.promised))
        return items


def netted(held: Counter[Any], out: list[Any]) -> Counter[Any]:
    held = held.copy()
    for change in out:
        if isinstance(change, Change):
            held[change.key, change.payload, change.le, change.re] += change.diff
            assert held[change.key, change.payload, change.le, change.re] >= 0, "what goes has come before"
    return +held


def test_the_class_of_what_leaves_is_made() -> None:
    Money = float  # noqa: N806  (a name that only this function knows)

    class Trade(NamedTuple):
        price: Money | None
        note: Any
        at: Instant
        last: int | None = None

    Trade.__annotations__.update(price=Money | None)
    for name in ("last", "_at", "a b", "class"):
        with pytest.raises(AfaError, match=rf"expected a name for a field beside those of Trade\(.*\) but got '{name}'"):
            LastBefore(Trade, {name: "price > 3"})
    stage = LastBefore(Trade, {"dear": "price > 3"}, window=10)
    assert stage._extra == [0]
    out = stage.push_many([insert(Trade(4.0, ("n",), 3), 3), insert(Trade(None, None, None), 5)])  # type: ignore[arg-type]
    assert [tuple(change.payload) for change in out] == [(4.0, ("n",), 3, None, None), (None, None, 5, None, 3)]


@pytest.mark.parametrize("seed", range(5))
def test_what_an_event_sees_is_a_function_of_the_set_of_events(seed: int) -> None:
    revised = 0
    for number in range(16):
        world = World(100 * seed + number)
        held, told = Counter[Any](), -(10**9)
        for step in range(60):
            if world.random.random() < 0.1:
                stage = world.stage
                world.stage = LastBefore.restore(stage.snapshot(), like=world.fresh(stage.window, stage.order))
                assert world.stage.snapshot() == stage.snapshot()
                assert world.stage.statistics == stage.statistics
            items = world.call(step)
            before = world.stage.snapshot()
            with pytest.raises(ChangeError, match="expected re > le"):
                world.stage.push_many([*items, insert(Tick("a", 0, 0), 10**6, 3)])
            assert world.stage.snapshot() == before, "a call that is refused leaves no trace"
            out = world.stage.push_many(items)
            changes = [change for change in out if isinstance(change, Change)]
            assert all(change.le >= told for change in changes), "what is final never changes"
            told = max([told, *(item.t for item in out if isinstance(item, Punctuation))])
            was, held = held, netted(held, out)
            assert held == brute(world.copies, world.stage)
            if len(changes) == len(out):  # one part
                sizes = sum(((held - was) + (was - held)).values())
                assert sum(abs(change.diff) for change in changes) == sizes, "the minimal difference"
                signs = [change.diff > 0 for change in changes]
                assert signs == sorted(signs)
        assert told == world.promised or world.promised < 0
        revised += world.stage.statistics.revised
        if not world.owed:
            world.stage.push(Punctuation(2**63 - 1))
            assert world.stage.statistics.held == 0
            assert not world.stage.keys
    assert revised > 150


calm = Automaton(
    start="0",
    final={"2"},
    event=Seen,
    arcs=[
        Arc("0", "1", "kind == 'b' and last_a is None"),
        Arc.skip("1", "kind != 'c'"),
        Arc("1", "2", "kind == 'c' and (small is None or at - small >= 2)"),
    ],
)


def operator(world: World, engine: str) -> Any:
    options: dict[str, Any] = {"window": 9, "engine": engine, "order_by": world.stage.order}
    return Operator(calm, **options) if world.keys == [None] else Keyed(calm, key="key", **options)


def restored(world: World, engine: str, blob: bytes, stages: list[Any]) -> Any:
    key = None if world.keys == [None] else "key"
    return Operator.restore(calm, blob, key=key, stages=stages, engine=engine)  # type: ignore[arg-type]


def expected(world: World, engine: str) -> set[Any]:
    """The matches of a fresh operator that gets the events as they must have left."""
    fresh, found = operator(world, engine), brute(world.copies, world.stage)
    out = fresh.push_many([Change(payload, le, re, n) for (_, payload, le, re), n in found.items()])
    return {((change.key,), change.le, change.re) for change in out}


def pushed(choose: random.Random, op: Any, items: list[Any]) -> list[Any]:
    """The items of a call, now and then as tables, or one by one; the changes that leave."""
    if choose.random() < 0.3:
        parts: list[Any] = []
        for item in items:
            row = (
                item
                if isinstance(item, Punctuation)
                else {**item.payload._asdict(), "le": item.le, "re": item.re, "diff": item.diff}
            )
            parts.append(row if row is item else {name: [value] for name, value in row.items()})
        out = []
        for part in op.push_many(parts, net=choose.random() < 0.5):
            if isinstance(part, dict):
                keys = part.get("key", [None] * len(part["le"]))
                rows = zip(part["le"].tolist(), part["re"].tolist(), part["diff"].tolist(), keys)
                out += [Change((), le, re, diff, None if key is None else int(key)) for le, re, diff, key in rows]
            else:
                out.append(part)
        return out
    items = [item._replace(key=None) if isinstance(item, Change) else item for item in items]
    if choose.random() < 0.3:
        return [change for item in items for change in op.push(item)]
    return op.push_many(items, net=choose.random() < 0.7)


def matches_before(world: World, op: Any, again: Callable[[bytes], Any], expected: Callable[[], set[Any]]) -> Counter[str]:
    """Run random calls of an operator behind the stage of a world: its matches are those of the filled events after each."""
    held, told, seen = set[Any](), -(10**9), Counter[str]()
    for step in range(40):
        items = world.call(step)
        if world.random.random() < 0.1:
            restored = again(op.snapshot())
            assert restored.snapshot() == op.snapshot()
            op, world.stage = restored, restored.stage
        if world.random.random() < 0.1:
            op = copy.copy(op)
            world.stage = op.stage
        out = pushed(world.random, op, items)
        changes = [change._replace(payload=(change.key,)) for change in out if isinstance(change, Change)]
        assert all(change.le >= told for change in changes)
        told = max([told, *(item.t for item in out if isinstance(item, Punctuation))])
        held = oracle.net(changes, held)
        assert held == expected()
        op._check()
        seen["retractions"] += sum(change.diff < 0 for change in changes)
        seen["matches"] += len(held)
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_before_an_operator_matches_are_those_of_the_filled_events(engine: str, seed: int) -> None:
    seen = Counter[str]()
    for number in range(8):
        world = World(1000 * seed + number, keyed=number % 3 > 0)

        def again(blob: bytes, world: World = world) -> Any:
            return restored(world, engine, blob, stages=[world.fresh(world.stage.window, world.stage.order)])

        seen += matches_before(world, world.stage.before(operator(world, engine)), again, lambda w=world: expected(w, engine))
    assert seen["matches"] > 100
    assert seen["retractions"] > 10


def test_late_changes_go_to_the_policy_as_they_came() -> None:
    late: list[Any] = []
    op = LastBefore(Tick, WHERE, filled=Seen, window=20).before(Operator(calm, window=9, late=late.append))
    op.push_many([insert(Tick("b", 0, 0), 5), Punctuation(10), insert(Tick("a", 0, 0), 4), retract(Tick("c", 0, 0), 12)])
    assert late == [insert(Tick("a", 0, 0), 4, 13)]
    op.push(Punctuation(13))
    assert late[1:] == [retract(Tick("c", 0, 0), 12, 21)]
    assert op.statistics.late == 2
    strict = LastBefore(Tick, WHERE, filled=Seen).before(Operator(calm, window=9))
    strict.push(Punctuation(5))
    with pytest.raises(LateEventError, match=r"expected le >= 5 \(promised\) but got le=4 for Tick"):
        strict.push(insert(Tick("a", 0, 0), 4))
    strict.push(retract(Tick("c", 0, 0), 12))
    with pytest.raises(LateEventError, match=r"expected the insertion of Tick.* at le=12 before 13 \(promised\)"):
        strict.push(Punctuation(13))
    assert strict.stage.statistics.held == 1
    alone = LastBefore(Tick, WHERE, filled=Seen)
    alone.push_many([Punctuation(5), Punctuation(5, where="seq < 3"), retract(Tick("c", 0, 0), 12)])
    with pytest.raises(LateEventError, match=r"expected le >= 5 \(promised\) but got le=4 for Tick"):
        alone.push(insert(Tick("a", 0, 0), 4))
    with pytest.raises(LateEventError, match="expected the insertion of Tick"):
        alone.push(Punctuation(13))


def test_an_arc_begins_past_a_retraction_that_waits() -> None:
    op = LastBefore(Tick, WHERE, filled=Seen).before(Operator(calm, window=9))
    op.push(retract(Tick("c", 0, 0), 50))
    op.push_arc(insert(Arc("0", "2", "kind == 'd'", name="d")))
    assert op.push_many([insert(Tick("d", 0, 0), 50)]) == []
    assert len(op.push_many([insert(Tick("d", 0, 0), 51)])) == 1


def test_what_a_promise_lets_be_forgotten() -> None:
    for window, left in ((None, 50), (8, 5)):
        stage = LastBefore(Tick, {"last_a": "kind == 'a'"}, window=window)
        for le in range(50):
            stage.push_many([Change(Tick("a" if le % 2 else "b", le, 0), le, None, 1, le), Punctuation(le)])
        assert stage.statistics.held == 1
        assert len(stage.keys) == sum(le % 2 for le in range(49 - (window or 50) + 1, 50)) or window is None
        assert window is not None or len(stage.keys) == 25, left
        out = stage.push(Change(Tick("b", 0, 0), 52, None, 1, 47))
        assert [change.payload.last_a for change in out] == [47]


class Anything(NamedTuple):
    sort: str
    what: Any
    more: Any


def test_fields_may_be_of_any_type() -> None:
    """Equal values are one event, and leave as the first of its events had them, whatever others had."""
    stage = LastBefore(Anything, {"last": "sort == 'a'"})
    values = [1, True, (1, "x"), ("1",), 2.0, None, float("nan"), frozenset({3}), 10**30, "", (), (float("nan"),)]
    come = [Change(Anything("a" if le % 3 else "b", value, None), le, None, 1, le % 2) for le, value in enumerate(values)]
    out = stage.push_many(come)
    assert [repr(change.payload.what) for change in out] == list(map(repr, values))
    assert [change.payload.last for change in out] == [None, None, None, 1, 2, 1, 4, 5, 4, 7, 8, 7]
    first, *others = come[:7]
    alike = first._replace(payload=Anything("b", True, None))
    left = stage.push_many([each._replace(diff=-1) for each in (alike, *others)])
    assert {(repr(change.payload.what), change.le) for change in left if change.le < 7} == {(repr(values[i]), i) for i in range(7)}
    assert stage.statistics.held == 5
    with pytest.raises(ChangeError, match="expected a hashable payload"):
        stage.push(insert(Anything("a", [1], None), 40))
    some = LastBefore(Anything, {"last": "sort == 'a'"})
    some.push_many([change for change in come if change.payload.what not in (frozenset({3}), 10**30)])
    again = LastBefore.restore(some.snapshot(), like=some)
    assert (again.snapshot(), again.statistics) == (some.snapshot(), some.statistics)
    assert set(map(repr, again.waiting())) == set(map(repr, some.waiting()))


def test_values_that_nothing_holds_any_more_take_no_memory() -> None:
    stage = LastBefore(Anything, {"last": "sort == 'a'"}, window=9)
    for le in range(0, 60_000, 500):
        stage.push_many([*(insert(Anything("a", ("v", i), f"w{i}"), i) for i in range(le, le + 500)), Punctuation(le + 490)])
    assert len(stage.rows._words._values) < 40_000
    found = stage.push(insert(Anything("b", ("v", 59_999), None), 59_999))
    assert [(change.payload.what, change.payload.last) for change in found] == [(("v", 59_999), 59_998)]


def test_there_may_be_many_conditions_and_fields() -> None:
    wide: Any = NamedTuple("wide", [(f"f{i}", int | None) for i in range(150)])
    stage = LastBefore(wide, {f"last{i}": f"f{i} == 1" for i in range(100)})
    blank = wide(*[None] * 150)
    came = [insert(blank._replace(**{f"f{i}": 1}), i) for i in random.Random(1).sample(range(150), 150)]
    for change in came:
        stage.push(change)
    (last,) = stage.push(insert(blank, 200))
    assert last.payload[150:] == tuple(range(100))
    revised = stage.push(came[0]._replace(diff=-1))
    assert {change.payload[150:].count(None) for change in revised if change.le == 200} == ({0, 1} if came[0].le < 100 else set())


def test_behind_it_may_stand_other_stages() -> None:
    class E(NamedTuple):
        kind: str

    look = LastBefore(E, {"last_a": "kind == 'a'"}, window=10)
    one = Automaton(start="0", final={"1"}, event=look.filled, arcs=[Arc("0", "1", "kind == 'b' and last_a is None")])
    op = Cleanse(0).after(Choose(window=10).after(look.before(Operator(one, window=10))))
    assert op.push_many([insert(E("b"), 3), insert(E("b"), 7)]) == []
    assert op.push_many([insert(E("a"), 5), Punctuation(30)]) == [insert(NoRegister(), 3, 13), Punctuation(21)]


other = Automaton(start="0", final={"0"}, arcs=[])
two = LastBefore(Tick, WHERE, filled=Seen)
A = {"a": "kind == 'a'"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LastBefore(Tick, {}),
            "expected names of fields with conditions, where=, or with neighbours, neighbours=, but got none",
        ),
        (lambda: LastBefore(Tick, A, window=0), "expected a number of ticks above 0 but got window=0"),
        (lambda: LastBefore(Tick, A, window=2**63), r"expected an int64 \(ticks\) but got window=9223372036854775808"),
        (lambda: LastBefore(Tick, A, order_by="x"), "expected a field of int, float or str in Tick.* but got order_by='x'"),
        (lambda: LastBefore(Tick, {"a": "kond == 'a'"}), "kond is no field of Tick"),
        (lambda: LastBefore(Tick, A, filled=Seen), r"expected Tick\(.*, a: int \| None\) but got filled=Seen"),
        (lambda: LastBefore(str, A), "expected a NamedTuple as the event schema"),
        (lambda: two.before(Operator(other, window=3)), "expected an automaton with event=<the stage's filled>"),
        (lambda: two.before(Operator(calm, window=3, retractions=False)), "that may be revised.* but got retractions=False"),
        (lambda: two.before(Operator(calm, window=3, gapless="seq")), "that may be revised.* but got gapless="),
        (lambda: two.before(Operator(calm, window=3, order_by="seq")), "as the stage's order, None, but got 'seq'"),
        (lambda: two.before(Cleanse(0)), "expected an Operator or a Keyed, perhaps with a stage, but got"),
        (lambda: LastBefore.restore(two.snapshot(), like=LastBefore(Tick, A)), "expected the parameters"),
        (lambda: LastBefore.restore(two.snapshot(), like=None), "expected like=<LastBefore"),  # type: ignore[arg-type]
        (lambda: LastBefore.restore(Cleanse(0).snapshot(), like=two), "expected a snapshot of LastBefore alone but got one of Cl"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        make()


def test_a_stage_in_use_is_refused() -> None:
    used = LastBefore(Tick, WHERE, filled=Seen)
    used.push(insert(Tick("a", 0, 0), 3))
    with pytest.raises(AfaError, match="expected an operator and a LastBefore that have taken nothing yet"):
        used.before(Operator(calm, window=3))


def test_an_event_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    op = LastBefore(Tick, WHERE, filled=Seen).before(Keyed(calm, key="key", window=9))
    op.push(insert(Tick("b", 0, 0), 3))
    before = op.snapshot()
    for wrong, message in [
        (insert(("b", 0), 3), "expected an event with the key's fields"),
        (insert(Seen("b", 0, 0, None, None, 3, None), 3), r"expected Tick\("),
        (insert(Tick("b", 0, 0)), "expected an event with a time"),
        (insert(Tick(3, 0, 0), 3), "expected kind: str"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(ChangeError, match=message):
            op.push_many([insert(Tick("a", 0, 0), 2), wrong])
        assert op.snapshot() == before
    with pytest.raises(AfaError, match="expected an operator with retractions=False for a Punctuation with a condition"):
        op.push(Punctuation(3, where="seq < 2"))


def test_snapshots_are_checked() -> None:
    stage = LastBefore(Tick, WHERE, filled=Seen, window=5)
    stage.push_many([Change(Tick("a", 0, 0), 3, None, 1, 7), Punctuation(4), Change(Tick("b", 0, 0), 6, None, 1, 7)])
    numbers, waiting = stage.numbers(), [None, [], [], [], [], []]
    said, promised, revised, floors = numbers
    assert floors == [[7, (0, 3)]]
    for wrong in (
        [said, promised, revised, [[7, (2, 3)]]],
        [said, promised, revised, [[7, (0, 4)]]],
        [said, promised, revised, [[7, (0, -2)]]],
        [said, promised, revised, [[7, (0, "3")]]],
        [said, promised, revised, [[[7], (0, 3)]]],
        [said, promised, None, floors],
        [said, "soon", revised, floors],
        [said, promised, revised],
    ):
        with pytest.raises(SnapshotError, match="expected"):
            LastBefore.resumed(wrong, waiting, stage)
    early = [["kind", "key", "seq", "x"], [7], [3], [None], [1], [["a"], [0], [0], [None]]]
    with pytest.raises(SnapshotError, match="expected events at or above the promise 4"):
        LastBefore.resumed(numbers, early, stage)
