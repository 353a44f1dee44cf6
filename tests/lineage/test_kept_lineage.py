"""Operators with ``lineage=True``: what answers, for how long, how much is held for it, what is refused; and random worlds."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgpack
import pytest

from afa import (
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    query,
    retract,
)
from afa.operator import snapshot
from punctuation import sealed
from tests.lineage import worlds
from tests.lineage.test_lineage import MANY, Ev, paths, pushed
from tests.strategies import Seeded


def kept(engine: Any, **options: Any) -> Operator:
    return Operator(MANY, window=10, engine=engine, lineage=True, **options)


def test_a_match_that_began_before_the_promise(engine: Any) -> None:
    op = kept(engine)
    pushed(op, "a1 b2")
    assert op.push(Punctuation(5)) == [Punctuation(5)]
    (match,) = pushed(op, "b6 c7")
    assert paths(op.lineage(match)) == ["a1 b2 b6 c7", "a1 b6 c7", "a1 b2 c7"]
    op._check()
    plain = Operator(MANY, window=10, engine=engine)
    pushed(plain, "a1 b2")
    plain.push_many([Punctuation(5), insert(Ev("b"), 6), insert(Ev("c"), 7)])
    with pytest.raises(AfaError, match="which began at le=1, before the promise of 5"):
        plain.lineage(match)


def test_what_one_call_announces_and_makes_final(engine: Any) -> None:
    op = kept(engine)
    *matches, said = op.push_many([insert(Ev(kind), le) for le, kind in enumerate("abcb", 1)] + [Punctuation(9)])
    assert said == Punctuation(9)
    assert [paths(op.lineage(match)) for match in matches] == [["a1 b2 c3"]]
    op.push_many([])
    with pytest.raises(ChangeError, match=r"with le >= 9 \(promised\) but got .*: it is final, and forgotten"):
        op.lineage(matches[0])


def test_a_call_that_fails_lets_nothing_go(engine: Any) -> None:
    op = kept(engine)
    *matches, _ = op.push_many([*(insert(Ev(kind), le) for le, kind in enumerate("abc", 1)), Punctuation(9)])
    before = op.snapshot()
    for bad in (insert(Ev("a"), 3), insert(Ev("a"), 9, 9)):
        with pytest.raises(AfaError):
            op.push_many([insert(Ev("a"), 12, 90), bad])
    assert op.snapshot() == before
    assert [paths(op.lineage(match)) for match in matches] == [["a1 b2 c3"]]
    op._check()


def test_never_more_than_a_lifetime_is_held(engine: Any) -> None:
    """Beside one without it; both in calls that end with a promise."""
    op, plain = kept(engine), Operator(MANY, window=10, engine=engine)
    for le in range(0, 300, 3):
        batch = [*(insert(Ev("abcx"[(le + i) * 7 % 4]), le + i) for i in range(3)), Punctuation(le)]
        assert op.push_many(batch) == plain.push_many(batch)
        held, least = op.statistics, plain.statistics
        assert held.kept_steps == held.kept_events <= 10 + 3  # the promise before this one, less a window
        assert held.events - held.kept_events == least.events
        assert held.matches == least.matches
        op.push_many([])
        assert op.statistics.kept_steps <= 10
        assert (plain.statistics.kept_steps, plain.statistics.kept_events, plain.statistics.kept_partial_matches) == (0, 0, 0)
    op.push(Punctuation(1000))
    op.push_many([])
    assert op.statistics.state_size == 0


@pytest.mark.parametrize("seed", range(8))
def test_in_random_worlds_no_more_is_held_than_a_lifetime_below_the_last_promise(seed: int, engine: Any) -> None:
    """Late events, retractions, ties, promises now and then and of any step, keys; beside one without it."""
    choose, now, promised = Seeded(f"held {seed}"), 0, 0
    options: dict[str, Any] = {"window": choose.number(1, 15), "engine": engine}
    ops = [Keyed(MANY, key="val", lineage=on, **options) for on in (True, False)]
    known: list[Any] = []
    for _ in range(60):
        batch: list[Any] = []
        for _ in range(choose.number(0, 12)):
            now += choose.number(0, 2)
            le = max(promised, now - choose.number(0, 6))
            if known and choose.chance(20):
                batch.append(known.pop(choose.number(0, len(known) - 1))._replace(diff=-1))
                continue
            known.append(insert(Ev(choose.one("abcx"), choose.number(0, 2)), le))
            batch.append(known[-1])
        before = promised
        if choose.chance(40):
            promised = choose.number(promised, now + 1)
            batch.append(Punctuation(promised))
            known = [event for event in known if event.le >= promised]
        kept_op, plain = ops
        assert kept_op.push_many(batch) == plain.push_many(batch)
        held, least = kept_op.statistics, plain.statistics
        low = before - options["window"]
        assert held.events - held.kept_events <= least.events
        for key in kept_op.keys:
            steps = kept_op._core.engine.steps(key, -1000, 1000)
            assert all(step.le >= low or not step.events for step in steps), (key, low, steps)
        kept_op._check()


def test_lifetimes_of_their_own(engine: Any) -> None:
    """As long as the longest one so far; by a single push, in a batch, in a table."""
    for way in ("push", "batch", "table"):
        op = kept(engine)
        first = insert(Ev("a"), 1, 100)
        if way == "push":
            op.push(first)
        elif way == "batch":
            op.push_many([first])
        else:
            op.push_many({"kind": ["a"], "val": [0], "le": [1], "re": [100]})
        op.push(insert(Ev("b"), 2, 90))
        for t in (20, 30, 40):
            op.push_many([Punctuation(t)])
        (match,) = op.push_many([insert(Ev("c"), 50, 80)])
        assert match.re == 80
        assert paths(op.lineage(match)) == ["a1 b2 c50"]
        assert op.statistics.kept_events == 2
        op._check()


def test_a_long_lifetime_among_short_ones(engine: Any) -> None:
    """What began before all that may go on is dropped, though one event once lived for ever."""
    strict = Automaton(start="0", final={"c"}, event=Ev, arcs=[
        Arc("0", "a", "kind == 'a'"), Arc("a", "b", "kind == 'b'"), Arc("b", "b", "kind == 'b'"), Arc("b", "c", "kind == 'c'"),
    ])  # fmt: skip
    for window in (10, None):
        op = Operator(strict, window=window, engine=engine, lineage=True)
        op.push(insert(Ev("a"), 0, FOREVER))
        told = 0
        for le in range(1, 1200, 4):
            batch = [insert(Ev(kind), le + i) for i, kind in enumerate("xabc")]
            out = op.push_many([*batch[:3], Punctuation(le + 1)]) + op.push_many([batch[3], Punctuation(le + 3)])
            for match in out:
                if isinstance(match, Change):
                    assert paths(op.lineage(match)) == [f"a{le + 1} b{le + 2} c{le + 3}"]
                    told += 1
            assert op.statistics.kept_steps <= 80  # it is looked after 64 changes
        assert told == 300
        op._check()
    op = Operator(strict, window=10, engine=engine, lineage=True)  # and what may go on for ever is kept
    op.push_many([insert(Ev("a"), 0, FOREVER), *(insert(Ev("b"), le, FOREVER) for le in range(1, 200))])
    op.push_many([Punctuation(200)])
    op.push_many([])
    assert op.statistics.kept_steps == 200


def test_a_key_that_gets_no_more_is_gone_after_its_lifetime() -> None:
    for name in ("interpreted", "compiled"):
        op = Keyed(MANY, key="val", window=10, engine=name, lineage=True)  # type: ignore[arg-type]
        op.push_many([insert(Ev(kind, key), le) for key in range(50) for le, kind in enumerate("abx")])
        for t in range(5, 30, 5):
            op.push_many([insert(Ev("a", 99), t), Punctuation(t)])
        op.push_many([])
        assert op.keys == [99]
        assert op.statistics.events == 3  # from 15 on: a window before 25
        op._check()


def test_without_a_window_all_is_kept(engine: Any) -> None:
    op = Operator(MANY, engine=engine, lineage=True)
    pushed(op, "a1 b2")
    op.push_many([Punctuation(1000)])
    (match,) = pushed(op, "c2000")
    assert match.re == FOREVER
    assert paths(op.lineage(match)) == ["a1 b2 c2000"]


def test_an_arc_that_has_ended(engine: Any) -> None:
    """It serves the past: as long as a lineage may ask for it, and in snapshots."""
    op = kept(engine)
    more = Arc("b", "b", "kind == 'm'", select="more", name="more")
    op.push_arc(insert(more, 0, 4))
    pushed(op, "a1 b2 m3")
    op.push_many([Punctuation(6)])
    op.push_many([])
    (match,) = pushed(op, "c7")
    for other in (op, *(Operator.restore(MANY, op.snapshot(), arcs=[more], engine=name) for name in ("interpreted", "compiled"))):
        assert paths(other.lineage(match)) == ["a1 b2 more3 c7", "a1 b2 c7"]
        other._check()
        other.push_many([Punctuation(20)])
        other.push_many([])
        assert len(other._core.arcs.table.events) == len(MANY.arcs)


def test_keys_threads_and_incremental_snapshots() -> None:
    by_key: list[Keyed] = [Keyed(MANY, key="val", window=10, engine=name, lineage=True) for name in ("interpreted", "compiled")]
    by_key.append(Keyed(MANY, key="val", window=10, engine="compiled", threads=2, lineage=True))
    blobs: list[list[bytes]] = [[] for _ in by_key]
    for le in range(0, 120, 4):
        batch = [insert(Ev("abxc"[(le // 4 + key + i) % 4], key), le + i) for i in range(4) for key in range(le % 7, 9)]
        outs = [op.push_many([*batch, Punctuation(le)]) for op in by_key]
        assert outs[0] == outs[1] == outs[2]
        for op, saved in zip(by_key, blobs):
            saved.append(op.snapshot(incremental=bool(saved)))
            op._check()
        told = [[paths(op.lineage(match)) for match in outs[0] if isinstance(match, Change) and match.diff > 0] for op in by_key]
        assert told[0] == told[1] == told[2]
    assert blobs[1] == blobs[2]  # the interpreted one says of more keys that they have changed
    assert len({op.snapshot() for op in by_key}) == 1
    last = [match for match in outs[0] if isinstance(match, Change) and match.diff > 0]
    assert last
    for saved, name in zip(blobs, ("compiled", "interpreted", "auto")):
        op = Keyed.restore(MANY, saved, key="val", engine=name)  # type: ignore[arg-type]
        assert [paths(op.lineage(match)) for match in last] == told[0]
        op._check()
        assert (op.statistics.events, op.statistics.kept_steps) == (by_key[0].statistics.events, by_key[0].statistics.kept_steps)


def test_copies_go_on(engine: Any) -> None:
    op = kept(engine)
    pushed(op, "a1 b2")
    op.push_many([Punctuation(5)])
    for other in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        (match,) = pushed(other, "c6")
        assert paths(other.lineage(match)) == ["a1 b2 c6"]
        assert other.push(retract(Ev("c"), 6)) == [match._replace(diff=-1)]


def test_of_a_query(engine: Any) -> None:
    asked = query("PATTERN SEQ(Ev a, Ev+ b[], Ev c) WHERE skip_till_any_match(a, b[], c) { a.kind == 'a' and b[i].kind == 'b' and "
                  "c.kind == 'c' } WITHIN 10 RETURN c.val", event=Ev)  # fmt: skip
    op = asked.operator(engine=engine, lineage=True)
    pushed(op, "a1 b2 b3")
    op.push_many([Punctuation(4)])
    (match,) = pushed(op, "c5")
    assert paths(op.lineage(match)) == ["a1 b2 b3 c5", "a1 b3 c5", "a1 b2 c5"]
    again = asked.restore(op.snapshot())
    assert paths(again.lineage(match)) == ["a1 b2 b3 c5", "a1 b3 c5", "a1 b2 c5"]


def test_what_is_refused(engine: Any) -> None:
    with pytest.raises(AfaError, match="keep_payloads=False can't be combined with lineage=True because lineage tells events"):
        kept(engine, keep_payloads=False, retractions=False)
    with pytest.raises(
        AfaError,
        match=r"gapless=Gapless\('val'\) can't be combined with lineage=True because lineages are not kept",
    ):
        kept(engine, gapless="val")
    with pytest.raises(AfaError, match="expected lineage=True or False but got lineage='yes'"):
        Operator(MANY, lineage="yes")  # type: ignore[arg-type]
    op = kept(engine, retractions=False)
    with pytest.raises(AfaError, match=r"without a condition, as lineages are kept \(lineage=True\), but"):
        op.push(Punctuation(5, where="kind == 'a'"))


def resealed(blob: bytes, value: Any) -> bytes:
    """A snapshot that says something else of its lineages."""
    body = snapshot.unseal(snapshot.MAGIC, snapshot.VERSION, blob)
    body[2][-1] = value
    return sealed.seal(snapshot.MAGIC, snapshot.VERSION, snapshot.plain(body))


def test_damaged_snapshots(engine: Any) -> None:
    op = kept(engine)
    op.push_many([*(insert(Ev(kind), le) for le, kind in enumerate("abcabc", 1)), Punctuation(5)])
    op.push_many([insert(Ev("b"), 9), Punctuation(6)])
    floor, answers, span = -5, 5, 10
    assert msgpack.unpackb(msgpack.packb(snapshot.unseal(snapshot.MAGIC, snapshot.VERSION, op.snapshot())[2][-1])) == [
        ["lineage", [floor, answers, span, 0]]
    ]
    assert Operator.restore(MANY, resealed(op.snapshot(), [["lineage", [floor, answers, span, 0]]])).snapshot() == op.snapshot()
    for wrong, said in (
        ([7, 5, 10, 0], "state kept from one lifetime before what is final"),
        ([-5, 7, 10, 0], "state kept from one lifetime before what is final"),
        ([-5, 5, -1, 0], "expected a count"),
        ([-5, 5, 10, -1], "expected a count"),
        ([-5, 5], "expected further options that are known"),
        (["x", 5, 10, 0], "expected"),
        ([4, 5, 10, 0], "events that are not final"),
    ):
        with pytest.raises(SnapshotError, match=said):
            Operator.restore(MANY, resealed(op.snapshot(), [["lineage", wrong]]), engine=engine)
    for options in ([["more", 1]], [["lineage", [-5, 5, 10, 0]], ["lineage", [-5, 5, 10, 0]], ["a", 1]], "lineage", 7):
        with pytest.raises(SnapshotError):
            Operator.restore(MANY, resealed(op.snapshot(), options), engine=engine)


@pytest.mark.parametrize("name", worlds.KEPT.engines)
def test_worlds(name: str) -> None:
    worlds.KEPT.run("kept sample", range(9), name, more_than={"matches": 180, "early": 37, "refused": 7})
