"""Tables of events with uncertain times into a `Sequence`, and its matches as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.schema import as_ticks
from afa.uncertain.distributions import UNIFORM, Shape, shape_of
from afa.uncertain.interval import Between
from afa.uncertain.sequence_pattern import SequencePattern
from punctuation.door import Table, is_arrow, table_of


class Columns(NamedTuple):
    """The columns of the ends of intervals, and the distribution over each."""

    lower: str
    upper: str
    shape: Shape


def columns_of(lower: Any, upper: Any, shape: Any) -> Columns:
    """Return which columns hold times.

    Raises
    ------
    AfaError
        They are no names.
    """
    for name, given in (("lower", lower), ("upper", upper)):
        if not isinstance(given, str) or given == "diff":
            raise AfaError(f"expected the name of a column but got {name}={given!r}")
    return Columns(lower, upper, shape_of(shape))


def changes_of(pattern: SequencePattern, columns: Columns, item: Any, tick: str | None) -> Iterator[Change]:
    """Yield the rows of a table as changes.

    Raises
    ------
    ChangeError
        A column is missing.
    """
    table = table_of(item)
    assert table is not None
    wanted = [(field.name, field.type, field.optional) for field in pattern.schema.fields]
    for name in [*(name for name, _, _ in wanted), columns.lower, columns.upper]:
        if name not in table.names:
            raise ChangeError(f"expected a column {name!r} but got {', '.join(map(repr, table.names))}")
    times: list[tuple[str, type | None, bool]] = [(name, None, False) for name in (columns.lower, columns.upper)]
    diffs: list[tuple[str, type | None, bool]] = [("diff", int, False)] if "diff" in table.names else []
    *fields, lower, upper, diff = [_listed(column) for column in table.take([*wanted, *times, *diffs])] + ([] if diffs else [[]])
    if len({len(column) for column in (*fields, lower, upper)}) > 1:
        raise ChangeError("expected columns of one length but got several")
    make: Any = pattern.schema.cls
    for row, (low, high) in enumerate(zip(lower, upper)):
        ends = as_ticks(low, columns.lower, tick), as_ticks(high, columns.upper, tick)
        shape = columns.shape if ends[0] < ends[1] else UNIFORM
        yield Change(make(*(column[row] for column in fields)), Between(*ends, shape), None, diff[row] if diff else 1)  # type: ignore[arg-type]


def answer(pattern: SequencePattern, item: Any, changes: Sequence[Change]) -> Any:
    """Return changes of matches as a table of the kind of the one that came: fields, le, re, diff, and the fields of the key."""
    names = [*pattern.match._fields, "le", "re", "diff"]
    rows = [(*change.payload, change.le, change.re, change.diff) for change in changes]
    columns = dict(zip(names, map(list, zip(*rows)))) if rows else {name: [] for name in names}
    for place, name in enumerate(pattern.key):
        keys = [change.key if pattern.single_key else change.key[place] for change in changes]
        columns.setdefault(name, keys)
    table = table_of(item)
    assert isinstance(table, Table)
    if table.kind == "dict":
        return columns
    import pyarrow as pa

    return table.back(pa.table(columns))


def _listed(column: Any) -> list[Any]:
    return list(column.to_pylist() if is_arrow(column) else column.tolist() if hasattr(column, "tolist") else column)
