"""The memory of the compiled engine grows without bound, and where the system has no more, the call leaves no trace."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Keyed, Operator, Punctuation, insert, retract
from afa.compiled import memory, reserve
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.due_keys import put_deadlines
from tests.automata import Count
from tests.compiled.plain import plain
from tests.nojit import DISABLED

put_deadlines = plain(put_deadlines)

FEW, MANY = (500, 2_000) if DISABLED else (5_000, 400_000)


class E(NamedTuple):
    kind: int
    key: int


def pairs(timeout: bool = False) -> Automaton:
    """An event of kind 0, then any others, then one of kind 1; or a time-out."""
    arcs = [
        Arc("a", "b", lambda e, r: e.kind == 0, lambda e, r: Count(1)),
        Arc("b", "b", lambda e, r: e.kind != 1, lambda e, r: r._replace(n=r.n + 1)),
        Arc("b", "c", lambda e, r: e.kind == 1),
    ]
    if timeout:
        arcs.append(Arc.timeout("b", "c", lambda r: r.n + 5))
    return Automaton(start="a", final={"c"}, register=Count(), event=E, arcs=arcs)


def rows(n: int, le: int, kind: int) -> dict[str, Any]:
    return {"kind": np.full(n, kind), "key": np.arange(n), "le": np.full(n, le)}


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Address space is scarce: what grows is copied."""
    monkeypatch.setattr(reserve, "roomy", lambda: False)
    monkeypatch.setattr(memory, "HEAP", 1 << 10)


