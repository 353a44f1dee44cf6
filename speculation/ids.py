"""Ids: messages that come twice, late, in any order, as versions; what leaves are changes, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError, ChangeError, Int64Error, SnapshotError
from afa.io.table_times import with_ticks
from afa.model.option_values import names_of
from afa.schema import Field, as_ticks
from afa.state.plain import Unfit
from afa.state.sound import wanted
from punctuation.calls import whole
from punctuation.door import table_of
from punctuation.durations import Duration, has_unit, ticks_of_duration
from punctuation.late import Late, Policy
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING
from speculation import id_layout as k
from speculation import stage_state as saved
from speculation.around import AROUND
from speculation.event_columns import copied, plain_column
from speculation.id_entries import IdEntries
from speculation.id_rows import IdRows, alike
from speculation.id_saved import fill, no_changes, numbers_of, stage_of, table_in
from speculation.id_versions import VersionKind
from speculation.stage import Stage


class IdsStatistics(NamedTuple):
    """Numbers of an `Ids`.

    Parameters
    ----------
    ids : int
        Ids that are remembered.
    id_bytes : int
        Bytes that they take, beside the columns of their events; a text adds its length.
    repeats : int
        Messages so far that had come before.
    superseded : int
        Messages so far of which a newer version had come.
    waiting : int
        Retractions whose event has not come.
    late : int
        Messages told so far: late ones, and faults, which have the id (and version) of another one and say something else.
    """

    ids: int
    id_bytes: int
    repeats: int
    superseded: int
    waiting: int
    late: int


class MessageRows(NamedTuple):
    """Messages as columns.

    words     the word of each one's id
    sign      1: an insertion, -1: a retraction
    le        LE in ticks
    version   words that order, or texts; None: there are none
    rows      the insertions among them, as a table
    """

    words: Any
    sign: Any
    le: Any
    version: Any
    rows: Any


class Ids(Stage):
    """Make changes of messages as they come: repeated, in any order, as versions. What leaves depends on the set of them alone.

    Parameters
    ----------
    id : str, or sequence of str
        The column, or columns, that name an event.
    on_repeat : "update", optional
        A message of an id that is known is another version of its event. None: it is a repeat of it, or a fault.
    version : str, optional
        The column that orders versions (int, float, text, time): the largest is in force. With ``on_repeat``, and only there.
    remember : int (ticks), str or timedelta, optional
        How much longer an id is remembered than until the promise passes the LE of its event.
    late : "raise", "drop" or callable
        What becomes of late messages and of faults, as of `punctuation.Late`; at an operator its own policy counts.
    tick : str, optional
        What one int of LE counts; then timestamps stand for ints in ``le``.

    Notes
    -----
    Alone it takes tables, with a column ``le`` and perhaps ``re`` and ``diff`` (-1: a retraction, of which only id and version are
    read), and watermarks; a table gives an Arrow table of changes, with a column ``diff``. `Operator` puts one in front of itself
    for ``id=``. O(1) a message.

    Examples
    --------
    >>> rows = {"id": [7, 8, 7, 7], "lsn": [1, 1, 3, 2], "amount": [10, 20, 30, 99], "le": [5, 6, 5, 5]}
    >>> ids = Ids("id", on_repeat="update", version="lsn")
    >>> ids.push_many(rows).select(["id", "amount", "diff"]).to_pylist()[2:]
    [{'id': 7, 'amount': 10, 'diff': -1}, {'id': 7, 'amount': 30, 'diff': 1}]
    >>> ids.statistics.superseded
    1
    """

    ends = foremost = True
    takes_singles = True
    name_of: Callable[[Any], Any]
    """Returns the id that the payload of a change names."""
    with_beside: Callable[[list[Any], Any], list[Any]]
    """Returns the rows of a table with the ids and versions that stand beside their events."""
    content_of: Callable[[Change, Any], Change]
    """Returns an insertion, with its key, in its form."""
    faults: Late | None = None
    """Who is told of faults, and of retractions that have waited in vain; None: the same as of late messages."""
    holds_ids = True
    """Whether ids are among what contents hold, and no columns beside them."""

    def __init__(
        self,
        id: str | Sequence[str],
        *,
        on_repeat: str | None = None,
        version: str | None = None,
        remember: Duration | None = None,
        late: Policy = "raise",
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        self.names = names_of(id, "id")
        if not self.names or len(set(self.names)) < len(self.names):
            raise AfaError(f"expected the name of a field, or several different ones, but got id={id!r}")
        if on_repeat not in (None, "update") or (on_repeat is None) != (version is None):
            raise AfaError(
                f'expected on_repeat="update" with version=, the field that orders versions, or neither, but got '
                f"on_repeat={on_repeat!r}, version={version!r}"
            )
        self.version, self.remember = version, self._remembered(self.ticks("remember", remember, 0))
        self.late = self._own_late = Late(late)
        self.entries = IdEntries(version is not None, self._journal)
        self.rows = IdRows()
        self.compared: list[str] | None = None  # alone, the columns of contents; None: all but the version
        self.rows.rows_of = self.rows.changes_of = self.name_of = _no_changes
        self.kind = VersionKind()
        self.repeats = self.superseded = 0
        self.seen = BEGINNING
        self.promise = BEGINNING

    def settle_duration(self, name: str, value: Any) -> None:
        """Take what has waited for a tick, of which there is one now."""
        super().settle_duration(name, value)
        self.remember = self._remembered(self.remember)

    @staticmethod
    def _remembered(ticks: Any) -> int:
        if ticks is None:
            return 0
        if isinstance(ticks, bool) or not isinstance(ticks, int) or ticks < 0:
            raise AfaError(f"expected a duration of 0 ticks at least but got remember={ticks!r}")
        return ticks

    def check_said(self, name: str, value: Any) -> None:
        """Refuse an option that says otherwise than what was saved."""
        said = {"id": self.names, "on_repeat": self.version and "update", "version": self.version, "remember": self.remember}
        found = names_of(value, "id") if name == "id" else value
        if name == "remember":
            found = ticks_of_duration(value, self.tick, name) if has_unit(value) else value
        if value is not None and found != said[name]:
            raise SnapshotError(f"expected {name}={said[name]!r}, with which the operator was saved, but got {name}={value!r}")

    @property
    def single(self) -> bool:
        """Whether an id is one value, no tuple of values."""
        return len(self.names) == 1

    @property
    def statistics(self) -> IdsStatistics:
        """The numbers of what it remembers and has done so far."""
        return self._calls.call(self.counted)

    def before(self, operator: Any) -> Any:
        """Put this stage at the input of an operator, in front of all others there; the operator's policy takes what is late."""
        return AROUND["Ids", "before"](self, operator)

    def counted(self) -> IdsStatistics:
        """Return the numbers, within a call."""
        entries = self.entries
        return IdsStatistics(len(entries.known()), entries.nbytes, self.repeats, self.superseded, entries.waiting, self.late.count)

    # -- messages --------------------------------------------------------------------------------------------------------------

    def words_of(self, columns: list[Any], n: int) -> Any:
        """Return the words of ids. Raises `Unfit` where rows must go one by one."""
        import pyarrow as pa

        if not n:
            return np.empty(0, np.int64)
        direct = self.single and pa.types.is_integer(columns[0].type)
        self._check_kind(direct, f"a column of {columns[0].type}")
        return self.entries.words_of(columns, direct, n)

    def word(self, name: Any) -> int:
        """Return the word of one id."""
        self._check_kind(type(name) is int, self.said(name))
        if type(name) is int and not -(2**63) <= name < 2**63:
            raise Int64Error(f"expected an int64 as an id but got {self.said(name)}")
        return self.entries.word(name)

    def _check_kind(self, direct: bool, got: str) -> None:
        """Refuse ids that are no ints behind those that are, and the other way round."""
        ints = self.entries.fix(direct)
        if ints != direct:
            raise ChangeError(f"expected an id that is {'an' if ints else 'no'} int, as those before, but got {got}")

    def pass_messages(self, of: MessageRows, compared: list[str], tell: Callable[[int, str], None]) -> tuple[Any, Any]:
        """Take messages; return the rows that leave and their signs (None: all are insertions).

        ``compared``: the columns of contents; ``tell`` is called with the places of messages that are late or faults, and the text.
        """
        self.seen = max(self.seen, int(of.le[of.sign > 0].max(initial=BEGINNING)))
        judged = self.entries.judge(of.words, of.sign, of.le, of.version)
        verdicts, old, rows = judged[k.IdMessage.verdict], judged[k.IdMessage.old], of.rows
        if not verdicts.any():  # all are new
            self.rows.add_rows(rows)
            return rows, None
        first = self.rows.top
        plus, minus = (verdicts == k.NEW) | (verdicts == k.REVISED), (verdicts == k.GONE) | (verdicts == k.REVISED)
        kept = plus | (verdicts == k.MET)
        place = np.cumsum(of.sign > 0) - 1  # of a message among the rows
        self.rows.add_rows(rows.take(place[kept]))
        own = np.full(len(old), -1)
        own[kept] = np.arange(first, self.rows.top)
        put_aside = np.flatnonzero((verdicts == k.LATE) | (verdicts == k.CLASHES)).tolist()
        told = [(i, "late" if verdicts[i] == k.LATE else "clash") for i in put_aside]
        same = np.flatnonzero(verdicts == k.SAME)
        equal = self._equal(rows.take(place[same]), old[same], compared)
        told += [(i, "fault") for i in same[~equal].tolist()]
        self.repeats += int(equal.sum()) + int((verdicts == k.REPEATED).sum())
        self.superseded += int((verdicts == k.SUPERSEDED).sum())
        revised = np.flatnonzero(verdicts == k.REVISED)
        stays = revised[self._equal(rows.take(place[revised]), old[revised], compared)]
        plus[stays] = minus[stays] = False
        for i, text in sorted(told):
            tell(i, text)
        leaving = np.stack([minus, plus], 1)
        places = np.stack([old, own], 1)[leaving]
        signs = np.broadcast_to([-1, 1], leaving.shape)[leaving]
        return self.rows.take(places, rows.schema), signs

    def _equal(self, rows: Any, places: Any, compared: list[str]) -> Any:
        return alike(rows, self.rows.take(places, rows.schema), compared) if len(places) else np.ones(0, np.bool_)

    def said(self, name: Any) -> str:
        """Return an id in words."""
        return ", ".join(f"{field}={value!r}" for field, value in zip(self.names, (name,) if self.single else name))

    @property
    def last_remembered(self) -> int | None:
        """The time beyond which no id is remembered, but for ``remember``; None: none is."""
        known = self.entries.known()
        return int(self.entries.t[known, k.IdSlot.until].max()) if len(known) else None

    @whole
    def set_until(self, old: int, new: int) -> None:
        """Let all ids that are remembered until one instant be remembered until another one."""
        entries = self.entries
        slots = np.flatnonzero((entries.t[:, k.IdSlot.held] != 0) & (entries.t[:, k.IdSlot.until] == old))
        if len(slots):
            self._journal.note(entries.put_until, slots, old)
            entries.put_until(slots, new)

    def place_of(self, name: Any) -> int | None:
        """Return the place of the event in force of an id; None: there is none."""
        word = self.entries.find(name)
        return None if word is None else self.entries.in_force(word)

    def whole_retraction(self, item: Change) -> Change | None:
        """Return the retraction of the event in force that one names; None: there is none."""
        place = self.place_of(self.name_of(item.payload))
        return None if place is None else self.rows.change(place)._replace(diff=-1)

    # -- promises --------------------------------------------------------------------------------------------------------------

    def promised(self, t: int) -> list[tuple[Any, int]]:
        """Take a promise; return the ids of retractions that have waited in vain, and up to when."""
        if t <= self.promise:
            return []
        self.promise = t
        found = self.entries.promised(t, max(BEGINNING, t - self.remember))
        return sorted(found, key=lambda each: (each[1], repr(each[0])))

    def tell_vain(self, name: Any, until: int) -> None:
        """Let the policy decide about a retraction that has waited in vain."""
        text = f"expected an event with {self.said(name)} before {self.promise} (promised) but got its retraction only"
        self.policy("vain").take(self.retraction(name, until), text)

    def policy(self, text: str) -> Late:
        """Return who is told of what is "late", or put aside for another reason."""
        return self.late if text == "late" or self.faults is None else self.faults

    def retraction(self, name: Any, le: int) -> Change:
        """Return the retraction of an id as policies get it."""
        return Change(dict(zip(self.names, (name,) if self.single else name)), le, None, -1)

    # -- alone -----------------------------------------------------------------------------------------------------------------

    @whole
    def push_many(self, items: Any) -> Any:
        """Take a table of messages, or a list of tables and watermarks, as one call. Returns the changes that leave likewise."""
        if not isinstance(items, (list, tuple)) or hasattr(items, "_fields"):
            return self._table_of(items)
        return [self._promised_alone(item) if isinstance(item, Punctuation) else self._table_of(item) for item in items]

    def _promised_alone(self, item: Punctuation) -> Punctuation:
        if item.where is not None:
            raise AfaError(f"expected a Punctuation without a condition, as events may be retracted, but got {item!r}")
        for name, until in self.promised(as_ticks(item.t, "t", self.tick)):
            self.tell_vain(name, until)
        return item

    def _table_of(self, given: Any) -> Any:
        """Return the changes that a table of messages leads to."""
        import pyarrow as pa

        table = table_of(given)
        if table is None:
            raise ChangeError(f"expected a table of messages, or a Punctuation, but got {given!r}")
        columns = {name: table.column(name) for name in table.names}
        try:
            rows = pa.table({name: c if isinstance(c, (pa.Array, pa.ChunkedArray)) else pa.array(c) for name, c in columns.items()})
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ChangeError(f"expected columns that Arrow holds but got another: {error}") from error
        if not table.in_arrow:  # whose columns the caller may write to
            rows = copied(rows)
        timed = table_of(rows) if self.tick is None else with_ticks(table_of(rows), self.tick, ("le",), False)  # type: ignore[arg-type]
        assert timed is not None
        for name in (*self.names, "le", *([] if self.version is None else [self.version])):
            if table.names.count(name) != 1:
                raise ChangeError(f"expected one column {name!r} but got the columns {', '.join(table.names) or 'none'}")
        try:
            ids = [plain_column(rows.column(name), Field(name, None, False), False) for name in self.names]
        except pa.ArrowException as error:
            raise ChangeError(f"expected ids within int64 but got others: {error}") from error
        if any(column is None for column in ids):
            raise ChangeError(f"expected an id, of ints, bools or texts, in each row of {', '.join(self.names)} but got others")
        sign = signs_of(timed)
        if sign is None:
            raise ChangeError("expected diff 1 or -1 of each message that an id names but got another")
        version = None if self.version is None else self.kind.words(rows.column(self.version))
        le = les_of(timed.column("le"), sign, self.seen, self.promise)
        rows = rows.drop_columns(["diff"]) if "diff" in rows.column_names else rows
        inserted = rows if (sign > 0).all() else rows.filter(pa.array(sign > 0))
        words = self.words_of(ids, len(rows))

        def tell(i: int, text: str) -> None:
            name = self.entries.name(words[i])
            row = rows.slice(i, 1).to_pylist()[0]
            change = self.retraction(name, int(le[i])) if sign[i] < 0 else Change(row, int(le[i]), None)
            said = self.told(text, name, int(le[i]), {name: row[name] for name in compared})
            self.tell_row(i, change, said, text)

        compared = [name for name in rows.column_names if name != self.version] if self.compared is None else self.compared
        if not self.rows.fits(rows.schema):
            raise ChangeError(
                f"expected tables of the same columns but got {', '.join(f'{f.name}: {f.type}' for f in rows.schema)}"
            )
        found, signs = self.pass_messages(MessageRows(words, sign, le, version, inserted), compared, tell)
        return with_signs(found, signs)

    def tell_row(self, i: int, change: Change, said: str, text: str) -> None:
        """Tell of row ``i`` of a table, which is late or a fault; ``text``: see `policy`."""
        self.policy(text).take(change, said)

    def told(self, text: str, name: Any, le: int, payload: Any, known: Any = None) -> str:
        """Return in words why a message is told."""
        if text == "late":
            return f"expected le >= {self.promise} (promised) but got le={le}, or such an event to revise, for {payload!r}"
        at = "" if isinstance(payload, dict) else f" at le={le}"
        beside = "" if known is None else f" and, before, {known!r}"
        what = "one message of a version" if text == "clash" else "one content"
        return f"expected {what} for {self.said(name)} but got another, {payload!r}{at}{beside}"

    def check(self) -> None:
        """Assert all invariants; for tests."""
        entries, rows = self.entries, self.rows
        states = entries.t[entries.known(), k.IdSlot.held] & k.STATE
        places = entries.contents()[1]
        assert len(np.unique(places[places < rows.top])) == len(places), "a content of each id"
        assert (states == k.WAITING).sum() == entries.waiting, "retractions that wait"
        assert (entries.t[:, k.IdSlot.held] != 0).sum() == entries.m[k.IdCall.used] < len(entries.t), "slots that are not empty"
        assert sum(map(len, rows.parts)) == len(rows), "contents"

    # -- snapshots ---------------------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return all that it remembers, as plain data."""
        self.tidy(True)
        return numbers_of(self)

    @classmethod
    def of(cls, numbers: list[Any], waiting: Any, take: saved.Take, rows: Any = None) -> Any:
        """Make the stage of a snapshot."""
        wanted("nothing that waits beside ids", rows is None and not saved.changes(waiting, take), "others")
        stage = stage_of(numbers, cls)
        fill(stage, numbers, table_in, no_changes)
        stage.call_worked()
        return stage

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Tidy up, and return what the journal does not restore."""
        self._before(self)  # which refuses a duration that waits for a tick
        self.tidy()
        counts = self.repeats, self.superseded, self.seen, self.promise, self.kind.said, self._own_late.count
        return self.entries.mark(), self.rows.mark(), counts

    def tidy(self, whole: bool = False) -> None:
        """Forget what is forgotten, and drop contents that nobody holds, where it is time to, or (``whole``) in any case."""
        entries, rows = self.entries, self.rows
        entries.tidy(whole)
        if whole or rows.many:
            slots, places = entries.contents()
            order = np.argsort(places)
            changed = entries.moved(slots[order]), rows.only(places[order])
            list(map(dict.update, (vars(entries), vars(rows)), changed))  # no interrupt comes in between
        rows.join()

    def call_ends(self) -> None:
        """Tell late messages and faults."""
        if self._own_late.waiting:
            self._own_late.hand_over(self._calls)

    def call_failed(self, before: Any) -> None:
        """Restore what was before."""
        self._journal.rollback()
        entries, rows, counts = before
        self.entries.back(entries)
        self.rows.back(rows)
        self.repeats, self.superseded, self.seen, self.promise, self.kind.said, self._own_late.count = counts
        self._own_late.waiting.clear()


def with_signs(rows: Any, signs: Any) -> Any:
    """Return rows with a column ``diff``; ``signs`` None: all are insertions."""
    import pyarrow as pa

    return rows.append_column("diff", pa.array(np.ones(len(rows), np.int64) if signs is None else signs))


def signs_of(table: Any) -> Any:
    """Return 1 or -1 of each row of a table; None where its ``diff`` is another number."""
    if "diff" not in table.names:
        return np.ones(len(table.column("le")), np.int64)
    found = np.asarray(table.take([("diff", int, False)])[0])
    return found.astype(np.int64) if found.dtype.kind in "iu" and (abs(found) == 1).all() else None


def les_of(column: Any, sign: Any, seen: int, promise: int) -> Any:
    """Return the LE of each message; of a retraction without one the latest that was seen when it came."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(column, pa.int64()) if isinstance(column, list) else column
    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        array = pa.array(array, from_pandas=True)
    if not pa.types.is_integer(array.type) and not pa.types.is_null(array.type):
        raise ChangeError(f"expected int ticks in column 'le' but got a column of {array.type}")
    array = array.cast(pa.int64())
    if not array.null_count:
        return np.ascontiguousarray(np.asarray(array))
    there = np.asarray(pc.is_valid(array))
    if (~there & (sign > 0)).any():
        raise ChangeError("expected a time of each insertion in column 'le' but got none in some rows")
    found = np.array(pc.fill_null(array, BEGINNING))
    latest = np.maximum.accumulate(np.maximum(np.where(sign > 0, found, BEGINNING), max(seen, promise)))
    return np.where(there, found, latest)


def _no_changes(*given: Any) -> Any:
    raise Unfit
