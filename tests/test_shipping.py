"""Operators pickled and copied: each goes on by itself from where the other was, or is refused in words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, Gapless, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from punctuation import SideOutput
from speculation import Cleanse, Consolidate, Ordered
from tests.automata import Count
from tests.strategies import Seeded
from tests.stress.generate import World, world
from tests.stress.run import call, make


class E(NamedTuple):
    kind: int
    name: str = "n"


def above(e: Any, r: Any) -> bool:
    return bool(e.kind > r.n)


arcs = [Arc("a", "b", "kind == 1", "Count(kind)"), Arc("b", "b", above, name="above"), Arc("b", "c", "kind == 2")]
automaton = Automaton(start="a", final={"c"}, event=E, register=Count(), arcs=arcs)
later = Arc("a", "c", "kind == 9", name="later")

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda op: pickle.loads(pickle.dumps(op)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("options", [{}, {"late": SideOutput()}, {"late": "drop", "arc_punctuation": True}])
def test_another_goes_on(engine: str, way: Any, keyed: bool, options: dict[str, Any]) -> None:
    op = Keyed(automaton, key="name", engine=engine, **options) if keyed else Operator(automaton, engine=engine, **options)
    op.push_many([insert(E(1), 3, 40), insert(E(1), 4, 20), retract(E(5), 90, 99), Punctuation(2), insert(E(3), 5, 40)])
    op.push_arc(insert(later, 6))
    op.push_arc(retract(Arc("a", "b", "kind == 7", name="awaited"), 90, 95))
    before, core = op.snapshot(), op._core
    other = way(op)
    assert type(other) is type(op)
    assert other.statistics == op.statistics
    assert other._core.engine.name == op._core.engine.name == engine
    assert other.snapshot() == before
    assert core.saved is not None
    changes = [insert(E(2), 7, 40), insert(E(9), 8, 40), retract(E(1), 4, 20), Punctuation(12)]
    assert [other.push(change) for change in changes] != [[]] * 4
    assert op.snapshot() == before, "the one is not touched by what the other takes"
    for change in changes:
        op.push(change)
    assert op.snapshot() == other.snapshot()
    assert other.statistics == op.statistics
    other._check()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_without_payloads(engine: str, way: Any) -> None:
    parted = Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "b", "kind == 1"), Arc("b", "c", "kind == 2")])
    op = Operator(parted, window=9, engine=engine, retractions=False, keep_payloads=False)
    op.push(insert(E(1), 3))
    other = way(op)
    assert other.push(insert(E(2), 5)) == op.push(insert(E(2), 5)) != []


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy])
def test_worlds(engine: str, way: Any) -> None:
    """After every step of some random worlds another one goes on."""
    done = 0
    for seed in range(40):
        spec = world(Seeded(f"shipping/{seed}"))
        if spec["options"]["late"] == "callback" or not spec["automaton"]["event"]:
            continue
        here = World(spec)
        op, plain = (make(here, engine, spec["options"]["late"]) for _ in range(2))
        for each in [each for each in spec["ops"] if each[0] != "save"]:
            items = here.items(each)
            assert call(here, op, each, items) == call(here, plain, each, items)
            op = way(op)
            held = op.statistics._replace(intervals=0, partial_matches=0, state_size=0)  # lists are derived anew
            assert held == plain.statistics._replace(intervals=0, partial_matches=0, state_size=0)
        done += 1
    assert done > 15


def test_incremental_snapshots_are_the_originals(engine: str) -> None:
    keyed = Keyed(automaton, key="name", window=50, engine=engine)
    keyed.push(insert(E(1, "x"), 1))
    blobs = [keyed.snapshot()]
    keyed.push(insert(E(1, "y"), 2))
    other = pickle.loads(pickle.dumps(keyed))
    copied = copy.deepcopy(keyed)
    blobs.append(keyed.snapshot(incremental=True))
    assert len(Keyed.restore(automaton, blobs, key="name").keys) == 2
    assert len(Keyed.restore(automaton, other.snapshot(incremental=True), key="name").keys) == 2
    assert len(Keyed.restore(automaton, [blobs[0], copied.snapshot(incremental=True)], key="name").keys) == 2


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy])
def test_stages_are_copied_whole(engine: str, way: Any) -> None:
    makes: list[Any] = [
        Cleanse().after(Keyed(automaton, key="name", window=9, engine=engine)),
        Cleanse(3),
        Cleanse.auto(max_chattiness=1.5),
        Consolidate(),
    ]
    for op in makes:
        op.push(insert(E(1), 3))
        before = op.snapshot()
        other = way(op)
        other.push_many([insert(E(2), 4), Punctuation(7)])
        assert op.snapshot() == before
        op.push_many([insert(E(2), 4), Punctuation(7)])
        assert op.snapshot() == other.snapshot()


def test_what_cannot_be_pickled_is_said(engine: str) -> None:
    op = Operator(automaton, window=9, engine=engine)
    op.push_arc(insert(Arc("a", "c", "kind == 9"), 3))
    with pytest.raises(SnapshotError, match=r"expected a name but got arc a -> c, pushed after the automaton was built"):
        pickle.dumps(op)
    assert copy.deepcopy(op).push(insert(E(9), 4)) == op.push(insert(E(9), 4)) != []
    with pytest.raises(AfaError, match=r"an Operator or a Keyed to be pickled but got what is within one: use snapshot\(\)"):
        pickle.dumps(op._core)
    with pytest.raises(AfaError, match=r"but got one with a stage: use snapshot\(\) and restore\(\)"):
        pickle.dumps(Cleanse(0).before(Keyed(automaton, key="name", engine=engine)))
    untyped = Operator(Automaton(start="a", final={"b"}, register=Count(), arcs=[Arc("a", "b", above)]))
    untyped.push(insert(E(-1), 3))
    with pytest.raises(SnapshotError, match=r"expected plain data .* but got E\(kind=-1, name='n'\): give the Automaton event="):
        pickle.dumps(untyped)


class N(NamedTuple):
    kind: int
    n: int


numbered = Automaton(start="a", final={"c"}, event=N, arcs=[Arc("a", "b", "kind == 1"), Arc("b", "c", "kind == 2")])


class Monitor:
    """A user's object: its operators tell its methods; it has what can't be copied."""

    def __init__(self, make: Any) -> None:
        self.told: list[Any] = []
        self.open = (letter for letter in "no copy")
        self.op = make(self)

    def on_late(self, change: Any) -> None:
        self.told.append(change.le)

    def on_gap(self, key: Any, first: int, last: int) -> None:
        self.told.append((first, last))

    def __deepcopy__(self, memo: dict[int, Any]) -> Monitor:
        other = memo[id(self)] = object.__new__(Monitor)
        other.told, other.op = copy.deepcopy((self.told, self.op), memo)
        return other


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy])
@pytest.mark.parametrize(
    "make",
    [
        lambda user, e: Operator(numbered, window=9, engine=e, gapless=Gapless("n", on_gap=user.on_gap), late=user.on_late),
        lambda user, e: Keyed(
            numbered,
            key=lambda x: 0,
            window=9,
            engine=e,
            gapless=Gapless("n", repeated=user.on_late, on_gap=user.on_gap),
            late=user.on_late,
        ),
        lambda user, e: Ordered(
            numbered, number="n", window=9, engine=e, late=user.on_late, on_gap=user.on_gap, repeated=user.on_late
        ),
    ],
)
def test_a_copy_tells_the_same_object_unless_that_is_copied_with_it(engine: str, way: Any, make: Any) -> None:
    user = Monitor(lambda user: make(user, engine))
    user.op.push_many([insert(N(1, 1), 1), insert(N(1, 3), 3)])
    twin, whole = way(user.op), copy.deepcopy(user)
    for op in (twin, whole.op):
        op.push_many([Punctuation(9), insert(N(1, 2), 2)])
    assert sorted(map(str, user.told)) == sorted(map(str, whole.told)) == ["(2, 2)", "2"]
    assert (user.op.statistics.late, user.op.statistics.gaps, twin.statistics.late, twin.statistics.gaps) == (0, 0, 1, 1)
    assert user.op.push_many([insert(N(1, 2), 2), Punctuation(9)]) == [Punctuation(9)]


def test_a_copy_has_a_side_output_of_its_own(engine: str) -> None:
    side = SideOutput()
    op = Operator(automaton, window=9, engine=engine, late=side)
    op.push(Punctuation(9))
    twin = copy.deepcopy(op)
    twin.push(insert(E(1), 3))
    assert (side.count, twin.statistics.late) == (0, 1)
