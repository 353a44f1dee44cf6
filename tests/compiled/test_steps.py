"""The code of a whole automaton against its arcs, one by one."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.code.arc_code import words
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.step_function import ALONE, HEAD, START, SlotClass, step_ir, step_key, unchanged_ir, unchanged_key
from afa.compiled.code.strings import Strings
from afa.expression.nodes import And, Const, Expr, FieldRead, walk
from punctuation.time import FOREVER
from tests.compiled.calls import NATIVE, NativeArc, compiled, function, of, to_words
from tests.compiled.expressions import EVENT, REGISTER, STRS, E, R, expression, record, transfer

WIDTH = REGISTER.width
STRIDE = HEAD + WIDTH
STATES = (0, 1, 2, 5)
Row = list[int]


class Slot(NamedTuple):
    """One arc of the automaton in a test; dst < 0: it is not in force."""

    kind: SlotClass
    dst: int
    fence: Expr
    arc: NativeArc
    event_part: list[NativeArc]


def automaton(rng: random.Random, strings: Strings) -> list[Slot]:
    """Random arcs, some of them ignorable, some not in force."""
    slots: list[Slot] = []
    while len(slots) < rng.randint(1, 8):
        src = rng.choice(STATES)
        ignorable = rng.random() < 0.3
        fence = expression(rng, "b", rng.choice((0, 1, 2)))
        if rng.random() < 0.4:
            fence = And((fence, expression(rng, "b", 1), Const(True)))
        try:
            code = compiled(fence, None if ignorable or rng.random() < 0.3 else transfer(rng, 1))
        except NotCompilable:
            continue
        dst = src if ignorable else rng.choice((*STATES, 7))
        part = [NativeArc(compiled(item), strings) for item in event_part(fence)]
        slots.append(
            Slot(SlotClass(src, code, ignorable), -1 if rng.random() < 0.1 else dst, fence, NativeArc(code, strings), part)
        )
    return slots


def automata(n: int) -> Iterator[tuple[int, random.Random, Strings, list[Slot]]]:
    """So many of them, each with its seed, and what goes on with it."""
    for seed in range(n):
        rng, strings = random.Random(seed), Strings(STRS)
        yield seed, rng, strings, automaton(rng, strings)


def memory(slots: list[Slot], strings: Strings) -> tuple[Any, list[Any]]:
    """The slots' words, and the constants that they point to."""
    params = [of(*words(slot.kind.code.params, strings)) for slot in slots]
    return of(*(word for slot, p in zip(slots, params) for word in (slot.dst, p.ctypes.data))), params


def derive(slots: list[Slot], event: E, re: int, le: int, rows: list[tuple[Row, R]], begin: tuple[Row, R]) -> list[Row] | None:
    """What `step_ir` says that it does; None: an arc asks."""
    out: list[Row] = []
    for i, (row, register) in enumerate([*rows, begin]):
        if row[1] <= le:
            continue
        stayed = False
        for slot in slots:
            if slot.kind.state != row[2] or slot.dst < 0:
                continue
            status, made = slot.arc(event, register)
            if status < 0:
                return None
            if status and slot.kind.ignorable and i < len(rows) and row[1] <= re:
                out += [] if stayed else [[*row[:3], i, *row[HEAD:]]]
                stayed = True
            elif status:
                out.append([row[0], min(row[1], re), slot.dst, ALONE, *made])
    return out


def a_row(rng: random.Random, strings: Strings, state: int, m: int) -> tuple[Row, R]:
    register = record(rng, R)
    return [rng.randint(0, 50), m, state, rng.choice((-1, 3)), *to_words(REGISTER, register, strings)], register


def test_a_step_does_what_its_arcs_do() -> None:
    seen: Counter[str] = Counter()
    for seed, rng, strings, slots in automata(60):
        kinds = [slot.kind for slot in slots]
        step = function(NATIVE.function(step_key(kinds, WIDTH, 1), functools.partial(step_ir, kinds, WIDTH, 1)), 9)
        table, _kept = memory(slots, strings)
        for _ in range(20):
            event = record(rng, E)
            ev = of(*to_words(EVENT, event, strings))
            re, le = rng.randint(5, 15), rng.randint(0, 4)
            rows = [a_row(rng, strings, rng.choice((*STATES, 9)), rng.randint(3, 20)) for _ in range(rng.randint(0, 4))]
            begin = a_row(rng, strings, 1, FOREVER)
            source, first = of(*(word for row, _ in rows for word in row)), of(*begin[0])
            wanted = derive(slots, event, re, le, rows, begin)
            cap = rng.choice((100, 100, 1))
            out = np.full((cap + 1) * STRIDE, -77, dtype=np.int64)
            pointers = [a.ctypes.data for a in (ev, source, first, out, table)]
            n = step(pointers[0], re, le, pointers[1], len(rows), pointers[2], pointers[3], cap, pointers[4])
            seen["asks" if n == -1 else "full" if n == -2 else "some" if n else "none"] += 1
            assert out[cap * STRIDE :].tolist() == [-77] * STRIDE, "beyond cap"
            if wanted is None:
                assert n == -1 or (n == -2 and cap == 1), seed
            elif len(wanted) > cap:
                assert n == -2, seed
            else:
                assert n == len(wanted), seed
                assert out[: n * STRIDE].reshape(n, STRIDE).tolist() == wanted, seed
    assert all(seen[what] >= 20 for what in ("none", "some", "full")), seen


def event_part(fence: Expr) -> list[Expr]:
    """The leading conjuncts that read the event only."""
    found: list[Expr] = []
    todo = [fence]
    while todo:
        item = todo.pop(0)
        if isinstance(item, And):
            todo = [*item.items, *todo]
        elif reads_register(item):
            return found
        else:
            found.append(item)
    return found


def reads_register(expr: Expr) -> bool:
    return any(isinstance(node, FieldRead) and node.side == "r" for node in walk(expr))


def is_open(slot: Slot, event: E) -> int:
    """1 if the event part is true, 0 if not, -1 if it asks."""
    for item in slot.event_part:
        status, _ = item(event, R())
        if status < 1:
            return status
    return 1


def quiet_states(slots: list[Slot], start: int, event: E) -> int:
    """What `unchanged_ir` tells at least; of fences that read the register in part: `test_by_event.py`."""
    mask = 0
    for state in STATES:
        opens = {i: is_open(slot, event) for i, slot in enumerate(slots) if slot.kind.state == state and slot.dst >= 0}
        true = [slots[i] for i, status in opens.items() if status]
        if -1 in opens.values():
            continue
        if state == start and not true:
            mask |= 1 << START
        if len(true) == 1 and true[0].kind.ignorable and not reads_register(true[0].fence):
            mask |= 1 << state
    return mask | (0 if any(slot.kind.state == start for slot in slots) else 1 << START)


def test_quiet_tells_the_states_that_an_event_leaves_as_they_are() -> None:
    seen: Counter[int] = Counter()
    for seed, rng, strings, slots in automata(50):
        kinds = [slot.kind for slot in slots]
        unchanged = function(NATIVE.function(unchanged_key(kinds, 1), functools.partial(unchanged_ir, kinds, 1)), 2)
        table, _kept = memory(slots, strings)
        for _ in range(20):
            event = record(rng, E)
            ev = of(*to_words(EVENT, event, strings))
            mask = unchanged(ev.ctypes.data, table.ctypes.data)
            least = quiet_states(slots, 1, event)
            assert mask & least == least, seed
            seen[mask] += 1
    assert len(seen) > 4, seen
