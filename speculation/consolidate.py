"""Fold changes into what they leave in force: as a function over a whole list, and as a stage."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from afa.change import Change, RuleChange
from afa.errors import AfaError, ChangeError
from afa.io.answer import Answer
from afa.model.copies import COPIES, added, as_diff, as_plain, as_total, total
from afa.operator.contract import OperatorLike
from afa.schema import ODD, Field, any_payload, as_ticks
from afa.state.sound import wanted
from punctuation.calls import whole
from punctuation.door import Table, table_of
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from punctuation.timestamps import is_time_type
from speculation.before_after import After, Before
from speculation.stage import Output, Stage
from speculation.waiting import copies_of, ints, net


def consolidate(changes: Iterable[Change | Punctuation]) -> list[Change]:
    """Merge changes of equal key, payload and lifetime, and rule (`afa.Rules`); changes that cancel out disappear.

    Parameters
    ----------
    changes : iterable of Change and Punctuation
        Outputs of an operator, or inputs for one, in any order. Punctuations are skipped.

    Returns
    -------
    list of Change
        One for each key, payload and lifetime whose diffs do not sum to zero, with the sum as ``diff``; by LE, then RE.

    Raises
    ------
    ChangeError
        A payload or key is not hashable, or there are more copies than int64 counts.

    Notes
    -----
    O(n log n). NaN is equal to itself. Source: [AFA10] Sec. 2.4, the net of a speculative stream.

    Examples
    --------
    >>> from afa import insert, retract, Punctuation
    >>> consolidate([insert("a", 1, 5), insert("b", 2, 5), Punctuation(1), retract("a", 1, 5)])
    [Change(payload='b', le=2, re=5, diff=1, key=None)]
    >>> consolidate([insert("a", 1), insert("b", 1, 5)])  # a lifetime that is left to the operator comes last
    [Change(payload='b', le=1, re=5, diff=1, key=None), Change(payload='a', le=1, re=None, diff=1, key=None)]
    >>> consolidate([])
    []
    """
    sums: dict[tuple[Hashable, Any, Any, Any, Any], int] = {}
    for change in changes:
        if isinstance(change, Change):
            match = (any_payload(change.key), any_payload(change.payload), change.le, change.re, change.rule)
            sums[match] = added(sums.get(match, 0), as_diff(change.diff, change.payload), change.payload, change.le)
    left = [(Change(payload, le, re, diff, key), rule) for (key, payload, le, re, rule), diff in sums.items() if diff]
    return sorted((each if rule is None else RuleChange.of(each, rule) for each, rule in left), key=_lifetime)


def _lifetime(change: Change) -> tuple[int, int]:
    """Return what changes are sorted by; a lifetime may be left to the operator."""
    return BEGINNING if change.le is None else change.le, FOREVER if change.re is None else change.re


class ConsolidateStatistics(NamedTuple):
    """The numbers of one `Consolidate`, in copies: a change with ``diff=2`` counts as two.

    Parameters
    ----------
    held : int
        Changes that wait now.
    came : int
        Changes that came so far.
    left : int
        Changes that left so far.
    """

    held: int
    came: int
    left: int


class Consolidate(Stage):
    """Merge changes of equal key, payload and lifetime; changes that cancel out never leave.

    Parameters
    ----------
    per : "punctuation" or "call"
        When the net changes leave, retractions first, then insertions, each by LE: with the next punctuation, whatever its time; or
        at the end of each call, followed by the last punctuation of the call.

    Raises
    ------
    AfaError
        ``per`` is neither.

    Notes
    -----
    O(log n) for a change, with n different LEs that wait.

    Examples
    --------
    >>> from afa import insert, retract, Punctuation
    >>> stage = Consolidate()
    >>> [stage.push(item) for item in (insert("a", 5), insert("b", 4), retract("a", 5))]
    [[], [], []]
    >>> stage.push(Punctuation(1))
    [Change(payload='b', le=4, re=None, diff=1, key=None), Punctuation(t=1)]
    >>> Consolidate(per="call").push_many([insert("a", 5), Punctuation(1), retract("a", 5), retract("c", 7)])
    [Change(payload='c', le=7, re=None, diff=-1, key=None), Punctuation(t=1)]
    """

    _numbers = ("_came", "_left", "_promised")

    def __init__(self, per: Literal["punctuation", "call"] = "punctuation") -> None:
        super().__init__()
        if per not in ("punctuation", "call"):
            raise AfaError(f'expected "punctuation" or "call" but got per={per!r}')
        self.per = per
        self._came = self._left = 0
        self._promised = BEGINNING

    @property
    @whole
    def statistics(self) -> ConsolidateStatistics:
        """The numbers of changes that wait, and of those that have come and gone so far."""
        return ConsolidateStatistics(self._waiting.copies, self._came, self._left)

    def before(self, operator: OperatorLike) -> Before:
        """Put this stage at the input of an operator: it gets the net of a call, or of what comes between two punctuations."""
        return Before(self, operator)

    def after(self, operator: OperatorLike) -> After:
        """Put this stage at the output of an operator."""
        return After(self, operator)

    @overload
    def push_many(self, items: list[Any]) -> Output: ...
    @overload
    def push_many(self, items: Any) -> Any: ...
    def push_many(self, items: Any) -> Any:
        """Take several items as one call, all or nothing. Returns what leaves.

        Parameters
        ----------
        items : iterable of Change and Punctuation, or a table of any kind that `Operator.push_many` takes
            A table with ``le`` and ``diff``, and without punctuations, is allowed under ``per="call"`` and comes out as a table.
            Rows that agree in all other columns are merged.

        Raises
        ------
        AfaError
            A table came under ``per="punctuation"``.
        ChangeError
            Columns are missing, or not of one type and length, or rows can't be merged by them. Also what `push` raises.
        """
        table = table_of(items)
        if table is None:
            return super().push_many(items)
        if self.per != "call":
            raise AfaError(f'expected per="call" for a table, in which no punctuation comes, but got per={self.per!r}')
        return self._calls.call(self._merged, table)

    def _merged(self, table: Table) -> Any:
        come = _arrow_of(table)
        _check_copies(come)
        found, _ = net(come)
        found = found.take(np.argsort(ints(found, "diff") > 0, kind="stable"))
        made, came, left = _like(found, table), copies_of(come), copies_of(found)
        self._came, self._left = self._came + came, self._left + left
        return made

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call. `end` lets the net of the call leave."""
        if not isinstance(item, Punctuation):
            self._came += abs(item.diff)
            self._waiting.add(item)
            return
        t = as_ticks(item.t, "t")
        if item.where is not None:  # of a call the net goes before it
            out.append(self.some(item) if self.per == "punctuation" else item._replace(t=t))
            return
        if self.per == "punctuation":
            out += self._net()
        plain = [i for i, before in enumerate(out) if isinstance(before, Punctuation) and before.where is None]
        if self.per == "call" and plain:
            last: Any = out.pop(plain[0])
            t = max(t, last.t)
        out.append(Punctuation(t))

    # -- at an input -------------------------------------------------------------------------------------------------------

    def begin(self, promised: int) -> None:
        """Begin at an operator's watermark: what comes below it is late at once."""
        self._promised = promised

    def passes(self, change: Change) -> bool:
        """Take a change of an event. Returns whether it leaves at once, as it is late."""
        if change.le is not None and change.le < self._promised:
            return True
        self._came += abs(change.diff)
        self._waiting.add(change)
        return False

    def punctuate(self, t: int) -> list[Change]:
        """Take a watermark. Returns the net of what came before it."""
        self._promised = max(self._promised, t)
        return self._net()

    def some(self, item: Punctuation) -> Punctuation:
        """Return a watermark with a condition as far as it holds behind this stage: changes that wait may satisfy it."""
        t, first = as_ticks(item.t, "t"), self._waiting.first
        return item._replace(t=t if first is None else min(t, first))

    def left(self) -> list[Change]:
        """Return the net of a call at its end, under ``per="call"``."""
        return self._net() if self.per == "call" else []

    def end(self, out: Output) -> None:
        """End a call: let the net leave under ``per="call"``."""
        if self.per == "call":
            out[:0] = self._net()

    def _net(self) -> list[Change]:
        found, _, copies, _ = self._waiting.take(None)
        self._left += copies
        return sorted(found, key=lambda change: change.diff > 0)

    # -- snapshots: see `Stage.of` -------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return the stage's options and counters, as a snapshot has them."""
        promised = [] if self._promised == BEGINNING else [self._promised]
        return [self.per, as_plain(self._came), as_plain(self._left), *promised]

    @classmethod
    def _made(cls, numbers: list[Any]) -> Consolidate:
        per, came, left, *promised = numbers
        stage = cls(per)
        (stage._promised,) = [as_time(t, "promised") for t in promised] or [BEGINNING]
        stage._came, stage._left = as_total(came), as_total(left)
        return stage

    def _check_waiting(self) -> None:
        wanted("changes that wait", not self._waiting.tables, "rows")


