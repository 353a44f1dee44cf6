"""Parts of a long list that outlast a call: a push looks at what it concerns, and whatever comes in between is not overlooked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Arc, Automaton, BudgetError, Keyed, Operator, Punctuation, insert
from afa.compiled import choices, store
from afa.compiled.block import KeyBlock
from afa.compiled.compiled_invariants import check_parts
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.entry import main
from tests.compiled.plain import plain
from tests.nojit import Columns, Words

plain_main = plain(main)
BEGUN, WAITING = 1000, 40
Between = Callable[[Any, int], Any]


class Thing(NamedTuple):
    kind: int
    value: int = 1
    key: int = 0


class Seen(NamedTuple):
    value: int = 0


def automaton() -> Automaton:
    """A waits for B, those with a value of 6 until a D of kind 4 comes; a value of 0 faults where a C is."""
    arcs = [
        Arc("s", "a", "kind == 1", "Seen(value)"),
        Arc("a", "b", "kind == 2 and 6 // value >= 1"),
        Arc("b", "F", "kind == 3"),
        Arc.skip("a", "kind != 4", name="wait"),
        Arc.skip("b", "True"),
    ]
    return Automaton(start="s", final={"F"}, register=Seen(), event=Thing, arcs=arcs)


def kept(op: Any) -> bool:
    """Whether the next call may go on with parts, which are then what they should be. `Operator._check` forgets them."""
    store = op._core.engine.store
    check_parts(store, KeyBlock(store, 0))
    return bool(store.memory.w[k.Scratch.parts_of])


def waiting(engine: str, kind: Any = Operator, **options: Any) -> Any:
    op = kind(automaton(), window=500, engine=engine, late="drop", **options)
    for le in range(WAITING):
        op.push(insert(Thing(1, le % 5 + 2), BEGUN + 2 * le, BEGUN + 2 * le + 200 + 7 * le % 90))
    return op


def matches(changes: Any) -> list[Any]:
    return sorted(map(str, (change for change in changes if not isinstance(change, Punctuation))))


def tables(op: Any, le: int) -> Any:
    out = op.push_many(rows(0, le, 4) | {"kind": np.array([0, 1, 0, 3]), "value": np.arange(1, 5)})
    return list(zip(*(out[name].tolist() for name in ("value", "le", "re", "diff"))))


def refused(op: Any, le: int) -> Any:
    """A call that fails when its second event has been taken, and leaves no trace."""
    with pytest.raises(Exception, match=r"division|value"):
        op.push_many([insert(Thing(2), le + 2), insert(Thing(1), le + 3), insert(Thing(2, 0), le + 4)])
    return []


def restored(op: Any, le: int) -> Any:
    op._core = type(op).restore(automaton(), op.snapshot(), late="drop", engine=op._core.engine.name)._core
    return []


BETWEEN: dict[str, tuple[Between, bool]] = {  # and whether parts may outlast it
    "nothing": (lambda op, le: [], True),
    "a table": (tables, True),
    "an event that concerns all": (lambda op, le: op.push(insert(Thing(4), le)), True),
    "events in a list": (lambda op, le: op.push_many([insert(Thing(1), le), insert(Thing(2), le + 1)]), True),
    "a list out of order": (lambda op, le: op.push_many([insert(Thing(2), le + 1), insert(Thing(1), le)]), True),
    "two events of one time": (lambda op, le: op.push_many([insert(Thing(1), le), insert(Thing(2), le)]), False),
    "a late event": (lambda op, le: op.push(insert(Thing(2), BEGUN + 31)), False),
    "a late event that begins one": (lambda op, le: op.push(insert(Thing(1), BEGUN + 31)), False),
    "a retraction": (lambda op, le: op.push(insert(Thing(1, 2), BEGUN, BEGUN + 200)._replace(diff=-1)), False),
    "one more copy": (lambda op, le: op.push(insert(Thing(1, 2), BEGUN, BEGUN + 200)), False),
    "a promise": (lambda op, le: op.push(Punctuation(le - 60)), False),
    "an arc": (lambda op, le: op.push_arc(insert(Arc("b", "F", "kind == 1", name="short"), BEGUN + 9)), False),
    "an arc that ends": (lambda op, le: op.push_arc(insert(Arc("b", "F", "kind == 0", name="x"), le + 2, le + 4)), True),
    "an arc that makes final": (lambda op, le: op.push_arc(insert(Arc("s", "a", "kind == 9", name="f", final=True), le)), True),
    "a swap": (lambda op, le: op.swap("wait", fence="kind != 0"), True),
    "a refused call": (refused, False),
    "a snapshot": (lambda op, le: [op.snapshot()][1:], False),
    "a restore": (restored, False),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_nothing_stale_is_used(at_once: None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the other engine, and by recomputation after each call: what comes between two calls, twice, among pushes."""
    monkeypatch.setattr(choices, "PARTS", 4)
    between, may_stay = BETWEEN[name]
    outs, resumed = [], 0
    for engine in ("interpreted", "compiled"):
        op, found, le, rng = waiting(engine), [], BEGUN + 2 * WAITING, np.random.default_rng(1)
        for turn in range(3):
            for kind in (0, 1, 0, 2, 0, 0):
                le += 1
                found += matches(op.push(insert(Thing(kind, int(rng.integers(1, 6))), le, le + 900)))
                resumed += engine == "compiled" and kept(op)
            if turn < 2:
                found += sorted(map(str, between(op, le + 1)))
                le += 5
                assert engine != "compiled" or kept(op) <= may_stay
        found += matches(op.push(insert(Thing(3), le + 1)))
        op._check()
        outs.append((found, op.statistics.matches))
    assert outs[0] == outs[1]
    assert resumed >= 4
    assert len(outs[0][0]) > 10


