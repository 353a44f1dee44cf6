"""Ids at the input of an operator: messages come in, each event and its retraction reach the operator once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.io.listed_columns import listed, part_of
from afa.model.copies import as_diff
from afa.operator.event_input import as_it_came
from afa.operator.event_input import come as whole
from afa.operator.plain_data import reading
from afa.operator.single import begin_alone, end_alone, push_alone, takes_alone
from afa.operator.tables import CallInput, items_of, shape_of
from afa.schema import Field, any_payload, as_ticks, is_record, taker
from afa.state.plain import Unfit
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.reading import EVENT, PUNCTUATION
from punctuation.time import BEGINNING, as_time
from speculation import id_layout as k
from speculation import stage_state as saved
from speculation.around import Around, Front
from speculation.event_columns import EventColumns, copied, plain_column
from speculation.id_saved import fill, stage_of
from speculation.ids import Ids, MessageRows, les_of, signs_of, with_signs
from speculation.stage import Output, checked

PIECES = 64
"""A table with more watermarks among its rows than one in so many goes row by row."""


class MessagePayload(NamedTuple):
    """The payload of a row whose id, or version, stands in columns beside the event's."""

    payload: Any
    values: Mapping[str, Any]


class IdsInput(Front):
    """An `Ids` at the input of an operator, in front of all other stages there; made by ``id=`` of the operator.

    Raises
    ------
    AfaError
        The operator's events have no schema; or it takes no retractions, or has taken something already.
    """

    stages = ("Ids",)
    messages = True

    def _hold(self, stage: Any) -> None:
        core = self._core
        if core.taken is None:
            raise AfaError(f"expected id=<a field of an event schema> but got id={stage.names!r} for an automaton without one")
        if self.revisable is not None:
            raise AfaError(f"expected an operator of events that may be retracted, as an id names one, but got {self.revisable}")
        clash = [name for name in (*stage.names, stage.version) if name in ("le", "re", "diff", "kind")]
        if clash:
            raise AfaError(f"expected id= and version= that are no columns of times but got {clash[0]!r}")
        super()._hold(stage)
        core.ids, stage.late = stage, core.late
        stage.promise = max(stage.promise, self.promised)
        stage.entries.m[[k.IdCall.promise, k.IdCall.horizon]] = stage.promise, max(BEGINNING, stage.promise - stage.remember)
        self._fields = {field.name: field for field in core.taken.fields}
        self._beside = [name for name in (*stage.names, stage.version) if name is not None and name not in self._fields]
        self._coming = columns = EventColumns(core, core.taken)
        self._compared = [name for name in columns.names if name != "diff"]
        stage.rows.rows_of, stage.rows.changes_of = columns.rows, columns.changes
        stage.with_beside, stage.content_of = self._with_beside, self._checked
        stage.name_of, stage.holds_ids = self._name, all(name in self._fields for name in stage.names)

    # -- one by one ------------------------------------------------------------------------------------------------------------

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core, stage = self._core, self.stage
        if (
            self._inner is not None
            or not takes_alone(core, change)
            or change.diff != 1
            or isinstance(change.payload, MessagePayload)
        ):
            return None
        event, name = self._checked(change, core.key_of(change, key)), self._name(change.payload)
        if stage.version is not None and stage.place_of(name) is not None:  # a revision is two changes
            return None
        begin_alone(core, stage)
        out: Output = []
        for each in self._judged(event, name, self._version(change.payload)):  # one at most
            out = push_alone(core, each)
        end_alone(core, stage, out)
        return out

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        if port == "event" and isinstance(item, Punctuation) and item.where is None:
            self._promised(as_ticks(item.t, "t", self._core.tick))
        if port != "event" or not isinstance(item, Change):
            yield port, item, key
        elif as_diff(item.diff, item.payload) > 0:
            found = self._judged(self._checked(item, key), self._name(item.payload), self._version(item.payload))
            yield from (("event", each, each.key) for each in found)
        else:
            yield from (("event", each, each.key) for each in self._retracted(item))

    def _checked(self, item: Change, key: Hashable) -> Change:
        """Return an insertion in its form."""
        core, payload = self._core, item.payload
        if isinstance(payload, MessagePayload):
            payload = payload.payload
        elif self._beside and isinstance(payload, Mapping):
            payload = {name: value for name, value in payload.items() if name not in self._beside}
        item = item._replace(payload=payload)
        if key is None and core.keys is not None and core.keys.columns:
            key = core.keys.of_change(item)
        change = as_it_came(core, whole(core, item, key))
        if change.diff != 1:
            raise ChangeError(f"expected one copy of an event that an id names ({self._as_said}) but got diff={change.diff}")
        return change

    @property
    def _as_said(self) -> str:
        names = self.stage.names
        return f"id={names[0]!r}" if self.stage.single else f"id={names!r}"

    def _name(self, payload: Any) -> Any:
        """Return the id that a payload says; of its other fields nothing is read."""
        name = tuple(self._said(payload, each, "an id") for each in self.stage.names)
        return name[0] if self.stage.single else name

    def _version(self, payload: Any) -> Any:
        stage = self.stage
        return None if stage.version is None else stage.kind.word(self._said(payload, stage.version, "a version"))

    def _said(self, payload: Any, name: str, what: str) -> Any:
        """Return a field of a payload in its form."""
        beside: Any = {}
        if isinstance(payload, MessagePayload):
            payload, beside = payload
        field, schema = self._fields.get(name), self._core.taken
        assert schema is not None
        if name in beside:
            value = beside[name]
        elif isinstance(payload, Mapping):
            value = payload.get(name)
        elif is_record(payload) or hasattr(payload, name):
            value = getattr(payload, name, None)
        elif isinstance(payload, tuple) and len(payload) == len(schema.fields) and field is not None:
            value = payload[schema.fields.index(field)]
        else:
            value = None
        if value is None:
            raise ChangeError(f"expected a message with {what} ({name!r}) but got {payload!r}")
        if field is not None:
            return schema.take_field(field, value)
        if what == "an id" and type(value) not in (int, str, bool):
            raise ChangeError(f"expected an id, an int, bool or text, but got {name}={value!r}")
        return value

    def _judged(self, change: Change, name: Any, version: Any) -> list[Change]:
        """Take an insertion in its form; return the changes that leave."""
        stage = self.stage
        entries, rows = stage.entries, stage.rows
        stage.seen = max(stage.seen, change.le)
        verdict, old = entries.judge_one(stage.word(name), 1, change.le, version)
        if verdict == k.NEW:
            rows.add_change(change)
            return [change]
        if verdict == k.MET:
            rows.add_change(change)
        elif verdict == k.REVISED:
            before = rows.change(old)
            rows.add_change(change)
            return [] if before == change else [before._replace(diff=-1), change]
        elif verdict == k.SUPERSEDED:
            stage.superseded += 1
        elif verdict == k.SAME and (known := rows.change(old)) == change:
            stage.repeats += 1
        elif verdict == k.SAME:
            stage.policy("fault").take(change, stage.told("fault", name, change.le, change.payload, known.payload))
        else:
            text = "clash" if verdict == k.CLASHES else "late"
            stage.policy(text).take(change, stage.told(text, name, change.le, change.payload))
        return []

    def _retracted(self, item: Change) -> list[Change]:
        """Take a retraction; return the one of its event, if that is in force."""
        core, stage = self._core, self.stage
        name, version = self._name(item.payload), self._version(item.payload)
        if item.diff != -1:
            raise ChangeError(f"expected diff=-1 of a retraction that names an id ({self._as_said}) but got diff={item.diff}")
        le = max(stage.seen, stage.promise) if item.le is None else as_ticks(item.le, "le", core.tick)
        verdict, old = stage.entries.judge_one(stage.word(name), -1, le, version)
        if verdict == k.GONE:
            return [stage.rows.change(old)._replace(diff=-1)]
        if verdict == k.REPEATED:
            stage.repeats += 1
        elif verdict == k.SUPERSEDED:
            stage.superseded += 1
        elif verdict != k.QUIET:
            self._tell_retraction(name, le, verdict)
        return []

    def _tell_retraction(self, name: Any, le: int, verdict: int) -> None:
        stage = self.stage
        said = f"the retraction of {stage.said(name)}"
        text = f"expected le >= {stage.promise} (promised) but got le={le}, or an event below it, for {said}"
        if verdict == k.CLASHES:
            text = f"expected one message of a version for {stage.said(name)} but got an insertion and {said}"
        stage.policy("clash" if verdict == k.CLASHES else "late").take(stage.retraction(name, le), text)

    def _promised(self, t: int) -> None:
        """Forget, and hand the policy what has waited in vain."""
        for name, until in self.stage.promised(t):
            self.stage.tell_vain(name, until)

    # -- tables ----------------------------------------------------------------------------------------------------------------

    def _with_beside(self, items: list[Any], table: Table) -> list[Any]:
        """Return the rows of a table with what stands beside the events'."""
        there = {name: listed(table.column(name), name) for name in self._beside if table.names.count(name) == 1}
        return [
            (port, item._replace(payload=MessagePayload(item.payload, {name: values[i] for name, values in there.items()})), key)
            if there and port == "event" and isinstance(item, Change)
            else (port, item, key)
            for i, (port, item, key) in enumerate(items)
        ]

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        for piece in _pieces(table) if shape_of(self._core, table).mixed else (table,):
            if isinstance(piece, Table):
                yield from self._events_reach(piece, come)
            else:
                yield from self._item_reaches("event", piece, None)

    def _events_reach(self, table: Table, come: CallInput) -> Iterator[Any]:
        try:
            of = self._messages(table)
        except Unfit:
            of = None
        if of is None:
            for item in items_of(self._core, come._replace(parts=[table]), True):
                yield from self._item_reaches(*item)
            return
        rows, signs = self.stage.pass_messages(of, self._compared, lambda *row: self._tell(of, *row))
        if len(rows):
            yield self._leaving(rows, signs, table)

    def _messages(self, table: Table) -> MessageRows | None:
        """Return a table as messages; None: its rows must go one by one, which says what is wrong with them."""
        stage, there = self.stage, table.names
        if "kind" in there or any(there.count(name) != 1 for name in (*stage.names, "le", *self._beside)):
            return None
        signs = signs_of(table)
        if signs is None:
            return None
        inserted = None if (signs > 0).all() else np.flatnonzero(signs > 0)
        rows = self._coming.of(table if inserted is None else part_of(table, inserted))
        if rows is None:
            return None
        if not table.in_arrow:  # whose columns the caller may write to
            rows = copied(rows)
        given = [self._column(table, name) for name in stage.names]
        if any(column is None or len(column) != len(signs) for column in given):
            return None
        le = np.asarray(rows.column("le"))
        if inserted is not None:
            (column,) = table.take([("le", int, True)])
            le = les_of(column, signs, stage.seen, stage.promise)
        version = None if stage.version is None else stage.kind.words(table.take([(stage.version, None, False)])[0])
        rows, keys = rows.drop_columns(["diff"]), self._core.keys
        if not stage.rows.fits(rows.schema, keys is None or not keys.columns):
            return None
        return MessageRows(stage.words_of(given, len(signs)), signs, le, version, rows)

    def _column(self, table: Table, name: str) -> Any:
        return plain_column(
            table.column(name), self._fields.get(name, Field(name, None, False))._replace(optional=False), table.kind == "pandas"
        )

    def _tell(self, of: MessageRows, i: int, text: str) -> None:
        """Let the policy decide about a message of a table."""
        stage, name, le = self.stage, self.stage.entries.name(of.words[i]), int(of.le[i])
        if of.sign[i] < 0:
            self._tell_retraction(name, le, k.CLASHES if text == "clash" else k.LATE)
            return
        place = int((of.sign[: i + 1] > 0).sum()) - 1
        (change,) = self._coming.changes(of.rows.slice(place, 1))
        stage.policy(text).take(change, stage.told(text, name, le, change.payload))

    def _leaving(self, rows: Any, signs: Any, table: Table) -> Any:
        """Return rows as what stands behind this one takes them."""
        plain = signs is None and "re" not in table.names and self._core.window is not None
        rows = with_signs(rows, signs)
        if not self._before_a_front:
            return self._coming.step(rows, plain=plain)
        if plain:
            rows = rows.drop_columns(["re"])
        return Table("arrow", rows, rows)

    # -- snapshots -------------------------------------------------------------------------------------------------------------

    def _snapshot(self) -> bytes:
        self.stage.tidy(True)
        return saved.seal("Ids", self.place, self.stage.numbers(), [], None, self.operator._snapshot())

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> IdsInput:
        """Put the stage that a snapshot holds at its operator."""
        wanted("nothing that waits beside ids", part.rows is None and not saved.changes(part.waiting, any_payload), part.name)
        stage = stage_of(part.numbers, Ids)
        found = cls.__new__(cls)
        found._stand(operator)
        wanted("one promise of ids and operator", stage.promise == found.promised, stage.promise)
        found._hold(stage)
        fill(stage, part.numbers, found._rows_in, found._changes_in)
        stage.call_worked()
        return found

    def _rows_in(self, stream: Any) -> Any:
        """Return the contents that an Arrow stream of a snapshot has."""
        found = saved.rows_of(stream, self._coming.of)
        wanted("insertions", "re" in found.column_names and (np.asarray(found.column("diff")) == 1).all(), "others")
        return found.drop_columns(["diff"])

    def _changes_in(self, data: Any) -> list[Change]:
        """Return the contents that came one by one."""
        core, keyed = self._core, self._core.keyed
        found = saved.changes(data, taker(core.taken))
        wanted("insertions", all(each.diff == 1 and (keyed or each.key is None) for each in found), "others")
        return [checked(each) for each in found]


