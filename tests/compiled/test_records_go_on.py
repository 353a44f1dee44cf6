"""Keys at rest to which rows come in order: the engines agree, whether a record is opened or goes on as it is.

Rows in columns, mostly in order by key, with late ones, promises, failed calls and restarts in between; loops are compiled at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Keyed, LateEventError, Punctuation
from afa.compiled import batches, memory, mixed_rows
from afa.compiled.kernel import layout as k
from afa.compiled.store import Store
from bench.queries import q1
from tests.lanes import sample


class E(NamedTuple):
    kind: int
    x: float


class R(NamedTuple):
    n: int = 0
    far: int = 0


def climbs() -> Automaton:
    """Long lists: each event begins, and goes on in two ways; registers small and large."""
    return Automaton(
        arcs=[
            Arc("start", "a", lambda e, r: e.kind < 2, lambda e, r: R(e.kind, 0)),
            Arc("a", "a", lambda e, r: e.kind == 1, lambda e, r: R(r.n + 1, r.far + 1_000_000_007)),
            Arc("a", "b", lambda e, r: e.kind > r.n),
        ],
        start="start",
        final=["b"],
        register=R(),
        event=E,
    )


ENGINES: Any = ("interpreted", "compiled")
AUTOMATA = {"q1": q1, "climbs": climbs}


def batch(rng: Any, name: str, n: int, keys: int, begin: int) -> dict[str, Any]:
    le = begin + np.sort(rng.integers(0, 3 * n, n))
    late = rng.random(n) < rng.choice([0, 0, 0.1])
    le[late] = begin + rng.integers(0, 3 * n, int(late.sum()))
    found = {"key": rng.integers(0, keys, n), "le": le}
    if rng.random() < 0.3:
        found["re"] = le + rng.integers(1, 60, n)
    if name == "q1":
        change = rng.normal(0, 1, n).round(2)
        return {**found, "price": 100 + change, "change": change}
    return {**found, "kind": rng.integers(0, 4, n), "x": rng.normal(0, 1, n)}


def rows_of(out: dict[str, Any]) -> Counter[Any]:
    return Counter(zip(*(np.asarray(column).tolist() for column in out.values())))


def world(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(AUTOMATA)))
    monkeypatch.setattr(memory, "REST", int(rng.choice([0, 20, 60, k.MOST, k.MOST])))
    automaton, window, keys = AUTOMATA[name](), int(rng.choice([20, 200, 10**12])), int(rng.choice([1, 4, 30]))
    ops = [Keyed(automaton, key="key", window=window, engine=engine) for engine in ENGINES]
    begin = 0
    for _ in range(12):
        n = int(rng.choice([1, 5, 40, 120]))
        rows = batch(rng, name, n, keys, begin)
        outs = [op.push_many(dict(rows)) for op in ops]
        assert rows_of(outs[0]) == rows_of(outs[1]), seed
        begin += int(rng.choice([0, n, 3 * n]))
        if rng.random() < 0.3:
            failed = dict(batch(rng, name, 40, keys, begin + 200), le=np.append(begin + 200 + np.arange(39), -(10**6)))
            failed.pop("re", None)
            for op in ops:  # its last row is late
                op.push(Punctuation(-(10**5)))
                with pytest.raises(LateEventError):
                    op.push_many(failed)
        if rng.random() < 0.3:
            assert ops[0].push(Punctuation(begin)) == ops[1].push(Punctuation(begin))
        if rng.random() < 0.2:
            blobs = [op.snapshot() for op in ops]
            assert blobs[0] == blobs[1], seed
            ops = [Keyed.restore(automaton, blob, key="key", engine=engine) for blob, engine in zip(blobs, ENGINES)]
        ops[1]._check()
    assert ops[0].snapshot() == ops[1].snapshot()


@sample(16, 5000)
def test_worlds(at_once: None, numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in numbers:
        world(seed, monkeypatch)


def taken_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Calls in parts that fail at their end, when many records have grown: all is as before. What the undo log had."""
    rng, seen = np.random.default_rng(seed), set()
    tell = Store.tell

    def told(store: Store, what: int, t: int = 0) -> None:
        owed = int(store.memory.w[k.Scratch.owed])
        if what == k.ROLLBACK and owed:
            seen.add("spelt out before" if owed < 0 else "grown")
        tell(store, what, t)

    monkeypatch.setattr(Store, "tell", told)
    for name, few in (("CHUNK", [4, 8192]), ("KEYED_CHUNK", [20, 60, 1 << 18])):
        monkeypatch.setattr(batches, name, int(rng.choice(few)))
    name, keys, window = str(rng.choice(list(AUTOMATA))), int(rng.choice([5, 40, 150])), int(rng.choice([200, 10**9]))
    threads, begin = [{}, {"threads": int(rng.choice([1, 3]))}], 0
    ops = [Keyed(AUTOMATA[name](), key="key", window=window, engine=engine, **more) for engine, more in zip(ENGINES, threads)]
    for op in ops:
        op.push(Punctuation(-100))
    for _ in range(8):
        rows = batch(rng, name, int(rng.choice([30, 120, 300])), keys, begin)
        bad = {field: np.append(column, column[-1:]) for field, column in rows.items()}
        bad["le"][-1] = -101
        before = ops[1].snapshot() if rng.random() < 0.5 else None
        for op in ops:
            with pytest.raises(LateEventError):
                op.push_many(dict(bad))
        assert before is None or ops[1].snapshot() == before, seed
        ops[1]._check()
        if rng.random() < 0.7:
            outs = [op.push_many(dict(rows)) for op in ops]
            assert rows_of(outs[0]) == rows_of(outs[1]), seed
            begin += int(rng.choice([0, 100, 1000]))
        if rng.random() < 0.3:
            assert ops[0].push(Punctuation(begin - 20)) == ops[1].push(Punctuation(begin - 20))
    assert ops[0].snapshot() == ops[1].snapshot(), seed
    return seen


@sample(16, 5000)
def test_records_that_have_grown_are_taken_back(at_once: None, numbers: range, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [each for seed in numbers for each in taken_back(seed, monkeypatch)]
    assert {"grown", "spelt out before"} <= set(seen)


@pytest.mark.parametrize("threads", [1, 3])
def test_records_that_grow_and_are_cleaned_in_one_call_are_taken_back(
    at_once: None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a batch that promises its end: by the second one, what the first one has made longer is over."""
    n = 64
    for module, name in ((batches, "KEYED_CHUNK"), (batches, "CHUNK"), (mixed_rows, "STEP")):
        monkeypatch.setattr(module, name, n)
    op = Keyed(q1(), key="key", window=1000, engine="compiled", threads=threads)

    def rows(le: Any) -> dict[str, Any]:
        return {"key": np.arange(len(le)) % n, "price": 9.5 + np.arange(len(le)), "change": np.full(len(le), -1.0), "le": le}

    for turn in range(3):
        op.push_many(rows(np.arange(n) + n * turn))
    before = op.snapshot()
    failing = rows(np.append(2 * n + 1 + np.arange(4 * n), [999, 998]))  # the last one is late
    failing["kind"] = np.append(np.zeros(4 * n, np.int8), np.array([2, 0], np.int8))
    with pytest.raises(LateEventError):
        op.push_many(failing)
    assert op.snapshot() == before
    op._check()
