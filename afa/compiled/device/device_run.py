"""Take lanes on a device: several patterns of one code at once, an item of work a range of lanes under one pattern.

    launch   each item through its lanes, until all are through: some rows, or as many matches as it has room for
    parts    rows that the device has no room for go some lanes at a time

An item is a record `Lane` of the processor's loop, `afa.compiled.kernel.lane_loop`, with its addresses as places in an `Arena`. An
interrupt is heard between two launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from afa.compiled.device.arena import Arena, TooLarge
from afa.compiled.device.c_text import NoDeviceText, c_text
from afa.compiled.device.devices import make_room
from afa.compiled.kernel import layout as k
from afa.compiled.lane_program import LIST, LaneFound, LaneProgram, LaneRows, NoLanes, run

LaneWork = tuple[LaneProgram, LaneRows]
"""A pattern's code, and the rows that it takes."""
ROWS = 1 << 20
"""The rows of an item in one launch."""
SHORT_LIST = 1 << 6
"""Rows of a list on a graphics processor, where each of many thousand lanes has two; of longer ones the lane is left."""
RANGES = 16
"""Items of one pattern for each unit of a device that is a processor."""
LEAST, MATCHING, MORE, MOST = 16, 16, 1.25, 1 << 24
"""An item has room for so many matches, or for one of so many rows; then for so many times what it had, up to so many."""
KEPT = 256
"""How many texts are kept."""
_printed: dict[tuple[str, ...], str] = {}
"""The C text of loops, by what it depends on."""


def on_device(
    arena: Arena, works: Sequence[LaneWork], held: Sequence[Any], write: bool, over: Callable[[], bool]
) -> list[LaneFound | str]:
    """Take all lanes of a frame through each pattern; why the processor's threads have to, where they do.

    Lanes that the device leaves, of long lists for one, the processor takes. Patterns have the same lanes. ``held``: the arrays
    that are there for the next call, too.
    """
    found: list[LaneFound | str] = [""] * len(works)
    groups: dict[str, list[int]] = {}
    for place, (program, _) in enumerate(works):
        try:
            groups.setdefault(_text(program), []).append(place)
        except NoLanes as why:
            found[place] = str(why)
    for text, places in groups.items():
        try:
            made = run_all(arena, text, [works[place] for place in places], held, write)
        except TooLarge as why:
            made = [f"{arena.device.said} has no room for {why}"] * len(places)  # type: ignore[list-item]
        for place, one in zip(places, made):
            found[place] = one if isinstance(one, str) else _taken_again(*works[place], one, write, over)
    return found


def _text(program: LaneProgram) -> str:
    """Return the C text of a pattern's loop. Raises `NoLanes` where only the processor runs it."""
    codes = program.wait_codes
    key = program.loop.kernel.__module__, program.loop.key, *(code.key for code in codes)
    if key not in _printed:
        make_room(_printed, KEPT)
        names = [f"wait.{number}" for number in range(len(codes))]
        more = [code.ir.replace("@f(", f"@{name}(", 1) for name, code in zip(names, codes)]
        try:
            _printed[key] = c_text("\n".join([*more, program.loop.ir()]), names)
        except NoDeviceText as why:
            raise NoLanes(f"no device runs {why}") from None
    return _printed[key]


def _taken_again(program: LaneProgram, rows: LaneRows, found: LaneFound, write: bool, over: Callable[[], bool]) -> LaneFound:
    """Take the lanes that were left on this thread."""
    parts = [(lane, run(program, rows, lane, lane + 1, write, over)) for lane in found.left.tolist()]
    for lane, part in parts:
        found.counts[lane] = part.counts[0]
    entries = found.entries
    if entries is not None and parts:
        entries = np.concatenate([entries, *(part.entries for _, part in parts)])
        entries = entries[np.argsort(entries[:, k.LogRow.key], kind="stable")]
    left = np.concatenate([np.empty(0, np.int64), *(part.left for _, part in parts)]).astype(np.int64)
    return LaneFound(entries, found.counts, left, found.tied or any(part.tied for _, part in parts))


