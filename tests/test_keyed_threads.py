"""`Keyed(.., threads=n)`: output, snapshots, statistics and errors of one thread, to the byte; and what else threads meet."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import AfaError, Arc, Automaton, Keyed, Punctuation, insert, query, retract
from afa.compiled import batches, key_numbers, router, workers
from afa.compiled.kernel import layout as k
from afa.compiled.router import Router
from afa.operator.call import Core
from tests.automata import Count
from tests.kinds_of_calls import KINDS, PLAIN, PYTHON, SWAPPED, WAITS, Tick, columns, mixed, tick
from tests.lanes import sample
from tests.strategies import Choices, Seeded
from tests.stress import generate
from tests.stress.generate import BATCHES, World, on_arcs
from tests.stress.run import counters
from tests.stress.tables import push, push_list
from tests.test_interrupts import each_line

FORKS = hasattr(os, "fork")
THREADS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for calls of any size, and chunks of a few rows."""
    monkeypatch.setattr(router, "FEW", 0)
    monkeypatch.setattr(batches, "KEYED_CHUNK", 16)
    monkeypatch.setattr(key_numbers, "MANY", 8)


def plain(out: Any) -> Any:
    """What a call returns, as text that says all of it."""
    if isinstance(out, dict):
        return repr({name: list(column) for name, column in out.items()})
    return [plain(part) for part in out] if isinstance(out, list) else repr(out)


def ended(work: Callable[[], Any]) -> Any:
    """How a call ends: what it returns, or its error."""
    try:
        return plain(work())
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", None)


def same(found: list[Any]) -> None:
    assert all(other == found[0] for other in found), found


def alike(ops: list[Any]) -> None:
    """All that can be asked of operators is the same."""
    for ask in (lambda op: op.keys, counters, lambda op: op.snapshot()):
        same([ended(lambda op=op, ask=ask: ask(op)) for op in ops])
    for op in ops:
        op._check()


# -- random worlds ---------------------------------------------------------------------------------------------------------------


def world(choose: Choices) -> int:
    """Carry out a random world with one, two and three threads. Returns how many calls there were."""
    spec = generate.world(choose, 24)
    if not spec["automaton"]["event"]:
        return 0
    spec["options"]["key"] = choose.one(["seq", "kind"])
    here = World(spec)
    names = ("window", "order_by", "arc_punctuation", "key")
    options = {name: spec["options"][name] for name in names}
    late = "drop" if spec["options"]["late"] == "callback" else spec["options"]["late"]
    ops = [Keyed(here.automaton, **options, late=late, engine="compiled", threads=n) for n in THREADS]
    arcs = here.pool[len(here.automaton.arcs) :]
    for op in spec["ops"]:
        if op[0] == "save":
            blobs = [each.snapshot() for each in ops]
            assert blobs[0] == blobs[1] == blobs[2]
            ops = [
                Keyed.restore(here.automaton, blob, key=options["key"], arcs=arcs, late=late, engine="compiled", threads=n)
                for n, blob in zip(THREADS, blobs[::-1])
            ]
        else:
            outs = [ended(lambda each=each, op=op: carried_out(here, each, op)) for each in ops]
            assert outs[0] == outs[1] == outs[2], op
        alike(ops)
    return len(spec["ops"])


def carried_out(here: World, operator: Any, op: Any) -> Any:
    """One operation."""
    items = [here.item(each) for each in (op[1] if op[0] in BATCHES else [op])]
    if op[0] == "batch":
        return operator.push_many(items, net=op[2])
    if op[0] in BATCHES:
        return (push if op[0] == "table" else push_list)(here, operator, items, net=op[2])
    return (operator.push_arc if on_arcs(op) else operator.push)(items[0])


@sample(14, 5000)
def test_worlds(numbers: range) -> None:
    calls = 0
    for number in numbers:
        try:
            calls += world(Seeded(f"threads/{number}"))
        except AssertionError as error:
            raise AssertionError(f"world {number}: {error}") from error
    assert calls > 12 * len(numbers)


