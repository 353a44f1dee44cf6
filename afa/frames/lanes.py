"""Take the rows of a frame in lanes, one for each key, or for slices of a key's time: `afa.compiled.lane_program`.

    rows by time --> by key, a stable sort by its rank --> lanes, some to a job --> matches, lane by lane --> by time

Lanes stand in the order of their keys, so that matches of one LE and RE leave in the order of `afa.frames.result_order`. What lanes
do not take, or a lane gives up, goes through operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.compiled import choices
from afa.compiled.code.strings import Strings
from afa.compiled.kernel.layout import LaneBounds, LogRow
from afa.compiled.lane_program import LaneFound, LaneProgram, LaneRows, NoLanes, run
from afa.engine.logged import Logged
from afa.errors import ChangeError
from afa.frames.asked import OperatorPlan
from afa.frames.found import Columns, joined
from afa.frames.frame_reading import End
from afa.frames.result_order import by_digits, by_times, by_values, once, ranks_of, settled, taken
from afa.frames.slicing import SortedRows, by_time, numbered
from afa.frames.slicing import ranks_of as ranks_in_list
from afa.frames.through import Beside, cores, finding, in_threads
from afa.io.listed_columns import picked
from afa.model.event_order import is_list
from afa.operator import tables
from afa.state.key_columns import KeyColumn, KeyColumns
from afa.state.plain import Unfit, field_columns
from punctuation.door import table_of

SLICE = 1 << 16
"""How many rows a slice of a key's time has at least."""
PARTS = 4
"""How many jobs there are for each thread: one that takes long must not keep the others waiting."""
FEW = 64
"""The most lanes that go through operators again, one by one; of more all rows do."""


