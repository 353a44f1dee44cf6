"""Events that are known by a field of theirs while they are in force: a retraction names one, all else of it is looked up.

An operator with ``id="id"`` looks at each item before anything else does, stages too: an insertion is noted, a retraction
becomes that of the whole event, and the promise forgets what can't be retracted any more. A retraction whose event has not come
waits here, as only its id is known; when the event comes, both go on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sortedcontainers import SortedDict

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.io.event_batch import EventBatch, batch_of
from afa.model.automaton import Automaton
from afa.model.copies import as_diff
from afa.model.keys import take_key
from afa.operator.event_input import as_it_came, come
from afa.schema import Schema, as_ticks, is_record
from afa.state.plain import Unfit, keys_in
from afa.state.sound import wanted
from afa.state.states import Column
from punctuation.door import Table
from punctuation.promise import Punctuation


class RowPlace(NamedTuple):
    rows: InsertedRows
    i: int


class InsertedRows:
    """The rows of a table of insertions, and the id of each; ``keys``: the place of each row's key, and the keys."""

    def __init__(self, batch: EventBatch, ids: list[Hashable], keys: tuple[Any, list[Any]] | None) -> None:
        self.ids, self._fields, self._keys = ids, batch.fields, keys
        self._le, self._re = batch.times["le"], batch.times.get("re")
        self._order = np.argsort(self._le, kind="stable")
        self._sorted = self._le[self._order]
        self.done = 0  # how many, in the order of their LEs, are forgotten

    def below(self, t: int) -> int:
        return int(np.searchsorted(self._sorted, t))

    def before(self, t: int) -> list[Hashable]:
        """Return the ids of rows below an instant that are not forgotten."""
        return [self.ids[i] for i in self._order[self.done : self.below(t)].tolist()]

    def change(self, core: Any, i: int) -> Change:
        """Return a row as a change in its form."""
        schema = core.taken
        payload = schema.cls(*(_value(self._fields[field.name], field.type, i) for field in schema.fields))
        key = None if self._keys is None else take_key(self._keys[1][self._keys[0][i]])
        re = None if self._re is None else int(self._re[i])
        return as_it_came(core, come(core, Change(payload, int(self._le[i]), re), key))


def rows_in(core: Any, table: Table, place: int) -> InsertedRows | None:
    """Return a table as rows, if it holds insertions only, of a plain form; ``place``: that of the id among the event's fields."""
    keys, field = core.keys_at_once, core.taken.fields[place]
    if "kind" in table.names or field.type not in (int, str) or field.name == core.taken.instant:
        return None
    try:
        batch = batch_of(table, core.taken, keys)
        of_rows = None if keys is None else keys_in(batch.keys, keys.single, batch.n)
    except Unfit:
        return None
    (values, present, texts), diff = batch.fields[field.name], batch.times.get("diff")
    if present is not None or (diff is not None and (diff != 1).any()):
        return None
    return InsertedRows(batch, values.tolist() if texts is None else [texts[i] for i in values.tolist()], of_rows)


def _value(column: Column, kind: Any, i: int) -> Any:
    values, present, texts = column
    if present is not None and not present[i]:
        return None
    value = values[i].item()
    return texts[value] if texts is not None else bool(value) if kind is bool else value


Item = tuple[str, Any, Hashable]