def table(choose: Any, low: int, n: int, keys: int) -> dict[str, Any]:
    """Rows of many keys, mostly in order, some of them retractions of rows before."""
    le = low + np.sort(choose.integers(0, n, n))
    le[choose.integers(0, n, n // 8)] -= choose.integers(0, 9, n // 8)
    sym = np.array([f"k{i}" for i in choose.integers(0, keys, n)])
    found = {"sym": sym, "x": choose.integers(0, 10, n), "seq": np.arange(low, low + n), "le": np.maximum(le, low - 5)}
    again = choose.integers(0, n, n // 10)
    return {
        **{name: np.concatenate([column, column[again]]) for name, column in found.items()},
        "diff": np.concatenate([np.ones(n, np.int64), np.full(len(again), choose.choice([1, -1]), np.int64)]),
    }


@pytest.mark.parametrize("of", [PLAIN, WAITS], ids=["plain", "time-outs"])
@pytest.mark.parametrize("options", [{}, {"order_by": "seq"}, {"retractions": False, "keep_payloads": False}], ids=str)
def test_tables_of_many_keys(at_once: None, of: Automaton, options: dict[str, Any]) -> None:
    """Step functions and loops from the first row on."""
    if options.get("keep_payloads") is False:
        of = Automaton(start="s", final={"end"}, event=Tick, arcs=[Arc("s", "u", "e.x > 5"), Arc("u", "end", "e.x < 3")])
    choose = np.random.default_rng(5)
    ops = [Keyed(of, key="sym", window=20, engine="compiled", late="drop", threads=n, **options) for n in THREADS]
    for step in range(8):
        rows = table(choose, 100 * step, 100, 30)
        if not options.get("retractions", True):
            rows["diff"] = np.abs(rows["diff"])
        net = step % 3 > 0
        promise = [Punctuation(100 * step + 60)] if step % 2 else []
        outs = [plain(op.push_many([rows, *promise], net=net)) for op in ops]
        assert outs[0] == outs[1] == outs[2], step
        if step == 4 and of.arcs[1].name:
            same([plain(op.swap(of.arcs[1].name, fence="e.x > 4", at=430)) for op in ops])
        blobs = [op.snapshot(incremental=step % 2 > 0) for op in ops]
        assert blobs[0] == blobs[1] == blobs[2], step
    alike(ops)


def test_arcs_and_promises_among_the_rows() -> None:
    ops = [Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in THREADS]
    for net in (True, False):
        outs = [ended(lambda op=op, net=net: op.push_many(mixed(90), arcs=[SWAPPED], net=net)) for op in ops]
        assert outs[0] == outs[1] == outs[2]
    alike(ops)


def test_what_an_arc_among_rows_changes_comes_before_what_the_next_row_does() -> None:
    """The arc's matches are later than those that the row takes back, and of other keys."""
    sees = Automaton(start="s", final={"end"}, event=Tick, arcs=[Arc("s", "up", "e.x == 1"), Arc("up", "end", "e.x == 2")])
    ops = [Keyed(sees, key="sym", window=20, engine="compiled", threads=n) for n in THREADS]
    again = Arc("s", "end", "e.x == 7", name="again")
    first = {"sym": ["a", "b", "a", "b", "c"], "x": [1, 1, 2, 2, 7], "seq": [0, 1, 2, 3, 4], "le": [1, 2, 3, 4, 15]}
    then = {"kind": [1, 0], "arc": [0, 0], "le": [0, 1], "sym": ["a", "a"], "x": [0, 1], "seq": [0, 0], "diff": [1, -1]}
    outs = []
    for op in ops:
        op.push_many(first)
        found = op.push_many(then, arcs=[again], net=False)
        outs.append([list(map(int, found[name])) for name in ("le", "diff")])
    assert outs == [[[15, 3], [1, -1]]] * 3


# -- errors ----------------------------------------------------------------------------------------------------------------------


def _bad(e: Any, r: Any) -> bool:
    return any(e.x == good for good in (1, 2, 3)) or 1 // (e.x - 9) < 0  # a comprehension: Python runs it


FAILS = Automaton(start="s", final={"end"}, register=Count(), event=Tick, arcs=[Arc("s", "end", _bad, "(r.n + 1,)")])


@pytest.mark.parametrize("net", [True, False])
def test_the_error_is_that_of_one_thread(net: bool) -> None:
    """Several keys fail, in memories of their own: the one is told that would have been the first."""
    choose = np.random.default_rng(3)
    ops = [Keyed(FAILS, key="sym", window=20, threads=n) for n in THREADS]
    assert isinstance(ops[1]._core.engine.store, Router)
    met = set()
    for step in range(40):
        rows = table(choose, 50 * step, 50, 20)
        rows["x"] = np.where(rows["x"] == 9, 8 + (choose.random(len(rows["x"])) < 0.3), rows["x"])
        outs = [ended(lambda op=op, rows=rows: op.push_many(rows, net=net)) for op in ops]
        assert outs[0] == outs[1] == outs[2], step
        met.add(outs[0][0] if isinstance(outs[0], tuple) else None)
    assert met == {None, ZeroDivisionError}
    alike(ops)


def test_a_late_row_and_ties_are_told_alike() -> None:
    single = Automaton(start="s", final={"end"}, event=Tick, arcs=[Arc("s", "end", "e.x > 5")], ties=False)
    for of in (PLAIN, single):
        ops = [Keyed(of, key="sym", window=20, engine="compiled", threads=n) for n in THREADS]
        for op in ops:
            op.push_many([columns(40, late=False, keys=9), Punctuation(30)])
        rows = columns(40, keys=9)
        rows["le"] += 20
        rows["le"][[30, 33, 36]] = rows["le"][[21, 24, 27]]
        outs = [ended(lambda op=op, rows=rows: op.push_many(rows)) for op in ops]
        assert outs[0] == outs[1] == outs[2]
        rows["le"][20] = 3
        outs = [ended(lambda op=op, rows=rows: op.push_many(rows)) for op in ops]
        assert outs[0] == outs[1] == outs[2]
        assert isinstance(outs[0], tuple)
        alike(ops)


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_promise_among_rows_comes_before_them_if_any_key_waits(key: str) -> None:
    """Whichever store has it: the retraction is told whose insertion can't come any more, and not the late row behind it."""
    ops = [Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in THREADS]
    for op in ops:
        op.push_many([tick(8, 5, "a"), tick(8, 5, "b")])
        op.push(retract(Tick(key, 3, 9), 6))
    rows = {"kind": [0, 2, 0], "sym": ["a"] * 3, "x": [1, 0, 1], "seq": [1, 0, 2], "le": [20, 15, 3]}
    outs = [ended(lambda op=op: op.push_many(rows)) for op in ops]
    same(outs)
    assert "got its retraction only" in outs[0][1]
    alike(ops)


def test_states_have_numbers_of_their_own_in_each_store() -> None:
    """As after an interrupt in the midst of a change of arcs."""
    one, two = (Keyed(PLAIN, key="sym", window=90, engine="compiled", threads=n) for n in (1, 2))
    two._core.engine.store.stores[1].arcs.state_number("elsewhere")  # type: ignore[attr-defined]
    for op in (one, two):
        op.push_arc(insert(Arc("s", "new", "e.x == 4", "(r.n + 1,)", name="new")))
        op.push_many([*(tick(x, 5, key) for key, x in zip("abcd", (4, 4, 8, 8))), Punctuation(9)])
        assert op.partial_matches_by_state == {"new": 2, "up": 2}
    alike([one, two])


def test_one_memory_that_does_not_grow_fails_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in (1, 2))
    for op, store in ((one, one._core.engine.store), (two, two._core.engine.store.stores[1])):  # type: ignore[attr-defined]
        op.push_many(columns(20))
        with monkeypatch.context() as patch:
            patch.setattr(store.memory, "provide", _refused)
            main = store._main
            patch.setattr(store, "_main", lambda *call, main=main: k.NEED_HEAP if call[3] in (k.GROUPS, k.RUN) else main(*call))
            with pytest.raises(MemoryError, match="no more"):
                op.push_many(columns(500, keys=40))
    alike([one, two])
    assert plain(one.push_many(columns(500, keys=40))) == plain(two.push_many(columns(500, keys=40)))
    alike([one, two])


def _refused(status: int) -> bool:
    raise MemoryError("no more, for a test")


@pytest.mark.parametrize("threads", [0, -1, 2.0, True, "2", None])
def test_what_is_no_number_of_threads(threads: Any) -> None:
    with pytest.raises(AfaError, match="expected a number of threads, at least 1, but got threads="):
        Keyed(PLAIN, key="sym", threads=threads)
    with pytest.raises(AfaError, match="expected a number of threads, at least 1, but got threads="):
        Keyed.restore(PLAIN, Keyed(PLAIN, key="sym").snapshot(), key="sym", threads=threads)


# -- interrupts, threads, forks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KINDS if name.startswith("key")])
def test_interrupts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    init = Core.__init__
    monkeypatch.setattr(
        Core, "__init__", lambda self, automaton, options, **more: init(self, automaton, options.but(threads=2), **more)
    )
    assert each_line(name, "compiled", 12) > 0


def test_threads_wait_for_each_other() -> None:
    """Several callers of one operator, and of others at the same time."""
    ops = [Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in (2, 3)]

    def work(op: Keyed, low: int) -> None:
        for step in range(20):
            rows = columns(50, keys=17)
            rows["sym"] = np.char.add(rows["sym"], f"/{low}")
            rows["le"] += 50 * step
            op.push_many(rows)

    callers = [threading.Thread(target=work, args=(op, low)) for op in ops for low in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    alone = Keyed(PLAIN, key="sym", window=20)
    for low in range(3):
        work(alone, low)
    blobs = [op.snapshot() for op in (*ops, alone)]
    assert blobs[0] == blobs[1]
    found = [Keyed.restore(PLAIN, blob, key="sym").statistics for blob in blobs]
    assert found[0].keys == found[2].keys > 0


@pytest.mark.skipif(not FORKS, reason="no fork here")
@pytest.mark.parametrize("busy", [False, True])
def test_a_fork_has_the_state_between_two_calls_and_goes_on(busy: bool) -> None:
    """Also where another thread is in the midst of a call: then the fork takes that back."""
    op, twin = (Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in (3, 1))
    for each in (op, twin):
        each.push_many(columns(60, keys=20))
    expected = plain(twin.push_many(columns(30, keys=20)))
    going = True

    def work() -> None:
        while going:
            op.statistics  # noqa: B018  (it runs kernels in threads)

    other = threading.Thread(target=work)
    if busy:
        other.start()
        time.sleep(0.02)
    try:
        for _ in range(5):
            child = os.fork()
            if not child:
                code = 1
                try:
                    code = 0 if plain(op.push_many(columns(30, keys=20))) == expected else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        going = False
        if busy:
            other.join()
    assert plain(op.push_many(columns(30, keys=20))) == expected


def test_jobs_that_no_thread_takes_are_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_need", lambda threads: None)
    monkeypatch.setattr(workers, "_queue", workers.SimpleQueue())
    ops = [Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in THREADS]
    same([plain(op.push_many(columns(60, keys=20))) for op in ops])
    alike(ops)


def test_copies_pickles_and_restores() -> None:
    op, one = (Keyed(PLAIN, key="sym", window=20, engine="compiled", threads=n) for n in (2, 1))
    for each in (op, one):
        each.push_many(columns(60, keys=20))
        each.snapshot()
        each.push_many([tick(8, 70, "new"), tick(8, 71, "k3")])
    same([each.snapshot(incremental=True) for each in (copy.deepcopy(op), copy.deepcopy(one))])
    others = [copy.deepcopy(op), pickle.loads(pickle.dumps(op))]
    assert [other._core.options.threads for other in others] == [2, 2]
    assert isinstance(others[1]._core.engine.store, Router)
    restored = [Keyed.restore(PLAIN, op.snapshot(), key="sym", threads=n) for n in (1, 3)]
    rows = columns(60, keys=20)
    rows["le"] += 60
    outs = [plain(each.push_many(rows)) for each in (op, *others, *restored)]
    assert all(sorted(out) == sorted(outs[0]) for out in outs)
    same([each.snapshot() for each in (op, *others, *restored)])


def test_queries() -> None:
    text = "PATTERN SEQ(Tick a, Tick b) WHERE {} a.x > 5 and b.x < 3 WITHIN 20 RETURN a.x, b.x"
    keyed, plain_one = query(text.format("[sym] and"), event=Tick), query(text.format(""), event=Tick)
    ops: list[Any] = [keyed.operator(engine="compiled", threads=n) for n in THREADS]
    same([plain(op.push_many(columns(60, keys=9))) for op in ops])
    ops = [keyed.restore(op.snapshot(), engine="compiled", threads=n) for op, n in zip(ops, (2, 3, 1))]
    assert isinstance(ops[0]._core.engine.store, Router)
    alike(ops)
    refused = "expected a key, as threads share out its values, but got threads=2 without one"
    with pytest.raises(AfaError, match=refused):
        plain_one.operator(threads=2)
    with pytest.raises(AfaError, match=refused):
        plain_one.restore(plain_one.operator(threads=1).snapshot(), threads=2)


def test_one_thread_serves_where_more_are_of_no_use() -> None:
    for options in ({"engine": "interpreted"}, {"gapless": "seq"}):
        op = Keyed(PLAIN, key="sym", window=20, threads=4, **options)  # type: ignore[arg-type]
        assert not isinstance(getattr(op._core.engine, "store", None), Router)
        assert op.push_many([tick(8, 1, seq=1), tick(2, 2, seq=2)]) != []


def test_an_arc_that_python_runs() -> None:
    ops = [Keyed(PYTHON, key="sym", window=20, late="drop", threads=n) for n in THREADS]
    for op in ops:
        op.push(retract(Tick("k1", 3, 99), 30))
    for step in range(3):
        rows = columns(50, keys=7)
        rows["le"] += 40 * step
        same([plain(op.push_many([rows, insert(SWAPPED), Punctuation(40 * step)])) for op in ops])
    alike(ops)


class Word(NamedTuple):
    word: str = ""


class Named(NamedTuple):
    who: int
    name: str


@pytest.mark.parametrize("threads", [1, 2])
def test_matches_at_one_time_come_in_the_order_of_their_texts(threads: int) -> None:
    """Whatever texts came before, and so have smaller numbers."""
    arc = Arc("a", "c", lambda e, r: True, lambda e, r: Word(e.name))
    one = Automaton(start="a", final={"c"}, arcs=[arc], register=Word(), event=Named)
    for names in (["b", "c", "a"], ["c", "a", "b"]):
        op = Keyed(one, key="who", window=9, engine="compiled", threads=threads)
        op.push_many([insert(Named(7, name), 1) for name in names])
        out = op.push_many({"who": np.full(3, 1), "name": ["c", "a", "b"], "le": np.full(3, 5)})
        assert [str(word) for word in out["word"]] == ["a", "b", "c"]


def test_after_a_restore_keys_are_forgotten_at_the_same_calls() -> None:
    """So that new keys get the same numbers, by which matches of one time are in order."""
    one = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "x > 0")])
    first = Keyed(one, key="sym", window=2)
    first.push_many([tick(1, i, f"k{i}") for i in range(6)])
    blob, found = first.snapshot(), []
    for threads in (1, 2, 3):
        op = Keyed.restore(one, blob, key="sym", threads=threads)
        op.push_many(at_once([f"n{i}" for i in range(5)], 6))
        op.push(Punctuation(19))
        found.append(list(op.push_many(at_once([f"m{i}" for i in range(9)] + [f"n{i}" for i in range(4, -1, -1)], 21))["sym"]))
    assert found[0] == found[1] == found[2]


def at_once(keys: list[str], le: int) -> dict[str, Any]:
    """An event of each of some keys, all at one instant."""
    n = len(keys)
    return {"sym": keys, "x": np.ones(n, np.int64), "seq": np.zeros(n, np.int64), "le": np.full(n, le)}