def test_what_a_list_of_changes_leaves(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts are steps of one event each behind all others, in whatever order these come."""
    monkeypatch.setattr(choices, "PARTS", 4)
    op, le = waiting("compiled"), BEGUN + 2 * WAITING
    for times, serves in (((1, 2), True), ((4, 3), True), ((5, 5), False), ((6, 7), True), ((9, 8, 8), False)):
        for _ in range(2):  # the first one finds a list that was not long in the call before
            le += 20
            op.push_many([insert(Thing(0, n), le + at) for n, at in enumerate(times)])
        assert kept(op) == serves, times
        op._check()


@pytest.mark.parametrize("kind", [Operator, Keyed])
def test_keys_in_turn(at_once: None, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of one key after the other, some of a key packed at the end of the call that read its parts."""
    monkeypatch.setattr(choices, "PARTS", 1)
    outs = []
    for engine in ("interpreted", "compiled"):
        op = kind(automaton(), window=40, engine=engine, **({"key": "key"} if kind is Keyed else {}))
        rng, found = np.random.default_rng(3), []
        for le in range(300):
            key = int(rng.integers(0, 3)) if le % 60 > 30 else le // 60 % 3
            found += matches(op.push(insert(Thing(int(rng.choice([0, 1, 1, 2, 3, 4])), 2, key), le)))
            if le % 50 == 49:
                found += matches(op.push(Punctuation(le - 30)))
                op._check()
        outs.append(found)
    assert outs[0] == outs[1]
    assert len(outs[0]) > 100


def test_a_step_with_too_many_names_its_states(at_once: None, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though parts do not tell where their rows are; the refused call leaves the operator as it was, parts too."""
    monkeypatch.setattr(choices, "PARTS", 4)
    op = waiting(engine, partial_matches=WAITING + 2)
    for le in (5, 6):
        op.push(insert(Thing(1), BEGUN + 2 * WAITING + le, BEGUN + 600))
    for _ in range(2):
        with pytest.raises(BudgetError, match=rf"but got {WAITING + 3} at le=1090.*: {WAITING + 3} in state 'a'"):
            op.push(insert(Thing(1), BEGUN + 2 * WAITING + 10))
    assert op.push(insert(Thing(0), BEGUN + 2 * WAITING + 10)) == []
    assert op.statistics.partial_matches == WAITING + 2


class Counted(Words):
    """Words of which each read is counted."""

    __slots__ = ("reads",)
    reads: int

    def __getitem__(self, i: int) -> int:
        self.reads += 1
        return super().__getitem__(i)


def rows(kind: int, le: int, n: int) -> dict[str, Any]:
    return {"kind": np.full(n, kind), "value": np.ones(n, int), "key": np.zeros(n, int), "le": np.arange(le, le + n)}


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("kind", [0, 1])
def test_what_waits_is_not_looked_at(kind: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By single pushes (n = 1) of events that concern nobody, or begin one more, nor by tables of a few of them."""
    seen = [0]

    def call(memory: Any, program: Any, batch: Any, *what: int) -> int:
        memory.aim(program.at)
        m, w = Counted(memory.m), Counted(memory.w)
        m.reads = w.reads = 0
        status = int(plain_main(m, w, Words(program.words), Columns(batch.words), *what))
        seen[0] += m.reads + w.reads
        return status

    monkeypatch.setattr(choices, "WARM", 0)
    monkeypatch.setattr(choices, "LONG", 0)
    monkeypatch.setattr(store, "kernel", lambda wait: call)
    found = []
    for waits in (70, 210):
        op = Operator(automaton(), window=5000, engine="compiled")
        op.push_many(rows(1, 0, waits))
        least = k.FOREVER
        for le in range(1000, 1036, 2 * n):  # the least: now and then the block, or scratch, has to grow
            seen[0] = 0
            if n == 1:
                op.push(insert(Thing(kind), le))
            else:
                op.push_many(rows(kind, le, n))
            least = min(least, seen[0])
        found.append(least)
    assert found[1] <= found[0] + 40 < 1000 * n  # a set of them is searched, and steps by their LE
