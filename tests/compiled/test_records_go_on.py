"""Keys at rest to which rows come in order: the engines agree, whether a record is opened, goes on as it is, or is a block always.

Rows in columns, mostly in order by key, with late ones, promises, failed calls and restarts in between; loops are compiled at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest

from afa import Arc, Automaton, Keyed, LateEventError, Punctuation
from afa.compiled import batches, memory, mixed_rows
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.blocks import empty_head
from afa.compiled.kernel.packed_keys import flags_of, read_flags, write_flags
from afa.compiled.store import Store
from bench.queries import q1, q3
from tests.compiled.plain import plain
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
AUTOMATA = {"q1": q1, "q3": q3, "climbs": climbs}


def batch(rng: Any, name: str, n: int, keys: int, begin: int) -> dict[str, Any]:
    le = begin + np.sort(rng.integers(0, 3 * n, n))
    late = rng.random(n) < rng.choice([0, 0, 0.1])
    le[late] = begin + rng.integers(0, 3 * n, int(late.sum()))
    found = {"key": rng.integers(0, keys, n) if rng.random() < 0.7 else np.arange(n) % keys, "le": le}
    if rng.random() < 0.3:
        found["re"] = le + rng.integers(1, 60, n)
    if name != "climbs":
        change = rng.normal(0, 1, n).round(rng.choice([0, 2, 6]))
        change[rng.random(n) < 0.02] = -0.0
        return {**found, "price": 100 + change, "change": change}
    return {**found, "kind": rng.integers(0, 4, n), "x": rng.normal(0, 1, n)}


def rows_of(out: dict[str, Any]) -> Counter[Any]:
    return Counter(zip(*(np.asarray(column).tolist() for column in out.values())))


def made(rest: int, make: Any, *given: Any, **options: Any) -> Any:
    """An operator whose keys go to rest in up to so many words."""
    with mock.patch.object(memory, "REST", rest):
        return make(*given, key="key", **options)


def world(seed: int) -> int:
    """The interpreted engine, and the compiled one with blocks alone and with records: how many keys were at rest."""
    rng = np.random.default_rng(seed)
    name, resting = str(rng.choice(list(AUTOMATA))), 0
    sides = ("interpreted", 0), ("compiled", 0), ("compiled", int(rng.choice([20, 40, 60, k.MOST, k.MOST])))
    automaton, window, keys = AUTOMATA[name](), int(rng.choice([12, 20, 200, 10**12])), int(rng.choice([1, 4, 30]))
    ops = [made(rest, Keyed, automaton, window=window, engine=engine) for engine, rest in sides]
    begin = 0
    for _ in range(12):
        n = int(rng.choice([1, 5, 40, 120]))
        rows = batch(rng, name, n, keys, begin)
        outs = [op.push_many(dict(rows)) for op in ops]
        assert rows_of(outs[0]) == rows_of(outs[1]), seed
        assert [column.tolist() for column in outs[1].values()] == [column.tolist() for column in outs[2].values()], seed
        begin += int(rng.choice([0, n, 3 * n]))
        if rng.random() < 0.3:
            failed = dict(batch(rng, name, 40, keys, begin + 200), le=np.append(begin + 200 + np.arange(39), -(10**6)))
            failed.pop("re", None)
            for op in ops:  # its last row is late
                op.push(Punctuation(-(10**5)))
                with pytest.raises(LateEventError):
                    op.push_many(failed)
        if rng.random() < 0.3:
            one, *others = [op.push(Punctuation(begin)) for op in ops]
            assert others == [one, one]
        if rng.random() < 0.2:
            blobs = [op.snapshot() for op in ops]
            assert len(set(blobs)) == 1, seed
            ops = [made(rest, Keyed.restore, automaton, blob, engine=engine) for blob, (engine, rest) in zip(blobs, sides)]
        ops[1]._check()
        ops[2]._check()
        plain, records = (int((op._core.engine.store.entries[:, k.KeyEntry.block] < 0).sum()) for op in ops[1:])
        assert not plain
        resting += records
    assert len({op.snapshot() for op in ops}) == 1
    return resting


@sample(16, 5000)
def test_worlds(at_once: None, numbers: range) -> None:
    assert sum(map(world, numbers)) > 10 * len(numbers)


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


class Quote(NamedTuple):
    kind: int
    feed: int


class Seen(NamedTuple):
    quotes: int = 0


def kinds() -> Automaton:
    return Automaton(
        start="a",
        final={"c"},
        register=Seen(),
        event=Quote,
        arcs=[
            Arc("a", "b", lambda e, r: e.kind == 0),
            Arc("b", "b", lambda e, r: e.kind == 1, lambda e, r: r._replace(quotes=r.quotes + 1)),
            Arc("b", "c", lambda e, r: e.kind == 2),
        ],
    )


def test_what_is_promised_of_one_key_stays_promised(at_once: None, engine: str) -> None:

    def push(kind: Any, feed: Any, begin: int) -> None:
        n = len(feed)
        op.push_many({"kind": np.broadcast_to(kind, n), "feed": np.array(feed), "le": np.arange(begin, begin + n)})

    op = Keyed(kinds(), key="feed", window=500, retractions=False, engine=engine)
    push(2, [1] * 50, 10)
    push([0, 1, 1, 2, 2, 2], [1, 1, 1, 2, 3, 4], 61)
    op.push(Punctuation(200, "feed == 1"))
    op.push(Punctuation(115))
    op = Keyed.restore(kinds(), op.snapshot(), key="feed", engine=engine)
    push(1, [2, 1, 3], 210)
    assert "200" in str(op._core.engine.save().pruned)


def test_a_packed_key_has_each_word_of_the_header_that_says_something() -> None:
    """A word that is new in the header must be told by a flag, else the key loses it when it is packed."""
    m, b, to, packed = np.zeros(1200, np.int64), 800, 900, 1000
    m[k.Memory.gapless] = 1
    said = range(1, k.HEAD - k.Block.runs + 1)
    m[b + k.Block.runs : b + k.HEAD] = said
    flags = plain(flags_of)(m, b, 1)
    plain(write_flags)(m, b, packed, flags)
    plain(empty_head)(m, to)
    plain(read_flags)(m, packed, to, flags)
    assert m[to + k.Block.runs : to + k.HEAD].tolist() == [*said]