class Refusing:
    """An allocator that refuses one request, by its number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.refused, self._mapped = 0, -1, reserve.mapped
        monkeypatch.setattr(reserve, "mapped", self)

    def __call__(self, size: int) -> Any:
        self.asked += 1
        if self.asked == self.refused:
            raise MemoryError(f"expected {size:,} bytes of memory for the state of an operator but the system has no more")
        return self._mapped(size)


def calls() -> Iterator[tuple[str, Callable[[Keyed], Any]]]:
    n = FEW // 12
    yield "new keys", lambda op: op.push_many(rows(2 * n, 11, 0))
    yield "known keys", lambda op: op.push_many(rows(n, 12, 1))
    yield "one by one", lambda op: op.push_many([insert(E(k % 2, n + k), le=13) for k in range(300)])
    yield "late", lambda op: op.push_many(rows(n, 9, 0))
    yield "a promise", lambda op: op.push(Punctuation(30))
    yield "a push", lambda op: op.push(insert(E(0, -1), le=15))
    yield "an arc", lambda op: op.push_arc(retract(op.automaton.arcs[1], le=5))


@pytest.mark.parametrize("timeout", [False, True])
@pytest.mark.parametrize(("name", "call"), [pytest.param(name, call, id=name) for name, call in calls()])
def test_each_allocation_of_a_call_may_fail(
    scarce: None, monkeypatch: pytest.MonkeyPatch, name: str, call: Callable[[Keyed], Any], timeout: bool
) -> None:
    def filled() -> Keyed:
        op = Keyed(pairs(timeout), key="key", window=20, engine="compiled")
        op.push_many(rows(FEW // 12, 10, 0))
        return op

    wanted = filled()
    before = wanted.snapshot()
    call(wanted)
    after = wanted.snapshot()
    refusing, number = Refusing(monkeypatch), 0
    while True:
        number += 1
        op = filled()
        refusing.asked, refusing.refused = 0, number
        try:
            call(op)
        except MemoryError as error:
            assert "expected" in str(error)  # noqa: PT017  (it may work, too)
            refusing.refused = -1
            assert op.snapshot() == before
            op._check()
            call(op)
        refusing.refused = -1
        assert op.snapshot() == after
        op._check()
        if refusing.asked < number:
            break
    assert number > 1 or name not in ("new keys", "known keys")


def test_a_directory_may_be_interrupted_wherever_it_grows() -> None:
    keys, lines = memory.KEYS, 0
    deadlines = [(-5 * key, -7 * key) for key in range(keys)]
    while True:
        here = memory.EngineMemory(1, 1, 0, True)
        here.reach(keys)
        m = here.m
        for key, (act, clean) in enumerate(deadlines):
            m[m[k.Memory.dir] + key * k.KeyEntry.SIZE + k.KeyEntry.block] = 1
            put_deadlines(m, key, act, clean)
        left = lines = lines + 1

        def interrupt(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left
            if frame.f_code is not memory.EngineMemory._grow_directory.__code__:
                return None
            left -= event == "line"
            if not left:
                raise KeyboardInterrupt
            return interrupt

        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            here.reach(keys + 1)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        here.reach(2 * keys + 1)
        m = here.m
        entries = m[m[k.Memory.dir] :][: keys * k.KeyEntry.SIZE].reshape(keys, k.KeyEntry.SIZE)
        assert entries[:, k.KeyEntry.act : k.KeyEntry.clean + 1].tolist() == [list(each) for each in deadlines]
        least = np.array(deadlines).min(axis=0)
        for at in (m[k.Memory.minima], m[k.Memory.above]):
            assert (m[at : at + k.DeadlineRow.SIZE] <= least).all(), f"interrupted at line {lines}"
        if left > 0:
            break
    assert lines > 5


def test_a_promise_over_many_keys_and_one_more_event_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LASTING", {"undo": 1 << 12, "log": 1 << 8})
    op = Keyed(pairs(), key="key", window=20, engine="compiled")
    op.push_many(rows(MANY, 1, 0))
    used = op._core.engine.store.memory.used  # type: ignore[attr-defined]
    assert len(op.push_many(rows(MANY, 2, 1))["le"]) == MANY
    op.push(Punctuation(5))
    assert op._core.engine.store.memory.sizes["undo"] == 1 << 12  # type: ignore[attr-defined]
    op.push(Punctuation(40))
    assert op.statistics.keys == 0
    op.push_many(rows(MANY, 50, 0))
    assert op._core.engine.store.memory.used < 3 * used  # type: ignore[attr-defined]
    assert op.statistics.keys == MANY


def test_a_promise_that_fails_brings_all_keys_back() -> None:
    def refuse(change: Any) -> None:
        raise RuntimeError(change)

    op = Keyed(pairs(), key="key", window=20, engine="compiled", late=refuse)
    op.push_many(rows(FEW, 1, 0))
    op.push_many([retract(E(0, 5), le=8)])
    before = op.snapshot()
    for t in (9, 100):
        with pytest.raises(RuntimeError):
            op.push_many([Punctuation(5), insert(E(1, 3), le=7), Punctuation(t)])
        assert op.snapshot() == before
        op._check()


def test_an_undo_log_in_one_call_passes_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "ROOMS", dict.fromkeys(memory.SIZES, 1 << 12))
    op, lead = (Keyed(pairs(), key="key", window=20, engine="compiled") for _ in range(2))
    op.push_many(rows(2 * FEW, 1, 0))
    monkeypatch.undo()
    lead.push_many(rows(2 * FEW, 1, 0))
    for each in (op, lead):
        each.push_many([rows(2 * FEW, 2, 1), Punctuation(4)])
    assert op.snapshot() == lead.snapshot()
    op._check()


def test_the_directory_moves_in_a_call_that_fails() -> None:
    op = Keyed(pairs(), key="key", window=20, engine="compiled")
    op.push_many(rows(10, 5, 0))
    before = op.snapshot()
    with pytest.raises(Exception, match="expected re > le"):
        op.push_many(
            [
                *(insert(E(0, k), le=8) for k in range(10)),
                Punctuation(6),
                *(insert(E(0, k), le=8) for k in range(99)),
                insert(E(0, 0), le=9, re=9),
            ]
        )
    assert op.snapshot() == before
    op._check()
    op.push(Punctuation(40))
    assert op.statistics.keys == 0


@pytest.mark.parametrize("rest", [0, k.MOST])
def test_the_old_place_of_a_directory_serves_keys(rest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "REST", rest)
    op = Keyed(pairs(), key="key", window=20, engine="compiled")
    held = op._core.engine.store.memory  # type: ignore[attr-defined]
    op.push_many(rows(5_000, 5, 0))
    old, begin = int(held.m[k.Memory.dir]), int(held.m[k.Memory.top])
    assert not any(old <= page < old + 5_000 * k.KeyEntry.SIZE for page in free_pages(held.m))
    op.push_many(rows(9_000, 6, 0))  # which the directory has no room for
    assert held.m[k.Memory.dir] >= begin
    again = range(-(-old // k.PAGE) * k.PAGE, old + 8_192 * k.KeyEntry.SIZE - k.PAGE, k.PAGE)
    assert all(held.m[page + k.Page.size_class] >= 0 or page in free_pages(held.m) for page in again)
    assert any(held.m[page + k.Page.size_class] >= 0 for page in again)  # a cell lies there
    op._check()
    restored = Keyed.restore(pairs(), op.snapshot(), key="key")
    assert restored.snapshot() == op.snapshot()


def test_a_long_record_is_cleaned_once_much_of_it_goes() -> None:
    op, n = Keyed(pairs(), key="key", window=1, engine="compiled"), 40
    store = op._core.engine.store  # type: ignore[attr-defined]

    def words_at(t: int) -> int:
        """How many words each record has after a promise."""
        store.idle = 99  # rows enough for all keys to be looked at
        op.push(Punctuation(t))
        held = store.entries[:4, k.KeyEntry.block]
        (found,) = set((store.memory.m[-held] & k.HEAD_MASK).tolist())
        return int(found)

    op.push_many({"kind": np.full(4 * n, 2), "key": np.arange(4 * n) % 4, "le": np.arange(4 * n) // 4})
    most = words_at(0)
    assert words_at(n // 10) == most
    assert (half := words_at(n // 2)) < most
    assert words_at(n // 2 + 1) == half
    op._check()
    assert op.statistics.events == 4 * (n // 2 - 1)  # asked for, all is dropped that is final
    assert words_at(n // 2 + 1) < half
    op.push(Punctuation(2 * n))
    assert op.statistics.keys == 0


def free_pages(m: Any) -> list[int]:
    found, page = [], int(m[k.Memory.pages])
    while page:
        found.append(page)
        page = int(m[page + k.Page.next])
    return found


def test_a_heap_is_used_again_and_nothing_of_it_is_seen() -> None:
    reserve._kept.clear()
    want = None
    for _ in range(3):
        op = Operator(pairs(), window=20, engine="compiled")
        found = op.push_many({"kind": np.arange(300) % 3, "key": np.arange(300), "le": np.arange(300)})
        lists = [np.asarray(column).tolist() for column in found.values()]
        want = want or lists
        assert lists == want
        op._check()
        del op
        assert len(reserve._kept) == (1 if reserve.roomy() else 0)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    reserve._kept.clear()
    monkeypatch.setattr(reserve, "HEAPS", 2)
    ops = [Operator(pairs(), window=20, engine="compiled") for _ in range(5)]
    for op in ops:
        op.push(insert(E(0, 1), le=1))
    del ops, op
    assert len(reserve._kept) <= 2


LIMITED = """
import resource
import numpy as np
from afa import Keyed
from afa.compiled import memory
from tests.compiled.test_memory import pairs, rows

