"""Tables of numbered events mean what their rows mean, one after the other, however they come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, Change, ChangeError, Punctuation, insert
from afa.compiled.compiled_engine import CompiledEngine
from afa.operator.call import Core
from punctuation.time import BEGINNING, FOREVER
from speculation import Ordered
from tests import oracle
from tests.strategies import Choices, Seeded
from tests.streams import Quote, Setting, Tally, as_match, rows, table

NAN = float("nan")


class Few(NamedTuple):
    sort: int
    seq: int


OWN = [
    Arc("a", "b", lambda e, r: e.sort == 0, lambda e, r: Tally(1, e.size, e.name, e.extra)),
    Arc("b", "b", lambda e, r: e.sort >= 2 and r.n < 4, lambda e, r: r._replace(n=r.n + 1, last=e.extra)),
    Arc("b", "b", "flag and sort == 1"),
    Arc("b", "c", lambda e, r: e.sort == 1 and (e.name != r.word or e.extra is None), name="bc"),
]
AUTOMATON = Automaton(start="a", final={"c"}, register=Tally(), event=Quote, arcs=OWN)
WAITS = Automaton(
    start="a", final={"c"}, register=Tally(), event=Quote, arcs=[*OWN, Arc.timeout("b", "c", lambda r: 9 if r.n > 1 else 4)]
)
SIZES = (-1.5, -0.0, 0.0, 2.25, NAN)


class Stream:
    """Numbered events of some keys in order of arrival, some of them lost, with punctuations among them."""

    def __init__(self, choose: Choices, keys: int, n: int, lifetimes: bool, late: bool = False) -> None:
        self.lifetimes = lifetimes
        arrivals: list[tuple[float, Change]] = []
        for who in range(keys):
            le, number = choose.number(0, 5), choose.number(-3, 3)
            for _ in range(choose.number(1, n)):
                le, number = le + choose.one([0, 1, 1, 2]), number + 1
                extra, name = choose.one([None, 0, 1]), choose.one(["ash", "elm", ""])
                payload = Quote(choose.number(0, 3), choose.one(SIZES), who, number, name, extra, choose.chance(50))
                re = le + choose.one([1, 5, 30]) if lifetimes else None
                if not choose.chance(5):
                    arrivals.append((le + (choose.number(0, 12) if choose.chance(40) else 0), insert(payload, le, re)))
        arrivals.sort(key=lambda item: item[0])
        self.items: list[Any] = [change for _, change in arrivals]
        for _ in range(len(arrivals) // 6):
            place = choose.number(0, len(self.items))
            later = [item.le for item in self.items[place:] if isinstance(item, Change)]
            t = min(later, default=100) + (choose.number(0, 2) if late else 0) - choose.one([0, 0, 3])
            self.items.insert(place, Punctuation(t))

    def parts(self, choose: Choices) -> list[list[Any]]:
        """The items, cut into batches."""
        found, items = [], [*self.items]
        while items:
            size = choose.one([1, 4, 15, 40])
            found.append(items[:size])
            items = items[size:]
        return found


class Counted:
    """How many tables went through arrays, and how many calls row by row."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_arrays = self.by_rows = 0
        columns, rows = CompiledEngine.run_columns, Core.run_parts

        def by_arrays(engine: CompiledEngine, *args: Any) -> Any:
            self.by_arrays += 1
            return columns(engine, *args)

        def by_rows(core: Core, *args: Any) -> Any:
            self.by_rows += 1
            return rows(core, *args)

        monkeypatch.setattr(CompiledEngine, "run_columns", by_arrays)
        monkeypatch.setattr(Core, "run_parts", by_rows)


class Side:
    """An operator, what it has told, and its matches."""

    def __init__(self, automaton: Automaton, engine: Any, **options: Any) -> None:
        self.here = Setting(automaton, [], options, ("who",) if options["key"] else ())
        self.gaps: list[Any] = []
        self.late: list[Any] = []
        self.held: set[Any] = set()
        told: Any = {"on_gap": lambda *gap: self.gaps.append(gap), "late": self.late.append}
        self.op = Ordered(automaton, number="due", engine=engine, **told, **options)

    def push(self, item: Any) -> None:
        self.hold(self.op.push(item))

    def push_table(self, items: list[Any], shape: str) -> None:
        batch, _ = table(items, Quote, self.here.options["window"], shape)
        self.hold(rows(self.op.push_many(batch), self.here))

    def hold(self, out: list[Any]) -> None:
        self.held = oracle.net([as_match(change) for change in out if isinstance(change, Change)], self.held)

    def told(self) -> dict[str, Any]:
        """What both must agree on."""
        names = ("changes", "late", "stale", "repeated", "barriers", "matches", "pending")
        found = {name: getattr(self.op.statistics, name) for name in names}
        return {**found, "late ones": self.late}