class LaneFrame(NamedTuple):
    """The rows of a frame in lanes, for all patterns of one form and window."""

    sorted: SortedRows
    strings: Strings
    rows: LaneRows
    keys: KeyColumns | None  # of each lane; None: there are no keys
    of: Any  # of each lane the number of its key, in the order of keys

    @classmethod
    def of_columns(cls, columns: dict[str, Any], plan: OperatorPlan, threads: int) -> LaneFrame:
        """Sort rows by key and time, and encode them. Raises `Unfit`, `NoLanes` where operators have to take them."""
        arranged, strings = by_time(columns, plan, grouped=False, ranks=_ranks(columns, plan)), Strings()
        found, n = arranged.columns, len(arranged.columns["le"])
        parts = [_arrow(found.get(name, found["le"])) for name in plan.keys]
        index, ends, keys = None, np.array([0, n]), None
        if parts:
            codes, many = numbered(parts)
            first = np.zeros(many, np.int64)
            first[codes[::-1]] = np.arange(n - 1, -1, -1)
            there = np.flatnonzero(np.bincount(codes, minlength=many))
            values = [taken(part, first[there]) for part in parts]
            by, rank = by_values(values), np.zeros(many, np.int64)
            rank[there[by]] = np.arange(len(there))
            lane = rank[codes]
            index, ends = by_digits([lane]), np.append(0, np.cumsum(np.bincount(lane, minlength=len(there))))
            keys = KeyColumns(len(parts), [KeyColumn.from_arrow(pa.array(taken(value, by))) for value in values])
        may_cut = plan.window is not None and "re" not in found
        bounds, of = _cut(found["le"], index, ends, max(SLICE, n // (PARTS * threads)) if may_cut else n)
        rows = LaneRows.of(plan.events, strings, found, plan.window, arranged.ranks, index, bounds)
        return cls(arranged, strings, rows, keys, of)

    def part(self, key: int) -> SortedRows:
        """Return the rows of a key, by its number."""
        mine = np.flatnonzero(self.of == key)
        low, high = self.rows.bounds[mine[0], LaneBounds.first], self.rows.bounds[mine[-1], LaneBounds.end]
        places = np.arange(low, high) if self.rows.index is None else self.rows.index[low:high]
        columns = {name: picked(column, places) for name, column in self.sorted.columns.items()}
        return self.sorted._replace(columns=columns, groups=[(0, int(high - low))])


def in_lanes(columns: dict[str, Any], plan: OperatorPlan, threads: int | None, end: End) -> Columns | None:
    """Return the matches in the rows of a frame (`afa.frames.slicing.columns_of`), in order; None: operators have to take them."""
    if plan.lanes is None or "diff" in columns:
        return None
    threads = cores() if threads is None else threads
    try:
        program = LaneProgram(plan.automaton, Strings())
        if not (choices.loops_pay(len(columns["le"]), 0) or program.at_hand):
            return None
        frame = LaneFrame.of_columns(columns, plan, threads)
    except (NoLanes, Unfit, ChangeError, UnicodeError):
        return None
    program = LaneProgram(plan.automaton, frame.strings)
    program.ready()
    found = in_threads(jobs(program, frame, threads), threads)
    left = np.unique(frame.of[np.concatenate([each.left for each in found])])
    if len(left) > FEW:
        return None
    try:
        again = [part for rows in map(frame.part, left.tolist()) for part in finding(plan, rows, rows.groups[0], end)(None)]
    except Exception:  # told of the key whose row is the first one by time
        return None
    return matches(found, left, program, frame, plan, again)


def jobs(program: LaneProgram, frame: LaneFrame, threads: int) -> list[Callable[[Beside], LaneFound]]:
    """Return what takes the lanes, some at a time."""
    sizes = np.cumsum(frame.rows.bounds[:, LaneBounds.begins] - frame.rows.bounds[:, LaneBounds.first])
    count = min(PARTS * threads if threads > 1 else 1, 1 + int(sizes[-1]) // SLICE)
    cuts = np.unique([0, *np.searchsorted(sizes, sizes[-1] * np.arange(1, count) // count), len(sizes)]).tolist()

    def job(low: int, high: int) -> Callable[[Beside], LaneFound]:
        return lambda beside: run(program, frame.rows, low, high, True, beside or _never)

    return [job(low, high) for low, high in zip(cuts, cuts[1:])]


def matches(
    found: Sequence[LaneFound], left: Any, program: LaneProgram, frame: LaneFrame, plan: OperatorPlan, again: list[Columns]
) -> Columns:
    """Return what lanes have found; ``again``: what operators have, of the keys that are ``left``."""
    entries = np.concatenate([each.entries for each in found])
    entries = entries[~np.isin(frame.of[entries[:, LogRow.key]], left)] if len(left) else entries
    order = by_times(entries[:, LogRow.t], entries[:, LogRow.re])
    entries = entries if order is None else entries.take(order, axis=0)
    core, of = plan.lanes, frame.of[entries[:, LogRow.key]]
    fields = program.matches.columns(entries[:, LogRow.register :])
    names = () if frame.keys is None else frame.keys.take(of)
    if isinstance(names, KeyColumns) and core.keys.bare:
        names = KeyColumns(0, names.columns)
    told = Logged(fields, entries[:, LogRow.t], entries[:, LogRow.re], entries[:, LogRow.sign], names)
    like = table_of({name: column[:0] for name, column in frame.sorted.columns.items()})
    table: Columns = tables.assemble(told, like, core)
    if again:
        table = joined([table, *again], plan)
    else:
        del table["diff"]
    several = frame.rows.seq is not None  # steps of one LE may have the same match
    if several or any(each.tied for each in found):
        shown = [table["le"], table["re"], *(column for name, column in table.items() if name not in ("le", "re"))]
        order = settled(None, shown[:2], shown[2:])
        order = once(np.arange(len(table["le"])) if order is None else order, shown) if several else order
        table = table if order is None else {name: column[order] for name, column in table.items()}
    return table


def _cut(le: Any, index: Any, ends: Any, most: int) -> tuple[Any, Any]:
    """Return the bounds of lanes of about ``most`` rows, and of each the number of its key; ``ends``: where the keys' rows end."""
    sizes = np.diff(ends)
    bounds, of = np.stack([ends[:-1], ends[1:], ends[1:]], 1), np.arange(len(sizes))
    for key in np.flatnonzero(sizes > 2 * most)[::-1].tolist():
        low, high = int(ends[key]), int(ends[key + 1])
        times = le[low:high] if index is None else le[index[low:high]]
        places = np.unique(np.searchsorted(times, times[most : high - low - most : most])) + low
        cuts = np.concatenate([[low], places[places > low], [high]])
        more = np.stack([cuts[:-1], cuts[1:], np.full(len(cuts) - 1, high)], 1)
        bounds = np.concatenate([bounds[:key], more, bounds[key + 1 :]])
        of = np.concatenate([of[:key], np.full(len(more), key), of[key + 1 :]])
    return np.ascontiguousarray(bounds), of


def _ranks(columns: dict[str, Any], plan: OperatorPlan) -> Any:
    """Return the ranks by which rows of one LE follow each other; None: they are one step."""
    if plan.order_by is None:
        return None
    if is_list(plan.order_by):
        return ranks_in_list(columns, plan.events, plan.order_by)
    if plan.order_by not in columns:  # the event's LE
        return None
    field = next(field for field in plan.events.fields if field.name == plan.order_by)
    (found,) = field_columns([columns[plan.order_by]], [field], len(columns["le"]))
    if found.texts is not None:
        return ranks_of(pa.DictionaryArray.from_arrays(found.values, found.texts))
    if found.present is not None or (found.values.dtype.kind == "f" and np.isnan(found.values).any()):
        raise Unfit
    return ranks_of(found.values)


def _arrow(column: Any) -> Any:
    """Return a column of a key, of ints, floats, bools or texts. Raises `NoLanes`: only Python tells whether its values are equal."""
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        try:
            column = pa.array(column, from_pandas=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise NoLanes("keys of several types") from None
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    value = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kinds = pa.types
    if not any(is_kind(value) for is_kind in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_string, kinds.is_large_string)):
        raise NoLanes(f"keys of {value}")
    return column


def _never() -> bool:
    return False
