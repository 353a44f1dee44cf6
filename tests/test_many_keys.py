"""Long streams over few instants and many keys, most of which wait for their cleaning: the engines agree, step by step.

The compiled engine cleans a key when it is touched; what a promise has made final must be final for it before that, too.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, Change, Keyed, Punctuation, insert, retract, sql
from afa.compiled import batches, choices
from afa.schema import Instant
from bench.queries import q1
from tests.automata import Count
from tests.lanes import sample
from tests.nojit import DISABLED
from tests.strategies import STATES, Seeded, arc, automaton, lifetime, width_of
from tests.text import E, arc_of, automaton_of

STEPS = 60


def final(kept: Counter[Any], out: list[Any]) -> None:
    """Take changes in: what is final is never withdrawn, and no match is in force twice."""
    for item in out:
        if isinstance(item, Change):
            kept[item.key, item.payload, item.le, item.re] += item.diff
            assert kept[item.key, item.payload, item.le, item.re] in (0, 1), item


def world(seed: int) -> None:
    """Carry out one random stream on both engines."""
    choose = Seeded(f"many keys {seed}")
    spec = automaton(choose, waits=True)
    arcs = [arc_of(arc(choose, width_of(spec), STATES, f"more {i}", waits=True)) for i in range(3)]
    program, window, keys = automaton_of({**spec, "event": "E"}), choose.one([2, 3, 9]), choose.one([1, 3, 12, 40])
    ops = [Keyed(program, key="seq", window=window, engine=engine, late="drop") for engine in ("interpreted", "compiled")]
    kept: list[Counter[Any]] = [Counter(), Counter()]
    held, promised = [], 0
    for step in range(STEPS):
        kind = choose.number(0, 9)
        if kind < 5:
            le, re = lifetime(choose, "mixed", promised, promised + 4)
            item: Any = insert(E(choose.number(0, 2), choose.number(0, keys - 1)), le, re)
            held.append(item)
        elif kind < 6 and held:
            item = retract(*held.pop(choose.number(0, len(held) - 1))[:3])
        elif kind < 8:
            promised += choose.number(0, 2)
            item = Punctuation(promised)
        else:
            item = choose.one([insert, retract])(choose.one([*arcs, *program.arcs]))
        outs = []
        for op, of in zip(ops, kept):
            try:
                out = op.push_many([item])
            except AfaError as error:
                out = [str(error)]
            final(of, out)
            outs.append(out)
        assert outs[0] == outs[1], f"seed {seed}, step {step}: {item}"
    for op in ops:
        op._check()


@sample(60, 20_000)
def test_keys_that_wait_for_their_cleaning(numbers: range) -> None:
    for seed in numbers:
        world(seed)


def parts(batches_of: list[dict[str, Any]], size: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Push batches, carried out so many rows at once; what comes out: sign, time and key of each row, and the rows."""
    monkeypatch.setattr(batches, "KEYED_CHUNK", size)
    op = Keyed(q1(), key="key", window=90, late="drop")
    found: list[Any] = []
    for i, columns in enumerate(batches_of):
        out = op.push_many(columns)
        rows = list(zip(*(out[name].tolist() for name in ("diff", "le", "key", "re"))))
        assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
        found += [[row[:3] for row in rows], Counter(rows), op.push_many([Punctuation(40 * i)])]
        op._check()
    return found


