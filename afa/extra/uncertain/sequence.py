"""Sequences of events with uncertain times: their exact confidences, without worlds; under late events, retractions, watermarks."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Sequence as ListOf
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change, put_in_order
from afa.errors import AfaError, ChangeError, SnapshotError
from afa.extra.uncertain import sequence_tables
from afa.extra.uncertain.collapsed_closures import place_of, subsets
from afa.extra.uncertain.event_instants import Instants, IntervalKind, check_width
from afa.extra.uncertain.instant_tables import check_room
from afa.extra.uncertain.interval import Between, interval_of
from afa.extra.uncertain.sequence_batches import SequenceBatches
from afa.extra.uncertain.sequence_columns import SequenceColumns
from afa.extra.uncertain.sequence_events import SequenceEvent, SequenceEvents, seal, unseal
from afa.extra.uncertain.sequence_line import Line, Revised, name_of
from afa.extra.uncertain.sequence_pattern import ANY, ONE, SequencePattern
from afa.extra.uncertain.signatures import FittingEvent, UncertainMatch
from afa.extra.uncertain.uncertain_rows import opened
from afa.journal import Journal
from afa.model.copies import as_diff
from afa.model.renamed import warn_renamed
from afa.operator.twins import Twins
from afa.schema import as_ticks
from afa.state.sound import wanted
from afa.state.value_numbers import ValueNumbers
from punctuation.calls import Calls, Member, whole
from punctuation.door import Table, is_row, is_table, table_of
from punctuation.durations import unit_of
from punctuation.late import Late, Policy
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

LOGGER = logging.getLogger("afa")
NUMBERS = ["_promised", "_settled", "_numbered", "_said_long", "_state", "_keys"]
NUMBERS += ["_changes", "_ignored", "_pruned", "_outputs", "_retractions"]
_numbers = attrgetter(*NUMBERS, "_late.count")
WORTH = 8
"""To hold what is held as columns is worth it for a table of an eighth as many rows."""


class SequenceStatistics(NamedTuple):
    """The numbers of one `Sequence`.

    Parameters
    ----------
    events : int
        Events that may still be part of a match that changes.
    pending : int
        Retractions that wait for their insertions.
    keys : int
        Keys of which events are held.
    matches : int
        Matches in force, but for those whose first event no change can concern any more.
    changes, ignored : int
        Changes taken so far; those among them of events that fit no component.
    pruned : int
        Lists of events that were ended early: by the threshold, or as another event is always next (NELT).
    late : int
        Changes left out as they came behind the watermark.
    outputs, retractions : int
        Changes that have left so far; those among them that took a match back.
    """

    events: int
    pending: int
    keys: int
    matches: int
    changes: int
    ignored: int
    pruned: int
    late: int
    outputs: int
    retractions: int

    @property
    def held(self) -> int:
        """The same as ``events``."""
        return self.events

    @property
    def waiting(self) -> int:
        """The same as ``pending``."""
        return self.pending


class Sequence(Twins, Member):
    """Exact confidences of a sequence of events with uncertain times.

    Parameters
    ----------
    components : list of str or mapping of str to condition
        In their order: the names, which are values of the field ``of``; or each name with a condition over one event, as text or as
        a lambda. A name with ``+`` behind it is a Kleene closure. An event fits one component at most.
    window : int or duration
        A match lies within it: the last event less than a window behind the first.
    event : NamedTuple class
        The schema of the events.
    of : str, optional
        The field whose value is the name of a component.
    strategy : "skip_till_any" or "skip_till_next"
        Every choice; or only events with no other one of their component strictly between the one before and them. A closure takes
        every choice under both.
    threshold : float
        Only matches of a confidence above it are told.
    identity : str or sequence of str, optional
        The fields that tell events apart; None: all. By it matches show events.
    key : str or sequence of str, optional
        Matches are of events of one key.
    where : str or sequence of str
        Constraints between components: ``a.task == c.task``; ``b[i].value >= b[i-1].value`` makes the closure b a chain, whose
        events follow one another. See `afa.extra.uncertain.sequence_where`.
    collapsed : bool
        Tell one match for all subsets of an interchangeable closure: with all events that may be in it, ``subsets``, and as its
        confidence the probability that there is at least one; `expand` yields the subsets.
    late : "raise" or "drop" or callable
        What becomes of a change of an event whose lower end lies below the watermark.
    tick : str, optional
        What one int of time counts.
    lower, upper, shape : str, str and distribution
        The columns of a table that hold the ends of intervals, and how likely each instant of one is.

    Raises
    ------
    AfaError
        The program is none, at the place that the message names.

    Notes
    -----
    A match has ``LE`` = its last possible time, so that all below the watermark is final, and ``RE`` = the latest possible time of
    its first event and a window: both as of skip till any, so that no competitor moves them. See
    "Uncertain time: sequences" in SEMANTICS.md.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import insert
    >>> from afa.uncertain import Sequence, between
    >>> class Seen(NamedTuple):
    ...     kind: str
    ...     id: str
    >>> op = Sequence(["a", "b", "c"], of="kind", event=Seen, window=4, identity="id")
    >>> known = [("a", 1, 1, 5), ("b", 3, 3, 7), ("c", 2, 3, 5)]
    >>> for change in op.push_many([insert(Seen(kind, f"{kind}{n}"), between(low, high)) for kind, n, low, high in known]):
    ...     print(change.payload[:3], round(change.payload.confidence * 225, 9), change.payload[4:], change.le, change.re)
    ('a1', 'b3', 'c2') 15.0 (1, 5) 5 7
    """

    def __init__(
        self,
        components: Iterable[str] | Mapping[str, Any],
        *,
        window: Any,
        event: Any,
        of: str | None = None,
        strategy: str = ANY,
        threshold: float = 0.0,
        identity: str | ListOf[str] | None = None,
        key: str | ListOf[str] | None = None,
        where: str | ListOf[str] = (),
        collapsed: bool = False,
        late: Policy = "raise",
        tick: str | None = None,
        lower: str = "lower",
        upper: str = "upper",
        shape: Any = "uniform",
    ) -> None:
        self.tick = None if tick is None else unit_of(tick, what="tick=")
        self.pattern = SequencePattern(
            components, of, event, strategy, window, threshold, identity, key, where, self.tick, collapsed
        )
        self._collapsed = place_of(self.pattern) if self.pattern.collapsed else -1
        self._single: Any = NamedTuple("Match", [(name, Any) for name in self.pattern.match._fields if name != "subsets"])  # type: ignore[misc]
        self.columns = sequence_tables.columns_of(lower, upper, shape)
        self._journal = Journal()
        self._late = Late(late)
        self._events = SequenceEvents(self._journal)
        self._lines: dict[Hashable, Line] = {}
        self._standing: dict[Hashable, tuple[Hashable, int, FittingEvent]] = {}  # by identity: key, component, as it is in its line
        self._kinds: dict[IntervalKind, int] = {}  # how many of them are of each kind
        self._touched: dict[Hashable, None] = {}  # the identities that a call has changed
        self._promised = self._settled = BEGINNING  # said; and up to where all that is final has been forgotten
        self._changes = self._ignored = self._pruned = self._outputs = self._retractions = self._numbered = 0
        self._said_long = False
        self._batches, self._keys = SequenceBatches(self.pattern, self.columns), ValueNumbers()
        self._state: SequenceColumns | None = None  # what is held, in the place of the above, while tables come
        self._calls = Calls(self)

    # -- what comes ------------------------------------------------------------------------------------------------------------

    def push(self, item: Change | Punctuation) -> list[Change]:
        """Take one change of an event, with `afa.uncertain.between` as its time, or a watermark. Returns changes of matches.

        Raises
        ------
        ChangeError
            The event is none of the schema, fits two components, or its identity is known with another content or interval.
        LateEventError
            Its lower end lies below the watermark (``late="raise"``). The operator is unchanged, as after every error.
        """
        found: list[Change] = self.push_many([item])
        return found

    @whole
    def push_many(self, items: Any) -> Any:
        """Take several items, or a table of events, as one call, all or nothing.

        Parameters
        ----------
        items : iterable of Change, Punctuation or table; or a table
            A table has a column for each field of the event, two for the ends of intervals, and ``diff`` if some are retracted.

        Returns
        -------
        list of Change, or a table
            The minimal difference of matches: retractions first. To a table a table of its kind.
        """
        if is_table(items) and not is_row(items):
            table = self._opened(items)
            columns = self._take_columns(table)
            if columns is None:
                self._by_rows()
                self._take_table(table)
                columns = sequence_tables.columns_of_changes(self.pattern, self._end())
            return sequence_tables.answer(self.pattern, table, columns, self.tick)
        for item in items:
            if isinstance(item, Punctuation):
                self._promise(item)
                continue
            if is_row(item):
                raise ChangeError(f"expected an event with its times, insert(event, between(lower, upper)), but got {item!r}")
            self._by_rows()
            if is_table(item):
                self._take_table(self._opened(item))
            else:
                self._take(item)
        return self._end()

    def _opened(self, item: Any) -> Table:
        table = table_of(item)
        assert table is not None
        return opened(table, (self.columns.lower, self.columns.upper), self.tick)

    def _take_columns(self, table: Table) -> dict[str, Any] | None:
        """Take a table as columns. Returns what leaves, as columns; None: it must come row by row."""
        state = self._state or self._as_columns(table)
        if state is None:
            return None
        if self._keys.many:
            self._keep_keys(state)
        coming = self._batches.coming(table, self._keys, state, self._promised)
        if coming is None:
            return None
        before = coming.state if self._state is not None else coming.state.matched(self.pattern, self._settled)
        found = None if before is None else before.taken(self.pattern, coming.blocks, self._settled)
        if found is None:
            return None
        for each in () if self._state is not None else (self._events.entries, self._standing, self._kinds, self._lines):
            for key in list(each):
                self._journal.drop(each, key)
        self._state, gone, come, pruned = found
        if coming.long is not None:
            self._say_long(coming.long)
        self._pruned += pruned
        self._ignored += coming.ignored
        self._changes += coming.ignored + sum(len(block.key) for block in coming.blocks)
        self._outputs += len(gone.last) + len(come.last)
        self._retractions += len(gone.last)
        out = self._batches.told(self._state, gone, come)
        self._forget()
        return out

    def _as_columns(self, table: Table) -> SequenceColumns | None:
        """Returns the events that are held as columns; None: they can't be, or a table is not worth it. O(what is held)."""
        known, n = self._events.entries, len(table.column(self.columns.lower)) if self.columns.lower in table.names else 0
        if not self._batches.fit or self._touched or self._events.waiting or len(known) > WORTH * n:
            return None
        rows = [entry for there in known.values() for entry, copies in there.items() if copies == 1]
        if len(rows) < len(known):
            return None
        self._keys = ValueNumbers()
        return self._batches.loaded(self._keys, rows)

    def _by_rows(self) -> None:
        """Hold what is held row by row. O(what is held)."""
        if self._state is not None:
            state, self._state = self._state, None
            self._hold((identity, entry, 1) for identity, entry in self._batches.rows(self._keys, state))

    def _hold(self, entries: Iterable[tuple[Hashable, SequenceEvent, int]]) -> None:
        """Hold events row by row, and the matches that follow from them, as if they had been there."""
        pruned = self._pruned
        for identity, entry, copies in entries:
            self._events.change(identity, entry, copies)
            self._touched[identity] = None
        self._matched()
        self._pruned = pruned

    def _keep_keys(self, state: SequenceColumns) -> None:
        held = np.zeros(len(self._keys), np.bool_)
        for block in state.blocks:
            held[block.key] = True
        self._keys.keep(held.tolist())

    def _take_table(self, table: Table) -> None:
        for change in sequence_tables.changes_of(self.pattern, self.columns, table, self.tick):
            self._take(change)

    def _take(self, change: Any) -> None:
        if not isinstance(change, Change):
            raise ChangeError(f"expected a change of an event, or a Punctuation, but got {change!r}")
        if change.le is None or change.re is not None or change.key is not None:
            raise ChangeError(
                f"expected an event with a time, without an end or a key of its own, but got le={change.le!r}, re={change.re!r}, "
                f"key={change.key!r}"
            )
        pattern = self.pattern
        payload = pattern.schema.take(change.payload)
        when: Between = interval_of(change.le, self.tick)
        diff = as_diff(change.diff, payload)
        if when.lower < self._promised:
            reason = f"expected lower >= {self._promised} (promised) but got lower={when.lower} for {payload!r}"
            self._late.take(change._replace(payload=payload), reason)
            return
        self._changes += 1
        component = pattern.component_of(payload)
        if component is None:
            self._ignored += 1
            return
        if when.upper - when.lower >= pattern.window:
            self._say_long(when[:2])
        check_width(when, ChangeError)
        identity = pattern.identity_of(payload)
        self._events.change(identity, SequenceEvent(pattern.key_of(payload), component, payload, *when), diff)
        self._touched[identity] = None

    def _say_long(self, interval: tuple[int, int]) -> None:
        if not self._said_long:
            self._said_long = True
            LOGGER.warning("an event has the interval %s, longer than the window %d", interval, self.pattern.window)

    def _promise(self, item: Punctuation) -> None:
        if item.where is not None:
            raise ChangeError(f"expected a promise about all events but got where={item.where!r}")
        t = as_ticks(item.t, "t", self.tick)
        self._promised = max(self._promised, t)

    # -- what leaves -----------------------------------------------------------------------------------------------------------

    def _end(self) -> list[Change]:
        """End a call: return the difference that it makes, and forget what is final."""
        out = self._matched()
        put_in_order(out)
        self._forget()
        self._outputs += len(out)
        self._retractions += sum(change.diff < 0 for change in out)
        return out

    def _matched(self) -> list[Change]:
        """Bring the matches up to the events that were touched. Returns their changes."""
        moved: dict[Hashable, list[tuple[int, FittingEvent]]] = {}
        for identity in self._touched:
            self._move(identity, moved)
        self._touched = {}
        return [change for key, events in moved.items() for change in self._revised(key, events)]

    def _move(self, identity: Hashable, moved: dict[Hashable, list[tuple[int, FittingEvent]]]) -> None:
        """Bring an event into its line, or take it out, or both."""
        entry, was = self._events.settled(identity), self._standing.get(identity)
        if was is not None:
            key, number, standing = was
            same = entry is not None and (key, number, standing.payload) == entry[:3]
            if entry is not None and same and self._places(entry, identity)[0] == standing.place[:-1]:
                return  # other copies of the same event
            self._lines[key].remove(number, standing)
            moved.setdefault(key, []).append((number, standing))
            self._take_out(identity)
        if entry is not None:
            moved.setdefault(entry.key, []).append((entry.component, self._put(identity, entry)))

    def _put(self, identity: Hashable, entry: SequenceEvent) -> FittingEvent:
        self._numbered += 1
        places, instants = self._places(entry, identity)
        copies = self._kinds.get(instants.kind, 0)
        if not copies:
            check_room(sum(each.n for each in self._kinds), instants.kind.n)
        self._journal.put(self._kinds, instants.kind, copies + 1)
        standing = FittingEvent((*places, self._numbered), identity, entry.payload, instants)
        line = self._lines.get(entry.key)
        if line is None:
            line = Line(self.pattern, self._journal)
            self._journal.put(self._lines, entry.key, line)
        line.add(entry.component, standing)
        self._journal.put(self._standing, identity, (entry.key, entry.component, standing))
        return standing

    def _take_out(self, identity: Hashable) -> None:
        """Forget an event that is in no line any more."""
        kind = self._standing[identity][2].instants.kind
        self._journal.drop(self._standing, identity)
        if self._kinds[kind] == 1:
            self._journal.drop(self._kinds, kind)
        else:
            self._journal.put(self._kinds, kind, self._kinds[kind] - 1)

    @staticmethod
    def _places(entry: SequenceEvent, identity: Hashable) -> tuple[tuple[Any, ...], Instants]:
        instants = Instants.of(entry.lower, entry.upper, entry.shape)
        return (instants.low, instants.high, entry.shape.name, entry.shape.parameters, repr(identity)), instants

    def _revised(self, key: Hashable, events: ListOf[tuple[int, FittingEvent]]) -> list[Change]:
        """Returns what events that come and go change of the matches of a key."""
        line, changed, anchors = self._lines[key], list[Revised](), dict[Any, FittingEvent]()
        for number, event in events:
            if number == 0 and event.place not in line.components[0]:
                changed += line.dropped(event)
            for anchor in line.concerned(number, event, self._settled):
                anchors[anchor.place] = anchor
        more, pruned = line.revised(list(anchors.values()))
        changed += more
        self._pruned += pruned
        net: dict[tuple[Any, UncertainMatch], int] = {}
        for name, found, diff in changed:
            net[name, found] = net.get((name, found), 0) + diff
        return [self._told(key, name, found, diff) for (name, found), diff in net.items() if diff]

    def _told(self, key: Hashable, name: Any, found: UncertainMatch, diff: int) -> Change:
        confidence, first, last, le, latest = found
        subsets = [2 ** len(name[self._collapsed]) - 1] if self.pattern.collapsed else []
        payload = self.pattern.match(*name, *subsets, confidence, first, last)
        return Change(payload, le, min(latest + self.pattern.window, FOREVER), diff, key)

    def _forget(self) -> None:
        t = self._promised
        if t == self._settled:  # nothing below it can come any more
            return
        for entry, copies in list(self._events.vain(t)):
            change = Change(entry.payload, Between(*entry[3:]), None, copies)  # type: ignore[arg-type]
            self._late.take(
                change, f"expected the insertion of what was retracted, by the promise {t}, but got none: {entry.payload!r}"
            )
        self._settled = t
        if self._state is not None:
            self._state = self._state.forgotten(self.pattern, t)
        for key, line in list(self._lines.items()):
            for event in line.forget(t):
                self._events.forget(event.identity)
                self._take_out(event.identity)
            if line.empty:
                self._journal.drop(self._lines, key)

    def expand(self, match: Any, key: Hashable = None) -> Iterator[Any]:
        """Yield the matches that a collapsed one stands for, the most probable one first, as they are asked for.

        Parameters
        ----------
        match : Match or Change
            One in force whose events are held: no watermark has passed the last window of its first event.

        Raises
        ------
        AfaError
            The operator collapses nothing, or an event of the match is not held.
        """
        if not self.pattern.collapsed:
            raise AfaError("expected a collapsed match, of an operator with collapsed=True, but got one of an operator without")
        match, key = (match.payload, match.key) if isinstance(match, Change) else (match, key)
        return self._calls.call(self._expanded, match, key)

    def _expanded(self, match: Any, key: Hashable) -> Iterator[Any]:
        self._by_rows()
        held = self._standing
        chosen = [(part,) if each.kind == ONE else part for each, part in zip(self.pattern.components, match)]
        missing = [each for of in chosen for each in of if each not in held or held[each][0] != key]
        if missing:
            raise AfaError(f"expected a match whose events are held but got one with {missing[0]!r}, which is not")
        signature = tuple(tuple(held[each][2] for each in of) for of in chosen)
        near, told = self._lines[key].near(signature[0][0]), self._single
        return (told(*name_of(self.pattern, each), *found[:3]) for each, found in subsets(self.pattern, near, signature))

    # -- what is held ----------------------------------------------------------------------------------------------------------

    @property
    def statistics(self) -> SequenceStatistics:
        """The numbers of what is held, and came and left so far. O(anchors)."""
        return self._calls.call(self._look)

    def _look(self) -> SequenceStatistics:
        if self._state is not None:
            keys = {key for block in self._state.blocks for key in block.key.tolist()}
            return SequenceStatistics(self._state.held, 0, len(keys), len(self._state.told.last), *self._counts)
        matches = sum(len(found) for line in self._lines.values() for found in line.matches.values())
        held, waiting = len(self._standing), len(self._events.waiting)
        return SequenceStatistics(held, waiting, len(self._lines), matches, *self._counts)

    @property
    def _counts(self) -> tuple[int, int, int, int, int, int]:
        return self._changes, self._ignored, self._pruned, self._late.count, self._outputs, self._retractions

    # -- snapshots -------------------------------------------------------------------------------------------------------------

    @whole
    def snapshot(self) -> bytes:
        """Return the operator as bytes: plain data. Its matches follow from its events.

        Raises
        ------
        SnapshotError
            A payload is no plain data.
        """
        held = [each for there in self._events.entries.values() for each in there.items()]
        if self._state is not None:
            held = [(entry, 1) for _, entry in self._batches.rows(self._keys, self._state)]
        return seal(self.pattern, [self._promised, *self._counts], held)

    @classmethod
    def restore(cls, components: Any, blob: Any, **options: Any) -> Sequence:
        """Make the operator that `snapshot` saved, of the same components and options: ``Sequence.restore(["a", "b"], blob, ..)``.

        Raises
        ------
        SnapshotError
            The bytes are no snapshot of such an operator, or damaged.
        """
        if isinstance(components, bytes):
            warn_renamed("Sequence.restore(blob, components)", "Sequence.restore(components, blob)")
            components, blob = blob, components
        made = cls(components, **options)
        numbers, entries = unseal(made.pattern, blob)
        try:
            made._load(numbers, entries)
        except ChangeError as error:  # an event that none has sent
            raise SnapshotError(f"expected events of a Sequence but got something else: {error}") from error
        return made

    @whole
    def _load(self, numbers: list[int], entries: ListOf[tuple[Hashable, SequenceEvent, int]]) -> None:
        self._hold(entries)
        self._promised = numbers[0]
        self._forget()
        wanted("events that are not over", len(self._events.entries) == len(entries))
        self._changes, self._ignored, self._pruned, self._late.count, self._outputs, self._retractions = numbers[1:]

    # -- calls: see `punctuation.calls.Member` ---------------------------------------------------------------------------------

    ends = True

    def call_begins(self) -> Any:
        """Returns all numbers; the journal restores the rest."""
        self._touched = {}
        return _numbers(self)

    def call_ends(self) -> None:
        """Hand callbacks the late changes."""
        if self._late.waiting:
            self._late.hand_over(self._calls)

    def call_failed(self, before: Any) -> None:
        """Restore the state from before the call."""
        self._journal.rollback()
        *numbers, self._late.count = before
        vars(self).update(zip(NUMBERS, numbers))
        self._late.waiting.clear()

    def call_worked(self) -> None:
        """Forget how to restore the earlier state."""
        self._journal.commit()