memory.REST = 0  # keys at rest hold less than the columns of a batch
told, plenty = set(), (1 << 42, resource.RLIM_INFINITY)
resource.setrlimit(resource.RLIMIT_AS, plenty)
for megabytes in (5, 30, 60, 120):
    op = Keyed(pairs(), key="key", window=20, engine="compiled")
    op.push_many(rows(1000, 10, 0))
    before = op.snapshot()
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (megabytes << 20), resource.RLIM_INFINITY))
    try:
        op.push_many(rows(200_000, 11, 0))
    except MemoryError as error:
        told.add(str(error))
    resource.setrlimit(resource.RLIMIT_AS, plenty)
    assert op.snapshot() == before, megabytes
    op._check()
    op.push_many(rows(1_000, 11, 0))
    op._check()
print(*told, sep="\\n")
"""


@pytest.mark.skipif(DISABLED or sys.platform != "linux", reason="slow without compiled kernels; asks /proc")
def test_the_end_of_memory_is_a_memory_error_and_leaves_no_trace() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert all(told), told
    assert any("bytes of memory for the state of an operator" in text for text in told), told


@pytest.mark.parametrize(
    "options", [{}, {"longest": True}, {"members": "le", "tell": "lineage"}, {"collapse": True}, {"having": "count('b') > 0"}]
)
def test_the_memory_is_free_at_once_when_nobody_holds_the_operator_any_more(options: Any) -> None:
    gc.collect()
    gc.disable()
    try:
        program = pairs()
        first = Keyed(program, key="key", window=20, engine="compiled", **options)
        first.push_many([insert(E(i, 1), i) for i in range(3)])
        op = copy.deepcopy(first)
        del first
        op.push_many([insert(E(i, 1), i + 3) for i in range(3)])
        op.push_arc(retract(program.arcs[1]))
        store = op._core.engine.store  # type: ignore[attr-defined]
        held = [weakref.ref(store), weakref.ref(store.memory)]
        del op, store
        assert [ref() for ref in held] == [None, None]
    finally:
        gc.enable()
