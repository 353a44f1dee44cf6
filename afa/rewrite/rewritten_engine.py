"""The engine of a rewritten automaton, behind an operator that knows the user's only.

    operator      arcs, events, columns          as the user has them
    Rewriting     what becomes of each           a value; another one after each change of an arc
    inner engine  rewritten arcs, events, ..     any engine, which knows of no other automaton

What speaks of neither arcs nor events goes straight to the inner engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from afa.change import Change
from afa.conditions.promised import Paths, PromisesByKey
from afa.cuts import Cuts
from afa.engine import Engine, Host, Numbered
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.rewrite.known_ahead import difference, lifetimes, presents
from afa.rewrite.rewriting import Rewriting
from afa.rewrite.rewritten_batch import RewrittenBatch, Rows, plain_columns
from punctuation.progress import Progress
from punctuation.reading import ARC
from punctuation.time import BEGINNING, FOREVER


class RewrittenEngine:
    """See `afa.engine.Engine`.

    Parameters
    ----------
    rewriting : Rewriting
    inner : Engine
        Of the rewritten automaton, with the rewritten arcs in force.
    progress : Progress
    journal : Journal
    """

    def __init__(self, rewriting: Rewriting, inner: Engine, progress: Progress, journal: Journal) -> None:
        self.rewriting, self.inner, self.name, self.alone = rewriting, inner, inner.name, inner.alone
        self._progress, self._journal = progress, journal
        self._paths: tuple[Paths, Rewriting, Paths] | None = None
        self.overdue, self.tick, self.clean = inner.overdue, inner.tick, inner.clean
        self.collect, self.cut, self.log, self.keys, self.sizes = inner.collect, inner.cut, inner.log, inner.keys, inner.sizes
        self.commit, self.rollback, self.let_raise, self.check = inner.commit, inner.rollback, inner.let_raise, inner.check
        self.save, self.saved, self.load = inner.save, inner.saved, inner.load

    @property
    def automaton(self) -> Automaton:
        """The rewritten automaton."""
        return self.rewriting.automaton

    @property
    def bits(self) -> list[int | None]:
        """What a snapshot says of the arcs in force."""
        return self.rewriting.bits

    @property
    def numbers(self) -> Numbered | None:
        """What it tells where numbers are gapless; None: they are not."""
        return None

    # -- arcs and promises -----------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only; see `Rewriting.followed_by`."""
        self._put(self.rewriting.followed_by(table.events, le, self._progress.now), le, re)

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        """Put a table in force before there is any state."""
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
        """Take event changes of one key."""
        self.inner.apply(key, [self._rewritten(change) for change in changes])

    def push(self, change: Change) -> list[Change] | None:
        """Take one event change."""
        return self.inner.push(self._rewritten(change))

    def _rewritten(self, change: Change) -> Change:
        payload, le, re, diff, key = change
        assert le is not None
        return Change(self.rewriting.event(payload, le), le, re, diff, key)

    @property
    def serial(self) -> int:
        """The inner engine's."""
        return self.inner.serial

    @property
    def began(self) -> int | None:
        """The inner engine's."""
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
        """Return columns as `run_columns` takes them."""
        own = plain_columns(columns, times, self.rewriting.schema)
        made = self.rewriting.blank(len(times["le"]))
        kept = {name: columns[name] for name in self.rewriting.kept}
        rows = self.inner.encode({**made, **kept}, times, arcs, window, key_columns, single)
        return RewrittenBatch(cast(Rows, rows), made, own, self.rewriting.schema)

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
