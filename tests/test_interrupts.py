"""An interrupt leaves the state before the call or after it, wherever it comes. More: `python -m tests.worlds interrupts`."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import traceback
from functools import partial
from typing import Any

import numpy as np
import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Keyed, Operator, Punctuation
from afa.compiled import reserve
from afa.interpreted.runs import Runs
from afa.journal import Journal
from afa.model.pmatch import PMatch
from tests import interrupts
from tests.interrupts import Interrupt, at_line
from tests.kinds_of_calls import KINDS, PLAIN, SWAPPED, Tick, columns, tick
from tests.stress import interrupts as stress


def state(op: Any) -> Any:
    core = op._core
    return op.statistics, op.snapshot(), core.progress.marks(), core.arcs.table.events, core.arcs.pending


def result(work: Any) -> Any:
    """What a call gives, as something that can be compared; its error too."""
    try:
        out = work()
    except AfaError as error:
        return str(error)
    if isinstance(out, dict):
        return {name: list(column) for name, column in out.items()}
    return [result(lambda part=part: part) for part in out] if isinstance(out, list) else out  # type: ignore[misc]


def each_line(name: str, engine: str, times: int | None) -> int:
    """Interrupt a call at each line, or about so many times on the way; how often it was."""
    kind, count, stop = KINDS[name], 0, 1
    twin = kind.make(engine)
    before = state(twin)
    done = at_line(lambda: result(lambda: kind.work(twin)), None)
    wanted, step = done.out, 1 if times is None else 1 + done.lines // times
    after = state(twin)
    op = kind.make(engine)
    assert state(op) == before
    while (ended := at_line(partial(kind.work, op), stop)).interrupted:
        op._check()
        found = state(op)
        assert found in (before, after), f"{name} at {ended.out}: {_differs(found, before)}; after: {_differs(found, after)}"
        if found == before:
            if count % 10 == 0:
                assert result(partial(kind.work, op)) == wanted, f"{name} at {ended.out}"
                assert state(op) == after, f"{name} at {ended.out}"
                op = kind.make(engine)
        else:
            op = kind.make(engine)
        count, stop = count + 1, stop + step
    assert count > 0
    return count


def _differs(found: Any, other: Any) -> str:
    return "; ".join(f"{a} != {b}" for a, b in zip(found, other) if a != b)


@pytest.mark.parametrize("times", [8, pytest.param(None, marks=pytest.mark.stress)], ids=["at some", "at each"])
@pytest.mark.parametrize("name", KINDS)
def test_a_call_is_interrupted_at_its_lines(engine: str, name: str, times: int | None) -> None:
    print(each_line(name, engine, times))


@pytest.mark.parametrize("number", range(8))
def test_a_random_world_is_interrupted_at_random_lines(engine: str, number: int) -> None:
    assert stress.run("lines", number, engine, interrupts.somewhere) > 0


def test_random_worlds_are_interrupted_at_random_instants() -> None:
    """In a process of its own: what it dies of is told."""
    for how in ([], ["--instants"]):
        command = [sys.executable, "-m", "tests.worlds", "interrupts", "--until", "interrupted=150", *how]
        done = subprocess.run([*command, "--set", "afa.compiled.choices.WARM=256"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("every", [17, pytest.param(3, marks=pytest.mark.stress)])
def test_a_first_list_is_interrupted_at_lines_in_which_its_key_is_looked_for(engine: str, every: int) -> None:
    """An operator without keys has one state, however often the call before was interrupted."""
    make, work = KINDS["list"]
    twin = make(engine)
    wanted, after = result(partial(work, twin)), state(twin)
    lines = at_line(partial(work, make(engine)), None).lines
    for stop in range(1, lines, every):
        op = make(engine)
        for more in range(3):
            at_line(partial(work, op), stop + more)
            if state(op) == after:
                break
        else:
            assert result(partial(work, op)) == wanted, f"after line {stop}"
        assert state(op) == after, f"after line {stop}"


def test_snapshots_of_changes_follow_each_other_through_interrupts(engine: str) -> None:
    """What an interrupted snapshot would have held is in the next one that is returned."""
    op = Keyed(PLAIN, key="sym", window=20, engine=engine)
    blobs, stop = [op.snapshot(incremental=True)], 1
    for i in range(12):
        op.push(tick(8 if i % 3 else 2, i, "abcdef"[i % 6]))
        while (ended := at_line(lambda: op.snapshot(incremental=True), stop)).interrupted:
            stop += 17
            try:
                Keyed.restore(PLAIN, [*blobs, op.snapshot(incremental=True)], key="sym", engine=engine)
            except AfaError:  # it was taken, but did not come out: the chain begins anew
                blobs = [op.snapshot()]
                break
            op.push(tick(8, i, "abcdef"[i % 5]))
            blobs = [op.snapshot()]
        else:
            blobs.append(ended.out)
        stop = stop % 300 + 1
        again = Keyed.restore(PLAIN, blobs, key="sym", engine=engine)
        again._check()
        assert again.statistics == op.statistics


def test_an_interrupt_on_the_way_back_is_made_good_by_the_next_call(engine: str) -> None:
    op = Keyed(PLAIN, key="sym", window=20, engine=engine)
    op.push_many(columns(30))
    before = state(op)
    core, back = op._core, op._core.call_failed
    for stop in range(1, 400, 29):

        def interrupted(was: Any, stop: int = stop) -> None:
            core.call_failed = back  # type: ignore[method-assign]
            core.calls.before = ((back, was),)
            if at_line(lambda: back(was), stop).interrupted:
                raise Interrupt("again")

        core.call_failed = interrupted  # type: ignore[method-assign]
        assert at_line(lambda: op.push_many(columns(50)), 140 + stop % 60).interrupted
        assert state(op) == before
        op._check()


def test_a_state_that_can_not_be_brought_back_is_told_by_each_later_call(engine: str) -> None:
    op = Keyed(PLAIN, key="sym", window=20, engine=engine)
    op.push(tick(8, 1))
    op._core.engine.rollback = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(ZeroDivisionError):
        op.push_many([tick(8, 2), insert_nothing()])
    for call in (lambda: op.push(tick(8, 3)), op.snapshot, lambda: op.statistics, lambda: op.push_arc(SWAPPED)):
        with pytest.raises(
            AfaError, match=r"expected a state that an interrupted call can be taken back from but got ZeroDivision"
        ):
            call()  # type: ignore[operator]


def insert_nothing() -> Any:
    return tick(8, 2)._replace(le=None)


def test_a_function_of_the_operator_can_not_call_it(engine: str) -> None:
    found: list[str] = []

    def call_back(change: Any) -> None:
        for call in (lambda: op.push(tick(8, 30)), lambda: op.statistics, op.snapshot, lambda: op.push_many(columns(3))):
            with pytest.raises(AfaError, match=r"expected a call from outside but got one from within a call of the same operator"):
                call()  # type: ignore[operator]
            found.append("refused")

    op = Keyed(PLAIN, key="sym", window=20, engine=engine, late=call_back)
    op.push(Punctuation(9))
    assert op.push(tick(8, 3)) == []
    assert len(found) == 4
    assert op.statistics.late == 1
    op.push(tick(8, 10))
    op._check()


def test_a_fence_can_not_call_its_operator(engine: str) -> None:
    calls: list[Any] = []

    def fence(e: Any, r: Any) -> bool:
        return all(call() is None for call in calls)  # what Python runs, for the kernels too

    own = Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", fence)], event=Tick)
    op = Operator(own, window=20, engine="auto" if engine == "compiled" else engine)
    op.push(tick(1, 1))
    before = state(op)
    for call in (lambda: op.push(tick(1, 2)), lambda: op.statistics, op._check, lambda: op.push_arc(Punctuation(3))):
        calls[:] = [call]
        with pytest.raises(AfaError, match=r"expected a call from outside but got one from within a call of the same operator"):
            op.push(tick(1, 3))
        with pytest.raises(AfaError, match=r"from within a call of the same operator"):
            op.push_many([tick(1, 3), tick(1, 2)])
        calls.clear()
        assert state(op) == before
    assert len(op.push(tick(1, 3))) == 1


def test_a_call_that_was_refused_leaves_none_open(engine: str) -> None:
    op = Keyed(PLAIN, key="sym", window=20, engine=engine)
    with contextlib.suppress(AfaError):
        op.push_many([tick(8, 1), insert_nothing()])
    assert op._core.calls.before is None
    assert op.statistics.changes == 0


def at_allocation(work: Any, number: int, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, Any]:
    """Carry out a call in which no memory is left for one of the arrays; whether it ended for that, and what it gave."""
    left = number

    def failing(function: Any) -> Any:
        def made(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise MemoryError("no more, for a test")
            return function(*args, **options)

        return made

    with monkeypatch.context() as patch:
        for name in ("array", "arange", "concatenate", "empty", "flatnonzero", "full", "unique", "where", "zeros"):
            patch.setattr(np, name, failing(getattr(np, name)))
        for name in ("heap", "words"):
            patch.setattr(reserve, name, failing(getattr(reserve, name)))
        try:
            return False, result(work)
        except MemoryError:
            return True, None


@pytest.mark.parametrize(
    "name",
    ["push", "table", "table of kinds", "keyed table", "keyed promise", "keyed arc", "keyed snapshot", "promise, some"],
)
def test_a_want_of_memory_leaves_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, number = KINDS[name], 1
    twin = kind.make("compiled")
    before, wanted, after = state(twin), result(lambda: kind.work(twin)), state(twin)
    op = kind.make("compiled")
    while True:
        ended, out = at_allocation(partial(kind.work, op), number, monkeypatch)
        op._check()
        found = state(op)
        if not ended:
            assert (out, found) == (wanted, after)
            if number > 300:
                break
            op = kind.make("compiled")
        else:
            assert found == before, f"{name}, allocation {number}: {_differs(found, before)}"
        number += 1 if number < 60 else 41


def test_an_interrupt_deep_in_the_tree_of_runs_is_told_as_itself() -> None:
    rng = random.Random(3)
    spans = [(PMatch(start, FOREVER, "x", ()), start + rng.choice([3, 30, 300])) for start in rng.sample(range(300), 40)]
    removed_in_turning, journal = 0, Journal()
    runs = Runs(journal, ordered=False)
    for p, end in spans:

        def work(p: PMatch = p, end: int = end) -> None:
            runs.cover(p, runs.after(p.start), end)

        journal.commit()
        before, stop = set(runs), 1
        while (ended := at_line(work, stop)).interrupted:
            removed_in_turning += _within(ended.out, "srotate") and _within(ended.out, "remove_interval_helper")
            journal.rollback()
            assert set(runs) == before
            stop += 1
    assert removed_in_turning > 5


def _within(error: BaseException, function: str) -> bool:
    return any(frame.name == function for frame in traceback.extract_tb(error.__traceback__))
