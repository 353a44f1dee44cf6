"""Readings to situations, as a stage: what changes at which instants, under late readings, retractions, promises, new conditions.

change of a reading -> Readings of its key -> what is told, and no longer -> changes of events for the operator
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from afa.change import Change
from afa.conditions.condition import Condition
from afa.errors import AfaError, LateEventError, SnapshotError
from afa.model.copies import as_total
from afa.model.raised import Faults, Raised
from afa.schema import Schema, as_ticks
from afa.situations.column_readings import ColumnState, Coming
from afa.situations.judged import InForce, Judged
from afa.situations.key_standing import Going, LastingSituations, Reading
from afa.situations.reading_columns import KeyInstants
from afa.situations.reading_tables import ReadingTables
from afa.situations.readings import Readings
from afa.situations.standing_data import going_data, kind_data, standing_of
from afa.situations.told_forms import Telling
from afa.state.sound import wanted
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation import stage_state as saved
from speculation.stage import Output, Stage, checked
from speculation.waiting import HeldEvents


class DerivingStatistics(NamedTuple):
    """The numbers of one `Deriving`.

    Parameters
    ----------
    held : int
        Different readings that may still be retracted.
    keys : int
        Keys of which something is held: readings, or situations that go on.
    going : int
        Situations that go on, as far as readings say.
    told, withdrawn : int
        Events that have gone to the operator so far; those that were withdrawn again.
    """

    held: int
    keys: int
    going: int
    told: int
    withdrawn: int


class Deriving(Stage):
    """Readings in, events about situations out.

    Parameters
    ----------
    event : Schema
        Of the readings.
    judged : Judged
        The conditions.
    fields : sequence of sequence of (str or None)
        For each definition the fields of its aggregates; None: each reading counts.
    telling : Telling
    order_by : str, optional
        The field that orders readings of one time.
    open_promise : bool
        Whether what is told begins with a situation that goes on, so that a promise can't pass its beginning.
    """

    _numbers = ("_told", "_withdrawn", "promised", "judged", "by_column")
    no_reasons = (
        "expected an operator of events but got one of situations, whose matches stand on instants, so that no "
        "reading is a reason; TemporalPattern.explain() tells at which instant each relation is decided"
    )
    waits = False
    """Whether the clock tells something without a reading."""
    said: Any = None
    """What a `Derive` was made of."""
    spanned: Any = None
    """How long matches last, and where they say that they begin: `afa.frames.through`."""

    def __init__(
        self,
        event: Schema,
        judged: Judged,
        fields: Sequence[Sequence[str | None]],
        telling: Telling,
        *,
        order_by: str | None = None,
        open_promise: bool = False,
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        self.own = [line[0].condition.text for line in judged.lines]
        """The conditions of the definitions as they were made."""
        form = telling.form
        waits = any(kind.at_least is not None for kind in form.kinds)
        steps: dict[Any, Any] | None = {} if all(kind.plain for kind in form.kinds) else None
        form = form._replace(ordered=order_by is not None, waits=waits, steps=steps)
        self.event_schema, self.judged, self.telling, self.order = event, judged, telling._replace(form=form), order_by
        self.fields, self.open_promise = [list(each) for each in fields], open_promise
        self._none: Sequence[Sequence[Any]] | None = (
            None if any(self.fields) else self.fields
        )  # the values of a reading of which nothing is aggregated
        known = {field.name: field for field in event.fields}
        self._types = {name: field.type for name, field in known.items()}
        if order_by is not None and (
            not isinstance(order_by, str)
            or order_by not in known
            or known[order_by].type not in (int, float, str)
            or known[order_by].optional
        ):
            raise AfaError(f"expected a field of int, float or str in {event.describe()} but got order_by={order_by!r}")
        self._lines: dict[Hashable, Readings] = {}
        self._due: SortedDict[int, dict[Hashable, None]] = (
            SortedDict()
        )  # by the promise at which a key has something to say or forget
        self._noted: dict[Hashable, int] = {}
        self._coming: dict[Hashable, set[int]] = {}
        self.by_column: ColumnState | None = None  # what is held, in the place of `_lines`, while tables come
        self.tables = ReadingTables(self)
        self.promised = BEGINNING
        self._told = self._withdrawn = 0
        self._waiting = HeldEvents(self)  # type: ignore[assignment]
        self.faults: Faults | None = None
        """Told of two different readings of a key and time, of which neither holds then. None: they are refused."""

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all numbers; nothing of a call before is coming."""
        self._coming = {}
        return super().call_begins()

    def see(self, change: Change) -> None:
        """Take a change of a reading in its form, at or above the promise. `revisions` says what it leads to."""
        payload, le, re, diff, key = change
        assert le is not None
        self.by_rows()
        line = self._lines.get(key)
        if line is None:
            line = Readings(self._journal, self.telling.form)
            self._journal.put(self._lines, key, line)
        line.change((le, getattr(payload, self.order) if self.order is not None else 0), payload, re, diff)
        self._coming.setdefault(key, set()).add(le)

    def revisions(self) -> Iterator[Change]:
        """Yield what the changes since the last time lead to: retractions and insertions of events."""
        coming, self._coming = self._coming, {}
        for key, touched in coming.items():
            yield from self._revised(key, touched, self.promised)

    def _revised(self, key: Hashable, touched: Iterable[int], clock: int) -> Iterator[Change]:
        line, (_, payload, times, *_) = self._lines[key], self.telling
        contested = None if self.faults is None else partial(self._contested, key)
        for each, diff in line.revised(touched, clock, self._read, contested).items():
            if diff:
                self._told += diff > 0
                self._withdrawn += diff < 0
                le, re = times(each)
                yield Change(payload(each), le, re, diff, key)
        self._note(key, line)

    def _contested(self, key: Hashable, error: str, le: int) -> None:
        """Tell of two readings at one place: neither holds."""
        assert self.faults is not None
        self.faults.take(Raised(key, le, None, "", "reading", error), "; neither holds while both are there")

    def _note(self, key: Hashable, line: Readings) -> None:
        """Note at which promise a key has something to say, or to forget; a key of which nothing is held goes."""
        due = line.due
        if due < FOREVER and self._noted.get(key, FOREVER) > due:
            keys = self._due.get(due)
            if keys is None:
                keys = {}
                self._journal.put(self._due, due, keys)
            self._journal.put(keys, key, None)
            self._journal.put(self._noted, key, due)
        if line.empty:
            self._journal.drop(self._lines, key)

    def _read(self, payload: Any, re: int | None, le: int) -> Reading:
        values = self._none or [[0 if name is None else getattr(payload, name) for name in names] for names in self.fields]
        return Reading(self.judged.bits(payload, le), FOREVER if re is None else re, values)

    # -- tables ------------------------------------------------------------------------------------------------------------------

    def take_table(self, coming: Coming, state: ColumnState) -> tuple[ColumnState, KeyInstants, KeyInstants] | None:
        """Take a table of readings at or above the promise, where nothing is held row by row. O(n + what is held).

        Returns
        -------
        (ColumnState, Instants, Instants) or None
            The new state, what goes and what comes. None: it must be taken row by row, as two readings are of one key and time.
        """
        found = state.taken(coming, self.promised)
        if found is None:
            return None
        self.by_column, (gone, come) = found
        self._told += len(come.t)
        self._withdrawn += len(gone.t)
        return self.by_column, gone, come

    def by_columns(self, rows: int) -> ColumnState | None:
        """Return what is held as columns; None: it can't be, or a table of so many rows is not worth it."""
        if self.by_column is None and self.tables.fit and not self._coming:
            if sum(len(line.places) for line in self._lines.values()) > rows:
                return None
            state = self.tables.loaded(self._lines)
            if state is None:
                return None
            for each in (self._lines, self._due, self._noted):
                for key in list(each):
                    self._journal.drop(each, key)
            self.by_column = state
        return self.by_column

    def by_rows(self) -> None:
        """Hold what is held row by row. O(readings)."""
        if self.by_column is None:
            return
        state, self.by_column = self.by_column, None
        touched: dict[Hashable, set[int]] = {}
        for key, going in state.standings():
            self._put_line(key).cover = LastingSituations(FOREVER, tuple([each and Going(*each) for each in going]))
            touched[key] = set()
        for key, le, payload in self.tables.readings(state):
            self._put_line(key).change((le, 0), payload, None, 1)
            touched.setdefault(key, set()).add(le)
        for key, les in touched.items():
            line = self._lines[key]
            line.revised(les, self.promised, self._read)  # each alone at its time
            self._note(key, line)

    def _put_line(self, key: Hashable) -> Readings:
        line = self._lines.get(key)
        if line is None:
            line = Readings(self._journal, self.telling.form)
            self._journal.put(self._lines, key, line)
        return line

    # -- promises ----------------------------------------------------------------------------------------------------------------

    def promise(self, t: int) -> Iterator[Change]:
        """Take a promise: yield what the clock brings. `settled` forgets what is final behind it."""
        if self.by_column is not None:
            was, (self.by_column, (gone, come)) = self.by_column, self.by_column.promised(t)
            self._told += len(come.t)
            yield from self.tables.changes(was, gone, come)
            return
        for key in self._keys_due(t):
            if key in self._lines:
                yield from self._revised(key, (), t)

    def settled(self, t: int) -> list[Change]:
        """Forget what lies below a promise, which has been told. Returns the retractions that have waited in vain."""
        vain, self.promised = list[Change](), t
        if self.by_column is not None:
            self.judged = self.judged.settled(t)
            return vain
        keys = self._keys_due(t)
        for le in list(self._due.irange(None, t)):
            self._journal.drop(self._due, le)
        for key in keys:
            if key in self._noted:
                self._journal.drop(self._noted, key)
            line = self._lines.get(key)
            if line is None:
                continue
            vain += [Change(*waiting, key) for waiting in line.settle(t)]
            self._note(key, line)
        if t > BEGINNING:
            self.judged = self.judged.settled(t)
        return vain

    def _keys_due(self, t: int) -> list[Hashable]:
        found: dict[Hashable, None] = {}
        for due in self._due.irange(None, t):
            found |= self._due[due]
        return list(found if t < FOREVER else {**found, **self._lines})

    @property
    def begun(self) -> int:
        """The smallest beginning of a situation that goes on at the promise; FOREVER: there is none. O(keys)."""
        self.by_rows()
        going = (each.ts for line in self._lines.values() for each in line.cover.going if each is not None)
        return min(going, default=FOREVER)

    # -- conditions that change ----------------------------------------------------------------------------------------------------

    def redefine(self, name: str, condition: Condition, le: int, re: int = FOREVER) -> None:
        """Put another condition in force in ``[le, re)``. `revisions` says what it leads to. O(keys + readings held there).

        Raises
        ------
        LateEventError
            ``le`` lies below the promise: those readings are forgotten.
        """
        self.by_rows()
        if le < self.promised:
            raise LateEventError(f"expected le >= {self.promised} (promised) but got le={le} for the definition {name!r}")
        self.judged = self.judged.changed(name, condition, le, re)
        for key, line in self._lines.items():
            there = [place[0] for place in line.places.irange((le,), (re,), inclusive=(True, False))]
            if there:
                self._coming.setdefault(key, set()).update(there)

    # -- alone, as a stage -----------------------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call."""
        if not isinstance(item, Punctuation):
            payload = self.event_schema.take(self.event_schema.dated(item.payload, item.le))
            if item.le is not None and item.le < self.promised:
                raise LateEventError(f"expected le >= {self.promised} (promised) but got le={item.le} for {payload!r}")
            self.see(item._replace(payload=payload))
        elif item.where is None:
            t = as_ticks(item.t, "t")
            if t > self.promised:
                out += [*self.revisions(), *self.promise(t)]
                for change in self.settled(t):
                    raise LateEventError(vain(change, t))
                out.append(self.passed_on(t))

    def end(self, out: Output) -> None:
        """Append what the changes so far lead to."""
        out += self.revisions()

    def passed_on(self, t: int) -> Punctuation:
        """Return what a promise of readings promises of what is told."""
        return Punctuation(min(t, self.begun) if self.open_promise else t)

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def statistics(self) -> DerivingStatistics:
        """The numbers of what is held, and was told so far. O(keys)."""
        return self._calls.call(self._look)

    def _look(self) -> DerivingStatistics:
        if self.by_column is not None:
            return DerivingStatistics(
                self.by_column.readings_held, len(self.by_column.keys_held), self.by_column.going, self._told, self._withdrawn
            )
        held = sum(len(bucket) for line in self._lines.values() for bucket in line.places.values())
        going = sum(each is not None for line in self._lines.values() for each in line.last.going)
        return DerivingStatistics(held, len(self._lines), going, self._told, self._withdrawn)

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        return self._lines.keys() if self.by_column is None else self.by_column.keys_held

    def clean(self) -> None:
        """Forget all that is final: each promise has."""

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    def numbers(self, keys: Iterable[Hashable] | None = None) -> list[Any]:
        """Return all but the readings, as plain data; ``keys``: of these only."""
        lines = [[[each.since, each.condition.text] for each in line] for line in self.judged.lines]
        return [self._said(), self.promised, self._told, self._withdrawn, lines, self._covers(keys)]

    def _covers(self, keys: Iterable[Hashable] | None) -> list[Any]:
        """Return the keys of which a situation goes on at the promise, and which ones, by key."""
        if self.by_column is not None:
            chosen = None if keys is None else set(keys)
            standings = self.by_column.standings()
            found = [[key, FOREVER, going_data(going)] for key, going in standings if chosen is None or key in chosen]
            return sorted(found, key=lambda item: repr(item[0]))
        lines = ((key, line.cover) for key, line in self._by_key(keys) if not line.cover.idle)
        return [[key, cover.until, going_data(cover.going)] for key, cover in lines]

    def _said(self) -> list[Any]:
        return [list(self.judged.names), self.own, self.order, list(map(kind_data, self.telling.form.kinds)), self.fields]

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        """Return the readings that may still be retracted, in an order that does not depend on how they came."""
        if self.by_column is not None:
            wanted_ones = None if keys is None else set(keys)
            readings = self.tables.readings(self.by_column)
            found = [
                Change(payload, le, None, 1, key) for key, le, payload in readings if wanted_ones is None or key in wanted_ones
            ]
            return sorted(found, key=lambda change: (repr(change.key), change.le))
        return [
            Change(payload, place[0], re, copies, key)
            for key, line in self._by_key(keys)
            for place, bucket in line.places.items()
            for (payload, re), copies in sorted(bucket.items(), key=repr)
        ]

    def part(self, keys: Iterable[Hashable] | None = None) -> Any:
        """Return the readings that may still be retracted as plain data; ``keys``: of these only."""
        return saved.columns_of(self.waiting(keys))

    @property
    def due(self) -> int:
        """The smallest promise at which something is told or forgotten; FOREVER: none."""
        return next(iter(self._due), FOREVER) if self.by_column is None else self.by_column.due

    def _by_key(self, keys: Iterable[Hashable] | None) -> list[tuple[Hashable, Readings]]:
        found = self._lines.items() if keys is None else [(key, self._lines[key]) for key in keys if key in self._lines]
        return sorted(found, key=lambda item: repr(item[0]))

    def load(self, numbers: list[Any], part: Any, without: Collection[Hashable] = ()) -> None:
        """Take what a stage with the same definitions has saved, by `numbers` and `part`: of keys that this one does not hold.

        What this one holds follows the promise of the other, which is not smaller than its own. ``without``: but of these keys.

        Raises
        ------
        SnapshotError
            It is something else.
        """
        try:
            said, promised, was_told, withdrawn, lines, covers = numbers
            wanted(f"the definitions {self._said()}", said == self._said(), said)
            if as_time(promised, "promised") > self.promised:
                for _ in self.promise(promised):
                    pass
                self.settled(promised)
            wanted(f"a promise not below {self.promised}", promised == self.promised, promised)
            self._told, self._withdrawn = as_total(was_told), as_total(withdrawn)
            wanted("conditions of each definition", len(lines) == len(self.judged.names) and all(lines), lines)
            self.judged = Judged(self.judged.names, (), tuple(tuple(map(self._in_force, line)) for line in lines))
            for key, until, going in covers:
                if key not in without:
                    self._cover(key, until, going)
            for change in saved.changes(part, self.event_schema.take):
                wanted(f"readings at or above the promise {promised}", change.le is not None and change.le >= promised, change)
                if change.key not in without:
                    self.see(checked(change))
            for key, line in list(self._lines.items()):
                for _ in self._revised(key, self._coming.pop(key, ()), self.promised):
                    pass
                wanted("a key of which something is held", not line.empty, key)
            self._told, self._withdrawn = was_told, withdrawn
        except (SnapshotError, MemoryError):
            raise
        except Exception as error:  # what is none of ours may be wrong in any way
            raise SnapshotError(f"expected the numbers of situations but got something else: {error}") from error
        self._journal.commit()

    def _in_force(self, each: Any) -> InForce:
        since, text = each
        return InForce(as_time(since, "since"), Condition(text, self.event_schema, self.tick or "ns"))

    def _cover(self, key: Hashable, until: Any, going: Any) -> None:
        """Let a key stand as it did at the promise."""
        types = [[None if name is None else self._types[name] for name in names] for names in self.fields]
        line = self._lines[key] = Readings(self._journal, self.telling.form)
        line.cover = standing_of(until, going, self.telling.form.kinds, types, self.promised)


def vain(change: Change, t: int) -> str:
    """Say that a retraction has waited in vain."""
    at = "" if change.key is None else f" of key {change.key!r}"
    return f"expected the insertion of {change.payload!r} at le={change.le}{at} before {t} (promised) but got its retraction only"
