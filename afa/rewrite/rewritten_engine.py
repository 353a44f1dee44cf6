"""The engine of a rewritten automaton, behind an operator that knows the user's only.

    operator      arcs, events, columns          as the user has them
    Rewriting     what becomes of each           a value; another one after each change of an arc
    inner engine  rewritten arcs, events, ..     any engine, which knows of no other automaton

What speaks of neither arcs nor events goes straight to the inner engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from afa.change import Change
from afa.conditions.promised import Paths, PromisesByKey, Tests
from afa.engine import Batch, Budget, Engine, Host, NumberedEngine
from afa.engine.logged import Cuts
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.rewrite.known_ahead import difference, lifetimes, presents
from afa.rewrite.vectors import RowSelection
from afa.schema import Field, Schema
from afa.state.plain import field_columns, ints
from afa.state.states import Column, records
from punctuation.progress import Progress
from punctuation.promise import Punctuation
from punctuation.reading import ARC, EVENT, PUNCTUATION
from punctuation.time import BEGINNING, FOREVER


class Rewriting(Tests, Protocol):
    """How an automaton is rewritten, with the arcs in force: all that a rewriting must supply. A value.

    ``automaton`` is the rewritten one, whose own arcs are an example; ``schema`` that of the user's events, of which messages
    speak; ``kept`` are the fields of the user's events that rewritten ones have too.
    """

    @property
    def automaton(self) -> Automaton: ...

    @property
    def schema(self) -> Schema: ...

    events: Sequence[ArcEvent]  # the user's arcs in force
    table: ArcTable  # the rewritten arcs in force
    bits: list[int | None]  # what a snapshot must say of each arc event, so that `restored` finds the same

    @property
    def kept(self) -> Sequence[str]: ...

    def followed_by(self, events: Sequence[ArcEvent], le: int, now: int) -> Rewriting:
        """Returns the rewriting for other arcs in force, which differ from ``le`` on; all events so far have an LE below ``now``.

        Raises AutomatonError where an arc can't be rewritten, ChangeError where they may not differ there.
        """

    def restored(self, events: Sequence[ArcEvent], bits: Sequence[int | None]) -> Rewriting:
        """Returns the rewriting of a snapshot; AutomatonError or ValueError where the bits do not fit."""

    def event(self, payload: Any, le: int) -> Any:
        """Return the rewritten event."""

    def blank(self, n: int) -> dict[str, Any]:
        """Return the columns, by field, that ``n`` rewritten events have beside those kept: arrays to be filled."""

    def fill(self, made: Mapping[str, Any], rows: Any, columns: Mapping[str, Column], le: Any) -> None:
        """Fill in some rows of them, from the columns and LEs of these rows' events."""


class ArrivalRows(Batch, Protocol):
    """What the inner engine's batches tell besides: rows in order of arrival."""

    @property
    def le(self) -> Any:
        """The LE of each row, an array."""

    @property
    def kind(self) -> Any:
        """The kind of each row (`punctuation.reading`), an array. None: all are events."""

    def item(self, row: int) -> Change | Punctuation:
        """Return a row that is no event."""

    def event(self, row: int, payload: Any) -> Change:
        """Return a row that is an event, with this payload."""

    def only(self, rows: Any, events: bool) -> Batch:
        """Return some rows (a slice, or their numbers), no changes of arcs; ``events``: none but events."""


class RewrittenBatch(NamedTuple):
    """A batch as the inner engine has encoded it, beside the events' own fields as they came.

    ``made``: columns of ``rows`` that are filled in once it is known by which arcs.
    """

    rows: ArrivalRows
    made: dict[str, Any]
    columns: dict[str, Column]
    schema: Schema

    def promised(self, _: int) -> RewrittenBatch:
        return self  # it goes to the inner engine in parts, each of which knows its own rows only

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
        return self.rows.event(row, payload)