# -- tables ------------------------------------------------------------------------------------------------------------------


def _arrow_of(batch: Table) -> Any:
    """Return a table of changes, of any kind, as an Arrow one."""
    import pyarrow as pa

    try:
        if batch.kind == "pandas":
            table = pa.Table.from_pandas(batch.columns, preserve_index=False)
        else:
            table = pa.table({name: batch.column(name) for name in batch.names})
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected columns of one type and length but got others: {error}") from error
    for name in ("le", "diff"):
        if table.column_names.count(name) == 1 and not len(table) and not _fits(table[name].type, name):  # an empty list
            table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
        if table.column_names.count(name) != 1 or not _fits(table[name].type, name) or table[name].null_count:
            there = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
            raise ChangeError(f"expected one column {name!r} of ints but got {there or 'no columns'}")
    return table


def _fits(kind: Any, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or (name == "le" and is_time_type(kind)))


def _like(found: Any, batch: Table) -> Any:
    """Return an Arrow table as one of the kind of another, each column in the type that it came in."""
    if batch.in_arrow:
        return batch.back(found)
    came = {name: batch.column(name) for name in found.column_names}
    try:
        return Answer(found.columns, [Field(name, None, True) for name in came], came, whole=True).to(batch)
    except ODD as error:  # an instant beyond Python's
        raise ChangeError(f"expected columns that go into a {batch.kind} again but got {error}") from error


def _check_copies(table: Any) -> None:
    """Refuse rows that are no change, or of one event more copies than there may be, after any of them."""
    diffs = ints(table, "diff")
    if not len(diffs) or (total(diffs) <= COPIES and (diffs != 0).all()):
        return
    sums: dict[Any, int] = {}
    for row in table.to_pylist():
        diff, le = row.pop("diff"), row["le"]
        event = any_payload(tuple(row.items()))
        sums[event] = added(sums.get(event, 0), as_diff(diff, row), row, le)