class NamedEvents:
    """The events in force by their ids, which stand in a field of the event (else `AfaError`).

    The journal is the operator's. O(log n) for an insertion or a retraction, with n events in force at or above the promise; each
    is kept with its payload.
    """

    def __init__(self, automaton: Automaton, field: Any, journal: Any) -> None:
        self.field = field
        self._place = self.check_field(automaton.event_schema)
        self._journal = journal
        self._events: dict[Hashable, Change | RowPlace] = {}
        self._tables: tuple[InsertedRows, ...] = ()  # of insertions that came as tables
        self._by_le: SortedDict[int, dict[Hashable, None]] = SortedDict()
        self.waiting: dict[Hashable, tuple[int, ...]] = {}  # until when each retraction waits whose event has not come

    def check_field(self, schema: Schema | None) -> int:
        """Return the place of the id among the fields of the events that come. Raises `AfaError`."""
        names = [each.name for each in schema.fields] if schema else []
        if self.field not in names:
            said = schema.describe() if schema else "an event schema"
            raise AfaError(f"expected id=<a field of {said}> but got id={self.field!r}")
        return names.index(self.field)

    @property
    def pending(self) -> int:
        """How many retractions wait for their event."""
        return sum(map(len, self.waiting.values()))

    def resolved(self, core: Any, parts: Iterable[Any], rows: Callable[[Table], Iterable[Item]] | None = None) -> Iterator[Any]:
        """Yield the parts of a call with each retraction that of its whole event, one by one, as promises are made between them.

        ``rows`` returns the rows of a table; one of insertions only stays a table.
        """
        for part in parts:
            if not isinstance(part, Table):
                yield from self._item(core, *part)
            elif self._noted(core, part):
                yield part
            else:
                assert rows is not None
                for item in rows(part):
                    yield from self._item(core, *item)

    def _item(self, core: Any, port: str, item: Any, key: Hashable) -> Iterator[Item]:
        if port != "event":
            yield port, item, key
        elif isinstance(item, Punctuation):
            if item.where is None:
                self._promised(core, as_ticks(item.t, "t", core.tick))
            yield port, item, key
        elif not isinstance(item, Change):
            yield port, item, key  # which is refused
        elif as_diff(item.diff, item.payload) > 0:
            yield from self._inserted(core, item, key)
        else:
            yield from self._retracted(core, item)

    def _noted(self, core: Any, table: Table) -> bool:
        """Note a table of insertions with ids that are new, without an object for each; whether that is what it is."""
        found = rows_in(core, table, self._place)
        if found is None:
            return False
        ids = found.ids
        new = len(set(ids)) == len(ids) and self._events.keys().isdisjoint(ids) and self.waiting.keys().isdisjoint(ids)
        if not new or found.below(core.progress.events):
            return False
        self._journal.note(self._take_out, found)
        self._journal.set(self, "_tables", (*self._tables, found))
        self._events.update((name, RowPlace(found, i)) for i, name in enumerate(ids))
        return True

    def _take_out(self, rows: InsertedRows) -> None:
        for name in rows.ids:
            if isinstance(held := self._events.get(name), RowPlace) and held.rows is rows:
                del self._events[name]

    def _known(self, core: Any, name: Hashable) -> Change | None:
        """Return the event in force that an id names."""
        held = self._events.get(name)
        return held.rows.change(core, held.i) if isinstance(held, RowPlace) else held

    def known(self, core: Any, payload: Any) -> Change | None:
        """Return the event in force that the payload of a retraction names."""
        return self._known(core, self._name_of(core.taken, payload))

    def _inserted(self, core: Any, item: Change, key: Hashable) -> Iterator[Item]:
        change = as_it_came(core, come(core, item, key))
        name = change.payload[self._place]
        if name is None:
            raise ChangeError(f"expected an id (id={self.field!r}) but got {self.field}=None in {change.payload!r}")
        if change.diff != 1:
            raise ChangeError(f"expected one copy of an event that an id names (id={self.field!r}) but got diff={change.diff}")
        if change.le >= core.progress.events:
            known = self._known(core, name)
            if known is not None:
                raise ChangeError(
                    f"expected an id that names one event in force (id={self.field!r}) but got {self.field}={name!r} of "
                    f"{change.payload!r} at le={change.le} and of {known.payload!r} at le={known.le}"
                )
            if self._met(name):  # in this order nothing is announced in between
                yield "event", change._replace(diff=-1), change.key
            else:
                self._note(name, change)
        yield "event", change, change.key

    def _retracted(self, core: Any, item: Change) -> Iterator[Item]:
        name = self._name_of(core.taken, item.payload)
        if item.diff != -1:
            raise ChangeError(f"expected diff=-1 of a retraction that names an id (id={self.field!r}) but got diff={item.diff}")
        known = self._known(core, name)
        if known is not None:
            self._forget(name)
            yield "event", as_it_came(core, known)._replace(diff=-1), known.key
            return
        until = max(core.progress.now - 1, core.progress.events) if item.le is None else as_ticks(item.le, "le", core.tick)
        if until < core.progress.events:
            text = (
                f"expected le >= {core.progress.events} (promised) but got le={until} for the retraction of {self.field}={name!r}"
            )
            core.late.take(Change({self.field: name}, until, None, -1), text)
        else:
            self._journal.put(self.waiting, name, (*self.waiting.get(name, ()), until))

    def _name_of(self, schema: Schema, payload: Any) -> Hashable:
        """Return the id that the payload of a retraction names; of its other fields nothing is read."""
        if isinstance(payload, Mapping):
            given = payload.get(self.field)
        elif is_record(payload) or hasattr(payload, self.field):
            given = getattr(payload, self.field, None)
        else:
            given = payload[self._place] if isinstance(payload, tuple) and len(payload) == len(schema.fields) else None
        if given is None:
            raise ChangeError(f"expected a retraction that names {{{self.field!r}: ..}} (id={self.field!r}) but got {payload!r}")
        found: Hashable = schema.take_field(schema.fields[self._place], given)
        return found

    def _met(self, name: Hashable) -> bool:
        """Return whether a retraction waits for an event that has come. It waits no longer; of several the one first to be late."""
        times = self.waiting.get(name)
        if times is None:
            return False
        rest = sorted(times)[1:]
        if rest:
            self._journal.put(self.waiting, name, tuple(rest))
        else:
            self._journal.drop(self.waiting, name)
        return True

    def _promised(self, core: Any, t: int) -> None:
        """Hand the policy what has waited in vain, and forget what can't be retracted any more."""
        if t <= core.progress.events:
            return
        overdue = [(until, repr(name), name) for name, times in self.waiting.items() for until in times if until < t]
        for until, _, name in sorted(overdue, key=lambda each: each[:2]):
            self._met(name)
            text = f"expected an event with {self.field}={name!r} in force, or before {t} (promised), but got its retraction only"
            core.late.take(Change({self.field: name}, until, None, -1), text)
        for le in list(self._by_le.irange(None, t, inclusive=(True, False))):
            for name in list(self._by_le[le]):
                self._forget(name)
        for table in self._tables:
            gone = {
                name: held
                for name in table.before(t)
                if isinstance(held := self._events.get(name), RowPlace) and held.rows is table
            }
            self._journal.note(self._events.update, gone)
            for name in gone:
                del self._events[name]
            self._journal.set(table, "done", table.below(t))
        if any(table.done == len(table.ids) for table in self._tables):
            self._journal.set(self, "_tables", tuple(table for table in self._tables if table.done < len(table.ids)))

    def _note(self, name: Hashable, change: Change) -> None:
        assert change.le is not None
        names = self._by_le.get(change.le)
        if names is None:
            names = {}
            self._journal.put(self._by_le, change.le, names)
        self._journal.put(names, name, None)
        self._journal.put(self._events, name, change)

    def _forget(self, name: Hashable) -> None:
        change = self._events[name]
        self._journal.drop(self._events, name)
        if isinstance(change, RowPlace):
            return
        names = self._by_le[change.le]
        self._journal.drop(names, name)
        if not names:
            self._journal.drop(self._by_le, change.le)

    def check(self) -> bool:
        """Assert that all parts know the same events; for tests."""
        plain = {(name, le) for le, names in self._by_le.items() for name in names}
        held = {name: each for name, each in self._events.items() if isinstance(each, RowPlace)}
        assert plain == {(name, each.le) for name, each in self._events.items() if not isinstance(each, RowPlace)}, "ids by LE"
        assert all(each.rows.ids[each.i] == name for name, each in held.items()), "places of ids"
        assert {id(each.rows) for each in held.values()} <= set(map(id, self._tables)), "tables of ids"
        assert all(self.waiting.values()), "retractions that wait for an id"
        return True

    # -- snapshots ---------------------------------------------------------------------------------------------------------

    def saved(self) -> list[Any]:
        """Return what no event in force says, as plain data: the field, and the retractions that wait."""
        return [self.field, [[name, list(times)] for name, times in sorted(self.waiting.items(), key=repr)]]

    def load(self, changes: Iterable[Change], promised: int) -> None:
        """Note events of a snapshot, and forget those that are retracted. Raises `SnapshotError` if an id names two."""
        for change in changes:
            name = change.payload[self._place]
            if change.le is None or change.le < promised:
                continue
            if change.diff < 0:
                if name in self._events:
                    self._forget(name)
                continue
            wanted("an id for each event", change.diff == 1 and name is not None and name not in self._events, change)
            self._note(name, change._replace(diff=1))

    def clear(self) -> None:
        self._events.clear()
        self._tables = ()
        self._by_le.clear()
