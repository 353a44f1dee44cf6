"""Parts of a long list by state: what stands after any number of steps, and how little an event looks at."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, Operator
from afa.compiled import choices, store
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.entry import main
from afa.compiled.kernel.parts_by_state import add_to_part, end_chain, narrow_chain, no_parts
from tests.compiled.plain import plain
from tests.nojit import Columns, Words

main, add_to_part, end_chain, narrow_chain, no_parts = (
    plain(main),
    plain(add_to_part),
    plain(end_chain),
    plain(narrow_chain),
    plain(no_parts),
)

STATES, SIZE, NODES = 3, k.NodeRow.register + 1, 600
BLOCK = k.Memory.SIZE
AT = {
    k.Scratch.chains: k.SCRATCH,
    k.Scratch.held: k.SCRATCH + 600,
    k.Scratch.parts: k.SCRATCH + 700,
    k.Scratch.undo: k.SCRATCH + 700 + NODES * k.PartRow.SIZE,
}


def arrays() -> tuple[Any, Any]:
    m: Any = np.zeros(BLOCK + k.HEAD + NODES * SIZE, np.int64)
    w: Any = np.zeros(AT[k.Scratch.undo] + 8 * NODES, np.int64)
    m[k.Memory.register_words], m[BLOCK + k.Block.nodes] = 1, k.HEAD
    for word, place in AT.items():
        w[word] = place
    w[k.Scratch.fresh] = k.FOREVER
    no_parts(w)
    return m, w


def chains(w: Any) -> list[int]:
    return [int(w[k.Scratch.chains]) + state * k.StateChain.SIZE for state in range(STATES)]


def parts_of(w: Any, chain: int) -> list[int]:
    found, part = [], int(w[chain + k.StateChain.first])
    while part != k.NOWHERE:
        found.append(part)
        part = int(w[part + k.PartRow.next])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_stands(seed: int) -> None:
    """Nodes with m that rises, mostly rises or does not, added step by step and over in any order, against a list of them."""
    chance, (m, w) = random.Random(seed), arrays()
    known: dict[int, tuple[int, int]] = {}  # by node: its state and m
    spread, k_next, reused = (0, 3, 40)[seed % 3], 0, False
    for step in range(10, 400, 2):
        for chain in chains(w):
            if w[chain + k.StateChain.first] != k.NOWHERE and w[chain + k.StateChain.low] <= step:
                narrow_chain(m, w, BLOCK, chain, step, 0)
        over = {node for node, (_, until) in known.items() if until <= step}
        if chance.random() < 0.05:  # no arc leaves the state
            state = chance.randrange(STATES)
            over |= {node for node, (of, _) in known.items() if of == state}
            end_chain(m, w, BLOCK, chains(w)[state], step)
        for node in over:
            assert m[BLOCK + k.HEAD + node * SIZE + k.NodeRow.end] == step
            del known[node]
        reused = reused or w[k.Scratch.spare] != k.NOWHERE
        for _ in range(chance.randrange(6) if k_next < NODES - 6 else 0):
            node, state = BLOCK + k.HEAD + k_next * SIZE, chance.randrange(STATES)
            until = step + 30 + chance.randint(-spread, spread) // 2
            m[node + k.NodeRow.state], m[node + k.NodeRow.until], m[node + k.NodeRow.end] = state, until, k.OPEN
            add_to_part(m, w, node, k_next, step)
            known[k_next] = state, until
            k_next += 1
        assert w[k.Scratch.standing] == len(known)
        for state, chain in enumerate(chains(w)):
            here = {node: until for node, (of, until) in known.items() if of == state}
            found = parts_of(w, chain)
            assert bool(found) == bool(here)
            if here:
                assert w[chain + k.StateChain.low] <= min(here.values())
                assert w[chain + k.StateChain.high] >= max(here.values())
                assert found[-1] == w[chain + k.StateChain.last]
                lows = [w[part + k.PartRow.low] for part in found]
                assert lows == sorted(lows) or not w[chain + k.StateChain.rises]
                held = {node for part in found for node in range(w[part + k.PartRow.first], w[part + k.PartRow.end])}
                assert held >= here.keys()
                assert [w[part + k.PartRow.since] for part in found] == sorted({w[part + k.PartRow.since] for part in found})
    assert reused
    assert w[k.Scratch.parted] < k_next


class Thing(NamedTuple):
    kind: int


class Counted(Words):
    """Words of which those of parts are counted that are read."""

    __slots__ = ("high", "low", "reads")
    high: int
    low: int
    reads: int

    def __getitem__(self, i: int) -> int:
        if self.low <= i < self.high:
            self.reads += 1
        return super().__getitem__(i)


def reads(monkeypatch: pytest.MonkeyPatch, waiting: int, events: int) -> int:
    """Return how often a word of a part is read while so many partial matches wait and so many events begin and end one each."""
    seen = [0]

    def call(memory: Any, program: Any, batch: Any, *what: int) -> int:
        memory.aim(program.at)
        w = Counted(memory.w)
        w.low, w.reads = int(memory.w[k.Scratch.parts]), 0
        w.high = w.low + k.PartRow.SIZE * memory.sizes["rows"]
        status = int(main(Words(memory.m), w, Words(program.words), Columns(batch.words), *what))
        seen[0] += w.reads
        return status

    monkeypatch.setattr(choices, "WARM", 0)
    monkeypatch.setattr(choices, "LONG", 0)
    monkeypatch.setattr(store, "kernel", lambda wait: call)
    arcs = [Arc("s", "a", "kind == 1"), Arc("a", "F", "kind == 2"), Arc("a", "a", "True")]
    op: Any = Operator(Automaton(start="s", final={"F"}, event=Thing, arcs=arcs), window=waiting, engine="compiled")
    op.push_many({"kind": np.ones(waiting, int), "le": np.arange(waiting)})
    seen[0] = 0
    op.push_many({"kind": np.ones(events, int), "le": np.arange(waiting, waiting + events)})
    op._check()
    assert op.statistics.partial_matches >= waiting
    return seen[0]


def test_what_waits_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = ((reads(monkeypatch, waiting, 40) - reads(monkeypatch, waiting, 20)) / 20 for waiting in (70, 200))
    assert 0 < few == many < 60
