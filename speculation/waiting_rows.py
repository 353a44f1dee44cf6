"""Rows of tables that wait: Arrow tables, each in the order of its LE, so that what leaves is the head of each.

Nothing here is written in place: a call that fails puts the `Rows` from before it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from afa.errors import ChangeError
from afa.model.copies import COPIES, added, as_diff, total
from afa.schema import NAN, ODD, any_payload
from punctuation.door import Table

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 65_536
"""Tables of fewer rows are joined, so that there are not many; a large one costs more to move than to keep."""


class Rows(NamedTuple):
    """The rows that wait in a stage.

    Parameters
    ----------
    tables : tuple of pyarrow.Table
        Of one schema, with ``le``, ``re`` and ``diff``; each by LE, of one LE by arrival.
    copies : int
        Over all rows.
    signed : bool
        Whether there are retractions among them, so that some may annihilate.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = Rows().plus(pa.table({"x": [1, 2, 1], "le": [7, 5, 7], "re": [9, 9, 9], "diff": [1, 1, -1]}))
    >>> head, rest, met = rows.split(8)
    >>> head["x"].to_pylist(), rest.copies, met
    ([2], 0, 1)
    """

    tables: tuple[Any, ...] = ()
    copies: int = 0
    signed: bool = False

    def plus(self, table: pa.Table) -> Rows:
        """Return the rows with more rows, in any order. O(n) if these are in the order of their LE."""
        if not len(table):
            return self
        diffs = _ints(table, "diff")
        tables = (*self.tables, by_le(table))
        while len(tables) > 1 and len(tables[-2]) <= 2 * len(tables[-1]) and len(tables[-2]) < SMALL:
            tables = (*tables[:-2], by_le(joined(tables[-2:])))
        return Rows(tables, self.copies + total(diffs), self.signed or bool((diffs < 0).any()))

    def split(self, bound: int | None) -> tuple[Any, Rows, int]:
        """Return what lies below a bound (None: all), by LE, or None; the rest; and how many pairs annihilated."""
        ends = [len(table) if bound is None else int(np.searchsorted(_ints(table, "le"), bound)) for table in self.tables]
        heads = [table.slice(0, end) for table, end in zip(self.tables, ends) if end]
        if not heads:
            return None, self, 0
        head = by_le(joined(heads))
        before = copies_of(head)
        head, met = net(head) if self.signed else (head, 0)
        rest = tuple(table.slice(end) for table, end in zip(self.tables, ends) if end < len(table))
        return head if len(head) else None, Rows(rest, self.copies - before, self.signed and bool(rest)), met

    def netted(self) -> tuple[Rows, int]:
        """Return the same without what annihilates, and how many pairs of it there were."""
        if not self.signed:
            return self, 0
        head, _, met = self.split(None)
        return (Rows() if head is None else Rows((head,), copies_of(head), bool((_ints(head, "diff") < 0).any()))), met


def net(table: pa.Table) -> tuple[Any, int]:
    """Return net rows, in the order of their first, of one LE retractions first; and how many pairs have cancelled out.

    Raises
    ------
    ChangeError
        They have a column of a type by which Arrow does not group, or a sum that its column does not hold.
    """
    import pyarrow as pa

    try:
        found = _netted(table)
    except pa.ArrowException as error:
        raise ChangeError(f"expected columns by which rows can be merged but got others: {error}") from error
    order = np.lexsort([_ints(found, "diff") > 0, _ints(found, "le")])
    return found.take(order), (copies_of(table) - copies_of(found)) // 2


def _netted(table: pa.Table) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [name for name in table.column_names if name != "diff"]
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):  # rows are told apart by their bytes: one NaN, one zero
            column = table.column(i)
            column = pc.if_else(pc.is_nan(column), pa.scalar(NAN, field.type), pc.add(column, pa.scalar(0.0, field.type)))
            table = table.set_column(i, field, column)
    numbers = {name: str(i) for i, name in enumerate(table.column_names)}  # a field may have the name of a sum
    plain = table.rename_columns(list(numbers.values()))
    groups = plain.group_by([numbers[name] for name in names], use_threads=False).aggregate([(numbers["diff"], "sum")])
    found = groups.select([*(numbers[name] for name in names), f"{numbers['diff']}_sum"]).rename_columns([*names, "diff"])
    found = found.select(table.column_names).cast(table.schema)
    return found.filter(pc.not_equal(found["diff"], 0))


def by_le(table: pa.Table) -> Any:
    """Return rows in the order of their LE, of one LE as they are. O(n) if they are so already."""
    le = _ints(table, "le")
    if not (le[1:] < le[:-1]).any():
        return table
    return table.take(np.argsort(le, kind="stable"))


def joined(tables: Sequence[pa.Table]) -> Any:
    """Return tables of one schema as one."""
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def arrow_of(batch: Table) -> Any:
    """Return a table of changes, of any kind, as an Arrow one.

    Raises
    ------
    ChangeError
        It has no ``le`` or ``diff`` of ints, or its columns do not go together.
    """
    import pyarrow as pa

    try:
        if batch.kind == "pandas":
            table = pa.Table.from_pandas(batch.columns, preserve_index=False)
        else:
            table = pa.table({name: batch.column(name) for name in batch.names})
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected columns of one type and length but got others: {error}") from error
    for name in ("le", "diff"):
        if table.column_names.count(name) == 1 and not len(table):  # an empty list says no type
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
        if table.column_names.count(name) != 1 or not pa.types.is_integer(table[name].type) or table[name].null_count:
            there = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
            raise ChangeError(f"expected one column {name!r} of ints but got {there or 'no columns'}")
    return table


def like(table: Any, batch: Table) -> Any:
    """Return an Arrow table as one of the kind of another.

    Raises
    ------
    ChangeError
        It can't be written so.
    """
    try:
        if batch.in_arrow:
            return batch.back(table)
        if batch.kind == "pandas":
            return table.to_pandas(integer_object_nulls=True).astype(batch.columns.dtypes.to_dict())
        return {name: _array(table[name]) for name in table.column_names}
    except ODD as error:  # an instant beyond Python's
        raise ChangeError(f"expected columns that go into a {batch.kind} again but got {error}") from error


def _array(column: Any) -> Any:
    """Return a column as a numpy array; of ints of which some are missing one of objects, as floats do not hold them all."""
    import pyarrow as pa

    if column.null_count and pa.types.is_integer(column.type):
        return np.array(column.to_pylist(), object)
    return column.to_numpy(zero_copy_only=False)


def _ints(table: pa.Table, name: str) -> Any:
    return table.column(name).to_numpy()


def copies_of(table: pa.Table) -> int:
    """Return how many copies come or go."""
    return total(_ints(table, "diff"))


def check_copies(table: pa.Table) -> None:
    """Refuse rows that are no change, or of one event more copies than there may be, after any of them.

    Raises
    ------
    ChangeError
    """
    diffs = _ints(table, "diff")
    if not len(diffs) or (total(diffs) <= COPIES and (diffs != 0).all()):
        return
    sums: dict[Any, int] = {}
    for row in table.to_pylist():
        diff, le = row.pop("diff"), row["le"]
        event = any_payload(tuple(row.items()))
        sums[event] = added(sums.get(event, 0), as_diff(diff, row), row, le)
