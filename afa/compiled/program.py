"""The program array that kernels read: arcs in force, constants, final states; see `afa.compiled.kernel.names`.

Made anew when arcs change, O(arc events). What a step function serves is a list of *classes*, a source state and a shape of arc
each; arcs of a class share code, and as many of them as the class has slots can be in force at once. Arcs without a slot are served
one by one through their own code.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.code.arc_code import ArcCode, words
from afa.compiled.code.in_order import loop_ir, loop_key
from afa.compiled.code.layout import Layout
from afa.compiled.code.native_arc import CompiledArc
from afa.compiled.code.step_function import SlotClass, step_ir, step_key, unchanged_ir, unchanged_key
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import names as k
from afa.compiled.machine.native import native
from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT, Arc
from afa.model.arctable import ArcEvent

LONGEST = 32_000
"""Lines of a step function's IR; of more there is none, arcs are served one by one. LLVM takes 1 s for these, 10 s for 130,000."""
LEAST, KEPT = 10, 64
"""Lines that a slot takes at least; step functions that are known to be too long."""
_too_long: dict[int, None] = {}
KINDS = {CONSUME: k.CONSUME, SKIP: k.SKIP, EPSILON: k.EPSILON, TIMEOUT: k.TIMEOUT}


class TooLong(Exception):  # noqa: N818  (no error: arcs are served one by one)
    """A step function that would take too long to compile."""


class Slots(NamedTuple):
    """An automaton's own code: where the slots of each class begin and how many there are; addresses, 0 for what there is not.

    ``step``, ``unchanged``: of `afa.compiled.code.step_function`, ``plain``, ``runs``: of `afa.compiled.code.in_order`.
    """

    places: Mapping[Any, tuple[int, int]]
    step: int
    unchanged: int = 0
    plain: int = 0
    runs: int = 0


def class_of(arc: CompiledArc, state: int, with_runs: bool) -> Any:
    """Return the class of an arc that reads events; None if Python runs it."""
    if arc.code is None or not arc.arc.reads_event:
        return None
    return state, arc.code.shape, arc.arc.may_stay and with_runs, arc.arc.kind == SKIP


def slots(
    arcs: Iterable[CompiledArc],
    numbers: Mapping[str, int],
    with_runs: bool,
    unchanged: bool,
    register: Layout,
    payload: Layout,
    loops: bool,
) -> Slots:
    """Return the code for these arcs, with a slot for each. Compiles, unless one of these classes is at hand. May raise TooLong.

    ``unchanged``: ask which events leave lists as they are. ``loops``: compile the loops if they are not at hand.
    """
    found: dict[Any, list[ArcCode]] = {}
    for arc in arcs:
        key = class_of(arc, numbers[arc.arc.src], with_runs)
        if key is not None and arc.code is not None:
            found.setdefault(key, []).append(arc.code)
    classes: list[SlotClass] = []
    places: dict[Any, tuple[int, int]] = {}
    for key in sorted(found):
        codes = found[key]
        places[key] = (len(classes), roomy(len(codes)))
        classes += [SlotClass(key[0], code, *key[2:]) for code in [*codes, *[codes[0]] * (roomy(len(codes)) - len(codes))]]
    width = register.width
    made = Slots(places, _step(classes, width))
    unchanged = unchanged and any(c.ignorable for c in classes)
    if unchanged:
        made = made._replace(unchanged=native.function(unchanged_key(classes), lambda: unchanged_ir(classes)))
    plain = _loop(classes, width, payload, False, loops)
    return made._replace(plain=plain, runs=_loop(classes, width, payload, True, loops) if unchanged else 0)


