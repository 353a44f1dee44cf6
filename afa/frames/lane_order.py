"""The rows of a frame by key and time, as lanes take them: `afa.frames.lanes`.

rows by time --> by key, a stable sort by its rank --> lanes: the rows of one key, or those of it that begin in a slice of time
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.compiled.lane_program import NoLanes
from afa.frames.asked import OperatorPlan
from afa.frames.result_order import by_values, ranks_of, taken
from afa.frames.slicing import numbered, order_of
from afa.frames.slicing import ranks_of as ranks_in_list
from afa.model.event_order import is_list
from afa.state.key_columns import KeyColumn, KeyColumns
from afa.state.plain import Unfit, field_columns, stable_order


class LaneOrder(NamedTuple):
    """The rows of a frame by key and time."""

    index: Any  # the numbers of the rows in this order; None: they stand in it
    ends: Any  # where the rows of each key end, and 0 before them
    keys: KeyColumns | None  # in order; None: there are none
    ranks: Any  # by row, what orders those of one LE; None: they are one step

    @classmethod
    def of(cls, columns: dict[str, Any], plan: OperatorPlan) -> LaneOrder:
        """Sort rows. O(rows). Raises `Unfit`, `NoLanes`, `ChangeError` where operators have to take them."""
        le, ranks = columns["le"], _ranks(columns, plan)
        index = order_of([le] if ranks is None else [le, ranks])
        parts = [_arrow(columns.get(name, le)) for name in plan.keys]
        if not parts:
            return cls(index, np.array([0, len(le)]), None, ranks)
        codes, _ = numbered(parts)
        many = int(codes.max(initial=-1)) + 1
        first = np.zeros(many, np.int64)
        first[codes[::-1]] = np.arange(len(le) - 1, -1, -1)
        there = np.flatnonzero(np.bincount(codes, minlength=many))
        values = [taken(part, first[there]) for part in parts]
        by, place = by_values(values), np.zeros(many, np.int64)
        place[there[by]] = np.arange(len(there))
        lane = place[codes]
        within = stable_order(lane if index is None else lane[index])
        ends = np.append(0, np.cumsum(np.bincount(lane, minlength=len(there))))
        keys = KeyColumns(len(parts), [KeyColumn.from_arrow(pa.array(taken(value, by))) for value in values])
        return cls(within if index is None else index[within], ends, keys, ranks)


def cut(le: Any, index: Any, ends: Any, most: int) -> tuple[Any, Any]:
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
        return ranks_in_list({str(plan.events.instant): columns["le"], **columns}, plan.events, plan.order_by)
    if plan.order_by not in columns:  # the event's LE
        return None
    field = next(field for field in plan.events.fields if field.name == plan.order_by)
    (found,) = field_columns([columns[plan.order_by]], [field], len(columns["le"]))
    if found.texts is not None:
        return ranks_of(pa.DictionaryArray.from_arrays(found.values, found.texts))
    if found.values.dtype.kind == "f" and np.isnan(found.values).any():
        raise Unfit
    return ranks_of(found.values)


def _arrow(column: Any) -> Any:
    """Return a column of a key, of ints, floats, bools or texts. Raises `NoLanes`: only Python tells its values apart."""
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        try:
            column = pa.array(column, from_pandas=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise NoLanes("keys of several types") from None
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    value = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kinds = pa.types
    if not any(
        is_kind(value)
        for is_kind in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_string, kinds.is_large_string)
    ):
        raise NoLanes(f"keys of {value}")
    return column
