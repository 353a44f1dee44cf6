"""Members as an Arrow column: lists; structs of lists, where they are by component; null where a match is withdrawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from afa.io.table_times import TimeType
from afa.model.arc import Arc
from afa.operator.members import Members
from afa.schema import ODD
from punctuation.door import arrow_type

MEMBERS = "members"
"""The name of the column."""


def in_arrow(column: Sequence[Any], members: Members, arcs: Iterable[Arc], times: TimeType | None) -> Any:
    """Return members as an Arrow array: of each row a tuple, a dict of tuples by component, or None.

    ``arcs`` are those in force: the struct has the components for which they take events, whether one was taken or not. ``times``
    is the type in which times leave; None: ticks stay. Raises `ChangeError` where Arrow does not hold a value.
    """
    import pyarrow as pa

    if not members.named:
        return _lists(column, members, times)
    names = members.components(arcs)
    names += sorted({name for row in column if row is not None for name in row} - set(names))
    missing = pa.array([row is None for row in column], pa.bool_())
    parts = [_lists([None if row is None else row.get(name, ()) for row in column], members, times) for name in names]
    return pa.StructArray.from_arrays(parts, names, mask=missing)


def _lists(column: Sequence[Any], members: Members, times: TimeType | None) -> Any:
    import pyarrow as pa

    flat = [value for row in column for value in row or ()]
    ends = list(accumulate((len(row or ()) for row in column), initial=0))
    offsets = pa.array([None if row is None else end for row, end in zip([*column, ()], ends)], pa.int32())
    return pa.ListArray.from_arrays(offsets, _values(flat, members, times))


def _values(flat: list[Any], members: Members, times: TimeType | None) -> Any:
    import pyarrow as pa

    if members.times and times is not None:
        found = times.column(flat, MEMBERS)
        return found if isinstance(found, pa.Array) else pa.array(found)
    try:
        return pa.array([_plain(value) for value in flat] if members.whole else flat, value_type(members))
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected values that Arrow holds in the output's column {MEMBERS!r} but got {error}") from error


def value_type(members: Members, times: TimeType | None = None) -> Any:
    """Return the Arrow type of one member; of whole events a struct of their fields, ``le`` and ``re``."""
    import pyarrow as pa

    if members.times and times is not None:
        return times.times.type
    if not members.whole:
        return arrow_type(int if members.field is None else members.field.type or str)
    fields = [] if members.event is None else [(field.name, arrow_type(field.type or str)) for field in members.event.fields]
    return pa.struct([*fields, ("le", pa.int64()), ("re", pa.int64())])


def column_type(members: Members, arcs: Iterable[Arc] = (), times: TimeType | None = None) -> Any:
    """Return the Arrow type of the column; ``times``: that of Arrow in which times leave."""
    import pyarrow as pa

    each = pa.list_(value_type(members, times))
    return pa.struct([(name, each) for name in members.components(arcs)]) if members.named else each


def _plain(change: Change) -> dict[str, Any]:
    return {**change.payload._asdict(), "le": change.le, "re": change.re}
