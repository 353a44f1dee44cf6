"""Strings as numbers: what nothing holds is forgotten, and nothing else."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.compiled.code import strings
from tests.strategies import Seeded


class Scan(NamedTuple):
    tag: str
    note: str | None = None


class Seen(NamedTuple):
    last: str = "none yet"
    other: str | None = None


def followed(e: Any, r: Any) -> Any:
    return Seen(e.tag, r.last)


def automaton() -> Automaton:
    return Automaton(
        start="a",
        final={"c"},
        event=Scan,
        register=Seen(),
        arcs=[
            Arc("a", "b", lambda e, r: e.tag.startswith("n1") or r.last == e.note, lambda e, r: Seen(e.tag, e.note), name="first"),
            Arc("b", "b", lambda e, r: e.tag != "stop" and e.note is None),
            Arc("b", "c", lambda e, r: e.tag == "stop" or e.tag.endswith("7"), followed),
        ],
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Few strings are many."""
    monkeypatch.setattr(strings.Strings, "least", 20)
    return 20


def stream(seed: int, n: int) -> list[Any]:
    """Changes and punctuations, with a string in each that was never seen before."""
    rng, items, held, promised = random.Random(seed), [], [], 0
    for i in range(n):
        le = max(promised, i - rng.randrange(6))
        if rng.random() < 0.15:
            promised = max(promised, i - 6)
            held = [change for change in held if change.le >= promised]
            items.append(Punctuation(promised))
        elif held and rng.random() < 0.15:
            items.append(retract(*held.pop(rng.randrange(len(held)))[:3]))
        else:
            tag = rng.choice(["stop", f"n{i}", f"m{i}", f"n{i}7"])
            held.append(insert(Scan(tag, rng.choice([None, "none yet", f"note {i}"])), le, le + 9))
            items.append(held[-1])
    return items


@pytest.mark.parametrize("sequence", [None, "tag"])
@pytest.mark.parametrize("keyed", [False, True])
def test_ever_new_strings_take_bounded_room(few: int, keyed: bool, sequence: str | None) -> None:
    make: Any = Keyed if keyed else Operator
    options: Any = {"key": lambda e: len(e.tag) % 3} if keyed else {}
    compiled, interpreted = (make(automaton(), engine=e, order_by=sequence, **options) for e in ("compiled", "interpreted"))
    most, matches = 0, 0
    for i, item in enumerate(stream(1, 1500)):
        found = compiled.push(item)
        assert found == interpreted.push(item), i
        matches += len(found)
        most = max(most, len(compiled._core.engine.store.strings))
        if i % 100 == 0:
            compiled._check()
    assert matches > 300
    assert most < 300
    assert compiled.snapshot() == interpreted.snapshot()


def test_by_columns_and_after_refused_calls(few: int) -> None:
    """Output is decoded after the call in which numbers were freed; a call that failed leaves them as they were."""
    compiled, interpreted = (Operator(automaton(), engine=e, window=5) for e in ("compiled", "interpreted"))
    rows, most = 0, 0
    for i in range(0, 3000, 10):
        tags, notes = [f"n1 {i + j}" if j % 3 else "stop" for j in range(10)], pa.array([None] * 10, pa.string())
        batch = pa.table({"tag": tags, "note": notes, "le": list(range(i, i + 10))})
        found = compiled.push_many(batch)
        assert found == interpreted.push_many(batch)
        rows += len(found)
        for op in (compiled, interpreted):
            op.push(Punctuation(i + 8))
            with pytest.raises(LateEventError):
                op.push_many(pa.table({"tag": [f"new {i}", "late"], "note": notes[:2], "le": [i + 11, 0]}))
        most = max(most, len(compiled._core.engine.store.strings))
    compiled._check()
    assert rows > 1000
    assert most < 200


def test_constants_of_arcs_and_their_tables_stay(few: int) -> None:
    """Tables are asked about a number's new string; constants of an arc that comes later have numbers of their own."""
    compiled, interpreted = (Operator(automaton(), engine=e, window=4) for e in ("compiled", "interpreted"))
    for i in range(400):
        items = [("push", insert(Scan(["n1", f"x{i}", f"n1{i}", "stop"][i % 4]), i)), ("push", Punctuation(i - 2))]
        if i % 50 == 0:
            arc = Arc("b", "c", f"e.tag == 'x{i + 53}' or e.tag.endswith('{i % 7}')", "(e.tag, r.last)", name=f"{i}")
            items.append(("push_arc", insert(arc)))
        for method, item in items:
            assert getattr(compiled, method)(item) == getattr(interpreted, method)(item), i
    assert len(compiled._core.engine.store.strings) < 150


@pytest.mark.parametrize("order", ["rising", "falling", "halving", "any"])
def test_ranks_stand_as_strings_do(order: str) -> None:
    """Asked after each string, after many, behind strings that were forgotten."""
    choose, known, held = Seeded(f"ranks/{order}"), strings.Strings(), set[str]()
    for i in range(700):
        number = {"rising": i, "falling": 10_000 - i, "halving": 5000 + (-1) ** i * i}.get(order, choose.number(0, 10_000))
        held.add(f"{number:06}")
        known.number(f"{number:06}")
        if i % 150 == 149:
            held = {text for text in held if choose.chance(50)}
            used = np.zeros(len(known), bool)
            used[[known.number(text) for text in held]] = True
            known.keep(used)
        if choose.chance(80) or i > 600:
            ranks = known.ranks()
            assert [ranks[known.number(text)] for text in sorted(held)] == sorted(ranks[known.number(text)] for text in held)
            assert len({ranks[known.number(text)] for text in held}) == len(held)