def roomy(n: int) -> int:
    """Return how many slots a class of ``n`` arcs gets: arcs that come one by one must not make new code each time.

    Examples
    --------
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


def _loop(classes: Sequence[SlotClass], width: int, payload: Layout, runs: bool, wanted: bool) -> int:
    key = loop_key(classes, width, payload, runs)
    return native.function(key, (lambda: loop_ir(classes, width, payload, runs)) if wanted else None)


class Program:
    """The words of a program: of the arc events in force, with code for each arc by its id.

    ``python``: address of the callback that runs an arc in Python. ``pool``: arcs that may come in the midst of a batch, with
    ``room`` for so many changes of them. ``now``: where the default mode begins.
    """

    def __init__(
        self,
        events: Sequence[ArcEvent],
        known: Mapping[int, CompiledArc],
        numbers: Mapping[str, int],
        final: Iterable[str],
        initial: Sequence[int],
        with_runs: bool,
        counted: int,
        slots: Slots | None,
        python: int,
        strings: Strings,
        pool: Sequence[Arc] = (),
        room: int = 0,
        now: int = k.BEGINNING,
    ) -> None:
        self.arcs: list[Arc] = list({id(arc): arc for arc in [*(event.arc for event in events), *pool]}.values())
        self.room = room
        self.codes = {id(arc): code for code, arc in enumerate(self.arcs)}
        self._known = [known[id(arc)] for arc in self.arcs]
        self._strings = strings
        self._pointers: list[tuple[int, int]] = []  # of each arc with code: the word that says where its constants stand; where
        self._texts: list[tuple[ArcCode, int]] = []  # codes with constants that are strings; where their constants stand
        self._words: list[int] = [0] * k.PROGRAM
        self._rows: list[list[int]] = []  # ROW words an arc event
        self._put(numbers, final, initial, with_runs, counted, slots, python)
        self._put_arcs(numbers, with_runs, slots)
        once = {(id(event.arc), event.le, event.re): event for event in events}  # arcs of one name may differ
        bounds = self._put_rows(list(once.values()), numbers)
        self._put_plain(events, now)
        self._point: Any = np.array(self._pointers, np.int64).reshape(-1, 2).T
        self._stand(self._array(bounds))

    def copy(self) -> Program:
        other = copy.copy(self)
        other._stand(self.words.copy())
        return other

    def twin(self, python: int, strings: Strings, now: int) -> Program:
        """Return the same program for another engine. O(words), and those arcs that have strings as constants."""
        other = copy.copy(self)
        other._strings = strings
        other._stand(self.words.copy())
        other.words[k.P_PYTHON] = python
        other._say_plain(now)
        return other

    def _stand(self, words: Any) -> None:
        self.words = words
        self.at, self.size = int(words.ctypes.data), len(words)
        self.address()

    def address(self) -> None:
        """Write where constants stand, and those that are strings."""
        words_at, places = self._point
        self.words[words_at] = self.at + 8 * places
        for code, at in self._texts:
            found = words(code.params, self._strings)
            self.words[at : at + len(found)] = found

    def _room(self, n: int, fill: int = 0) -> int:
        at = len(self._words)
        self._words += [fill] * n
        return at

    def _put(
        self,
        numbers: Mapping[str, int],
        final: Iterable[str],
        initial: Sequence[int],
        with_runs: bool,
        counted: int,
        slots: Slots | None,
        python: int,
    ) -> None:
        w, n = self._words, len(numbers)
        w[k.P_STATES], w[k.P_IGNORABLE], w[k.P_COUNTED], w[k.P_PYTHON] = n, int(with_runs), counted, python
        w[k.P_FINALS], w[k.P_NOW], w[k.P_MARKS] = self._room(n), self._room(n), self._room(n)
        w[k.P_FIRST], w[k.P_WAITS] = self._room(n, -1), self._room(n, -1)
        for state in final:
            w[w[k.P_FINALS] + numbers[state]] = w[w[k.P_NOW] + numbers[state]] = 1
        w[k.P_BEGIN] = self._room(k.N_REG + len(initial))
        begin = w[k.P_BEGIN]
        w[begin + k.N_M], w[begin + k.N_STATE], w[begin + k.N_END] = k.FOREVER, 0, k.ALONE
        w[begin + k.N_REG :] = initial
        count = sum(many for _, many in slots.places.values()) if slots else 0
        w[k.P_SLOTCOUNT] = count
        w[k.P_SLOTS], w[k.P_FREE] = self._room(2 * count, -1), self._room(2 * count)
        if slots:
            w[k.P_STEP], w[k.P_UNCHANGED], w[k.P_LOOP], w[k.P_LOOP_RUNS] = slots.step, slots.unchanged, slots.plain, slots.runs

    def _put_arcs(self, numbers: Mapping[str, int], with_runs: bool, slots: Slots | None) -> None:
        w = self._words
        w[k.P_CODES] = self._room(len(self._known) * k.ARC_SIZE)
        for code, known in enumerate(self._known):
            arc, at = known.arc, w[k.P_CODES] + code * k.ARC_SIZE
            w[at + k.ARC_KIND], w[at + k.ARC_SRC], w[at + k.ARC_DST] = KINDS[arc.kind], numbers[arc.src], numbers[arc.dst]
            w[at + k.ARC_IGNORABLE], w[at + k.ARC_FINAL] = int(arc.ignorable), int(arc.final)
            if slots:
                w[at + k.ARC_SLOT], w[at + k.ARC_SLOTS] = slots.places.get(class_of(known, numbers[arc.src], with_runs), (0, 0))
            if known.code is not None:
                w[at + k.ARC_CODE] = native.function(known.code.key, lambda code=known.code: code.ir)  # type: ignore[misc]
                self._pointers.append((at + k.ARC_CONSTANTS, len(w)))
                if any(param.kind in ("str", "table") for param in known.code.params):
                    self._texts.append((known.code, len(w)))
                w += words(known.code.params, self._strings)

    def _put_rows(self, events: Sequence[ArcEvent], numbers: Mapping[str, int]) -> list[list[int]]:
        """Make the rows of the arc events; their bounds."""
        w = self._words
        first = dict.fromkeys(range(len(numbers)), k.NOWHERE)  # by state, its first time-out
        bounds: list[list[int]] = []
        for row, (arc, le, re) in enumerate(events):
            self._rows.append([self.codes[id(arc)], le, re, k.NOWHERE, k.NOWHERE, k.NOWHERE, k.NOWHERE])
            bounds.append([le, row, 1])
            if re < k.FOREVER:
                bounds.append([re, row, -1])
            if arc.kind == TIMEOUT:
                w[k.P_TIMEOUT] = 1
                src = numbers[arc.src]
                self._rows[row][k.R_NEXT], first[src] = first[src], row
        for state, row in first.items():
            if row >= 0:
                w[w[k.P_WAITS] + state] = row
        bounds.sort(key=lambda bound: (bound[k.B_T], bound[k.B_SIGN], bound[k.B_ROW]))  # at one instant ends come first
        w[k.P_EPSILON] = int(any(arc.kind == EPSILON for arc in self.arcs))  # those that may come in a batch too
        if any(arc.final for arc in self.arcs):  # then a list may come to hold matches while it stays as it is
            w[k.P_UNCHANGED] = w[k.P_LOOP_RUNS] = 0
        if w[k.P_EPSILON] or w[k.P_TIMEOUT]:  # then lists go arc by arc
            w[k.P_STEP] = w[k.P_UNCHANGED] = w[k.P_LOOP] = w[k.P_LOOP_RUNS] = 0
        w[k.P_LOW] = w[k.P_HIGH] = k.FOREVER  # the first `seek` begins from the beginning
        return bounds

    def _put_plain(self, events: Sequence[ArcEvent], now: int) -> None:
        """Whether arcs can change by `change_arc`, and for each the row of it that began last and still lasts."""
        w, latest = self._words, dict.fromkeys(range(len(self.arcs)), k.NOWHERE)
        once = len(set(events)) == len(events) and len(set(self.arcs)) == len(self.arcs)
        self._steady = once and not any(arc.kind == TIMEOUT for arc in self.arcs)
        self._last_end = max((re for _, _, re in events if re < k.FOREVER), default=k.BEGINNING)
        w[k.P_PLAIN] = int(self._steady and self._last_end <= now)
        for row, at in sorted(enumerate(self._rows), key=lambda item: item[1][k.R_BEGIN]):
            if at[k.R_END] == k.FOREVER:
                at[k.R_BEFORE], latest[at[k.R_CODE]] = latest[at[k.R_CODE]], row
        for code, row in latest.items():
            w[w[k.P_CODES] + code * k.ARC_SIZE + k.ARC_LATEST] = row

    def _say_plain(self, now: int) -> None:
        self.words[k.P_PLAIN] = int(self._steady and self._last_end <= now)

    def _array(self, bounds: list[list[int]]) -> Any:
        """Return the words, and behind them the rows, the bounds and room for more of both."""
        w, rows, cap, at = self._words, self._rows, len(self._rows) + self.room, len(self._words)
        w[k.P_COUNT], w[k.P_ROWCAP], w[k.P_ROWS] = len(rows), cap, at
        w[k.P_PLACES] = at + cap * k.R_SIZE
        w[k.P_BOUNDCOUNT], w[k.P_BOUNDCAP], w[k.P_BOUNDS] = len(bounds), len(bounds) + self.room, w[k.P_PLACES] + cap
        # Whether there are loops that may be used; see `may_go_forward` of `afa.compiled.kernel.forward`.
        self.loops = bool(w[k.P_STEP] and w[k.P_LOOP] and not w[k.P_TIMEOUT] and w[k.P_COUNTED] < k.BY_TIMEOUTS)
        words = np.zeros(w[k.P_BOUNDS] + w[k.P_BOUNDCAP] * k.B_SIZE, np.int64)
        words[:at] = w
        for start, items in ((at, rows), (w[k.P_BOUNDS], bounds)):
            if items:
                words[start : start + len(items) * len(items[0])] = np.array(items, np.int64).ravel()
        return words

    def events(self) -> list[ArcEvent]:
        at, n = int(self.words[k.P_ROWS]), int(self.words[k.P_COUNT])
        rows = self.words[at : at + n * k.R_SIZE].reshape(n, k.R_SIZE).tolist()
        return [ArcEvent(self.arcs[code], begin, end) for code, begin, end, *_ in rows]
