"""Chain: operators one after another do what pushing each output by hand into the next does; a call is all or nothing."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import AfaError, Arc, Automaton, Chain, Keyed, Operator, Punctuation, SnapshotError, insert, retract
from afa.change import Change
from afa.situations import Derive, Situation, TemporalPattern


class Tick(NamedTuple):
    key: str
    x: int


class Rise(NamedTuple):
    by: int = 0


class Boom(NamedTuple):
    by: int


RISES = Automaton(
    start="0",
    final={"2"},
    event=Tick,
    register=Rise(),
    arcs=[Arc("0", "1", "True", "Rise(x)"), Arc("1", "1", "x < r.by"), Arc("1", "2", "x > r.by", "Rise(x - r.by)")],
)
TWICE = Automaton(
    start="0", final={"2"}, event=Boom, arcs=[Arc("0", "1", "by > 1"), Arc("1", "1", "by < 2"), Arc("1", "2", "by > 1")]
)


def _links(engine: Any) -> tuple[Any, Any]:
    return Keyed(RISES, key="key", window=9, engine=engine), Keyed(TWICE, key="key", window=9, engine=engine)


def _by_hand(links: tuple[Any, Any], batch: list[Any]) -> list[Any]:
    first = links[0].push_many(batch)
    events = [item if isinstance(item, Punctuation) else item._replace(payload=Boom(item.payload.by)) for item in first]
    return links[1].push_many(events)  # type: ignore[no-any-return]


def _count(net: Counter[Any], out: Any) -> None:
    if isinstance(out, list):
        for item in out:
            if isinstance(item, Change):
                net[item.key, item.le, item.re] += item.diff
            elif not isinstance(item, Punctuation):
                _count(net, item)
        return
    for key, le, re, diff in zip(*(np.asarray(out[name]).tolist() for name in ("key", "le", "re", "diff"))):
        net[key, le, re] += diff


@pytest.mark.parametrize("seed", range(20))
def test_worlds(engine: str, seed: int) -> None:
    """Late ticks, retractions, promises, tables, snapshots, single pushes."""
    rng = random.Random(f"chain {engine} {seed}")
    chain, hands = Chain(*_links(engine)), _links(engine)
    nets: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    promised, in_force = 0, list[Change]()
    for _ in range(20):
        rows = [insert(Tick(rng.choice("ab"), rng.randint(0, 9)), promised + rng.randint(0, 12)) for _ in range(rng.choice([1, 6]))]
        there = [row for row in in_force if row.le is not None and row.le >= promised]
        gone = [retract(*(row := rng.choice(there))[:2])] if there and rng.random() < 0.3 else []
        if gone:
            in_force.remove(row)
        in_force += rows
        promise = []
        if rng.random() < 0.3:
            promised += rng.randint(1, 5)
            promise = [Punctuation(promised)]
        batch = [*rows, *gone, *promise]
        if rng.random() < 0.4:
            columns = {name: [getattr(row.payload, name) for row in (*rows, *gone)] for name in Tick._fields}
            columns |= {name: [getattr(row, name) for row in (*rows, *gone)] for name in ("le", "diff")}
            out = chain.push_many([columns, *promise])
        elif rng.random() < 0.5:
            out = [item for each in batch for item in chain.push(each)]
        else:
            out = chain.push_many(batch, net=rng.random() < 0.7)
        _count(nets[0], out)
        _count(nets[1], _by_hand(hands, batch))
        assert {each: n for each, n in nets[0].items() if n} == {each: n for each, n in nets[1].items() if n}
        told = [item for item in out if isinstance(item, Punctuation)]
        assert told[-1:] == [Punctuation(hands[1]._core.progress.final)] * bool(promise)
        if rng.random() < 0.2:
            again = [lambda blob: Keyed.restore(RISES, blob, key="key"), lambda blob: Keyed.restore(TWICE, blob, key="key")]
            chain = Chain.restore(again, chain.snapshot())
    assert sorted(chain.keys) == sorted({*hands[0].keys, *hands[1].keys})
    assert [each.matches for each in chain.statistics] == [each.statistics.matches for each in hands]


def test_a_table_gives_a_table(engine: str) -> None:
    """A table that comes alone gives a table of the last operator's matches, also where there are none."""
    chain = Chain(*_links(engine))
    out = chain.push_many({"key": ["a"] * 3, "x": [1, 5, 9], "le": [1, 2, 4]})
    assert {name: column.tolist() for name, column in out.items()} == {"key": ["a"], "le": [4], "re": [10], "diff": [1]}
    none = chain.push_many({"key": ["a"], "x": [0], "le": [30]})
    assert list(none) == list(out)
    assert not len(none["le"])


