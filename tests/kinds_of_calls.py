"""A call of each kind, on an operator that has seen something: what is interrupted at each of its lines, and what threads do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa import Arc, Automaton, Keyed, Operator, Punctuation, insert, retract
from tests.automata import Count


class Tick(NamedTuple):
    sym: str
    x: int
    seq: int


def _odd(e: Any, r: Any) -> bool:
    return any(e.x == odd for odd in (1, 3, 5, 7))  # a comprehension: Python runs it for the kernels


def automaton(*, waits: bool = False, python: bool = False, epsilon: bool = False) -> Automaton:
    """Chains with an ignorable arc; with a time-out, an arc that Python runs, an epsilon arc."""
    arcs = [
        Arc("s", "up", "e.x > 5", "(r.n + 1,)", name="first"),
        Arc("up", "up", "e.x > 5", "(r.n + 1,)", name="more"),
        Arc("up", "up", "e.x == 0", name="skip"),
        Arc("up", "end", "e.x < 3 and e.x > 0", name="last"),
    ]
    arcs += [Arc.timeout("up", "end", "r.n + 40", name="late")] if waits else []
    arcs += [Arc("up", "end", _odd, name="odd")] if python else []
    arcs += [Arc.epsilon("end", "over", "r.n > 1", name="on")] if epsilon else []
    return Automaton(start="s", final={"end", "over"}, register=Count(), event=Tick, arcs=arcs)


SWAPPED = Arc("up", "end", "e.x == 4", name="swapped")
PLAIN, WAITS, PYTHON, EPSILON = automaton(), automaton(waits=True), automaton(python=True), automaton(epsilon=True)


def tick(x: int, le: int, sym: str = "a", seq: int = 0) -> Any:
    """One event."""
    return insert(Tick(sym, x, seq), le)


def history(n: int = 12) -> list[Any]:
    """Some events, in no order, of two keys; and a retraction that waits."""
    return [*(tick((i * 7) % 10, (i * 5) % 17, "ab"[i % 2], i) for i in range(n)), retract(Tick("a", 3, 99), 14)]


def columns(n: int, *, late: bool = True, keys: int = 3) -> dict[str, Any]:
    """A table of events, mostly in order."""
    le = np.arange(20, 20 + n)
    if late:
        le[::7] -= 3
    x = (np.arange(n) * 7) % 10
    return {"sym": np.array([f"k{i % keys}" for i in range(n)]), "x": x, "seq": np.arange(n), "le": le}


def mixed(n: int) -> dict[str, Any]:
    """The same with an arc that comes and goes and a punctuation among the rows."""
    table = columns(n)
    kind, arc, diff = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64)
    kind[n // 3], kind[n // 2], kind[2 * n // 3] = 1, 2, 1
    table["le"][n // 3] = table["le"][2 * n // 3] = np.iinfo(np.int64).min
    table["le"][n // 2] = 18
    diff[2 * n // 3] = -1
    return {**table, "kind": kind, "arc": arc, "diff": diff}


class Kind(NamedTuple):
    """A kind of call: how the operator is made (with which engine), and what is called."""

    make: Callable[[str], Any]
    work: Callable[[Any], Any]


def _operator(of: Automaton = PLAIN, *, first: Any = None, **options: Any) -> Callable[[str], Any]:
    def make(engine: str) -> Any:
        op = Operator(of, window=20, engine="auto" if of is PYTHON and engine == "compiled" else engine, **options)
        for item in history() if first is None else first:
            op.push(item)
        return op

    return make


def _keyed(of: Automaton = PLAIN, **options: Any) -> Callable[[str], Any]:
    def make(engine: str) -> Any:
        op = Keyed(of, key="sym", window=20, engine=engine, **options)
        for item in history():
            op.push(item)
        op.snapshot()
        op.push(tick(7, 9, "c"))
        return op

    return make


def end_of_arc(op: Any, arc: Arc, t: int) -> Any:
    """End an arc at an instant, as a table of arcs that is put in force does."""
    core = op._core
    found = core.arcs.table.find(arc, t)

    def work() -> Any:
        core.arcs.replace(core, core.arcs.table.ended(found, t), [found], [found._replace(re=t)])
        return core._collect(core.progress.final)

    return core.calls.call(work)


_ONLY = {"retractions": False}
_SETS = {"retractions": False, "keep_payloads": False}
_TICKS = history()[:-1]

_NAMED = [*(tick(x, le, seq=le) for le, x in enumerate([1, 7, 2, 8, 5, 1, 7, 3, 9, 2], start=1)), retract({"seq": 90})]

KINDS: dict[str, Kind] = {
    "push": Kind(_operator(), lambda op: op.push(tick(8, 21))),
    "push, late": Kind(_operator(), lambda op: op.push(tick(2, 6))),
    "push, behind the promise": Kind(_operator(first=[*history(), Punctuation(9)]), lambda op: op.push(tick(2, 6))),
    "push, python": Kind(_operator(PYTHON), lambda op: op.push(tick(8, 6))),
    "push, epsilon": Kind(_operator(EPSILON), lambda op: op.push(tick(2, 6))),
    "push, time-outs": Kind(_operator(WAITS), lambda op: op.push(tick(2, 60))),
    "push, sequence": Kind(_operator(order_by="seq"), lambda op: op.push(tick(2, 6, "a", 4))),
    "push, sets": Kind(_operator(first=_TICKS, **_SETS), lambda op: op.push(tick(2, 6))),
    "retract": Kind(_operator(), lambda op: op.push(retract(*tick(7, 5, "b", 1)[:2]))),
    "retract what is not there": Kind(_operator(), lambda op: op.push(retract(Tick("a", 8, 1), 5))),
    "retract by an id": Kind(_operator(first=_NAMED, id="seq"), lambda op: op.push(retract({"seq": 7}))),
    "ids, in a list": Kind(
        _operator(first=_NAMED, id="seq", late="drop"),
        lambda op: op.push_many(
            [retract({"seq": 7}), tick(8, 4, seq=41), tick(8, 21, seq=90), Punctuation(9), retract({"seq": 77})]
        ),
    ),
    "ids, in a table": Kind(
        _operator(first=_NAMED, id="seq"),
        lambda op: op.push_many([{**columns(30, late=False), "seq": np.arange(100, 130)}, retract({"seq": 103}), Punctuation(25)]),
    ),
    "ids that are texts, a snapshot": Kind(
        _operator(first=[*_NAMED[:-1], Punctuation(5)], id=("sym", "seq"), late="drop"), lambda op: op.snapshot()
    ),
    "arc": Kind(_operator(), lambda op: op.push_arc(insert(SWAPPED))),
    "arc, past": Kind(_operator(), lambda op: op.push_arc(insert(SWAPPED, 3, 9))),
    "arc ends": Kind(_operator(), lambda op: op.push_arc(retract(PLAIN.arcs[1]))),
    "arc ends in the past": Kind(_operator(WAITS), lambda op: end_of_arc(op, WAITS.arcs[1], 5)),
    "swap": Kind(_operator(), lambda op: op.swap("last", SWAPPED)),
    "swap in the past": Kind(_operator(WAITS), lambda op: op.swap("more", fence="e.x > 7", at=5)),
    "arc, sets": Kind(_operator(first=_TICKS, **_SETS), lambda op: op.push_arc(insert(SWAPPED))),
    "promise": Kind(_operator(), lambda op: op.push(Punctuation(9))),
    "promise, all": Kind(_operator(WAITS, late="drop"), lambda op: op.push(Punctuation(2**63 - 1))),
    "promise of arcs": Kind(_operator(arc_punctuation=True), lambda op: op.push_arc(Punctuation(9))),
    "promise, some": Kind(_operator(first=_TICKS, **_ONLY), lambda op: op.push(Punctuation(15, where="x > 3"))),
    "list": Kind(_operator(), lambda op: op.push_many([tick(8, 4), tick(1, 9), Punctuation(3), insert(SWAPPED), tick(2, 30)])),
    "list, step by step": Kind(_operator(), lambda op: op.push_many([tick(8, 4), Punctuation(3), tick(1, 9)], net=False)),
    "table": Kind(_operator(), lambda op: op.push_many(columns(40))),
    "table, Arrow": Kind(_operator(), lambda op: op.push_many(pa.table(columns(40, late=False)))),
    "table of kinds": Kind(_operator(), lambda op: op.push_many(mixed(40), arcs=[SWAPPED])),
    "table, sets": Kind(_operator(first=_TICKS, **_SETS), lambda op: op.push_many(columns(40))),
    "list of a table": Kind(_operator(), lambda op: op.push_many([columns(30), Punctuation(30)])),
    "table, step by step": Kind(_operator(), lambda op: op.push_many(columns(12), net=False)),
    "snapshot": Kind(_operator(), lambda op: op.snapshot()),
    "statistics": Kind(_operator(), lambda op: op.statistics),
    "keyed push": Kind(_keyed(), lambda op: op.push(tick(1, 16))),
    "keyed push, new key": Kind(_keyed(), lambda op: op.push(tick(8, 16, "new"))),
    "keyed table": Kind(_keyed(), lambda op: op.push_many(columns(60, keys=20))),
    "keyed table of kinds": Kind(_keyed(), lambda op: op.push_many(mixed(60), arcs=[SWAPPED])),
    "keyed promise": Kind(_keyed(), lambda op: op.push(Punctuation(12))),
    "keyed arc": Kind(_keyed(), lambda op: op.push_arc(insert(SWAPPED, 3, 9))),
    "keyed swap": Kind(_keyed(), lambda op: op.swap("last", fence="e.x < 5", transfer="(r.n + 100,)", at=5)),
    "keyed snapshot": Kind(_keyed(), lambda op: op.snapshot()),
    "keyed snapshot of changes": Kind(_keyed(), lambda op: op.snapshot(incremental=True)),
    "keyed statistics": Kind(_keyed(), lambda op: op.statistics),
    "keys": Kind(_keyed(), lambda op: op.keys),
}
"""By name."""
