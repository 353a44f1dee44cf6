"""Calls that are interrupted, at a line or at an instant: the state after them is that before or that after, never torn.

An operator is interrupted again and again, while a twin beside it gets the same calls and is left alone. What counts as the state
is all that can be asked of one: its snapshot, its statistics, the keys that it holds, and what waits in a stage around it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import intervaltree
import sortedcontainers

from afa import AfaError
from speculation.before_after import Around
from tests.around import Wrap, again
from tests.strategies import Choices
from tests.stress.generate import World
from tests.stress.run import call, counters, make, restored, saved

ROOT = Path(__file__).parents[1]
OURS = tuple(str(ROOT / folder) + os.sep for folder in ("afa", "punctuation", "speculation"))
BENEATH = tuple(str(Path(module.__file__).parent) + os.sep for module in (intervaltree, sortedcontainers))
"""State lies in structures of theirs, which are Python too."""


class Interrupt(BaseException):
    """What no part of the library may take for an error of its own."""


INTERRUPTS = (Interrupt, KeyboardInterrupt)
"""The second is what becomes of the first where ctypes has swallowed it."""


class Ended(NamedTuple):
    """How a call has ended: whether it was interrupted, what it returned or raised itself, and how many lines were run."""

    interrupted: bool
    out: Any
    lines: int


def at_line(work: Callable[[], Any], stop: int | None) -> Ended:
    """Carry out a call, and raise when so many lines of the library have been run; None: never.

    The collector of cycles rests meanwhile: the last lines of somebody else's object are no lines of this call, and an interrupt
    there goes nowhere.
    """
    lines = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(OURS + BENEATH):
            return None
        if event == "line":
            lines += 1
            if lines == stop:
                raise Interrupt(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return trace

    before, unraisable = sys.gettrace(), sys.unraisablehook
    sys.unraisablehook = lambda found: None
    collecting = gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        out = work()
    except INTERRUPTS as error:
        return Ended(True, error, lines)
    except Exception as error:
        sys.settrace(before)
        if stop is None or not isinstance(error, AfaError):
            raise
        return Ended(False, error, lines)
    finally:
        sys.settrace(before)
        sys.unraisablehook = unraisable
        if collecting:
            gc.enable()
    return Ended(False, out, lines)


def at_instant(work: Callable[[], Any], seconds: float) -> Ended:
    """Carry out a call, and raise after so much time, wherever it is then."""

    def handler(number: int, frame: Any) -> None:
        raise Interrupt

    unraisable = sys.unraisablehook
    sys.unraisablehook = lambda found: None
    handled = signal.signal(signal.SIGALRM, handler)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            out: Any = work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except INTERRUPTS as error:
        return Ended(True, error, 0)
    finally:
        signal.signal(signal.SIGALRM, handled)
        sys.unraisablehook = unraisable
    return Ended(False, out, 0)


class Side:
    """An operator of a world, perhaps with a stage around it."""

    def __init__(self, here: World, engine: str, wrap: Wrap | None) -> None:
        self.here, self.engine, self.wrap = here, engine, wrap
        self.handed: list[Any] = []
        late = self.handed.append if here.options["late"] == "callback" else here.options["late"]
        self.operator = make(here, engine, late)
        if wrap is not None:
            self.operator = wrap(self.operator)

    def save(self) -> None:
        """Go on with what a snapshot says."""
        if self.wrap is None:
            late = self.handed.append if self.here.options["late"] == "callback" else self.here.options["late"]
            self.operator = restored(self.here, self.operator, late, self.engine)
        elif not isinstance(self.operator.operator, Around):
            self.operator = again(self.here, self.operator, self.handed, self.engine)

    def state(self) -> Any:
        """All that can be asked of it."""
        stages, inner = [], self.operator
        while isinstance(inner, Around):
            stages.append((inner.stage.statistics, inner.stage.waiting(), inner.stage.numbers()))
            inner = inner.operator
        keys = sorted(map(repr, self.operator.keys)) if self.here.options["key"] else None
        core = self.operator._core
        rest = core.progress.marks(), core.arcs.table.events, sorted(map(repr, core.arcs.pending.items())), list(core.late.waiting)
        return counters(self.operator), saved(self.here, self.operator), keys, stages, rest

    def works(self, op: Any) -> list[Callable[[], Any]]:
        """What an operation calls, and what may be asked beside it."""
        items = self.here.items(op)
        asks = [lambda: self.operator.statistics, self.operator._check]
        if self.here.automaton.event:
            asks.append(self.operator.snapshot)
        return [lambda: call(self.here, self.operator, op, items), *asks]


def run(spec: dict[str, Any], engine: str, choose: Choices, interrupt: Any, tries: int, wrap: Wrap | None = None) -> int:
    """Run a world; ``interrupt(work, choose)`` each of its calls up to ``tries`` times. How many were interrupted.

    An `AssertionError` tells a call that has left a state which is neither the one before it nor the one after it, or an operator
    that goes on otherwise.
    """
    here, count = World(spec), 0
    side, twin = Side(here, engine, wrap), Side(here, engine, wrap)
    for number, op in enumerate(spec["ops"]):
        if op[0] == "save":
            side.save()
            twin.save()
            continue
        before = twin.state()
        assert side.state() == before, f"step {number}, {op}: the states differ before it"
        wanted = twin.works(op)[0]()
        after = twin.state()
        done = False
        for _ in range(tries):
            work, *asks = side.works(op)
            ask = choose.one([None, None, None, *asks])
            ended = interrupt(ask or work, choose)
            if not ended.interrupted and ask is None:
                assert ended.out == wanted, f"step {number}, {op}: {ended.out}, expected {wanted}"
            count += ended.interrupted
            where = f"step {number}, {op}, {'asked' if ask else 'pushed'}, at {ended.out}"
            try:
                side.operator._check()
                found = side.state()
            except Exception as error:
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
            if found == after and ask is None and (found != before or not ended.interrupted):
                done = True
                break
            assert found == before, f"{where}: torn: {_differs(found, before)}; after: {_differs(found, after)}"
        if not done:
            out = side.works(op)[0]()
            assert out == wanted, f"step {number}, {op}: {out}, expected {wanted}"
    assert side.state() == twin.state()
    return count


def _differs(found: Any, other: Any) -> str:
    return "; ".join(f"{a} != {b}" for a, b in zip(found, other) if a != b)


def somewhere(work: Callable[[], Any], choose: Choices) -> Ended:
    """Interrupt a call at a random line."""
    return at_line(work, choose.number(1, choose.one([10, 40, 150, 500, 2000])))


def sometime(work: Callable[[], Any], choose: Choices) -> Ended:
    """Interrupt a call at a random instant."""
    return at_instant(work, choose.number(1, choose.one([20, 100, 400, 2000])) * 1e-6)