class RewrittenEngine:
    """See `afa.engine.Engine`. ``inner`` is the engine of the rewritten automaton, with the rewritten arcs in force."""

    def __init__(self, rewriting: Rewriting, inner: Engine, progress: Progress, journal: Journal) -> None:
        self.rewriting, self.inner, self.name, self.alone = rewriting, inner, inner.name, inner.alone
        self._progress, self._journal = progress, journal
        self._paths: tuple[Paths, Rewriting, Paths] | None = None
        self.overdue, self.tick, self.clean = inner.overdue, inner.tick, inner.clean
        self.collect, self.cut, self.log, self.keys, self.sizes = inner.collect, inner.cut, inner.log, inner.keys, inner.sizes
        self.ends, self.steps, self.ways, self.picks = inner.ends, inner.steps, inner.ways, inner.picks
        self.living, self.by_state = inner.living, inner.by_state
        self.totals, self.matches = inner.totals, inner.matches
        self.known_keys = inner.known_keys
        self.commit, self.rollback, self.let_raise, self.check = inner.commit, inner.rollback, inner.let_raise, inner.check
        self.let_threads_run = inner.let_threads_run
        self.save, self.saved, self.load, self.check_ties = inner.save, inner.saved, inner.load, inner.check_ties

    @property
    def automaton(self) -> Automaton:
        """The rewritten automaton."""
        return self.rewriting.automaton

    @property
    def native(self) -> bool:
        return self.inner.native

    @property
    def bits(self) -> list[int | None]:
        return self.rewriting.bits

    @property
    def numbers(self) -> NumberedEngine | None:
        return None

    def bound(self, budget: Budget) -> None:
        self.inner.bound(budget)

    # -- arcs and promises -----------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only; see `Rewriting.followed_by`."""
        self._put(self.rewriting.followed_by(table.events, le, self._progress.now), le, re)

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        self._put(self.rewriting.restored(table.events, bits or ()), BEGINNING, FOREVER)

    def _put(self, rewriting: Rewriting, le: int, re: int) -> None:
        self._journal.set(self, "rewriting", rewriting)
        self.inner.swap(rewriting.table, le, re)

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop what conditions have made superfluous: what they promise of the user's arcs holds for the rewritten ones."""
        if self._paths is None or self._paths[:2] != (promises.paths, self.rewriting):
            self._paths = promises.paths, self.rewriting, promises.paths.over(self.rewriting)
        self.inner.prune(promises.over(self._paths[2]), arcs, changes)

    # -- events ----------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Iterable[Change]) -> None:
        self.inner.apply(key, [self._rewritten(change) for change in changes])

    def push(self, change: Change) -> list[Change] | None:
        return self.inner.push(self._rewritten(change))

    def _rewritten(self, change: Change) -> Change:
        payload, le, re, diff, key = change
        assert le is not None
        return Change(self.rewriting.event(payload, le), le, re, diff, key)

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

    def encode(
        self,
        columns: Mapping[str, Any],
        times: Mapping[str, Any],
        arcs: Sequence[Arc],
        window: int | None,
        key_columns: list[Any] | None,
        single: bool,
        /,
    ) -> RewrittenBatch:
        own = _plain_columns(columns, times, self.rewriting.schema)
        made = self.rewriting.blank(len(times["le"]))
        kept = {name: columns[name] for name in self.rewriting.kept}
        rows = self.inner.encode({**made, **kept}, times, arcs, window, key_columns, single)
        return RewrittenBatch(cast(ArrivalRows, rows), made, own, self.rewriting.schema)

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
        rows, before = batch.rows, self.rewriting.events
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
        self.rewriting.fill(batch.made, wanted, batch.columns_of(wanted), batch.rows.le[wanted])
        self.inner.run_columns(batch.rows.only(rows, bool(events.all())), host, cuts)


def _plain_columns(columns: Mapping[str, Any], times: Mapping[str, Any], schema: Schema) -> dict[str, Column]:
    """Return the columns of the events' fields. Raises `Unfit` where one is not plainly of its type."""
    n, names = len(ints([times["le"]])[0]), [field.name for field in schema.fields]
    found = field_columns([columns[name] for name in names], schema.fields, n)
    return {name: _in_form(column, field) for name, column, field in zip(names, found, schema.fields)}


def _in_form(column: Column, field: Field) -> Column:
    """Return a column with values in their field's type."""
    if field.type is float:
        return column._replace(values=column.values + 0.0)  # -0.0 becomes 0.0
    return column._replace(values=column.values.astype(np.bool_ if field.type is bool else np.int64, copy=False))
