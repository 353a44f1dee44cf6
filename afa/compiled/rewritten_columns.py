"""Columns through the compiled engine where payloads are not kept: a column of triggering sets in place of the event's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.compiled.encode import Encoded
from afa.compiled.kernel import names as k
from afa.compiled.plain import Unfit, distinct, filled, ints, numbers
from afa.cuts import Cuts
from afa.model.arc import Arc
from afa.rewrite.rewritten_engine import Reduced
from afa.rewrite.triggers import Picked
from afa.schema import Field
from afa.state.states import Column, records

if TYPE_CHECKING:
    from afa.engine import Host


class Rows(NamedTuple):
    """A batch: as the engine has encoded it, its column of sets, yet to be filled, and the event's own fields."""

    encoded: Encoded
    triggers: Any
    columns: dict[str, Column]

    def promised(self, _: int) -> Rows:
        """Return the same: it goes to the engine in parts, each of which knows its own rows only."""
        return self


class ReducedColumns(Reduced):
    """`Reduced`, of the compiled engine: what it has beyond `afa.engine.Engine`."""

    def push(self, change: Change) -> list[Change]:
        """Take one event change, checked and not late, as `CompiledEngine.push`."""
        found: list[Change] = self.inner.push(self.reduced(change))
        return found

    @property
    def serial(self) -> int:
        """As of `CompiledEngine`."""
        return int(self.inner.serial)

    @property
    def began(self) -> Any:
        """As of `CompiledEngine`."""
        return self.inner.began

    @began.setter
    def began(self, began: Any) -> None:
        self.inner.began = began

    @property
    def registers(self) -> Any:
        """The records of registers."""
        return self.inner.registers

    def log(self, cuts: Cuts | None = None) -> Any:
        """Return the output log's net entries; empties it."""
        return self.inner.log(cuts)

    @property
    def logged(self) -> int:
        """How many entries the output log has."""
        found: int = self.inner.logged
        return found

    def encode(
        self,
        columns: Mapping[str, Any],
        times: Mapping[str, Any],
        arcs: Sequence[Arc],
        window: int | None,
        key_columns: list[Any] | None,
        single: bool,
    ) -> Rows | None:
        """Return columns in the form of `run_columns`. None: they must go row by row."""
        reduction = self.triggers.reduction
        try:
            n = len(ints(times["le"]))
            own = {field.name: _column(columns[field.name], field, n) for field in reduction.schema.fields}
        except Unfit:
            return None
        triggers = np.zeros(n, np.int64)
        kept = {name: columns[name] for name in (reduction.sequence,) if name is not None}
        encoded = self.inner.encode({reduction.field: triggers, **kept}, times, arcs, window, key_columns, single)
        return None if encoded is None else Rows(encoded, triggers, own)

    def run_columns(self, batch: Rows, host: Host, cuts: Cuts | None = None) -> None:
        """Carry out a batch of records in order of arrival; ``cuts``: each of them on its own.

        The batch is cut at each change of an arc: the sets of the events behind it are made by the arcs that are in force then.
        """
        n, kind, low = len(batch.triggers), batch.encoded.kind, 0
        changes = [] if kind is None else np.flatnonzero(kind == k.ARC).tolist()
        events = batch._replace(encoded=batch.encoded._replace(arc=None, arcs=()))
        for high in [*changes, n]:
            if low < high:
                self._run_part(events, slice(low, high), host, cuts)
            if high < n:
                host.take_record(batch.encoded.item(high))
                if cuts is not None:
                    cuts.after(self.logged, self.progress.final)
            low = high + 1

    def _run_part(self, batch: Rows, part: slice, host: Host, cuts: Cuts | None) -> None:
        """Some rows, without changes of arcs. What is late is told here, where payloads are known."""
        le = batch.encoded.le[part]
        promised, events = _promises(batch.encoded, part, self.progress.events)
        late = events & (le < promised)
        places = np.arange(part.start, part.stop)
        rows: Any = part
        if late.any():
            for i in np.flatnonzero(late).tolist():
                host.take_late(self._change(batch, part.start + i), int(promised[i]))
            rows, events = places[~late], events[~late]
        if not len(events):
            return
        wanted = rows if events.all() else places[events] if rows is part else rows[events]
        batch.triggers[wanted] = self.triggers.of_columns(Picked(batch.columns, wanted), batch.encoded.le[wanted])
        taken = _taken(batch.encoded, rows, bool(events.all()))
        self.inner.run_columns(taken, host, cuts)

    def _change(self, batch: Rows, row: int) -> Change:
        """Return an event of a batch as it came."""
        encoded, schema, here = batch.encoded, self.triggers.reduction.schema, slice(row, row + 1)
        (payload,) = records([Picked(batch.columns, here)[field.name] for field in schema.fields], schema, 1)
        le = int(encoded.le[row])
        re = k.FOREVER if encoded.window is None else le + encoded.window
        re = re if encoded.re is None else int(encoded.re[row])
        diff = 1 if encoded.diff is None else int(encoded.diff[row])
        key = None if encoded.key is None else self.inner.store.directory.names[int(encoded.key[row])]
        return Change(payload, le, re, diff, key)


def _promises(encoded: Encoded, part: slice, before: int) -> tuple[Any, Any]:
    """Of each row what the events are promised there, and whether it is an event."""
    le = encoded.le[part]
    if encoded.kind is None:
        return np.full(len(le), before, np.int64), np.ones(len(le), np.bool_)
    kind = encoded.kind[part]
    return np.maximum.accumulate(np.where(kind == k.PUNCTUATION, le, before).clip(before)), kind == k.EVENT


def _taken(encoded: Encoded, rows: Any, events: bool) -> Encoded:
    """Return some rows of a batch; ``events``: nothing but events is among them."""

    def some(column: Any) -> Any:
        return None if column is None else column[rows]

    return encoded._replace(
        le=some(encoded.le),
        re=some(encoded.re),
        diff=some(encoded.diff),
        kind=None if events else some(encoded.kind),
        arc=some(encoded.arc),
        key=some(encoded.key),
        fields=[source._replace(values=some(source.values), present=some(source.present)) for source in encoded.fields],
        kept=[],
    )


def _column(column: Any, field: Field, n: int) -> Column:
    """Return a field's column, if it is plainly of its type."""
    if field.type is None:
        raise Unfit
    texts = None
    column, present = filled(column, field.type, field.optional)
    if field.type is str:
        values, texts = distinct(column)
        if not all(type(text) is str for text in texts):
            raise Unfit
    else:
        values = numbers(column, field.type)
    if values.shape != (n,):
        raise Unfit
    if field.type is float:
        return Column(values + 0.0, present)  # -0.0 becomes 0.0
    return Column(values.astype(np.bool_ if field.type is bool else np.int64, copy=False), present, texts)
