"""The engine of an automaton over triggering sets, behind an operator that knows the user's only.

    operator      arcs, events, columns          as the user has them
    Triggers      what becomes of each           a value; another one after each change of an arc
    inner engine  rewritten arcs, events, ..     any engine, which knows of no other automaton

What speaks of neither arcs nor events goes straight to the inner engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.conditions.promised import Paths, PromisesByKey
from afa.engine import Budget, Engine, GivenColumns, Host, NumberedEngine
from afa.engine.logged import Cuts
from afa.journal import Journal
from afa.model.arc import TIMEOUT, Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.rewrite.triggers import Triggers
from afa.rewrite.vectors import RowSelection
from afa.schema import Field, Schema
from afa.state.plain import field_columns, ints
from afa.state.states import Column, records
from punctuation.progress import Progress
from punctuation.reading import ARC, EVENT, PUNCTUATION
from punctuation.time import BEGINNING, FOREVER


# The changes of arcs in a batch, known before it: one table with the lifetimes that they lead to is put in force at once.
# An arc that comes or ends "from now on" acts from one tick past all that was seen. No row before the change lies there, so that an
# arc with that lifetime may be in force before the first row already: nothing that the rows before the change do is different.
def presents(le: Any, kind: Any, rows: Any, now: int) -> Any:
    """Return the present at some rows of a batch, changes of arcs: one tick past all that was seen; see `punctuation.progress`.

    An event that is late counts like any other: it lies before a punctuation that was seen.

    >>> presents(np.array([5, 3, 0, 8, 0]), np.array([0, 2, ARC, 0, ARC]), [2, 4], now=2).tolist()
    [6, 9]
    """
    seen = np.maximum.accumulate(np.where(kind == ARC, BEGINNING, le))[rows]
    return np.maximum(np.minimum(seen, FOREVER - 1) + 1, now)


def lifetimes(events: Sequence[ArcEvent], changes: Iterable[tuple[Any, int]]) -> list[ArcEvent] | None:
    """Returns the arc events in force after changes of arcs, each a `Change` with its present.

    None: one has a lifetime of its own, comes and goes at one present, or is refused; or there are time-outs. These go one by one.

    >>> from afa import Change
    >>> one, two = Arc("a", "b", "True", name="one"), Arc("a", "b", "False", name="two")
    >>> lifetimes([ArcEvent(one, 0, FOREVER)], [(Change(two, None), 4), (Change(one, None, None, -1), 9)])[1]
    ArcEvent(arc=arc 'one': a -> b, le=0, re=9)
    """
    found: dict[int, ArcEvent] = dict(enumerate(events))  # in the order in which one change after the other leaves them
    by_arc: dict[Arc, list[int]] = {}
    for number, event in found.items():
        by_arc.setdefault(event.arc, []).append(number)
    if any(arc.kind == TIMEOUT for arc in by_arc):
        return None
    for number, ((arc, le, re, diff, _), now) in enumerate(changes, len(found)):
        if le is not None or re is not None or diff not in (1, -1) or not isinstance(arc, Arc) or arc.kind == TIMEOUT:
            return None
        if diff > 0 and now < FOREVER:
            found[number] = ArcEvent(arc, now, FOREVER)
            by_arc.setdefault(arc, []).append(number)
            continue
        open_ones = [each for each in by_arc.get(arc, ()) if found[each].re > now]
        if diff > 0 or not open_ones:
            return None
        last = max(open_ones, key=lambda each: (found[each].arc is arc, found[each].le, found[each].re))  # as `ArcTable.find`
        event = found.pop(last)
        by_arc[arc] = [each for each in open_ones if each != last]
        if now == event.le:
            return None
        if now > event.le:  # else it is gone, as nothing of its lifetime is left
            found[number] = event._replace(re=now)
    return list(found.values())


def difference(old: Sequence[ArcEvent], new: Sequence[ArcEvent]) -> tuple[list[ArcEvent], list[ArcEvent]]:
    """Return which arc events have gone, and which have come."""

    def beyond(these: Sequence[ArcEvent], those: Sequence[ArcEvent]) -> list[ArcEvent]:
        left, found = Counter((id(event.arc), event.le, event.re) for event in those), []
        for event in these:
            place = id(event.arc), event.le, event.re
            if left[place]:
                left[place] -= 1
            else:
                found.append(event)
        return found

    return beyond(old, new), beyond(new, old)


class RewrittenBatch(NamedTuple):
    """A batch beside the events' own fields as they came.

    ``rows``: as the inner engine has encoded it, `afa.compiled.encode.Encoded`, in order of arrival. ``sets``: triggering sets of
    its events, a column that is filled in once it is known by which arcs.
    """

    rows: Any
    sets: Any
    columns: dict[str, Column]
    schema: Schema

    def promised(self, _: int) -> RewrittenBatch:
        return self  # it goes to the inner engine in parts, each of which knows its own rows only

    def looked_at(self) -> None:
        return None

    def longest(self) -> int:
        found: int = self.rows.longest()
        return found

    def columns_of(self, rows: Any) -> Mapping[str, Column]:
        return RowSelection(self.columns, rows)

    def promises(self, part: slice, before: int) -> tuple[Any, Any]:
        """Return of each row of a part what the events are promised there, and whether it is an event."""
        le = self.rows.le[part]
        if self.rows.kind is None:
            return np.full(len(le), before, np.int64), np.ones(len(le), np.bool_)
        kind = self.rows.kind[part]
        return np.maximum.accumulate(np.where(kind == PUNCTUATION, le, before).clip(before)), kind == EVENT

    def event(self, row: int) -> Change:
        """Return an event as it came."""
        here = self.columns_of(slice(row, row + 1))
        (payload,) = records([here[field.name] for field in self.schema.fields], self.schema, 1)
        found: Change = self.rows.event(row, payload)
        return found


class RewrittenEngine:
    """See `afa.engine.Engine`. ``inner`` is the engine of the rewritten automaton, with the rewritten arcs in force."""

    def __init__(self, triggers: Triggers, inner: Engine, progress: Progress, journal: Journal) -> None:
        self.triggers, self.inner, self.name, self.alone = triggers, inner, inner.name, inner.alone
        self._progress, self._journal = progress, journal
        self._paths: tuple[Paths, Triggers, Paths] | None = None
        self.overdue, self.tick, self.clean = inner.overdue, inner.tick, inner.clean
        self.collect, self.cut, self.log, self.keys, self.sizes = inner.collect, inner.cut, inner.log, inner.keys, inner.sizes
        self.ends, self.steps, self.ways, self.picks = inner.ends, inner.steps, inner.ways, inner.picks
        self.living, self.by_state, self.by_key, self.memory_bytes = inner.living, inner.by_state, inner.by_key, inner.memory_bytes
        self.totals, self.matches = inner.totals, inner.matches
        self.known_keys = inner.known_keys
        self.commit, self.rollback, self.let_raise, self.check = inner.commit, inner.rollback, inner.let_raise, inner.check
        self.let_threads_run = inner.let_threads_run
        self.save, self.saved, self.load, self.check_ties = inner.save, inner.saved, inner.load, inner.check_ties

    @property
    def automaton(self) -> Automaton:
        """The rewritten automaton."""
        return self.triggers.reduction.rewritten

    @property
    def native(self) -> bool:
        return self.inner.native

    @property
    def bits(self) -> list[int | None]:
        return self.triggers.bits

    @property
    def numbers(self) -> NumberedEngine | None:
        return None

    def bound(self, budget: Budget) -> None:
        self.inner.bound(budget)

    # -- arcs and promises -----------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only; see `Triggers.followed_by`."""
        self._put(self.triggers.followed_by(table.events, le, self._progress.now), le, re)

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        self._put(self.triggers.restored(table.events, bits or ()), BEGINNING, FOREVER)

    def _put(self, triggers: Triggers, le: int, re: int) -> None:
        self._journal.set(self, "triggers", triggers)
        self.inner.swap(triggers.table, le, re)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop what conditions have made superfluous: what they promise of the user's arcs holds for the rewritten ones."""
        if self._paths is None or self._paths[:2] != (promises.paths, self.triggers):
            self._paths = promises.paths, self.triggers, promises.paths.over(self.triggers)
        self.inner.prune(promises.over(self._paths[2]), arcs, changes)

    # -- events ----------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Iterable[Change]) -> None:
        self.inner.apply(key, [self._rewritten(change) for change in changes])

    def push(self, change: Change) -> list[Change] | None:
        return self.inner.push(self._rewritten(change))

    def _rewritten(self, change: Change) -> Change:
        payload, le, re, diff, key = change
        assert le is not None
        triggers = self.triggers
        return Change(triggers.reduction.set_of(triggers.set_of(payload, le), payload), le, re, diff, key)

    @property
    def serial(self) -> int:
        return self.inner.serial

    @property
    def began(self) -> int | None:
        return self.inner.began

    @began.setter
    def began(self, began: int | None) -> None:
        self.inner.began = began

    # -- columns ---------------------------------------------------------------------------------------------------------------

    def encode(self, given: GivenColumns, /) -> RewrittenBatch:
        reduction = self.triggers.reduction
        own, sets = _plain_columns(given, reduction.schema), np.zeros(len(given.times["le"]), np.int64)
        kept = {} if reduction.sequence is None else {reduction.sequence: given.events[reduction.sequence]}
        rows = self.inner.encode(given._replace(events={reduction.field: sets, **kept}))
        return RewrittenBatch(rows, sets, own, reduction.schema)

    def run_columns(self, batch: RewrittenBatch, host: Host, cuts: Cuts | None = None) -> None:
        """Carry out a batch. Its changes of arcs are known ahead; where they can't be, it is cut at each of them.

        Behind a cut, events are rewritten by the arcs that are in force then.
        """
        n, kind, low = len(batch.rows.le), batch.rows.kind, 0
        changes = [] if kind is None else np.flatnonzero(kind == ARC).tolist()
        if changes and self._know_ahead(batch, changes, host):
            self._run_part(batch, np.flatnonzero(kind != ARC), host, cuts)
            return
        for high in [*changes, n]:
            if low < high:
                self._run_part(batch, slice(low, high), host, cuts)
            if high < n:
                host.take_record(batch.rows.item(high))
                if cuts is not None:
                    cuts.after(self.cut(), self._progress.final)
            low = high + 1

    def _know_ahead(self, batch: RewrittenBatch, changes: list[int], host: Host) -> bool:
        """Put the arcs in force that a batch leads to, with their lifetimes; returns whether it can be done."""
        rows, before = batch.rows, self.triggers.events
        now = presents(rows.le, rows.kind, changes, self._progress.now).tolist()
        after = lifetimes(before, zip(map(rows.item, changes), now))
        if after is not None:
            host.replace_arcs(*difference(before, after), ArcTable(after))
        return after is not None

    def _run_part(self, batch: RewrittenBatch, part: Any, host: Host, cuts: Cuts | None) -> None:
        """Carry out some rows (a slice, or numbers), no changes of arcs. What is late is told: payloads are known here."""
        le = batch.rows.le[part]
        promised, events = batch.promises(part, self._progress.events)
        late = events & (le < promised)
        places = np.arange(part.start, part.stop) if isinstance(part, slice) else part
        rows = part
        if late.any():
            for i in np.flatnonzero(late).tolist():
                host.take_late(batch.event(int(places[i])), int(promised[i]))
            rows, events = places[~late], events[~late]
        if not len(events):
            return
        wanted = rows if events.all() else places[events] if rows is part else rows[events]
        batch.sets[wanted] = self.triggers.of_columns(batch.columns_of(wanted), batch.rows.le[wanted])
        self.inner.run_columns(batch.rows.only(rows, bool(events.all())), host, cuts)


def _plain_columns(given: GivenColumns, schema: Schema) -> dict[str, Column]:
    """Return the columns of the events' fields. Raises `Unfit` where one is not plainly of its type."""
    n, names = len(ints([given.times["le"]])[0]), [field.name for field in schema.fields]
    found = field_columns([given.events[name] for name in names], schema.fields, n)
    return {name: _in_form(column, field) for name, column, field in zip(names, found, schema.fields)}


def _in_form(column: Column, field: Field) -> Column:
    """Return a column with values in their field's type."""
    if field.type is float:
        return column._replace(values=column.values + 0.0)  # -0.0 becomes 0.0
    return column._replace(values=column.values.astype(np.bool_ if field.type is bool else np.int64, copy=False))
