"""Rows go through the loop for runs where most events leave lists as they are, and that for whole lists where most do not."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Operator, Punctuation, insert, retract
from afa.compiled import batches, choices
from afa.compiled.kernel import layout as k
from tests.automata import Count

WINDOW = 60


class Move(NamedTuple):
    step: int


def operator(engine: str) -> Any:
    """A climb that rests (ignorable) counts its steps until it falls back."""
    climb = Automaton(
        start="low",
        final={"top"},
        register=Count(),
        event=Move,
        arcs=[
            Arc("low", "up", lambda e, r: e.step == 2),
            Arc("up", "up", lambda e, r: e.step in (0, 2), name="rest"),
            Arc("up", "up", lambda e, r: e.step == 1, lambda e, r: Count(r.n + 1), name="climb"),
            Arc("up", "top", lambda e, r: e.step == -1 and r.n > 2),
        ],
    )
    return Operator(climb, window=WINDOW, engine=engine)


def keeps_runs(fast: Any) -> bool:
    memory = fast._core.engine.store.memory
    block = memory.m[memory.m[k.Memory.dir] + k.KeyEntry.block]
    return bool(memory.m[block + k.Block.runs])


def moves(share: float, n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < share, 0, rng.choice([2, 1, -1], n, p=[0.2, 0.6, 0.2])).astype(np.int64)


@pytest.mark.parametrize("late", [False, True])
def test_a_block_changes_over_and_back(late: bool) -> None:
    slow, fast = operator("interpreted"), operator("compiled")
    rng, at, seen = np.random.default_rng(5), 0, []
    for number, share in enumerate((0.95, 0.0, 0.95, 0.0, 0.9)):
        for part in range(2):
            step = moves(share, 150, 10 * number + part)
            le = np.arange(at, at + 150)
            if late:
                order = np.argsort(np.arange(150) + rng.integers(0, 15, 150), kind="stable")
                step, le = step[order], le[order]
            batch = {"step": step, "le": le}
            outs = [[*side.push_many(batch)["n"].tolist()] for side in (slow, fast)]
            assert outs[0] == outs[1]
            at += 150
        fast._check()
        for side in (slow, fast):
            side.push(Punctuation(at - 120))
        seen.append(keeps_runs(fast))
        behind = at - 30
        for change in (insert(Move(1), behind), retract(Move(1), behind), insert(Move(-1), at - 51)):
            assert slow.push(change) == fast.push(change)
        fast._check()
        for side in (slow, fast):
            side.push_many([retract(Move(-1), at - 51)])
    assert seen == [True, False, True, False, True]


def bursts(n: int, seed: int) -> Any:
    """300 moves that hardly change a list, then 300 of which most do, and so on."""
    rest = np.arange(n) // 300 % 2 == 0
    return np.where(rest, moves(0.97, n, seed), moves(0.0, n, seed))


def test_bursts_do_not_change_the_kind_of_a_large_block() -> None:
    fast = operator("compiled")
    fast.push_many({"step": bursts(20_000, 1), "le": np.arange(20_000)})
    seen = set()
    for part, step in enumerate(bursts(2_400, 2).reshape(8, 300)):
        fast.push_many({"step": step, "le": 20_000 + 300 * part + np.arange(300)})
        seen.add(keeps_runs(fast))
    assert len(seen) == 1


def test_what_a_promise_at_the_begin_of_a_batch_frees_is_not_moved_before() -> None:
    fast, n = operator("compiled"), 20_000
    for part in range(6):
        kind, le = np.zeros(n, np.int8), np.arange(part * n, (part + 1) * n)
        kind[1] = 2
        fast.push_many({"step": bursts(n, part), "le": le, "kind": kind})
    assert fast._core.engine.store.memory.used < 500 * n


def test_a_batch_that_fails_leaves_the_kind_of_block_as_it_was() -> None:
    """An arc divides by zero at the end of the batch in which runs no longer pay."""
    fast = operator("compiled")
    fast.push_many({"step": moves(0.95, 400, 1), "le": np.arange(400)})
    before, held = keeps_runs(fast), fast.statistics
    fast.push_arc(insert(Arc("up", "top", lambda e, r: 1 // (e.step - 7) > 5)))
    steps = moves(0.0, 400, 2)
    steps[-2:] = 2, 7
    with pytest.raises(ZeroDivisionError):
        fast.push_many({"step": np.concatenate([[2], steps]), "le": np.arange(400, 801)})
    assert keeps_runs(fast) == before
    assert fast.statistics == held
    fast._check()


@pytest.mark.parametrize("size", [3000, 700, 90])
@pytest.mark.parametrize("chunk", [batches.CHUNK, 300])
def test_a_block_that_is_full_goes_on_in_a_larger_one(size: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tens of partial matches alive: blocks are made for far fewer."""
    monkeypatch.setattr(batches, "CHUNK", chunk)
    monkeypatch.setattr(choices, "LONG", 0)
    rng = np.random.default_rng(3)
    step = rng.choice([2, 1, 0, -1], 3000, p=[0.2, 0.4, 0.35, 0.05]).astype(np.int64)
    nets = []
    for engine, part in (("interpreted", 3000), ("compiled", size)):
        side, net = operator(engine), Counter[Any]()
        for at in range(0, 3000, part):
            out = side.push_many({"step": step[at : at + part], "le": np.arange(at, min(at + part, 3000))})
            net.update(zip(out["n"].tolist(), out["le"].tolist(), out["re"].tolist()))
            side.push(Punctuation(min(at + part, 3000) - 70))
        nets.append(net)
        assert side.statistics.changes == 3000
    side._check()
    assert nets[0] == nets[1]
    assert len(nets[0]) > 300