def aged(operator: Any) -> IdsInput:
    """Put an `Ids` in front of an operator whose older snapshot says which field names events, and what waits for one."""
    core = operator._core
    (field, waiting), events = core.old_ids
    core.old_ids = None
    around = operator
    while isinstance(around, Around):
        if isinstance(around, Front):
            held = [] if around.stage.looks_back else events  # else the stage holds all events, as they came
            events = [*held, *around.stage.waiting()]
        around = around.operator
    found = IdsInput(Ids(field), operator)
    promised = found.promised
    with reading("ids of an older snapshot"):
        for change in events:
            if change.le >= promised and change.diff > 0:
                whole = as_it_came(core, change)
                wanted("an id for each event", change.diff == 1 and found._judged(whole, found._name(whole.payload), None), change)
        for change in events:
            if change.le >= promised and change.diff < 0:
                found._retracted(change._replace(diff=-1))
        for name, times in waiting:
            wanted("when a retraction waits", bool(times), waiting)
            found.stage.entries.judge_one(found.stage.word(name), -1, as_time(max(times), "until"), None)
    found.stage.call_worked()
    return found


def _pieces(table: Table) -> Iterator[Any]:
    """Return a table that has watermarks among its rows as tables and watermarks; as it is where it holds arcs, or many of them."""
    kind, le = (np.asarray(column) for column in table.take([("kind", int, False), ("le", int, True)]))
    places = np.flatnonzero(kind != EVENT)
    fits = kind.dtype.kind in "iu" and le.dtype.kind == "i" and (kind[places] == PUNCTUATION).all()
    if not fits or len(places) * PIECES > len(kind):
        yield table
        return
    low = 0
    for high in [*places.tolist(), len(kind)]:
        if low < high:
            yield part_of(table, np.arange(low, high), "kind")
        if high < len(kind):
            yield Punctuation(int(le[high]))
        low = high + 1