def run_all(arena: Arena, text: str, works: Sequence[LaneWork], held: Sequence[Any], write: bool) -> list[LaneFound]:
    """Take all lanes through each pattern; ``text``: the code that all of them have. Raises `TooLarge`: one lane alone is.

    Patterns have the same lanes. Columns that are ``held`` stay on the device for the next call, while there is room for all.
    """
    if not len(works[0][1].bounds):
        none = np.empty(0, np.int64)
        return [LaneFound(np.empty((0, program.entry), np.int64) if write else None, none, none, False) for program, _ in works]
    with arena.device.lock:
        arena.only(held)
        stays = set(map(id, held))
        try:
            for array in (each for _, rows in works for each in rows.arrays if id(each) in stays):
                arena.stay(array)
            return _call(arena, text, works, write)
        except TooLarge:
            arena.clear()
            return _parts(arena, text, works, write)


def _call(arena: Arena, text: str, works: Sequence[LaneWork], write: bool) -> list[LaneFound]:
    mark = arena.mark()
    try:
        return _Items(arena, text, works).run(write)
    finally:
        arena.back(mark)


def _parts(arena: Arena, text: str, works: Sequence[LaneWork], write: bool) -> list[LaneFound]:
    """Take all lanes, or some of them and then those behind. Raises `TooLarge`."""
    try:
        return _call(arena, text, works, write)
    except TooLarge:
        lanes = len(works[0][1].bounds)
    if lanes < 2:
        raise TooLarge("the rows of one key")
    half = lanes // 2
    one, other = (
        _parts(arena, text, [(program, rows.part(first, end)) for program, rows in works], write)
        for first, end in ((0, half), (half, lanes))
    )
    return [_joined(*both, half) for both in zip(one, other)]


def _joined(one: LaneFound, other: LaneFound, lanes: int) -> LaneFound:
    """Join what two parts found; the first one has so many lanes."""
    if other.entries is not None:
        other.entries[:, k.LogRow.key] += lanes
    entries = None if one.entries is None else np.concatenate([one.entries, other.entries])
    counts, left = np.concatenate([one.counts, other.counts]), np.concatenate([one.left, lanes + other.left])
    return LaneFound(entries, counts, left, one.tied or other.tied)


