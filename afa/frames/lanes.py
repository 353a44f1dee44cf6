"""Find the matches in the rows of a frame: in lanes, one for each key or slice of its time, or by operators.

Lanes are loops over final rows: `afa.compiled.lane_program`.

    rows by time --> by key, a stable sort by its rank --> lanes, some to a job --> matches, lane by lane --> by time

Lanes stand in the order of their keys, so that matches of one LE and RE leave in the order of `afa.frames.result_order`. What lanes
do not take, or a lane gives up, goes through operators.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from afa.compiled import choices
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.strings import Strings
from afa.compiled.kernel.layout import LaneBounds, LogRow
from afa.compiled.lane_choice import lane_program
from afa.compiled.lane_program import LaneFound, LaneProgram, LaneRows, NoLanes, by_columns, encoded, le_of, re_of, run
from afa.engine import Logged
from afa.errors import AfaError, ChangeError
from afa.frames.asked import OperatorPlan
from afa.frames.found import Columns, joined
from afa.frames.frame_reading import PartEnd, last_of
from afa.frames.lane_budget import LaneBudget
from afa.frames.lane_order import LaneOrder, cut
from afa.frames.result_order import once, settled, taken
from afa.frames.slicing import MOST, SortedRows, by_time
from afa.frames.through import Beside, Ended, cores, finding, in_threads, slices
from afa.io.answer import array, key_parts, objects_of
from afa.io.frame import Frame
from afa.io.listed_columns import picked
from afa.operator import tables
from afa.schema import Schema
from afa.state.key_columns import KeyColumn, KeyColumns
from afa.state.plain import Unfit
from punctuation.time import BEGINNING
from speculation.row_view import RowView

if TYPE_CHECKING:
    from afa.compiled.device.arena import Arena

LOGGER = logging.getLogger("afa")
SLICE = 1 << 16
"""How many rows a slice of a key's time has at least."""
PARTS = 4
"""How many jobs there are for each thread: one that takes long must not keep the others waiting."""
FORMS = 4
"""In how many ways, by key and order, the rows of a prepared frame are held."""
FEW = 64
"""The most lanes that go through operators again, one by one; of more all rows do."""


