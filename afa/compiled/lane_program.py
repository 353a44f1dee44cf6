"""History in lanes: an automaton's code and constants, and the rows of a frame, as `afa.compiled.kernel.lane_loop` takes them.

LaneProgram   an automaton's own loop, its slots, constants, final states      differs with each variant
LaneRows      columns of words, and which rows each lane has                   the same for all variants of one event
LaneRun       one call after another over a range of lanes -> matches as entries of an output log
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.compiled.code.arc_code import ArcCode, words
from afa.compiled.code.native_arc import CompiledArc, compiled_arc
from afa.compiled.code.payload_layout import FieldSlot, Layout
from afa.compiled.code.step_function import step_ir
from afa.compiled.code.strings import Strings
from afa.compiled.encode import EncodedColumn, beyond, ends, numbered
from afa.compiled.kernel import lane_loop, radix_sort
from afa.compiled.kernel import layout as k
from afa.compiled.linked import Linked
from afa.compiled.linked_best import may_grow
from afa.compiled.linked_loop import linked_lanes
from afa.compiled.machine.native import native
from afa.compiled.memory import address
from afa.compiled.record_words import RecordForms
from afa.compiled.slots import LEAST, LONGEST, class_of, classes_of
from afa.model.arc import EPSILON, TIMEOUT
from afa.model.automaton import Automaton
from afa.state.plain import Unfit, field_columns, ints

LIST = 1 << 10
"""Rows of a list, at most."""
MATCHES = 1 << 12
"""Room for so many matches, to begin with."""
ROWS = 1 << 20
"""The rows of one call: between two of them an interrupt is heard."""


class NoLanes(Exception):  # noqa: N818  (no error: the operator takes the rows)
    """An automaton, or a frame, has no lanes; the text says why."""


class LaneProgram:
    """The code of an automaton over lanes, and its constants.

    Raises `NoLanes` for what goes by the operator: arcs that run in Python or are final, epsilon arcs but behind a time-out,
    time-outs from which something goes on, refused ties; `ready` for too many arcs. What chooses has a `LaneChoice`.
    """

    bags = False
    """Whether what matches of one key agree in is shown as often as it comes."""

    def __init__(self, automaton: Automaton, strings: Strings, longest: bool) -> None:
        if not automaton.ties:
            raise NoLanes("it refuses rows of one key and one time")
        if automaton.event_schema is None or any(field.type is None for field in automaton.event_schema.fields):
            raise NoLanes("its events hold any values")
        register, payload = Layout.of(automaton.register_schema), Layout.of(automaton.event_schema)
        arcs = [compiled_arc(arc, payload, register) for arc in dict.fromkeys(automaton.arcs)]
        for arc in arcs:
            if arc.code is None:
                raise NoLanes(f"{arc.arc!r} runs in Python: {arc.reason}")
            if arc.arc.final:
                raise NoLanes(f"{arc.arc!r} is final while it is in force")
        events = [arc for arc in arcs if arc.arc.reads_event]
        waits = _waits(automaton, arcs)
        states = dict.fromkeys([automaton.start, *(state for arc in automaton.arcs for state in (arc.src, arc.dst))])
        numbers = {state: number for number, state in enumerate(states)}
        runs = any(arc.arc.may_stay for arc in events)
        of = [key for arc in events if (key := class_of(arc, numbers[arc.arc.src], runs)) is not None]
        classes, places = classes_of(events, numbers, Counter(of), runs)
        if longest and may_grow(classes):
            raise NoLanes("only the longest count, in lists that grow")
        self.strings, self.payload = strings, payload
        self.matches = RecordForms(Layout.of(automaton.match_schema), strings)
        self._classes, self._width = classes, register.width
        self._loop = linked_lanes(classes, register.width, self.matches.layout.width, payload, runs, bool(waits), longest)
        self.row, self.entry = k.NodeRow.register + register.width, k.LogRow.register + register.width
        self.now = np.array([state in automaton.final for state in states], np.int64)
        self._begin = [0, k.FOREVER, 0, k.ALONE, *RecordForms(register, strings).words(automaton.register)]
        self._slots = np.full(2 * len(classes), -1, np.int64)
        self._codes = [arc.code for arc in events if arc.code is not None]
        self.states, self.waits = len(states), [(numbers[src], codes) for src, codes in waits]
        self._places = []
        used: Counter[Any] = Counter()
        for arc, key in zip(events, of):
            place = places[key][0] + used[key]
            used[key] += 1
            self._slots[2 * place] = numbers[arc.arc.dst]
            self._places.append(place)

    @property
    def at_hand(self) -> bool:
        """Whether code of its loop is at hand."""
        return self._loop.address(False) != 0

    def ready(self) -> None:
        """Compile the loop, and write the constants; texts have all got their numbers. Raises `NoLanes` where it is too long."""
        many = len(self._classes) > LONGEST // LEAST
        if not self.at_hand and (many or step_ir(self._classes, self._width).count("\n") > LONGEST):
            raise NoLanes("it has too many arcs")
        self.function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._loop.address())
        for _ in range(2):  # at first texts get their numbers, of which tables are made
            found = [words(code.params, self.strings) for code in (*self._codes, *self.wait_codes)]
        self._tables = {address(table): table for table in self.strings.given_away()}
        self._constants = np.array([word for each in found for word in each] or [0], np.int64)
        self._ends = 8 * np.cumsum([0, *map(len, found)])
        addresses = [native.function(code.key, lambda code=code: code.ir) for code in self.wait_codes]  # type: ignore[misc]
        self._waits = self.wait_words(addresses, address(self._constants))

    @property
    def wait_codes(self) -> list[ArcCode]:
        """The code of its time-outs, and of the arcs behind them."""
        return [code for _, codes in self.waits for code in codes if code is not None]

    def wait_words(self, codes: Sequence[int], constants: int, here: int | None = None) -> Any:
        """Return by state the first `LaneWait`, and these. Addresses: ``codes`` of `wait_codes`; ``here``: of what is returned."""
        found, size = np.zeros(self.states + k.LaneWait.SIZE * len(self.waits), np.int64), k.LaneWait.SIZE
        here = address(found) if here is None else here
        places = iter(zip(codes, (constants + self._ends[len(self._places) :]).tolist()))
        for number, (state, both) in enumerate(self.waits):
            row = self.states + number * size
            for word, code in zip((k.LaneWait.code, k.LaneWait.then), both):
                if code is not None:
                    found[row + word : row + word + 2] = next(places)
            found[row + k.LaneWait.next] = found[state]
            found[state] = here + 8 * row
        return found

    def call(self, rows: LaneRows) -> Any:
        """Return the words of a call, a `Lane`, and the arrays whose addresses they hold."""
        x = np.zeros(k.Lane.payload + self.payload.width, np.int64)
        slots, room = self.slots(address(self._constants)), LIST * self.row
        x[k.Lane.waits], x[k.Lane.clock], spare = address(self._waits), rows.clock, np.empty(self.row, np.int64)
        begin, event, lists = self.begin(), np.empty(self.event_words, np.int64), np.empty(2 * room, np.int64)
        x[k.Lane.slots], x[k.Lane.now], x[k.Lane.spare] = address(slots), address(self.now), address(spare)
        self.work_at(x, address(begin), address(event), address(lists), room)
        rows.fill(x, address(x), address)
        return x, (slots, begin, event, lists, spare)

    @property
    def event_words(self) -> int:
        """How many words an event takes."""
        return k.EventRow.payload + self.payload.width

    def begin(self) -> Any:
        """Return the row of a computation that begins."""
        return np.array(self._begin, np.int64)

    def slots(self, constants: int) -> Any:
        """Return the slots of constants at some address."""
        slots = self._slots.copy()
        slots[[2 * place + 1 for place in self._places]] = constants + self._ends[: len(self._places)]
        return slots

    def constants(self, at: Callable[[Any], int]) -> Any:
        """Return the constants, with the tables of texts where ``at`` puts these."""
        found, place = self._constants.copy(), 0
        for kind, width in ((param.kind, param.width) for code in (*self._codes, *self.wait_codes) for param in code.params):
            if kind == "table":
                found[place] = at(self._tables[int(found[place])])
            place += width
        return found

    def work_at(self, x: Any, begin: Any, event: Any, lists: Any, room: int) -> None:
        """Write where a lane works into the words of a call, or of several; ``room``: words of each of two lists."""
        x[..., k.Lane.begin], x[..., k.Lane.event], x[..., k.Lane.room] = begin, event, room
        x[..., k.Lane.left], x[..., k.Lane.right] = lists, lists + 8 * room

    @property
    def loop(self) -> Linked:
        """Its loop, which `afa.compiled.device` prints for devices."""
        return self._loop


def _waits(automaton: Automaton, arcs: Sequence[CompiledArc]) -> list[tuple[str, tuple[ArcCode, ArcCode | None]]]:
    """Return the time-outs that lead to a match: the state, the code of the instant, and that of an epsilon arc behind it, or None.

    Raises `NoLanes` where something may go on from there, or an epsilon arc stands elsewhere.
    """
    leaving: dict[str, list[CompiledArc]] = {}
    for arc in arcs:
        leaving.setdefault(arc.arc.src, []).append(arc)
    found: list[tuple[str, tuple[ArcCode, ArcCode | None]]] = []
    behind = set[int]()
    for arc in arcs:
        if arc.arc.kind != TIMEOUT:
            continue
        over = arc.arc.dst
        ends = leaving.get(over, [])
        on = [each for each in ends if each.arc.kind != EPSILON or each.arc.dst in leaving]
        if on or arc.arc.src == automaton.start:
            raise NoLanes(f"what {arc.arc!r} leads to may go on")
        assert arc.code is not None
        found += [(arc.arc.src, (arc.code, None))] if over in automaton.final else []
        found += [(arc.arc.src, (arc.code, each.code)) for each in ends if each.arc.dst in automaton.final]
        behind.update(id(each) for each in ends)
    for arc in arcs:
        if arc.arc.kind == EPSILON and (id(arc) not in behind or any(c.arc.reads_event and c.arc.dst == arc.arc.src for c in arcs)):
            raise NoLanes(f"{arc.arc!r} is taken between events")
    return found


class LaneRows(NamedTuple):
    """The rows of a frame as words, lane by lane."""

    le: Any
    re: Any  # None: LE + window
    window: int | None
    seq: Any  # the ranks by which rows of one LE follow each other; None: all of one LE make one step
    payload: list[Any]  # the column of each word
    index: Any  # the numbers of the rows, lane by lane; None: they stand so
    bounds: Any  # `LaneBounds` of each lane
    clock: int = k.BEGINNING  # time-outs fire up to this instant

    def fill(self, x: Any, here: int, at: Callable[[Any], int]) -> None:
        """Write where the columns stand into the words of a call; these stand at ``here``, an array where ``at`` says."""
        x[k.Lane.le_at] = at(self.le)
        x[k.Lane.re_at] = here + 8 * k.Lane.constant_re if self.re is None else at(self.re)
        x[k.Lane.re_mask] = 0 if self.re is None else -1
        x[k.Lane.le_mask] = -1 if self.re is None and self.window is not None else 0
        x[k.Lane.constant_re] = k.FOREVER if self.window is None else self.window
        x[k.Lane.index_at] = here + 8 * k.Lane.none if self.index is None else at(self.index)
        x[k.Lane.index_mask], x[k.Lane.plain_mask] = (0, -1) if self.index is None else (-1, 0)
        x[k.Lane.seq_at] = here + 8 * k.Lane.none if self.seq is None else at(self.seq)
        x[k.Lane.seq_mask] = 0 if self.seq is None else -1
        x[k.Lane.bounds] = at(self.bounds)
        for word, column in enumerate(self.payload):
            x[k.Lane.payload + word] = at(column)

    @property
    def arrays(self) -> list[Any]:
        """The columns that there are."""
        return [each for each in (self.le, self.re, self.seq, self.index, *self.payload, self.bounds) if each is not None]

    def part(self, first: int, end: int) -> LaneRows:
        """Return some lanes with their rows alone, lane by lane."""
        bounds = self.bounds[first:end]
        rows: Any = slice(int(bounds[0, k.LaneBounds.first]), int(bounds[-1, k.LaneBounds.end]))
        bounds = np.ascontiguousarray(bounds - rows.start)
        rows = rows if self.index is None else self.index[rows]
        le, re, seq = (None if column is None else column[rows] for column in (self.le, self.re, self.seq))
        return self._replace(le=le, re=re, seq=seq, payload=[column[rows] for column in self.payload], index=None, bounds=bounds)


def le_of(columns: Mapping[str, Any]) -> Any:
    """Return the column of LE. Raises `Unfit`, as the next two, where the operator has to take it, which says what is wrong."""
    return ints([columns["le"]])[0]


def re_of(columns: Mapping[str, Any], window: int | None) -> Any:
    """Return the column of RE, ``window`` behind LE where there is none; None: that holds of all rows."""
    le = le_of(columns)
    re = ends(columns["re"], le, None, window) if "re" in columns else None
    if beyond(le, None, window) if re is None else bool((re <= le).any()):
        raise Unfit
    return re


def encoded(slot: FieldSlot, column: Any, strings: Strings) -> list[Any]:
    """Return a field's column as words: of an optional field which values are there, then the values."""
    (found,) = field_columns([column], [slot.field], len(column))
    return [words for words, _ in EncodedColumn(slot, numbered(found, strings), found.present).words()]