def test_situations_of_situations() -> None:
    """What lasts, derived of matches; and a pattern behind an operator."""
    cheap = Automaton(start="0", final={"1"}, event=Tick, register=Rise(), arcs=[Arc("0", "1", "True", "Rise(x)")])
    chain = Chain(Keyed(cheap, key="key", window=100), Derive(Rise, high=Situation("by > 3")))
    out = chain.push_many([insert(Tick("a", x), le) for le, x in enumerate((1, 5, 6, 2))])
    assert [tuple(change.payload) for change in out] == [("high", 1, 3)]
    low = TemporalPattern(event=Rise, within=20, high=Situation("by > 3"), top=Situation("by > 5"), where="high contains top")
    chain = Chain(Operator(cheap, window=100), low.operator())
    out = chain.push_many([insert(Tick("a", x), le) for le, x in enumerate((1, 5, 6, 4, 2))])
    assert [tuple(change.payload) for change in out] == [(1, None, 2, 3)]


def test_a_call_is_all_or_nothing() -> None:
    """What the second operator refuses leaves no trace in the first one."""
    second = Automaton(start="0", final={"1"}, event=Boom, arcs=[Arc("0", "1", lambda e, r: 1 // (e.by - 3) >= 0)])
    chain = Chain(Keyed(RISES, key="key", window=9), Keyed(second, key="key", window=9))
    chain.push(insert(Tick("a", 1), 1))
    before = chain.snapshot()
    with pytest.raises(ZeroDivisionError):
        chain.push(insert(Tick("a", 4), 2))
    assert chain.snapshot() == before
    assert len(chain.push(insert(Tick("a", 5), 2))) == 1


def test_the_key_goes_with_a_match() -> None:
    """An event class that has the key's field gets it from the match's key, row by row as in tables."""

    class Named(NamedTuple):
        key: str
        by: int

    second = Automaton(start="0", final={"1"}, event=Named, arcs=[Arc("0", "1", "key == 'a' and by > 1")])
    chain = Chain(Keyed(RISES, key="key", window=9), Keyed(second, key="key", window=9))
    out = [found for le, x in enumerate((1, 5)) for key in "ab" for found in chain.push(insert(Tick(key, x), le))]
    assert [(found.key, found.le) for found in out] == [("a", 1)]
    table = {"key": ["a", "b"] * 2, "x": [1, 1, 5, 5], "le": [20, 20, 21, 21]}
    assert chain.push_many(table)["key"].tolist() == ["a"]


def test_one_of_the_operators_is_changed() -> None:
    """A condition that changes, or an arc, is a call of the chain: what it gives goes on."""
    shown = Automaton(start="0", final={"1"}, event=Tick, register=Rise(), arcs=[Arc("0", "1", "True", "Rise(x)", name="all")])
    chain = Chain(Keyed(shown, key="key", window=100), Derive(Rise, high=Situation("by > 3")))
    chain.push_many([insert(Tick("a", x), le) for le, x in enumerate((1, 5, 6, 2))])
    out = chain.through(1, lambda op: op.redefine("high", "by > 5", le=0))
    assert [(tuple(change.payload), change.diff) for change in out] == [(("high", 1, 3), -1), (("high", 2, 3), 1)]
    with pytest.raises(AfaError, match="one reading of a key at a time"):
        chain.through(0, lambda op: op.push_arc(insert(Arc("0", "1", "x > 5", "Rise(x + 1)", name="more"), 1, 3)))
    with pytest.raises(ZeroDivisionError):
        chain.through(0, lambda op: [op.push_arc(retract(Arc("0", "1", "True", "Rise(x)", name="all"), 0, 9)), 1 // 0])
    assert chain.push(insert(Tick("a", 9), 4))[0].payload[:3] == ("high", 4, None)


def test_what_it_refuses() -> None:
    """Operators that don't fit, none, one twice; snapshots of others."""
    one, other = _links("auto")
    with pytest.raises(AfaError, match="expected two operators or more"):
        Chain(one)
    with pytest.raises(AfaError, match="expected two operators or more"):
        Chain(one, one)
    with pytest.raises(AfaError, match="expected operators but got 3"):
        Chain(one, 3)
    with pytest.raises(AfaError, match=r"expected matches that are events Tick\(key: str, x: int\) .* 'x' is missing"):
        Chain(one, _links("auto")[0])
    chain = Chain(one, other)
    with pytest.raises(SnapshotError, match="snapshots of 1 operators"):
        Chain.restore([lambda blob: None], chain.snapshot())
    with pytest.raises(SnapshotError):
        Chain.restore([RISES, TWICE], chain.snapshot()[:-1])
    with pytest.raises(AfaError, match=r"expected a list of patterns or functions, one for each operator, and a blob but got Auto"):
        Chain.restore(RISES, chain.snapshot())
    with pytest.raises(AfaError, match="expected a pattern, or a function that restores an operator, but got 3"):
        Chain.restore([3, 4], chain.snapshot())
    chain.push(insert(Tick("a", 1), 1))
    with pytest.raises(AfaError, match="taken nothing yet"):
        Chain(one, _links("auto")[1])
