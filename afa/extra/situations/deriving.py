"""Readings to situations, as a stage: what changes at which instants, under late readings, retractions, promises, new conditions.

changes, tables -> HeldReadings -> lines: what is told, and no longer -> changes of events, or columns, for the operator
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.compiled.code.strings import Strings
from afa.conditions.condition import Condition
from afa.errors import AfaError, LateEventError
from afa.extra.situations.folds import Fold
from afa.extra.situations.held_readings import HeldReadings
from afa.extra.situations.judged import InForce, Judged
from afa.extra.situations.key_standing import standing_of
from afa.extra.situations.reading_layout import LineWords, ReadingColumns
from afa.extra.situations.reading_tables import NewReadings, ReadingTables
from afa.extra.situations.told_forms import Telling
from afa.model.copies import as_total
from afa.model.raised import Raised
from afa.operator.plain_data import reading
from afa.schema import Schema
from afa.state.sound import wanted
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time
from speculation import stage_state as saved
from speculation.stage import Stage, checked

MOST = 62
"""How many definitions there may be."""


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
    """Readings in, events about situations out, in front of an operator.

    ``event`` is the schema of the readings; ``fields`` has for each definition the fields of its aggregates (None: each reading
    counts).
    """

    by_keys = True
    _numbers = ("_told", "_withdrawn", "promised", "judged")
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
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        self.own = [line[0].condition.text for line in judged.lines]
        """The conditions of the definitions as they were made."""
        self.event_schema, self.judged, self.telling, self.order = event, judged, telling, order_by
        self.fields = [list(each) for each in fields]
        known = {field.name: field for field in event.fields}
        self._types = {name: field.type for name, field in known.items()}
        if order_by is not None and (
            not isinstance(order_by, str)
            or order_by not in known
            or known[order_by].type not in (int, float, str)
            or known[order_by].optional
        ):
            raise AfaError(f"expected a field of int, float or str in {event.describe()} but got order_by={order_by!r}")
        if len(judged.names) > MOST:
            raise AfaError(f"expected at most {MOST} definitions but got {len(judged.names)}")
        strings = Strings()
        of = [(fold, name) for kind, names in zip(telling.kinds, self.fields) for fold, name in zip(kind.folds, names)]
        folds = [Fold(fold, name, int if name is None else self._types[name], strings) for fold, name in of]
        self.held = HeldReadings(self._journal, telling.kinds, folds, strings, telling.instant is None, self._bits, order_by)
        self.tables = ReadingTables(self)
        self.promised = BEGINNING
        self._told = self._withdrawn = 0

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all numbers; nothing of a call before is coming."""
        self.held.begins(self.promised)
        return super().call_begins()

    def call_failed(self, before: Any) -> None:
        """Restore all."""
        super().call_failed(before)
        self.held.failed(self.promised)

    def call_worked(self) -> None:
        """Forget how to restore the earlier state."""
        super().call_worked()
        self.held.worked()

    def _bits(self, payload: Any, le: int) -> int:
        return self.judged.bits(payload, le)

    def see(self, change: Change) -> None:
        """Take a change of a reading in its form, at or above the promise. `told` says what it leads to."""
        self.held.see(change)

    def take_table(self, coming: NewReadings) -> list[Change]:
        """Take a table of readings. Returns those below the promise, which it does not take."""
        c, table = coming
        late = coming.le < self.promised
        if self.promised == BEGINNING or not late.any():
            self.held.take_table(c, table)
            return []
        rows = np.flatnonzero(late)
        self.held.take_table(np.ascontiguousarray(c[:, ~late]), table.but(rows, len(late)))
        names, readings = self.held.keys.all, table.at(rows.tolist())
        places = zip(c[ReadingColumns.key, late].tolist(), coming.le[late].tolist())
        return [Change(payload, le, None, 1, names[number]) for (number, le), (payload, _) in zip(places, readings)]

    def told(self) -> Any:
        """Return the lines of what the changes since the last time lead to; see `afa.extra.situations.reading_layout`."""
        return self._counted(self.held.told(None if self.faults is None else self._contested))

    def _counted(self, lines: Any) -> Any:
        if len(lines):
            comes = int(np.count_nonzero(lines[:, LineWords.sign] > 0))
            self._told += comes
            self._withdrawn += len(lines) - comes
        return lines

    def changes(self, lines: Any) -> list[Change]:
        """Return lines as changes of events."""
        names, folds, flags, found = self.held.keys.all, self.held.folds, self.telling.flags, []
        for line in lines.tolist():
            values = [fold.value(*line[LineWords.values + 2 * i : LineWords.values + 2 * i + 2]) for i, fold in enumerate(folds)]
            payload, le, re = self.telling.event(line, flags, values)
            found.append(Change(payload, le, re, line[LineWords.sign], names[line[LineWords.key]]))
        return found

    def _contested(self, key: Hashable, error: str, le: int) -> None:
        """Tell of two readings at one place: neither holds."""
        assert self.faults is not None
        self.faults.take(Raised(key, le, None, "", "reading", error), "; neither holds while both are there")

    # -- promises ----------------------------------------------------------------------------------------------------------------

    def brought(self, t: int) -> Any:
        """Take a promise: return the lines of what the clock brings. `settled` forgets what is final behind it."""
        return self._counted(self.held.promise(t))

    def settled(self, t: int) -> list[Change]:
        """Forget what lies below a promise, which has been told. Returns the retractions that have waited in vain."""
        self.promised = t
        vain = list(self.held.settled(t))
        if t > BEGINNING:
            self.judged = self.judged.settled(t)
        return vain

    @property
    def begun(self) -> int:
        """The smallest beginning of a situation that goes on at the promise; FOREVER: there is none. O(keys)."""
        return self.held.begun

    # -- conditions that change ----------------------------------------------------------------------------------------------------

    def redefine(self, name: str, condition: Condition, le: int, re: int = FOREVER) -> None:
        """Put another condition in force in ``[le, re)``. `told` says what it leads to. O(keys + readings held there).

        Raises
        ------
        LateEventError
            ``le`` lies below the promise: those readings are forgotten.
        """
        if le < self.promised:
            raise LateEventError(f"expected le >= {self.promised} (promised) but got le={le} for the definition {name!r}")
        self.judged = self.judged.changed(name, condition, le, re)
        self.held.judge_again(le, re)

    def passed_on(self, t: int) -> Punctuation:
        """Return what a promise of readings promises of what is told: a record begins with its situation, which may go on."""
        return Punctuation(min(t, self.begun) if self.telling.instant is None else t)

    # -- what is held ------------------------------------------------------------------------------------------------------------

    @property
    def statistics(self) -> DerivingStatistics:
        """The numbers of what is held, and was told so far. O(keys)."""
        return self._calls.call(self._look)

    def _look(self) -> DerivingStatistics:
        return DerivingStatistics(self.held.count, len(self.held.held), self.held.going, self._told, self._withdrawn)

    @property
    def keys(self) -> Collection[Hashable]:
        """The keys of which anything is held."""
        return self.held.held

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    def numbers(self, keys: Iterable[Hashable] | None = None) -> list[Any]:
        """Return all but the readings, as plain data; ``keys``: of these only."""
        lines = [[[each.since, each.condition.text] for each in line] for line in self.judged.lines]
        covers = [[key, until, [each and each.data for each in going]] for key, (until, going) in self.held.covers(keys)]
        return [self._said(), self.promised, self._told, self._withdrawn, lines, covers]

    def _said(self) -> list[Any]:
        return [list(self.judged.names), self.own, self.order, [kind.data for kind in self.telling.kinds], self.fields]

    def waiting(self, keys: Iterable[Hashable] | None = None) -> list[Change]:
        """Return the readings that may still be retracted, in an order that does not depend on how they came."""
        return self.held.readings(keys)

    def part(self, keys: Iterable[Hashable] | None = None) -> Any:
        """Return the readings that may still be retracted as plain data; ``keys``: of these only."""
        return saved.columns_of(self.waiting(keys))

    @property
    def due(self) -> int:
        """The smallest promise at which something is told or forgotten; FOREVER: none."""
        return self.held.due

    def load(self, numbers: list[Any], part: Any, without: Collection[Hashable] = ()) -> None:
        """Take what a stage with the same definitions has saved, by `numbers` and `part`: of keys that this one does not hold.

        What this one holds follows the promise of the other, which is not smaller than its own. ``without``: but of these keys.

        Raises
        ------
        SnapshotError
            It is something else.
        """
        with reading("the numbers of situations"):
            said, promised, was_told, withdrawn, lines, covers = numbers
            wanted(f"the definitions {self._said()}", said == self._said(), said)
            if as_time(promised, "promised") > self.promised:
                self.brought(promised)
                self.settled(promised)
            wanted(f"a promise not below {self.promised}", promised == self.promised, promised)
            self._told, self._withdrawn = as_total(was_told), as_total(withdrawn)
            wanted("conditions of each definition", len(lines) == len(self.judged.names) and all(lines), lines)
            self.judged = self.judged._replace(lines=tuple(tuple(map(self._in_force, line)) for line in lines))
            for key, until, going in covers:
                if key not in without:
                    self._cover(key, until, going)
            for change in saved.changes(part, self.event_schema.take):
                wanted(f"readings at or above the promise {promised}", change.le is not None and change.le >= promised, change)
                if change.key not in without:
                    self.see(checked(change))
            self.told()
            self._told, self._withdrawn = was_told, withdrawn
        self.call_worked()

    def _in_force(self, each: Any) -> InForce:
        since, text = each
        return InForce(as_time(since, "since"), Condition(text, self.event_schema, self.tick or "ns"))

    def _cover(self, key: Hashable, until: Any, going: Any) -> None:
        """Let a key stand as it did at the promise."""
        types = [[None if name is None else self._types[name] for name in names] for names in self.fields]
        self.held.cover(key, standing_of(until, going, self.telling.kinds, types, self.promised))


def vain(change: Change, t: int) -> str:
    """Say that a retraction has waited in vain."""
    at = "" if change.key is None else f" of key {change.key!r}"
    return f"expected the insertion of {change.payload!r} at le={change.le}{at} before {t} (promised) but got its retraction only"
