"""Incremental snapshots: a chain of them is the state; engines may take turns in it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from afa import AfaError, Arc, Automaton, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from afa.spark import operator_image as image
from tests.automata import Tick, two_vees
from tests.conftest import ENGINES
from tests.strategies import Seeded
from tests.streams import PROGRAMS, Mix, Quote, Setting, setting, stream


def again(here: Setting, chain: list[bytes], engine: str) -> Any:
    return Keyed.restore(here.automaton, chain, key=here.key, arcs=here.pool[len(here.automaton.arcs) :], engine=engine)


def imaged(here: Setting, operator: Keyed, path: Path) -> Keyed:
    """The operator as another process finds it in a file beside the last snapshot."""
    image.publish(operator._core, path, "note")
    found = image.Image(path)
    assert found.note == "note"
    return Keyed._of(found.core(here.automaton, arcs=here.pool[len(here.automaton.arcs) :]), here.key)


def one(number: int, n: int, engines: list[str], path: Path) -> int:
    """A keyed operator that is saved, lost and restored all the time beside one that is not; how often it was restored."""
    choose = Seeded(f"incremental/{number}")
    here = setting(list(PROGRAMS)[number % 4], Quote, choose.one([("who",), ("name", "who")]), window=choose.one([9, 40]))
    mix = Mix(arcs=choose.one([1, 8]), promise=choose.one([2, 10]), shift=5, retract=10)
    items, _ = stream(choose, here, n, mix, choose.one([5, 60]))
    lead, operator = here.make(choose.one(engines)), here.make(choose.one(engines))
    chain, at, restored = [operator.snapshot(incremental=True)], 0, 0
    while at < len(items):
        batch = items[at : at + choose.number(1, 40)]
        at += len(batch)
        outs = [sorted(map(repr, op.push_many(batch))) for op in (operator, lead)]
        assert outs[0] == outs[1], f"{number}, before item {at}"
        if choose.chance(10):
            operator = copy.deepcopy(operator)
        if choose.chance(30):
            chain.append(operator.snapshot(incremental=True))
            if operator._core.engine.name == "compiled" and choose.chance(30):
                operator, restored = imaged(here, operator, path / str(at)), restored + 1
            elif choose.chance(60):
                operator, restored = again(here, chain, choose.one(engines)), restored + 1
        if choose.chance(4):
            chain = [operator.snapshot()]
    operator = again(here, [*chain, operator.snapshot(incremental=True)], choose.one(engines))
    operator._check()
    assert operator.snapshot() == lead.snapshot(), number
    return restored


@pytest.mark.parametrize("number", range(12))
def test_a_chain_of_snapshots_is_the_state(number: int, tmp_path: Path) -> None:
    assert one(number, 300, list(ENGINES), tmp_path) > 0


@pytest.mark.stress
@pytest.mark.parametrize("number", range(12, 212))
def test_long_chains(number: int, tmp_path: Path) -> None:
    assert one(number, 1500, [["compiled"], list(ENGINES)][number % 2], tmp_path) > 0


def filled(engine: str, keys: int = 1000) -> Keyed:
    op = Keyed(two_vees, key="price", window=50, engine=engine)  # type: ignore[arg-type]
    op.push_many({"price": [float(i) for i in range(keys)], "change": [1.0] * keys, "le": list(range(keys))})
    return op


def test_it_holds_what_has_changed_only(engine: str) -> None:
    op = filled(engine)
    whole = op.snapshot(incremental=True)
    assert len(whole) > 10_000
    op.push(insert(Tick(7.0, -1.0), 1000))
    op.push(retract(Tick(8.0, 1.0), 8))
    small = op.snapshot(incremental=True)
    assert len(small) < 500
    back = Keyed.restore(two_vees, [whole, small], key="price", engine=engine)  # type: ignore[arg-type]
    assert 8.0 not in back.keys
    assert back.snapshot() == op.snapshot()
    assert len(op.snapshot(incremental=True)) < 400, "nothing has changed"


def test_keys_that_came_and_went_in_between_are_not_remembered(engine: str) -> None:
    op = filled(engine, 3)
    blobs = [op.snapshot()]
    for i in range(100):
        op.push(insert(Tick(100.0 + i, 1.0), 5))
        op.push(retract(Tick(100.0 + i, 1.0), 5))
    blobs.append(op.snapshot(incremental=True))
    assert len(blobs[1]) < 400
    op.push(Punctuation(2000))
    blobs.append(op.snapshot(incremental=True))
    assert Keyed.restore(two_vees, blobs, key="price").keys == op.keys == []


def test_a_key_that_was_not_cleaned_yet_needs_no_arc_that_is_forgotten(engine: str) -> None:
    op = filled(engine, 10)
    blobs = [op.snapshot(incremental=True)]
    for arc in two_vees.arcs:
        op.push_arc(retract(arc))
    op.push(Punctuation(15))
    blobs.append(op.snapshot(incremental=True))
    op.push(Punctuation(20))
    blobs.append(op.snapshot(incremental=True))
    back = Keyed.restore(two_vees, blobs, key="price", engine=engine)  # type: ignore[arg-type]
    back._check()
    assert back.snapshot() == op.snapshot()


def test_a_chain_with_a_hole_is_refused() -> None:
    op = filled("auto", 5)
    blobs = [op.snapshot(incremental=True)]
    for le in (10, 11):
        op.push(insert(Tick(1.0, 1.0), le))
        blobs.append(op.snapshot(incremental=True))
    for chain in (blobs[1:], [blobs[0], blobs[2]], [blobs[0], blobs[1], blobs[1]], [blobs[1], blobs[0]], []):
        with pytest.raises(SnapshotError, match=r"expected (as snapshot number|a snapshot but got none)"):
            Keyed.restore(two_vees, chain, key="price")
    with pytest.raises(SnapshotError, match="one of Keyed"):
        Operator.restore(two_vees, blobs[0])
    assert Keyed.restore(two_vees, blobs, key="price").snapshot() == op.snapshot()


def test_an_image_is_taken_once_by_whom_it_fits(tmp_path: Path) -> None:
    path = tmp_path / "image"
    for _ in range(2):
        op = filled("compiled")
        op.snapshot()
        image.publish(op._core, path, None)
        found = image.Image(path)
        with pytest.raises(FileNotFoundError):
            image.Image(path)
        assert not any(map(image.is_orphan, tmp_path.iterdir()))
        other = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: True)])
        with pytest.raises(SnapshotError, match="expected an image of"):
            found.core(other)
        del found
        assert not list(tmp_path.iterdir())
    (tmp_path / f"old{image.CLAIMED}").touch()
    assert all(map(image.is_orphan, tmp_path.iterdir()))


def test_a_heap_in_a_file_grows_and_leaves_it_where_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    op, lead = filled("compiled"), filled("compiled")
    op.snapshot()
    for i in range(4):
        image.publish(op._core, tmp_path / str(i), None)
        op = Keyed._of(image.Image(tmp_path / str(i)).core(two_vees), "price")
        if i == 2:
            monkeypatch.setattr("os.posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError("full")))
        n = 4_000 * (i + 1)
        columns = {"price": [float(x) for x in range(n)], "change": [1.0] * n, "le": [1000 + i] * n}
        for each in (op, lead):
            each.push_many(columns)
        assert (op._core.engine.store.memory.file is None) is (i == 2)  # type: ignore[attr-defined]
        op._check()
        assert op.snapshot() == lead.snapshot()
        monkeypatch.undo()


def test_an_operator_that_has_changed_since_its_snapshot_is_not_left_to_others(tmp_path: Path) -> None:
    op = filled("compiled")
    op.snapshot()
    op.push(insert(Tick(-5.0, 1.0), le=1))
    with pytest.raises(AfaError, match=r"expected an operator whose last call was snapshot\(\) but got one that has changed since"):
        image.publish(op._core, tmp_path / "one", None)
    assert not list(tmp_path.iterdir())


def test_a_key_that_comes_back_costs_nothing_for_the_others() -> None:
    """Which keys the snapshot has, and nothing is held of, is noted in place; what an interrupt leaves half-done is seen to."""
    op = Keyed(two_vees, key="price", window=50, engine="compiled")
    op.push_many({"price": [float(i) for i in range(40)], "change": [1.0] * 40, "le": [0] * 40})
    chain = [op.snapshot(incremental=True)]
    op.push(Punctuation(1000))
    op.push(insert(Tick(3.0, 1.0), 1000))
    directory: Any = op._core.engine.store.directory  # type: ignore[attr-defined]
    op._check()
    away = directory._away
    assert (away.sum(), len(directory)) == (39, 1)
    op.push(insert(Tick(5.0, 1.0), 1000))
    assert (away.sum(), len(directory)) == (38, 2)
    directory._aways = -1
    op.push(insert(Tick(7.0, 1.0), 1000))
    op.push(insert(Tick(77.0, 1.0), 1000))
    assert (away.sum(), len(directory)) == (37, 4)
    chain.append(op.snapshot(incremental=True))
    op._check()
    assert (directory._away.sum(), len(directory)) == (0, 4)
    assert Keyed.restore(two_vees, chain, key="price").snapshot() == op.snapshot()


def test_a_call_is_taken_back_where_memory_is_too_short_to_look_for_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys that it has brought are forgotten at the end of a later call."""
    op = Keyed(two_vees, key="price", window=50, engine="compiled")
    op.push(insert(Tick(1.0, 1.0), 0))
    before, directory = op.snapshot(), op._core.engine.store.directory  # type: ignore[attr-defined]

    def refuse() -> Any:
        raise MemoryError("no more, for a test")

    with monkeypatch.context() as short:
        short.setattr(directory.keys, "given", refuse)
        short.setattr(directory.keys, "live", refuse)
        for _ in range(2):
            with pytest.raises(MemoryError, match="no more, for a test"):
                op.push(insert(Tick(2.0, 1.0), 0))
    assert len(directory.keys) == 2
    assert op.snapshot() == before
    op.push(retract(Tick(1.0, 1.0), 0))
    assert len(directory.keys) <= 1
    op._check()
