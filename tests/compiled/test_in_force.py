"""Arcs in force at an instant: the cursor over the bounds of lifetimes, against the lifetimes one by one; what a move costs."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from afa import Arc, Automaton, Operator
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import layout as k
from afa.compiled.kernel.arc_cursor import seek
from afa.compiled.program import ArcProgram, ProgramForm
from afa.compiled.slots import Slots, class_of
from afa.model.arctable import ArcEvent
from punctuation.time import FOREVER
from tests.automata import Number
from tests.compiled.plain import plain

seek = plain(seek)

NUMBERS = {"a": 0, "b": 1, "c": 2}


class Counted:
    """Words that count how often they are read."""

    def __init__(self, words: Any) -> None:
        self.words, self.reads = words.tolist(), 0

    def __getitem__(self, at: int) -> int:
        self.reads += 1
        assert at >= 0
        found: int = self.words[at]
        return found

    def __setitem__(self, at: int, value: int) -> None:
        assert at >= 0
        self.words[at] = int(value)


def arcs(n: int) -> list[Arc]:
    """Of two source states and two shapes, some of which make their state final, and some that consume nothing."""
    found = []
    for i in range(n):
        src, dst, name = "ab"[i % 2], "bc"[i % 2], str(i)
        if i % 7 == 3:
            found.append(Arc.epsilon(src, dst, "True", name=name))
        else:
            found.append(Arc(src, dst, f"n == {i}" if i % 3 else f"n > {i}", final=i % 5 == 0, name=name))
    return found


def program(events: list[ArcEvent], slots: int) -> ArcProgram:
    """With so many slots for each class of arcs."""
    automaton = Automaton(start="a", final={"c"}, event=Number, arcs=list({id(e.arc): e.arc for e in events}.values()))
    known = Operator(automaton, window=10)._core.engine.store.arcs._known
    classes = sorted({key for arc in known.values() if (key := class_of(arc, NUMBERS[arc.arc.src], False)) is not None})
    places = {key: (i * slots, slots) for i, key in enumerate(classes)}
    form = ProgramForm(tuple(NUMBERS), False, 0, Slots(places, 0) if slots else None, ())
    return ArcProgram(form, events, known, {"c"}, 0, Strings())


def now(p: Any, made: ArcProgram) -> tuple[list[str], list[str], int]:
    """The names of the arcs in the lists, and of those with a slot; how many have none."""
    listed = []
    for state in NUMBERS.values():
        row, before = p[p[k.Program.first] + state], k.NOWHERE
        while row >= 0:
            at = p[k.Program.rows] + row * k.ArcRow.SIZE
            assert p[at + k.ArcRow.back] == before
            listed.append(made.arcs[p[at + k.ArcRow.code]].name or "")
            row, before = p[at + k.ArcRow.next], row
    constants = {
        p[p[k.Program.codes] + code * k.ArcWords.SIZE + k.ArcWords.constants]: arc.name for code, arc in enumerate(made.arcs)
    }
    slots = range(p[k.Program.slots], p[k.Program.slots] + 2 * p[k.Program.slotcount], 2)
    slotted = [constants[p[at + 1]] or "" for at in slots if p[at] >= 0]
    return sorted(listed), sorted(slotted), p[k.Program.spill]


@pytest.mark.parametrize("slots", [0, 1, 3, 40])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_in_force_is_what_the_lifetimes_say(seed: int, slots: int) -> None:
    """Forward and back, with as many slots as arcs and with fewer."""
    rng = random.Random(seed)
    events = [ArcEvent(arc, le, rng.choice([le + rng.randint(1, 30), FOREVER])) for arc in arcs(40) for le in [rng.randint(0, 90)]]
    made = program(events, slots)
    p = Counted(made.words)
    for _ in range(60):
        t = rng.randint(-5, 130)
        seek(p, t)
        there = [event.arc for event in events if event.le <= t < event.re]
        consuming = Counter((arc.src, "==" in str(arc.fence)) for arc in there if arc.kind == "consume")
        listed, slotted, spilled = now(p, made)
        assert listed == sorted(arc.name for arc in there), t
        assert len(slotted) <= sum(min(n, slots) for n in consuming.values()), t  # who had to begin without one stays so
        assert spilled == sum(consuming.values()) - len(slotted), t
        assert slots < 40 or not spilled, t
        assert set(slotted) <= {arc.name for arc in there if arc.kind == "consume"}, t
        finals = {"c", *(arc.dst for arc in there if arc.final)}
        assert {state for state, i in NUMBERS.items() if p[p[k.Program.now] + i]} == finals, t


@pytest.mark.parametrize("slots", [0, 800])
def test_an_arc_ends_at_the_same_cost_however_many_are_in_force(slots: int) -> None:
    """Each was looked for among all that were in force."""
    one = Arc("a", "b", "n == 1", name="one")

    def reads(n: int) -> float:
        made = program([ArcEvent(one, i, i + n) for i in range(n)], slots)
        p = Counted(made.words)
        seek(p, n)
        before = p.reads
        seek(p, 2 * n)
        return (p.reads - before) / n

    assert np.isclose(reads(50), reads(800), rtol=0.1)
