"""Rows in order of keys at rest: the same output and the same snapshots as with blocks of their own, whatever the records hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Keyed, Punctuation
from afa.compiled import inforce, memory
from afa.compiled.kernel import layout as k
from bench.queries import q1, q3

STREAMS = {"one field": (q1, 500, 3), "short window": (q1, 12, 6), "long window": (q1, 10**6, 1), "many arcs": (q3, 90, 4)}


def rows_of(random: Any, i: int, keys: int, each: int) -> dict[str, Any]:
    """A batch of rows in order, now and then late or twice, of keys in turn or by chance."""
    n = int(random.integers(1, keys * each + 2))
    key = np.arange(n) % keys if random.random() < 0.5 else random.integers(0, keys, n)
    le = 60 * i + np.sort(random.integers(0, 80, n))
    late = random.random(n) < random.choice([0, 0, 0.05])
    change = np.round(random.normal(0, 1, n), random.choice([0, 6]))
    change[random.random(n) < 0.02] = -0.0
    return {"key": key, "price": 100 + change, "change": change, "le": le - 15 * late}


def carried_out(rest: int, stream: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], int]:
    monkeypatch.setattr(memory, "REST", rest)
    monkeypatch.setattr(inforce, "WARM", 0)
    monkeypatch.setattr(inforce, "LONG", 0)
    query, window, each = STREAMS[stream]
    random = np.random.default_rng(seed)
    keys = int(random.choice([4, 30, 60]))
    op = Keyed(query(), key="key", window=window, late="drop")
    found: list[Any] = []
    for i in range(14):
        out = op.push_many(rows_of(random, i, keys, each))
        found.append({name: column.tolist() for name, column in out.items()})
        if random.random() < 0.6:
            found.append(op.push(Punctuation(60 * i + int(random.integers(30, 78)))))
        op._check()
        if i % 5 == 3:
            found.append(op.snapshot())
    store = op._core.engine.store
    return found, int((store.directory.entries[:, k.KeyEntry.block] < 0).sum())


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("seed", range(6))
def test_a_record_goes_on_as_a_block_does(stream: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, none = carried_out(0, stream, seed, monkeypatch)
    for rest in (k.MOST, 40):
        found, resting = carried_out(rest, stream, seed, monkeypatch)
        assert found == plain
        assert not none
        assert resting or stream != "short window" or rest != k.MOST


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