@pytest.mark.parametrize("gaps", ["break", "join"])
@pytest.mark.parametrize(("keys", "shape"), [(1, "dict"), (1, "arrow"), (1, "pandas"), (4, "dict"), (4, "arrow")])
def test_a_table_means_what_its_rows_mean(gaps: Any, keys: int, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    for seed in range(8):
        choose = Seeded(f"tables {gaps} {keys} {shape} {seed}")
        stream = Stream(choose, keys, 40, lifetimes=choose.chance(30), late=choose.chance(40))
        options: dict[str, Any] = {"key": "who" if keys > 1 else None, "window": choose.one([6, 20]), "gaps": gaps}
        automaton = WAITS if choose.chance(30) else AUTOMATON
        one_by_one, ours = Side(automaton, "interpreted", **options), Side(automaton, "compiled", **options)
        for part in stream.parts(choose):
            for item in part:
                one_by_one.push(item)
            ours.push_table(part, shape)
            assert ours.held == one_by_one.held, f"seed {seed}"
            if choose.chance(20):  # in between something that goes row by row
                for change in [change for change in part if isinstance(change, Change)][:2]:
                    if change.le >= ours.op._core.progress.events:
                        one_by_one.push(change._replace(diff=-1))
                        ours.push(change._replace(diff=-1))
            assert ours.held == one_by_one.held, f"seed {seed}"
            ours.op._check()
        assert ours.told() == one_by_one.told()
        assert set(one_by_one.gaps) <= set(ours.gaps)  # of a key that one has forgotten in the midst of a batch the other knows
    assert counted.by_arrays > 8


@pytest.mark.parametrize("keys", [1, 4])
@pytest.mark.parametrize("gaps", ["break", "join"])
def test_a_table_with_numbers_that_come_twice_means_what_its_rows_mean(gaps: Any, keys: int) -> None:
    """And the operator comes from a snapshot now and then."""
    repeated = 0
    for seed in range(14):
        choose = Seeded(f"twice {gaps} {keys} {seed}")
        stream = Stream(choose, keys, 40, lifetimes=choose.chance(30), late=choose.chance(40))
        key = "who" if keys > 1 else None
        options: dict[str, Any] = {"key": key, "window": choose.one([6, 20]), "gaps": gaps, "repeated": "drop"}
        changes = [item for item in stream.items if isinstance(item, Change)]
        for _ in range(choose.number(1, 3)):
            again = choose.one(changes)
            if not stream.lifetimes:
                again = again._replace(
                    payload=again.payload._replace(sort=choose.number(0, 3)), le=again.le + choose.one([0, 0, 1, 5])
                )
            stream.items.insert(choose.number(0, len(stream.items)), again)
        automaton = WAITS if choose.chance(30) else AUTOMATON
        one_by_one, ours = Side(automaton, "interpreted", **options), Side(automaton, "compiled", **options)
        for part in stream.parts(choose):
            try:
                for item in part:
                    one_by_one.push(item)
            except ChangeError:  # in one call the others may move a time that stands against its number
                break
            ours.push_table(part, "dict")
            assert ours.held == one_by_one.held, f"seed {seed}"
            assert ours.op._core.progress.now == one_by_one.op._core.progress.now, f"seed {seed}"
            if choose.chance(20):
                ours.op = Ordered.restore(automaton, ours.op.snapshot(), key=key, engine="compiled", late=ours.late.append)
            ours.op._check()
        else:
            found, expected = ours.told(), one_by_one.told()
            if keys > 1:  # a key that is over in the midst of a table is known to its end
                found.pop("barriers"), expected.pop("barriers")
            assert found == expected, f"seed {seed}"
        repeated += one_by_one.op.statistics.repeated
    assert repeated > 10


class Tick(NamedTuple):
    change: float
    seq: int


FALLS = Automaton(start="a", final={"c"}, event=Tick, arcs=[Arc("a", "b", "change < 0"), Arc("b", "c", "change < 0")])


def ticks(numbers: list[int], **more: Any) -> dict[str, Any]:
    """Falling ticks of these numbers, at ten times that."""
    count = len(numbers)
    return {"change": np.full(count, -1.0), "seq": np.array(numbers), "le": 10 * np.array(numbers), **more}


def test_tables_of_numbers_go_through_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    op = Ordered(FALLS, window=25)
    assert op.push_many(ticks([1, 4, 2, 7, 8]))["le"].tolist() == [20, 80]
    assert op.statistics.barriers == 2
    assert op.push_many(pd.DataFrame(ticks([3])))["le"].tolist() == [30, 40]
    found = op.push_many(pa.table(ticks([9, 5, 91], kind=np.array([0, 0, 2]))))
    assert found.to_pydict()["le"] == [50, 90, 910]  # the last is the punctuation
    assert op.statistics.gaps == 1
    out, promised = op.push_many([ticks([92, 93]), Punctuation(FOREVER)])
    assert (out["le"].tolist(), promised) == ([930], Punctuation(FOREVER))
    assert (counted.by_arrays, counted.by_rows) == (4, 0)
    op._check()


def test_a_gap_of_one_key_closes_beside_keys_that_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    op = Ordered(FALLS, window=25, key="side")
    assert op.push_many(ticks([1, 3], side=np.array(["l", "l"], object)))["le"].tolist() == []
    out = op.push_many(ticks([2, 7, 8], side=np.array(["l", "r", "r"], object)))
    assert sorted(zip(out["side"].tolist(), out["le"].tolist())) == [("l", 20), ("l", 30), ("r", 80)]
    assert op.statistics.barriers == 0
    assert (counted.by_arrays, counted.by_rows) == (2, 0)
    op._check()


def test_what_is_unusual_means_what_its_rows_mean() -> None:
    op = Ordered(FALLS, window=25, late="drop", repeated="drop")
    op.push_many({name: column.tolist() for name, column in ticks([1, 2, 4]).items()})
    for unusual in (
        ticks([1]),  # in force
        ticks([6, 6]),
        ticks([4], diff=np.array([-1])),
        ticks([3], seq=np.array([3], object)),
        ticks([40], kind=np.array([2])),
        {**ticks([50]), "kind": [0.0]},
        ticks([2]),  # late
        [],
        [ticks([51]), insert(Tick(0.0, 52), 520)],
    ):
        op.push_many(unusual)
        op._check()
    assert (op.statistics.repeated, op.statistics.late, op.statistics.changes) == (2, 1, 9)
    for wrong, message in [
        (ticks([53], le=np.array([500])), "times that follow the numbers but got seq=51 at le=510 and seq=53 at le=500"),
        (ticks([53], re=np.array([530])), "expected re > le but got le=530, re=530 for Tick"),
        (ticks([53], le=np.array([530.5])), "expected int ticks in column 'le'"),
        ({"seq": np.array([53]), "le": np.array([530])}, "expected a column 'change'"),
        (ticks([53], kind=np.array([7])), "expected kind 0"),
        (5, "expected an Arrow table"),
    ]:
        with pytest.raises(AfaError, match=message):
            op.push_many(wrong)
        op._check()


def test_a_table_that_fails_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)

    def refuse(*gap: Any) -> None:
        raise RuntimeError(f"no gap {gap}")

    op = Ordered(FALLS, window=25, key="side", on_gap=refuse, gaps="join")
    op.push_many(ticks([1, 2, 4, 5], side=np.array(["l", "l", "l", "r"], object)))
    before = op.snapshot()
    for sides in (["l", "l"], ["r", "new"]):
        with pytest.raises(RuntimeError, match=r"no gap \('l', 3, 3\)"):
            op.push_many(ticks([6, 70], kind=np.array([0, 2]), side=np.array(sides, object)))
        assert op.snapshot() == before
        op._check()
    out = op.push_many(ticks([3], side=np.array(["l"], object)))
    assert (out["side"].tolist(), out["le"].tolist()) == (["l", "l"], [30, 40])
    assert counted.by_rows == 0


def test_a_promise_with_a_condition_is_refused_behind_a_table_too(engine: str) -> None:
    """It was taken for a promise of all events."""
    quiet = Automaton(start="a", final={"c"}, event=Few, arcs=[Arc("a", "c", "sort == 0")])
    op = Ordered(quiet, number="seq", engine=engine)
    batch = {"sort": np.array([0, 1]), "seq": np.array([1, 2]), "le": np.array([10, 20])}
    for items in ([batch, Punctuation(50, "sort == 1")], [batch, Punctuation(15), Punctuation(50, "sort == 1")]):
        with pytest.raises(AfaError, match=r"expected an operator with retractions=False for a Punctuation with a condition"):
            op.push_many(items)
        assert (op.statistics.events, op._core.progress.events) == (0, BEGINNING)