class _Items:
    """The records of a call: by range of lanes, then by pattern, so that patterns that follow each other find rows in the cache."""

    def __init__(self, arena: Arena, text: str, works: Sequence[LaneWork]) -> None:
        (first, rows), device, each = works[0], arena.device, len(works)
        self._arena, self._works, self._kernel = arena, works, device.kernel(text)
        lanes, words = len(rows.bounds), k.Lane.payload + first.payload.width
        self._ranges = _ranges(rows, RANGES * device.units if device.is_cpu else lanes)
        many = len(self._ranges) - 1
        # Of an item: the record, the row that begins, the event, room for a row.
        begin, event, spare = np.cumsum([words, first.row, first.event_words]).tolist()
        self._size = spare + first.row
        blocks = self._blocks = np.zeros((many, each, self._size), np.int64)
        x = self._x = blocks[..., :words]
        for place, (program, rows) in enumerate(works):
            whole = np.zeros(words, np.int64)
            whole[k.Lane.constant_re] = k.FOREVER if rows.window is None else rows.window
            rows.fill(whole, arena.put(whole), arena.stay)
            whole[k.Lane.clock], whole[k.Lane.now] = rows.clock, arena.put(program.now)
            constants, codes = arena.put(program.constants(arena.put)), range(1, 1 + len(program.wait_codes))
            whole[k.Lane.slots] = arena.put(program.slots(constants))
            whole[k.Lane.waits] = here = arena.room(program.wait_words(codes, constants, 0).nbytes)
            device.write(arena.buffer, here, program.wait_words(codes, constants, here))
            x[:, place], blocks[:, place, begin:event] = whole, program.begin()
        self._at, number = arena.room(blocks.nbytes), np.arange(many * each).reshape(many, each)
        starts = self._at + 8 * self._size * number
        room = (LIST if device.is_cpu else SHORT_LIST) * first.row
        lists = arena.room(16 * room * many * each) + 16 * room * number
        first.work_at(x, starts + 8 * begin, starts + 8 * event, lists, room)
        x[..., k.Lane.spare] = starts + 8 * spare
        self._shape, self._told = (each, lanes), [arena.room(8 * lanes * each) for _ in range(2)]
        for word, told in zip((k.Lane.counts, k.Lane.status), self._told):
            x[..., word] = told + 8 * lanes * np.arange(each)

    def run(self, write: bool) -> list[LaneFound]:
        """Take each item through its lanes, some rows or as many matches as it has room for in one launch."""
        x, arena, device, (each, lanes) = self._x, self._arena, self._arena.device, self._shape
        x[..., k.Lane.lane], x[..., k.Lane.end] = self._ranges[:-1, None], self._ranges[1:, None]
        x[..., k.Lane.row], x[..., k.Lane.write] = k.NOWHERE, write
        entry = 8 * self._works[0][0].entry
        rooms = _Rooms(self._works[0][1].bounds, self._ranges, each, write)
        found: list[list[Any]] = [[] for _ in range(each)]
        mark = arena.mark()
        while (x[..., k.Lane.lane] < x[..., k.Lane.end]).any():
            arena.back(mark)
            ends = arena.room(entry * int(rooms.sizes.sum())) + entry * np.cumsum(rooms.sizes).reshape(rooms.sizes.shape)
            begins = ends - entry * rooms.sizes
            x[..., k.Lane.stop], x[..., k.Lane.out_end] = ROWS, ends.T
            x[..., k.Lane.out] = x[..., k.Lane.begun] = begins.T
            device.write(arena.buffer, self._at, self._blocks)
            device.launch(self._kernel, arena.buffer, self._at, 8 * self._size, x.shape[0] * each)
            arena.read(self._at, self._blocks)
            if write:
                used = (x[..., k.Lane.out].T - begins) // entry
                for place, parts in enumerate(found):
                    there = rooms.there(place, used[place])
                    some = np.empty((len(there), entry // 8), np.int64)
                    parts.append(arena.read(int(begins[place, 0]), some)[there])
                rooms.go_on(x[..., k.Lane.lane].T, x[..., k.Lane.row].T, used)
        counts, status = (arena.read(told, np.empty((each, lanes), np.int64)) for told in self._told)
        made = []
        for place, parts in enumerate(found):
            left = np.flatnonzero(status[place] != k.LANE_DONE)
            counts[place, left] = 0
            entries = _in_order(parts, left) if write else None
            made.append(LaneFound(entries, counts[place], left, bool(x[:, place, k.Lane.tied].any())))
        return made


class _Rooms:
    """Room for the matches of each item, by pattern and range of lanes: guessed at first, then by what it has had so far."""

    def __init__(self, bounds: Any, ranges: Any, each: int, write: bool) -> None:
        self._begins, self._ranges = np.append(bounds[:, k.LaneBounds.first], bounds[-1, k.LaneBounds.end]), ranges
        self._rows = self._begins[ranges[1:]] - self._begins[ranges[:-1]]
        self._done, self._had = np.zeros((2, each, len(self._rows)), np.int64)
        self.sizes = np.tile(np.maximum(LEAST, self._rows // MATCHING) * write, (each, 1))

    def there(self, place: int, used: Any) -> Any:
        """Return which entries of a pattern's rooms hold a match; ``used``: how many of each room do."""
        sizes = self.sizes[place]
        return np.arange(sizes.sum()) < np.repeat(np.cumsum(sizes) - sizes + used, sizes)

    def go_on(self, lane: Any, row: Any, used: Any) -> None:
        """Make rooms for what is left, from where items stand. One that has not got on has more matches of a step than room."""
        done = np.where(row == k.NOWHERE, self._begins[lane], row) - self._begins[self._ranges[:-1]]
        self._had += used
        left = np.maximum(self._rows - done, 1)  # slices of time go on behind their last row
        more = LEAST + (MORE * self._had * left // np.maximum(done, 1)).astype(np.int64)
        more = np.where((done == self._done) & (used == 0), 2 * self.sizes, more)
        self.sizes, self._done = np.where(lane >= self._ranges[1:], 0, np.minimum(more, MOST)), done


def _in_order(parts: list[Any], left: Any) -> Any:
    """Return matches lane by lane, from what each launch has written; none of those lanes that were left later."""
    entries = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if len(left):
        entries = entries[~np.isin(entries[:, k.LogRow.key], left)]
    return entries[np.argsort(entries[:, k.LogRow.key], kind="stable")] if len(parts) > 1 else entries


def _ranges(rows: LaneRows, most: int) -> Any:
    """Return where ranges of lanes begin, with about as many rows each, and the end."""
    sizes = np.cumsum(rows.bounds[:, k.LaneBounds.begins] - rows.bounds[:, k.LaneBounds.first])
    count = max(1, min(most, len(sizes)))
    total = int(sizes[-1]) if len(sizes) else 0
    if count == len(sizes):
        return np.arange(count + 1)
    return np.unique([0, *np.searchsorted(sizes, total * np.arange(1, count) // count), len(sizes)])
