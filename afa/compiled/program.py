"""The program array that kernels read: arcs in force, constants, final states; see `afa.compiled.kernel.layout`.

Made anew, O(arc events), when arcs change in another way than kernels can carry out where it stands: `afa.compiled.arc_swaps`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.choices import has_loops
from afa.compiled.code.arc_code import ArcCode, words
from afa.compiled.code.native_arc import CompiledArc
from afa.compiled.code.strings import Strings
from afa.compiled.kernel import layout as k
from afa.compiled.machine.native import native
from afa.compiled.scan_program import ScanProgram
from afa.compiled.slots import Slots, class_of
from afa.model.arc import CONSUME, EPSILON, SKIP, TIMEOUT, Arc
from afa.model.arctable import ArcEvent

KINDS = {CONSUME: k.CONSUME, SKIP: k.SKIP, EPSILON: k.EPSILON, TIMEOUT: k.TIMEOUT}


class ProgramForm(NamedTuple):
    """All that a program depends on besides its arcs, but for the words that `twin` sets."""

    states: tuple[str, ...]  # by their numbers
    with_runs: bool  # p.ignorable
    counted: int  # p.counted
    slots: Slots | None
    initial: tuple[int, ...]  # words of the initial register
    scan: ScanProgram | None = None


class ArcProgram:
    """The words of a program: of the arc events in force, with code for each arc by its id.

    ``python``: address of the callback that runs an arc in Python. ``pool``: arcs that may come in the midst of a batch, with
    ``room`` for so many changes of them. ``now``: where the default mode begins.
    """

    def __init__(
        self,
        form: ProgramForm,
        events: Sequence[ArcEvent],
        known: Mapping[int, CompiledArc],
        final: Iterable[str],
        python: int,
        strings: Strings,
        pool: Sequence[Arc] = (),
        room: int = 0,
        now: int = k.BEGINNING,
    ) -> None:
        self.arcs: list[Arc] = list({id(arc): arc for arc in [*(event.arc for event in events), *pool]}.values())
        self.room = room
        self.codes = {id(arc): code for code, arc in enumerate(self.arcs)}
        self.compiled = [known[id(arc)] for arc in self.arcs]  # by their numbers
        self._strings = strings
        self._pointers: list[tuple[int, int]] = []  # of each arc with code: the word that says where its constants stand; where
        self._texts: list[tuple[ArcCode, int]] = []  # codes with constants that are strings; where their constants stand
        self._words: list[int] = [0] * k.PROGRAM
        self._rows: list[list[int]] = []  # ROW words an arc event
        numbers = {state: number for number, state in enumerate(form.states)}
        self._put(form, numbers, final, python)
        self._put_arcs(numbers, form.with_runs, form.slots, form.scan)
        if form.scan is not None:
            self._put_scan(form.scan)
        once = {(id(event.arc), event.le, event.re): event for event in events}  # arcs of one name may differ
        bounds = self._put_rows(list(once.values()), numbers)
        self._put_plain(events, now)
        self._point: Any = np.array(self._pointers, np.int64).reshape(-1, 2).T
        self._stand(self._array(bounds))

    def twin(self, python: int, strings: Strings, now: int) -> ArcProgram:
        """Return the same program for another engine. O(words), and those arcs that have strings as constants."""
        other = copy.copy(self)
        other._strings = strings
        other._stand(self.words.copy())
        other.words[k.Program.python] = python
        other.words[k.Program.plain] = other._plain(now)
        return other

    def _stand(self, words: Any) -> None:
        self.words = words
        self.at, self.size = int(words.ctypes.data), len(words)
        words[k.Program.asked] = 0
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

    def _put(self, form: ProgramForm, numbers: Mapping[str, int], final: Iterable[str], python: int) -> None:
        w, n, slots = self._words, len(numbers), form.slots
        w[k.Program.states], w[k.Program.ignorable] = n, int(form.with_runs)
        w[k.Program.counted], w[k.Program.python] = form.counted, python
        w[k.Program.finals], w[k.Program.now], w[k.Program.marks] = self._room(n), self._room(n), self._room(n)
        w[k.Program.first], w[k.Program.waits] = self._room(n, -1), self._room(n, -1)
        for state in final:
            w[w[k.Program.finals] + numbers[state]] = w[w[k.Program.now] + numbers[state]] = 1
        w[k.Program.begin] = self._room(k.NodeRow.register + len(form.initial))
        begin = w[k.Program.begin]
        w[begin + k.NodeRow.until], w[begin + k.NodeRow.state], w[begin + k.NodeRow.end] = k.FOREVER, 0, k.ALONE
        w[begin + k.NodeRow.register :] = form.initial
        count = slots.total if slots else 0
        w[k.Program.slotcount] = count
        w[k.Program.slots], w[k.Program.free] = self._room(2 * count, -1), self._room(2 * count)
        self._longest = slots is not None and slots.longest and form.with_runs
        if slots:
            w[k.Program.step], w[k.Program.unchanged] = slots.step, slots.unchanged
            w[k.Program.loop], w[k.Program.loop_runs] = slots.plain, slots.runs
            if slots.best is not None and n <= k.STATES:
                w[k.Program.best_step], orders, w[k.Program.kept], w[k.Program.keeping] = slots.best
                w[k.Program.orders] = self._room(n, k.NOWHERE)
                for src, order in orders:
                    w[w[k.Program.orders] + src] = order

    def _put_arcs(self, numbers: Mapping[str, int], with_runs: bool, slots: Slots | None, scan: ScanProgram | None) -> None:
        w, more = self._words, () if scan is None else scan.arcs
        w[k.Program.codes] = self._room((len(self.compiled) + len(more)) * k.ArcWords.SIZE)
        asked: dict[Any, int] = {}  # conditions that differ
        for code, known in enumerate(more, len(self.compiled)):
            self._put_code(known, w[k.Program.codes] + code * k.ArcWords.SIZE)
        for code, known in enumerate(self.compiled):
            arc, at = known.arc, w[k.Program.codes] + code * k.ArcWords.SIZE
            w[at + k.ArcWords.kind] = KINDS[arc.kind]
            w[at + k.ArcWords.src], w[at + k.ArcWords.dst] = numbers[arc.src], numbers[arc.dst]
            w[at + k.ArcWords.ignorable], w[at + k.ArcWords.final] = int(arc.ignorable), int(arc.final)
            if slots:
                w[at + k.ArcWords.slot], w[at + k.ArcWords.slots] = slots.place(class_of(known, numbers[arc.src], with_runs))
            ranked = None if scan is None else scan.choice.of(arc)
            w[at + k.ArcWords.rank], w[at + k.ArcWords.place] = ranked or (k.NOWHERE, k.NOWHERE)
            if scan is not None:
                w[at + k.ArcWords.way] = scan.bit(arc) if ranked else k.NOWHERE
                w[at + k.ArcWords.same] = asked.setdefault((numbers[arc.src] > 0, getattr(arc.fence, "text", code)), len(asked))
            self._put_code(known, at)
        w[k.Program.asks], w[k.Program.askcount] = self._room(len(asked) * k.AskedOnce.SIZE), len(asked)

    def _put_code(self, known: CompiledArc, at: int) -> None:
        """Write the code of an arc, if it has any."""
        w, found = self._words, known.code
        if found is not None:
            w[at + k.ArcWords.code] = native.function(found.key, lambda: found.ir)
            self._pointers.append((at + k.ArcWords.constants, len(w)))
            if any(param.kind in ("str", "table") for param in found.params):
                self._texts.append((found, len(w)))
            w += words(found.params, self._strings)

    def _put_scan(self, scan: ScanProgram) -> None:
        w, first = self._words, len(self.compiled)
        w[k.Program.pattern] = len(scan.lands)
        w[k.Program.lands] = len(w)
        w += scan.lands
        w[k.Program.hidden] = len(w)
        w += scan.hidden
        w[k.Program.before] = len(w)
        w += scan.before or ()
        w[k.Program.ahead], w[k.Program.aheadcount] = len(w), len(scan.ahead)
        w[k.Program.farthest], w[k.Program.window] = max([0, *(look[0] for look in scan.ahead)]), scan.choice.window or 0
        w += [word for look in scan.ahead for word in look]
        w[k.Program.measure_begin] = len(w)
        w += scan.begin
        w[k.Program.finish] = first + len(scan.arcs) - 1 if scan.finishes else k.NOWHERE
        w[k.Program.measures] = len(w)
        for code, dst in scan.table:
            w += [code if code == k.NOWHERE else first + code, dst]

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
                w[k.Program.timeout] = 1
                src = numbers[arc.src]
                self._rows[row][k.ArcRow.next], first[src] = first[src], row
        for state, row in first.items():
            if row >= 0:
                w[w[k.Program.waits] + state] = row
        bounds.sort(key=itemgetter(k.BoundRow.t, k.BoundRow.sign, k.BoundRow.row))  # at one instant ends come first
        w[k.Program.epsilon] = int(any(arc.kind == EPSILON for arc in self.arcs))  # those that may come in a batch too
        if any(arc.final for arc in self.arcs):  # then a list may come to hold matches while it stays as it is
            w[k.Program.unchanged] = w[k.Program.loop_runs] = 0
        if w[k.Program.epsilon] or w[k.Program.timeout]:  # then lists go arc by arc
            w[k.Program.step] = w[k.Program.unchanged] = w[k.Program.loop] = w[k.Program.loop_runs] = w[k.Program.best_step] = 0
        w[k.Program.low] = w[k.Program.high] = k.FOREVER  # the first `seek` begins from the beginning
        return bounds

    def _put_plain(self, events: Sequence[ArcEvent], now: int) -> None:
        """Note whether arcs can change by `change_arc`, and for each arc its row that began last and still lasts."""
        w, latest = self._words, dict.fromkeys(range(len(self.arcs)), k.NOWHERE)
        once = len(set(events)) == len(events) and len(set(self.arcs)) == len(self.arcs)
        self._steady = once and not any(arc.kind == TIMEOUT for arc in self.arcs)
        self._last_end = max((re for _, _, re in events if re < k.FOREVER), default=k.BEGINNING)
        w[k.Program.plain] = self._plain(now)
        for row, at in sorted(enumerate(self._rows), key=lambda item: item[1][k.ArcRow.begin]):
            if at[k.ArcRow.end] == k.FOREVER:
                at[k.ArcRow.before], latest[at[k.ArcRow.code]] = latest[at[k.ArcRow.code]], row
        for code, row in latest.items():
            w[w[k.Program.codes] + code * k.ArcWords.SIZE + k.ArcWords.latest] = row

    def _plain(self, now: int) -> int:
        return int(self._steady and self._last_end <= now)

    def _array(self, bounds: list[list[int]]) -> Any:
        """Return the words, and behind them the rows, the bounds and room for more of both."""
        w, rows, cap, at = self._words, self._rows, len(self._rows) + self.room, len(self._words)
        w[k.Program.count], w[k.Program.rowcap], w[k.Program.rows] = len(rows), cap, at
        w[k.Program.places] = at + cap * k.ArcRow.SIZE
        w[k.Program.bounds] = w[k.Program.places] + cap
        w[k.Program.boundcount], w[k.Program.boundcap] = len(bounds), len(bounds) + self.room
        self.loops = has_loops(w, self._longest)
        words = np.zeros(w[k.Program.bounds] + w[k.Program.boundcap] * k.BoundRow.SIZE, np.int64)
        words[:at] = w
        for start, items in ((at, rows), (w[k.Program.bounds], bounds)):
            if items:
                words[start : start + len(items) * len(items[0])] = np.array(items, np.int64).ravel()
        return words

    def events(self) -> list[ArcEvent]:
        at, n = int(self.words[k.Program.rows]), int(self.words[k.Program.count])
        rows = self.words[at : at + n * k.ArcRow.SIZE].reshape(n, k.ArcRow.SIZE).tolist()
        return [ArcEvent(self.arcs[code], begin, end) for code, begin, end, *_ in rows]
