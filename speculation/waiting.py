"""The store of what waits in a stage, in the order of its LE: changes that come one by one, or rows of tables. Pairs annihilate.

    by_le    LE -> match -> (number of arrival, change)    match = (key, payload, LE, RE); the change: net, with its copies
    tables   Arrow tables of one schema, each by LE, of one LE by arrival: what leaves is the head of each

INVARIANT: one of the two is empty. A row that must wait beside changes waits as a change; changes never become rows. A change meets
its retraction when that comes; rows meet when they leave, or are counted. Writes to ``by_le`` leave their inverse in a journal;
``tables`` and ``copies`` are replaced as a whole, and the stage puts them back when a call fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.change import Change
from afa.errors import ChangeError
from afa.journal import Journal
from afa.model.copies import COPIES, added, total
from afa.schema import NAN

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 65_536
"""Tables of fewer rows are joined, so that there are not many; a large one costs more to move than to keep."""

Match = tuple[Any, Any, Any, Any]
Changes = Callable[[Any], Iterable[Change]]


class Release(NamedTuple):
    """The items that have left the store: changes or a table by LE, of one LE retractions first, then by arrival.

    ``last`` is the largest LE among them, None where nothing has left; ``copies`` counts those that have left, ``met`` the pairs
    of an insertion and its retraction that have met on the way.
    """

    items: Any
    last: int | None
    copies: int
    met: int


NONE = Release([], None, 0, 0)


class Waiting:
    """What waits in a stage.

    >>> from afa import insert, retract
    >>> waiting = Waiting(Journal())
    >>> [waiting.add(change) for change in (insert("b", 7), insert("a", 5), retract("b", 7))]
    [0, 0, 1]
    >>> waiting.copies, waiting.take(6).items
    (1, [Change(payload='a', le=5, re=None, diff=1, key=None)])
    >>> import pyarrow as pa
    >>> waiting.add_rows(pa.table({"x": [1, 2, 1], "le": [7, 5, 7], "re": [9, 9, 9], "diff": [1, 1, -1]}))
    >>> taken = waiting.take(8)
    >>> taken.items["x"].to_pylist(), taken.last, taken.met, waiting.copies
    ([2], 5, 1, 0)
    """

    changes_of: Changes
    """Makes changes of rows, where rows come."""

    def __init__(self, journal: Journal) -> None:
        self._by_le: SortedDict[int, dict[Match, tuple[int, Change]]] = SortedDict()
        self._journal = journal
        self._arrivals = 0
        self.copies = 0
        self.tables: tuple[Any, ...] = ()

    def add(self, change: Change) -> int:
        """Add a change that waits, or refuse one copy too many. Returns how many pairs have met. O(log n)."""
        met: int = self._unroll() if self.tables else 0
        journal, le, diff = self._journal, change.le, change.diff
        match = (change.key, change.payload, le, change.re)
        bucket = self._by_le.get(le)
        if bucket is None:
            bucket = {}
            journal.put(self._by_le, le, bucket)
        self._arrivals += 1
        waits = bucket.get(match)
        if waits is None:
            journal.put(bucket, match, (self._arrivals, change))
            self.copies += abs(diff)
            return met
        number, before = waits[0], waits[1].diff
        after = added(before, diff, change.payload, le)
        if not after:
            journal.drop(bucket, match)
            if not bucket:
                journal.drop(self._by_le, le)
        else:
            number = number if (before > 0) == (after > 0) else self._arrivals
            journal.put(bucket, match, (number, change._replace(diff=after)))
        self.copies += abs(after) - abs(before)
        met += (abs(before) + abs(diff) - abs(after)) // 2
        return met

    def _unroll(self) -> int:
        """Let the rows wait as changes from here on."""
        tables, self.tables, self.copies = self.tables, (), 0
        return sum(self.add(change) for table in tables for change in self.changes_of(table))

    def takes_rows(self, table: pa.Table) -> bool:
        """Return whether rows can wait as rows: no change waits, and those that wait are alike."""
        if self._by_le or self.copies + copies_of(table) > COPIES:  # of one event there may be too many
            return False
        return all(other.schema.equals(table.schema) for other in self.tables)

    def add_rows(self, table: pa.Table) -> None:
        """Add rows of a table with ``le`` and ``diff``, in any order. O(n) if these are in the order of their LE."""
        if not len(table):
            return
        tables = (*self.tables, by_le(table))
        while len(tables) > 1 and len(tables[-2]) <= 2 * len(tables[-1]) and len(tables[-2]) < SMALL:
            tables = (*tables[:-2], by_le(joined(tables[-2:])))
        self.copies += copies_of(table)
        self.tables = tables

    def take(self, bound: int | None) -> Release:
        """Remove and return what lies below a bound (None: all). O(found)."""
        if self.tables:
            return self._take_rows(bound)
        found: list[Change] = []
        for le in list(self._by_le.irange(maximum=bound, inclusive=(True, False))):
            found += _in_order(self._by_le[le])
            self._journal.drop(self._by_le, le)
        if not found:
            return NONE
        copies = sum(abs(change.diff) for change in found)
        self.copies -= copies
        return Release(found, found[-1].le, copies, 0)

    def _take_rows(self, bound: int | None) -> Release:
        ends = [len(table) if bound is None else int(np.searchsorted(ints(table, "le"), bound)) for table in self.tables]
        heads = [table.slice(0, end) for table, end in zip(self.tables, ends) if end]
        if not heads:
            return NONE
        head = by_le(joined(heads))
        copies, met = copies_of(head), 0
        self.copies -= copies
        self.tables = tuple(table.slice(end) for table, end in zip(self.tables, ends) if end < len(table))
        if _signed(head):
            head, met = net(head)
        return Release(head, int(ints(head, "le")[-1]), copies - 2 * met, met) if len(head) else Release([], None, 0, met)

    def settle(self) -> int:
        """Let the rows that wait meet. Returns how many pairs there were; changes have met already."""
        if not any(map(_signed, self.tables)):
            return 0
        rows, _, _, met = self._take_rows(None)
        self.add_rows(rows)
        return met

    @property
    def first(self) -> int | None:
        """The smallest LE that waits."""
        if self.tables:
            return int(min(table["le"][0].as_py() for table in self.tables))
        return self._by_le.peekitem(0)[0] if self._by_le else None

    @property
    def rows(self) -> Any:
        """The rows that wait, as one table; None: there are none."""
        return joined(self.tables) if self.tables else None

    @property
    def changes(self) -> list[Change]:
        """The changes that wait, in order of arrival."""
        entries = [entry for bucket in self._by_le.values() for entry in bucket.values()]
        return [change for _, change in sorted(entries, key=lambda entry: entry[0])]

    @property
    def all(self) -> list[Change]:
        """What waits, rows as changes."""
        return self.changes or [change for table in self.tables for change in self.changes_of(table)]

    def listed(self, items: Any) -> list[Change]:
        """Return what has left, rows as changes."""
        return items if isinstance(items, list) else list(self.changes_of(items))


def _signed(table: pa.Table) -> bool:
    return bool((ints(table, "diff") < 0).any())


def _in_order(bucket: dict[Match, tuple[int, Change]]) -> list[Change]:
    entries = bucket.values() if len(bucket) == 1 else sorted(bucket.values(), key=lambda entry: (entry[1].diff > 0, entry[0]))
    return [change for _, change in entries]


def net(table: pa.Table) -> tuple[Any, int]:
    """Return net rows, by LE, of one LE retractions first, then by arrival; and how many pairs have met.

    Refuses a column of a type by which Arrow does not group, and a sum that its column does not hold.
    """
    import pyarrow as pa

    try:
        found = _netted(table)
    except pa.ArrowException as error:
        raise ChangeError(f"expected columns by which rows can be merged but got others: {error}") from error
    order = np.lexsort([ints(found, "diff") > 0, ints(found, "le")])
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
    le = ints(table, "le")
    return table if (le[1:] >= le[:-1]).all() else table.take(np.argsort(le, kind="stable"))


def joined(tables: Sequence[pa.Table]) -> Any:
    """Return tables of one schema as one."""
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def ints(table: pa.Table, name: str) -> Any:
    return table.column(name).to_numpy()


def copies_of(table: pa.Table) -> int:
    """Return how many copies come or go."""
    return total(ints(table, "diff"))