class LaneHistory:
    """The rows of one frame in lanes, sorted and encoded once for all patterns. ``held``: laid out by key, for many of them."""

    def __init__(self, held: bool, forms: int = 1, on: str | None = None) -> None:
        self._forms = forms  # in how many ways, by key and order, rows are held
        self.on, self.arena = on, None if on is None else _arena(on)  # the device that takes them, and what it holds
        self.held, self.strings, self.lock = held, Strings(), threading.Lock()
        self._known: dict[Any, dict[Any, Any]] = {}  # by how rows are sorted

    @property
    def arrays(self) -> list[Any]:
        """The arrays that it holds."""
        return [each for known in list(self._known.values()) for found in list(known.values()) for each in arrays_in(found)]

    def rows(self, columns: dict[str, Any], plan: OperatorPlan, threads: int, end: PartEnd) -> LaneFrame:
        """Return the rows as a pattern takes them, for time-outs up to ``end``. Raises what `LaneOrder.of` raises."""
        given = columns["le"], columns.get("re")
        form = plan.form, *map(id, given)  # events of other fields may read columns in another way
        if form not in self._known:
            self._known = {form: {"given": given}, **dict(list(self._known.items())[: self._forms - 1])}

        def once(what: Any, make: Callable[[], Any]) -> Any:
            known = self._known[form]
            if what not in known:
                known[what] = make()
            return known[what]

        order = once("order", lambda: LaneOrder.of(columns, plan))
        index = None if self.held else order.index

        def laid(values: Any) -> Any:
            return values[order.index] if values is not None and self.held and order.index is not None else values

        le = once("le", lambda: laid(le_of(columns)))
        window, re = self._known[form].get("re", (0, None))  # one at a time: with a column of ends each window has its own
        if window != plan.window:
            re = laid(re_of(columns, plan.window))
            self._known[form]["re"] = plan.window, re
        ranks = once("ranks", lambda: laid(order.ranks))
        payload: list[Any] = []
        for slot in Layout.of(plan.events).slots:
            values = columns["le"] if slot.field.name == plan.events.instant else columns[slot.field.name]
            payload += once(slot.field, partial(lambda *of: [laid(each) for each in encoded(*of)], slot, values, self.strings))
        chosen = plan.automaton.choice is not None or plan.lanes.longest  # then a key has one lane
        may_cut = plan.window is not None and re is None and not chosen
        most = max(SLICE, len(le) // (PARTS * threads)) if may_cut else len(le)
        bounds, of = once(("bounds", most), lambda: cut(le, index, order.ends, most))
        clock = last_of(end, once("latest", lambda: int(le.max()) if len(le) else BEGINNING))
        return LaneFrame(columns, order, LaneRows(le, re, plan.window, ranks, payload, index, bounds, clock), of)


def history_of(frame: Frame, device: str | None, engine: str) -> LaneHistory | None:
    """Return the rows of a frame in lanes, if it is prepared, or held for a device. Raises `DeviceError`; `AfaError`."""
    if device is not None and engine != "auto":
        raise AfaError(f"device={device!r} can't be combined with engine={engine!r} because operators take all rows then")
    held = frame.history
    if not isinstance(held, LaneHistory):
        return None if device is None else LaneHistory(True, FORMS, device)
    if device is not None and (held.arena is None or _arena(device).device is not held.arena.device):
        raise AfaError(
            f"device={device!r} can't be combined with a frame prepared without it; say afa.prepared(.., device={device!r})"
        )
    return held


def _arena(device: str) -> Arena:
    from afa.compiled.device.arena import Arena
    from afa.compiled.device.devices import device as opened

    return Arena(opened(device))


class LaneFrame(NamedTuple):
    """The rows of a frame as one pattern takes them."""

    columns: dict[str, Any]  # as they came
    order: LaneOrder
    rows: LaneRows
    of: Any  # of each lane the number of its key

    def part(self, key: int) -> SortedRows:
        """Return the rows of a key, by its number, for an operator."""
        low, high = self.order.ends[key : key + 2].tolist()
        places = np.arange(low, high) if self.order.index is None else self.order.index[low:high]
        columns = {name: picked(column, places) for name, column in self.columns.items()}
        return SortedRows(columns, [(0, high - low)], int(self.columns["le"].max()), MOST)


def matches_of(columns: dict[str, Any], plan: OperatorPlan, threads: int | None, end: PartEnd, history: Any = None) -> Columns:
    """Return the matches in the rows of a frame (`afa.frames.slicing.columns_of`), in order.

    ``history``: its rows in lanes, if they are held for other patterns.
    """
    (found,) = in_lanes([plan], lambda _: columns, threads, end, history or LaneHistory(held=False), {})
    if isinstance(found, dict):
        return found
    rows, threads = by_time(columns, plan), threads if plan.native else 1
    work = slices(plan, rows, threads, end) or [finding(plan, rows, group, end) for group in rows.groups]
    return joined([table for each in in_threads(work, threads) for table in each], plan)


LaneWork = tuple[LaneProgram, LaneFrame]
"""A pattern's code, and the rows that it takes."""


def in_lanes(
    plans: Sequence[OperatorPlan],
    columns: Callable[[OperatorPlan], dict[str, Any]],
    threads: int | None,
    end: PartEnd,
    history: LaneHistory,
    left: dict[int, str],
    counts: bool = False,
    budget: LaneBudget | None = None,
) -> list[Columns | int | None]:
    """Return the matches of each pattern in the rows of a frame, in order; or how many they are. None: operators have to take them.

    ``columns``: the rows as a pattern takes them (`afa.frames.slicing.columns_of`). Why operators take rows of a pattern stands in
    ``left`` then, by its place. ``budget``, of counts: lanes take all rows in it, or `NoLanes` says why not.
    """
    threads = cores() if threads is None else threads
    made: list[LaneWork | None] = []
    for place, plan in enumerate(plans):
        try:
            made.append(prepared_lanes(columns(plan), plan, threads, history, end, budget is not None))
        except NoLanes as why:
            if budget is not None:
                raise
            left[place] = str(why)
            made.append(None)
            if history.on is not None:
                LOGGER.info("a pattern goes by the operator, not by %s: %s", history.on, why)
    groups: dict[int, list[int]] = {}  # patterns of the same lanes go through them in turn, while these are in the cache
    for place, each in enumerate(made):
        if each is not None:
            groups.setdefault(id(each[1].rows.bounds), []).append(place)
    found: list[list[LaneFound]] = [[] for _ in plans]
    for places in groups.values():
        places = on_device(places, made, history, not counts, found) if history.arena is not None else places
        group = [each for place in places if (each := made[place]) is not None]
        for part in in_threads(jobs(group, threads, not counts, budget), threads):
            for place, one in zip(places, part):
                found[place].append(one)

    def finish(place: int, beside: Beside) -> Columns | int | None:
        plan, each = plans[place], made[place]
        if each is None:
            return None
        program, frame = each
        keys = np.unique(frame.of[np.concatenate([np.empty(0, np.int64), *(part.left for part in found[place])]).astype(np.int64)])
        # Whose matches are told apart, or numbered, where they are all there.
        whole = (frame.order.ranks is not None and not program.bags) or program.waits or plan.numbers
        whole = whole or (plan.lanes.longest and any(part.tied for part in found[place]))
        if budget is not None:
            budget.check_left(len(keys))
        if counts and not whole and not len(keys):
            return sum(int(part.counts.sum()) for part in found[place])
        if counts:
            if budget is not None:
                budget.check(sum(int(part.counts.sum()) for part in found[place]))
            again: dict[int, str] = {}
            (table,) = in_lanes([plan], columns, 1, end, history, again, budget=budget)
            if budget is not None and table is None:
                raise NoLanes("a condition on its matches raises")
            left.update((place, why) for why in again.values())
            return None if table is None else len(table["le"])  # type: ignore[index]
        if len(keys):
            left[place] = f"lanes have left {len(keys):,} of {_keys(frame):,} keys (long lists, large ints)"
            LOGGER.info("%s; %s go by the operator", left[place], "all rows" if len(keys) > FEW else "these")
        return matches(found[place], keys, program, frame, plan, end)

    return in_threads([partial(finish, place) for place in range(len(plans))], threads)


def on_device(
    places: Sequence[int], made: Sequence[LaneWork | None], history: LaneHistory, write: bool, found: Sequence[list[LaneFound]]
) -> list[int]:
    """Take patterns of the same lanes on a device, what is ``found`` by place; returns the places of those that it does not run."""
    from afa.compiled.device.device_run import on_device

    arena, left = history.arena, []
    assert arena is not None
    works = [(each[0], each[1].rows) for place in places if (each := made[place]) is not None]
    for place, one in zip(places, on_device(arena, works, history.arrays, write, _never)):
        if isinstance(one, LaneFound):
            found[place].append(one)
        else:
            left.append(place)
            LOGGER.info("a pattern goes by the processor, not by %s: %s", arena.device.name, one)
    return left


def jobs(
    made: Sequence[LaneWork], threads: int, write: bool, budget: LaneBudget | None = None
) -> list[Callable[[Beside], list[LaneFound]]]:
    """Return what takes the lanes, some at a time, through all patterns in turn; ``write``: with their matches.

    *Requires* that all have the same lanes.
    """

    def job(low: int, high: int, beside: Beside) -> list[LaneFound]:
        found = []
        over = beside or (_never if budget is None else budget.over)
        for program, frame in made:
            found.append(run(program, frame.rows, low, high, write, over))
            if budget is not None:
                budget.check()
            if over():
                raise Ended
        return found

    return [partial(job, *cut) for cut in cuts(made[0][1].rows, threads, len(made) > 1)] if made else []


def prepared_lanes(
    columns: dict[str, Any], plan: OperatorPlan, threads: int, history: LaneHistory, end: PartEnd, few: bool = False
) -> LaneWork:
    """Return the code of a pattern, and the rows that it takes; ``few``: however few they are.

    Raises `NoLanes`: operators have to take them.
    """
    if plan.lanes is None or "diff" in columns or (plan.automaton.choice is not None and "re" in columns):
        raise NoLanes("an option or a stage asks for it" if plan.lanes is None else "rows are retracted, or their ends are given")
    if plan.where is not None:
        history = LaneHistory(held=False)  # of other rows
    with history.lock:
        try:
            if not tables.takes_columns(plan.lanes, {name: column[:0] for name, column in columns.items()}):
                raise NoLanes("a field has the name of a column of matches")
            columns = columns if plan.where is None else _let_through(columns, plan.events, plan.where)
            program = lane_program(plan.automaton, history.strings, plan.lanes.longest)
            if not (few or choices.loops_pay(len(columns["le"]), 0) or program.at_hand):
                raise NoLanes("the rows are few")
            frame = history.rows(columns, plan, threads, end)
            program.ready()
        except (Unfit, ChangeError, UnicodeError):
            raise NoLanes("its columns hold values that lanes do not take") from None
        return program, frame


def cuts(rows: LaneRows, threads: int, several: bool = False) -> list[tuple[int, int]]:
    """Return ranges of lanes, for one thread one; ``several``: patterns go through them, so that each range fits in a cache."""
    sizes = np.cumsum(rows.bounds[:, LaneBounds.begins] - rows.bounds[:, LaneBounds.first])
    total = int(sizes[-1]) if len(sizes) else 0
    count = 1 + total // SLICE
    count = count if several else min(PARTS * threads if threads > 1 else 1, count)
    found = np.unique([0, *np.searchsorted(sizes, total * np.arange(1, count) // count), len(sizes)]).tolist()
    return list(pairwise(found))


def matches(
    found: Sequence[LaneFound], left: Any, program: LaneProgram, frame: LaneFrame, plan: OperatorPlan, end: PartEnd
) -> Columns | None:
    """Return the matches in order; of the keys ``left`` by lanes, what operators find. None: operators have to take all."""
    if len(left) > FEW:
        return None
    try:
        again = [part for rows in map(frame.part, left.tolist()) for part in finding(plan, rows, rows.groups[0], end)(None)]
    except Exception:  # told of the key whose row is the first one by time
        return None
    none = np.empty((0, program.entry), np.int64)
    entries = np.concatenate([none, *(each.entries for each in found)])
    entries = entries[~np.isin(frame.of[entries[:, LogRow.key]], left)] if len(left) else entries
    several = bool(frame.order.ranks is not None or program.waits)  # then two of one LE may be the same
    mixed = several or any(each.tied for each in found)
    # Slices of time of one key stand in the order in which their matches end.
    entries = by_columns(entries, [LogRow.re, LogRow.t] if mixed or _keys(frame) > 1 else [LogRow.t])
    keys = [] if frame.order.keys is None else frame.order.keys.take(frame.of[entries[:, LogRow.key]]).columns
    times, copies = (entries[:, LogRow.t].copy(), entries[:, LogRow.re].copy()), np.ones(len(entries), np.int64)
    rows = Logged(program.matches.columns(entries[:, LogRow.register :]), *times, copies, keys)
    if plan.numbers:
        try:
            rows = _numbered(rows, plan)
        except Exception:  # of WHERE, told by the operator
            return None
    own = {field.name: field for field in plan.events.fields}
    table: Columns = {name: array(column, own[name]) if name in own else column for name, column in zip(plan.keys, rows.keys)}
    table |= {field.name: array(column, field) for field, column in zip(plan.shown.fields, rows.fields)}
    table |= {"le": rows.le, "re": rows.re}
    if again or plan.numbers:
        objects = {name: column.objects() for name, column in table.items() if isinstance(column, KeyColumn)}
        table = joined([{**table, **objects, "diff": rows.diff}, *again], plan)
    if mixed and plan.lanes.longest:
        same = [column for name, column in table.items() if name != "re"]
        order = settled(None, [table["le"]], [*same, ~table["re"]])
        kept = None if order is None else np.sort(once(order, same))
        table = table if kept is None else {name: taken(column, kept) for name, column in table.items()}
    if mixed:
        shown = [table["le"], table["re"], *(column for name, column in table.items() if name not in ("le", "re"))]
        order = settled(None, shown[:2], shown[2:])
        if several and not program.bags:
            order = once(np.arange(len(table["le"])) if order is None else order, shown)
        table = table if order is None else {name: taken(column, order) for name, column in table.items()}
    return table


def _let_through(columns: dict[str, Any], events: Schema, where: RowView) -> dict[str, Any]:
    """Return the rows of which WHERE holds. Raises `Unfit` where the operator has to say why it can't be asked."""
    given = [columns["le"] if field.name == events.instant else columns[field.name] for field in events.fields]
    try:
        kept = np.flatnonzero(where.holding(given, len(columns["le"])))
    except Exception:
        raise Unfit from None
    return {name: picked(column, kept) for name, column in columns.items()}


def _numbered(rows: Logged, plan: OperatorPlan) -> Logged:
    """Return what the stage behind the operator makes of matches; ``keys``: columns."""
    how = plan.lanes.keys
    columns: Any = rows.keys
    keys = [] if how is None else KeyColumns(0 if how.bare else len(columns), list(columns))
    found: Logged = plan.make().stage.columns(tables.CallOutput(rows._replace(keys=keys), [])).rows
    parts = [] if how is None else key_parts(found.keys, how)
    return found._replace(keys=[objects_of(part) if isinstance(part, list) else part for part in parts])


def _keys(frame: LaneFrame) -> int:
    return len(frame.order.ends) - 1


def arrays_in(found: Any) -> list[Any]:
    """Return the arrays in nested tuples and lists."""
    if isinstance(found, np.ndarray):
        return [found]
    return [each for part in found for each in arrays_in(part)] if isinstance(found, (tuple, list)) else []


def _never() -> bool:
    return False
