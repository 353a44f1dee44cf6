"""The slots of a step function: how many arcs of which shape it has room for.

What it serves is a list of *classes*, a source state and a shape of arc each; arcs of a class share code. A class has as many slots
as of its arcs are in force at once: those that were, or wait for their turn, take none. Arcs without a slot are served one by one
through their own code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from afa.compiled.code.arc_code import ArcCode
from afa.compiled.code.native_arc import CompiledArc
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import SlotClass, step_ir, step_key, unchanged_ir, unchanged_key
from afa.compiled.linked_best import BestRows, best_rows
from afa.compiled.linked_loop import linked_loop
from afa.compiled.machine.native import native
from afa.model.arc import SKIP
from afa.model.arctable import ArcEvent

LONGEST = 32_000
"""Lines of a step function's IR; longer ones are not compiled: arcs go one by one. LLVM takes 1 s for these, 10 s for 130,000."""
LEAST, KEPT = 10, 64
"""Lines that a slot takes at least; step functions that are known to be too long."""
_too_long: dict[int, None] = {}


class TooLong(Exception):  # noqa: N818  (no error: arcs are served one by one)
    """A step function that would take too long to compile."""


class Class(NamedTuple):
    """The common part of arcs that may take the same slots.

    Skips are the last ones of a state: a row that stays by another arc, too, has taken the event, whose time-outs fire behind it.
    """

    state: int
    skip: bool
    shape: str
    stays: bool


class Slots(NamedTuple):
    """An automaton's own code: where the slots of each class begin and how many there are; addresses, 0: there is none.

    ``step``, ``unchanged``: of `afa.compiled.code.step_function`, ``plain``, ``runs``: of `afa.compiled.kernel.row_loop`,
    ``best``: of `afa.compiled.kernel.longest_best`. ``longest``: whether only the longest count.
    """

    places: Mapping[Class, tuple[int, int]]
    step: int
    unchanged: int = 0
    plain: int = 0
    runs: int = 0
    longest: bool = False
    best: BestRows | None = None

    def place(self, of: Class | None) -> tuple[int, int]:
        """Return the first slot of a class, and how many it has."""
        return (0, 0) if of is None else self.places.get(of, (0, 0))

    @property
    def total(self) -> int:
        return sum(many for _, many in self.places.values())


def class_of(arc: CompiledArc, state: int, with_runs: bool) -> Class | None:
    """Return the class of an arc that reads events; None if Python runs it."""
    if arc.code is None or not arc.arc.reads_event:
        return None
    return Class(state, arc.arc.kind == SKIP, arc.code.shape, arc.arc.may_stay and with_runs)


def at_once(events: Sequence[ArcEvent], of: Mapping[int, Class | None]) -> Counter[Class]:
    """Return, for each class, how many of its arcs are in force at once, at most; at least 1. ``of``: by the arc's id."""
    found = Counter(dict.fromkeys((key for key in of.values() if key is not None), 1))
    bounds: dict[Class, list[tuple[int, int]]] = {}
    for arc, le, re in events:
        if (key := of[id(arc)]) is not None:
            bounds.setdefault(key, []).extend(((le, 1), (re, -1)))
    for key, times in bounds.items():
        now = 0
        for _, sign in sorted(times) if len(times) > 2 else ():  # at one instant ends come first
            now += sign
            found[key] = max(found[key], now)
    return found


def slots(
    arcs: Iterable[CompiledArc],
    numbers: Mapping[str, int],
    wanted: Counter[Class],
    register: Layout,
    payload: Layout,
    with_runs: bool,
    unchanged: bool,
    loops: bool,
    longest: bool,
) -> Slots:
    """Return the code for these arcs. Compiles, unless one of these classes is at hand. May raise TooLong.

    ``wanted``: see `at_once`; there is one slot more where arcs wait, as one may come before another goes. ``unchanged``: ask which
    events leave lists as they are. ``loops``: compile the loops if they are not at hand.
    """
    classes, places = classes_of(arcs, numbers, wanted, with_runs)
    width = register.width
    made = Slots(places, _step(classes, width))
    unchanged = unchanged and any(c.ignorable for c in classes)
    if unchanged:
        made = made._replace(unchanged=native.function(unchanged_key(classes), lambda: unchanged_ir(classes)))
    if longest:
        return made._replace(longest=True, best=best_rows(classes, width) if with_runs else None)
    plain, runs = (linked_loop(classes, width, payload, each) for each in (False, True))
    return made._replace(plain=plain.address(loops), runs=runs.address(loops) if unchanged else 0)


def classes_of(
    arcs: Iterable[CompiledArc], numbers: Mapping[str, int], wanted: Counter[Class], with_runs: bool
) -> tuple[list[SlotClass], dict[Class, tuple[int, int]]]:
    """Return the classes in the order of the slots, and of each where its slots begin and how many it has."""
    found: dict[Class, list[ArcCode]] = {}
    for arc in arcs:
        key = class_of(arc, numbers[arc.arc.src], with_runs)
        if key is not None and arc.code is not None:
            found.setdefault(key, []).append(arc.code)
    classes: list[SlotClass] = []
    places: dict[Class, tuple[int, int]] = {}
    for key in sorted(found):
        codes = found[key]
        _, n = places[key] = len(classes), roomy(max(wanted[key], min(len(codes), wanted[key] + 1)))
        classes += [SlotClass(key.state, codes[0], key.stays, key.skip)] * n
    return classes, places


def roomy(n: int) -> int:
    """Return how many slots a class of ``n`` arcs gets: arcs that come one by one must not make new code each time.

    >>> [roomy(n) for n in (1, 7, 8, 9, 10, 17, 100, 1000)]
    [1, 7, 8, 10, 10, 20, 112, 1024]
    """
    step = max(1, 1 << max(0, (n - 1).bit_length() - 3))
    return -(-n // step) * step


def _step(classes: Sequence[SlotClass], width: int) -> int:
    key = step_key(classes, width)
    known = hash(key)
    if len(classes) > LONGEST // LEAST or known in _too_long:
        raise TooLong
    try:
        return native.function(key, lambda: _within(step_ir(classes, width)))
    except TooLong:
        _too_long[known] = None
        if len(_too_long) > KEPT:
            _too_long.pop(next(iter(_too_long)))
        raise


def _within(ir: str) -> str:
    if ir.count("\n") > LONGEST:
        raise TooLong
    return ir