@pytest.mark.parametrize("keys", [3, 40, 300])
def test_output_of_a_batch_is_in_one_order_whatever_its_parts(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By sign, then time, then key, though rows of keys come in turn, and late."""
    random = np.random.default_rng(keys)
    some = []
    for i in range(5):
        n = 400
        le = 40 * i + np.sort(random.integers(0, 60, n)) + random.integers(0, 20, n) * (random.random(n) < 0.2)
        change = random.normal(0, 1, n)
        some.append({"key": random.integers(0, keys, n) ** 2, "price": 100 + change, "change": change, "le": le})
    whole = parts(some, 1 << 20, monkeypatch)
    assert sum(map(len, whole)) > 40
    for size in (1, 7, 64):
        assert parts(some, size, monkeypatch) == whole


def test_a_new_key_goes_with_the_call_that_failed_though_arcs_were_dropped_in_it() -> None:
    """A dropped arc counts keys as changed in the midst of a call: what the call had of them is noted once more."""
    automaton_text = {**automaton(Seeded("new key"), waits=False), "event": "E"}
    arcs = [arc_of(arc(Seeded(f"arc {i}"), width_of(automaton_text), STATES, f"more {i}", waits=False)) for i in range(2)]
    op = Keyed(automaton_of(automaton_text), key="seq", window=50, engine="compiled")
    op.push_many([insert(E(1, 100 + i), 10, 60) for i in range(100)])
    op.push_many([Punctuation(5)])  # keys are cleaned when they are touched, from here on
    before, held = op.snapshot(), op.statistics
    with pytest.raises(AfaError, match="got le=5"):
        op.push_many(
            [
                *(insert(arcs[0], 12, 20), insert(E(1, 2), 15, 65), insert(arcs[1], 70, 80), Punctuation(30)),
                *(insert(E(2, 2), 40, 90), insert(arcs[0], 50, 60), insert(E(2, 2), 5, 90)),
            ]
        )
    op._check()
    assert (op.statistics, op.snapshot()) == (held, before)


class Step(NamedTuple):
    key: int
    move: int


@pytest.mark.parametrize("keys", [2, 5, 3_000])
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_few_keys_and_of_many(keys: int, skip: bool, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches in order, out of order and late in part, keys in turn and side by side: rows that change nothing among the others."""
    monkeypatch.setattr(choices, "LONG", 0)
    n, rng = 300 if DISABLED else 1_000, np.random.default_rng(keys)
    arcs = [
        Arc("low", "up", "move == 1"),
        Arc("up", "up", "move == 0 or move == 3"),
        Arc("up", "up", "move == 2", "(r.n + 1,)"),
        Arc("up", "top", "move == 3 and r.n < 4"),
    ]
    program = Automaton(start="low", final={"top"}, register=Count(), event=Step, arcs=arcs if skip else arcs[::3])
    ops = [
        Keyed(program, key="key", window=60, late="drop", engine="interpreted"),
        Keyed(program, key="key", window=60, late="drop", engine="compiled", threads=threads),
    ]
    outs: list[list[Any]] = [[], []]
    for turn in range(5):
        le = np.arange(n) + n * turn
        le = le - rng.integers(0, 30, n) * (rng.random(n) < 0.1) if turn in (1, 4) else le
        key, move = rng.integers(0, keys, n), rng.choice([0, 1, 2, 3, 4], n, p=[0.3, 0.02, 0.1, 0.08, 0.5])
        rows = {"key": np.sort(key) if turn == 2 else key, "move": move, "le": le, "kind": np.zeros(n, np.int8)}
        rows["kind"][[n // 2, n - 1]], rows["le"][[n // 2, n - 1]] = 2, (n * turn - 5, n * (turn + 1) - 40)
        for op, out in zip(ops, outs):
            found = op.push_many(rows)
            out.append(sorted(zip(*(found[name].tolist() for name in ("key", "n", "le", "re", "diff", "kind")))))
            op._check()
    assert outs[0] == outs[1]
    assert sum(map(len, outs[0])) > (10 if keys < 100 else 0)


class Named(NamedTuple):
    symbol: str
    change: int


@pytest.mark.parametrize("seed", range(4 if DISABLED else 24))
def test_keys_that_are_a_field_of_few_texts_come_and_go(seed: int) -> None:
    """Which are looked for once a text; promises and refused calls take keys away, whose numbers others get."""
    rng, now, seen = np.random.default_rng(seed), 0, 0
    program = Automaton(start="a", final={"c"}, event=Named, arcs=[Arc("a", "b", "e.change > 0"), Arc("b", "c", "e.change < 0")])
    ops = [Keyed(program, key="symbol", window=5, engine=engine) for engine in ("interpreted", "compiled")]
    for turn in range(20):
        size = 1 + int(rng.integers(24 if rng.random() < 0.2 else 3))
        pool = np.array([f"k{i}" for i in rng.choice(40, size, replace=False)], object)
        n = 8 * size + int(rng.integers(9))
        rows: dict[str, Any] = {"symbol": pool[rng.integers(0, size, n)], "change": rng.integers(-1, 2, n)}
        rows["le"] = now + rng.integers(0, 8, n)
        rows["le"][n // 2] -= 9 * (turn % 5 == 4)
        then, outs = now + int(rng.integers(0, 20)), []
        for op in ops:
            try:
                out = op.push_many([pa.table(rows) if seed % 2 else rows, Punctuation(then)])[0]
                outs.append(Counter(zip(*(np.asarray(out[name]).tolist() for name in ("symbol", "le", "re", "diff")))))
            except AfaError:
                outs.append(None)
            op._check()
        assert outs[0] == outs[1]
        assert (outs[0] is None) == (turn % 5 == 4)
        now, seen = now if outs[0] is None else then, seen + len(outs[0] or ())
    assert seen > 20


class Price(NamedTuple):
    key: int
    p: int
    at: Instant | None = None


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_a_scan_in_the_order_of_their_keys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables with promises in their midst: matches, and what is late in its order, as where each row comes alone."""
    monkeypatch.setattr(batches, "MANY", 1)
    ordered, by_key = 0, batches._by_key

    def counted(batch: Any, promised: int) -> Any:
        nonlocal ordered
        found = by_key(batch, promised)
        ordered += found is not batch
        return found

    monkeypatch.setattr(batches, "_by_key", counted)
    query = sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES FIRST(p) AS first, COUNT(*) AS n ONE ROW PER MATCH "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+ c) WITHIN 300000 DEFINE b AS b.p < PREV(b.p), c AS c.p > PREV(c.p))",
        event=Price,
    )
    choose, at, promised = Seeded(f"by key {seed}"), 0, 0
    late: tuple[list[Any], list[Any]] = [], []
    ops = [query.operator(engine=engine, late=told.append) for engine, told in zip(("compiled", "interpreted"), late)]
    kept: list[Counter[Any]] = [Counter(), Counter()]
    for _ in range(12):
        rows = []
        for _ in range(choose.number(64, 200)):
            at += 1
            if choose.chance(1):
                promised = 1000 * (at - choose.number(0, 40))
                rows.append((0, 0, promised, 1, 2))
            le = 1000 * at if choose.chance(95) else 1000 * (at - choose.number(1, 60)) + at % 999 + 1
            rows.append((choose.number(0, 9), choose.number(0, 5), le, 1, 0))
        columns = {name: np.array(column) for name, column in zip(("key", "p", "le", "diff", "kind"), zip(*rows))}
        items = [Punctuation(le) if kind else insert(Price(key, p), le) for key, p, le, _, kind in rows]
        for op, call, found in zip(ops, (columns, items), kept):
            out = op.push_many(call)
            if isinstance(out, dict):
                its = zip(*(np.asarray(out[name]).tolist() for name in ("key", "first", "n", "le", "re", "diff", "kind")))
                for key, first, n, le, re, diff, kind in its:
                    found[key, first, n, le, re] += diff * (kind == 0)
            else:
                for change in out:
                    if isinstance(change, Change):
                        found[(change.key, *change.payload, change.le, change.re)] += change.diff
        assert +kept[0] == +kept[1]
        assert [(change.payload, change.le) for change in late[0]] == [(change.payload, change.le) for change in late[1]]
    assert ordered > 6
    assert sum(kept[0].values()) > 20
    assert late[0]