def by_columns(rows: Any, columns: Sequence[int]) -> Any:
    """Return rows of words in the stable order of some columns, the last of which counts most; their differences are an int64.

    O(rows) for each digit of the range of a column.
    """
    n, width = rows.shape
    if not n:
        return rows
    x, counts = np.zeros(k.RadixPass.SIZE, np.int64), np.empty(1 << radix_sort.BITS, np.int64)
    loop = Linked(radix_sort.sort, f"sort {width}", {"WIDTH": width}, lambda: {})
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loop.address())
    out = np.empty_like(rows)
    for column in columns:
        low, high = int(rows[:, column].min()), int(rows[:, column].max())
        for shift in range(0, (high - low).bit_length(), radix_sort.BITS):
            x[:] = address(rows), address(out), n, column, low, shift, address(counts)
            if not function(address(x)):
                rows, out = out, rows
    return rows


class LaneFound(NamedTuple):
    """What some lanes have found."""

    entries: Any  # of shape (matches, words of a `LogRow`), lane by lane; None: they were counted only
    counts: Any  # of each lane
    left: Any  # the lanes that are left to the operator
    tied: bool  # whether some matches of one step are not in the order of their ends


def run(program: LaneProgram, rows: LaneRows, first: int, end: int, write: bool, over: Callable[[], bool]) -> LaneFound:
    """Take the lanes from ``first`` up to ``end``; between two calls of native code ``over`` may end it."""
    x, kept = program.call(rows)
    counts, status = np.zeros((2, max(end - first, 1)), np.int64)
    out = np.empty((MATCHES if write else 1, program.entry), np.int64)
    x[k.Lane.counts], x[k.Lane.status] = address(counts) - 8 * first, address(status) - 8 * first
    x[k.Lane.lane], x[k.Lane.end], x[k.Lane.row], x[k.Lane.write] = first, end, k.NOWHERE, write
    begins = x[k.Lane.out] = x[k.Lane.begun] = address(out)
    x[k.Lane.out_end], x[k.Lane.stop] = begins + out.nbytes, ROWS
    while (ended := program.function(address(x))) == lane_loop.MORE and not over():
        if x[k.Lane.stop] > 0:  # the matches have no room
            begins, used = address(out), int(x[k.Lane.out] - address(out)) // (8 * program.entry)
            larger = np.empty((2 * len(out), program.entry), np.int64)
            larger[:used] = out[:used]
            moved = address(larger) - begins
            out = larger
            x[k.Lane.out] += moved
            x[k.Lane.begun] += moved
            x[k.Lane.out_end] = address(out) + out.nbytes
        x[k.Lane.stop] = ROWS
    del kept
    if ended not in (0, lane_loop.MORE):
        raise RuntimeError(f"expected lanes to end but got the status {ended}")
    used = int(x[k.Lane.out] - address(out)) // (8 * program.entry)
    return LaneFound(out[:used] if write else None, counts[: end - first], first + np.flatnonzero(status), bool(x[k.Lane.tied]))
