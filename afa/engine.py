"""The protocol of an engine. The operator keeps promises, arcs and the order of output; an engine keeps the state of all keys.

A call of the operator is all or nothing. It gives the engine some of

    apply, push, run_columns     events
    swap                         arcs
    overdue, tick, clean, prune  punctuations

then asks for the difference, by `collect` or `log`, and ends with `commit`, or with `rollback` if anything raised.

An engine is made with the operator's `Progress` and `Journal` (see `Setup`). The operator moves the progress before it calls the
engine, which reads it: ``events`` is the promise of the event input, ``final`` the effective punctuation, ``now`` one past all that
was seen. The operator undoes what the engine has noted in the journal right before `rollback`, and forgets it right before
`commit`. The smallest engine is in tests/oracle_engine.py.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from afa.change import Change, put_in_order
from afa.conditions.promised import PromisesByKey
from afa.cuts import Cuts
from afa.errors import AfaError
from afa.journal import Journal
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.model.raised import Faults
from afa.schema import Schema
from afa.state.key_columns import keys_at
from afa.state.plain import Unfit
from afa.state.states import States
from punctuation.progress import Progress
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER


class Setup(NamedTuple):
    """The arguments that an engine is made with.

    Parameters
    ----------
    automaton : Automaton
    table : ArcTable
        The arcs in force to begin with.
    progress : Progress
        The operator's promises of both inputs.
    journal : Journal
        The operator's undo log, for calls that fail.
    sequence : str or None
        The event's field that orders events of one LE.
    keyed : bool
        Whether there are keys.
    faults : Faults or None
        Collects what users' functions raise; an arc does not serve where one of its functions raises. None: it is raised.
    gaps : str or None
        Where ``sequence`` numbers the events without gaps, what becomes of a gap that is final: "break" or "join".
    threads : int
        In so many threads keys may be worked on side by side; an engine need not.
    """

    automaton: Automaton
    table: ArcTable
    progress: Progress
    journal: Journal
    sequence: str | None
    keyed: bool
    faults: Faults | None = None
    gaps: str | None = None
    threads: int = 1


class Sizes(NamedTuple):
    """How much is held."""

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int
    ties: int = 0


class Ends(NamedTuple):
    """How many beginnings are over, by what ended them: see `afa.operator.statistics.Statistics`."""

    by_window: int = 0
    by_no_arc: int = 0
    timeouts_past: int = 0


class Step(NamedTuple):
    """One step of a key, for reading; see `Engine.steps`.

    Parameters
    ----------
    start : hashable
        The ``start`` of the partial matches that begin here.
    le : int
    follows : bool
        Whether its list continues that of the step before it: always, but behind a gap in numbers.
    events : mapping of (payload, RE) to int
        Its events, with their copies. Empty: they were dropped, and nothing says how its list came about.
    partial : list of PMatch
        Partial matches that end here, in any order.
    """

    start: Any
    le: int
    follows: bool
    events: Mapping[tuple[Any, int], int]
    partial: list[PMatch]


class Logged(NamedTuple):
    """The output of an engine as columns, in its order.

    Parameters
    ----------
    fields : list of columns
        Of what matches show.
    le, re, diff : numpy.ndarray
    keys : sequence
        Of each row, as columns (`afa.state.key_columns`) where there are many; empty without keys.
    """

    fields: list[Any]
    le: Any
    re: Any
    diff: Any
    keys: Sequence[Hashable]

    @classmethod
    def of(cls, changes: Sequence[Change], shown: Schema) -> Logged:
        """Make it of changes, which are in order, and show these fields."""
        le, re, diff = (np.array([change[i] for change in changes], np.int64) for i in (1, 2, 3))
        fields = list(map(list, zip(*(change.payload for change in changes)))) or [[] for _ in shown.fields]
        return cls(fields, le, re, diff, [change.key for change in changes])

    def part(self, low: int, high: int) -> Logged:
        """Return some of the rows."""
        here = slice(low, high)
        return Logged([field[here] for field in self.fields], self.le[here], self.re[here], self.diff[here], self.keys[here])

    def at(self, places: Any) -> Logged:
        """Return the rows at some places."""
        fields = [field[places] if isinstance(field, np.ndarray) else [field[i] for i in places] for field in self.fields]
        return Logged(fields, self.le[places], self.re[places], self.diff[places], keys_at(self.keys, places))

    def changes(self, shown: Schema) -> list[Change]:
        """Return the rows as changes of payloads that show these fields."""
        columns = [field.tolist() if isinstance(field, np.ndarray) else field for field in self.fields]
        records = zip(*columns) if columns else [()] * len(self.le)
        keys = self.keys if len(self.keys) else [None] * len(self.le)
        times = (column.tolist() for column in (self.le, self.re, self.diff))
        return [Change(shown.cls._make(record), *rest) for record, *rest in zip(records, *times, keys)]  # type: ignore[attr-defined]


class Batch(Protocol):
    """Columns as an engine has encoded them."""

    def promised(self, t: int) -> Batch:
        """Return the same, where the operator promises ``t`` right behind it, in the same call: state may be dropped early."""


class Host(Protocol):
    """What an engine may ask of the operator while it carries out a batch of columns."""

    changes: int
    """How many changes of events were taken: the engine adds those of the batch."""

    @property
    def refuses_late(self) -> bool:
        """Whether a late event makes the call fail: the engine need not go on."""

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain: calls `Engine.tick` and `Engine.clean`."""

    def take_late(self, change: Change, promised: int) -> None:
        """Let the policy decide about an event that came behind a promise.

        Raises
        ------
        LateEventError
            It refuses the call.
        """

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event take effect, where numbers are gapless; see `afa.operator.gapless`."""

    def numbers_settled(self) -> None:
        """Check that numbers ascend with time, now that those that `take_numbered` let pass are applied."""

    def take_record(self, item: Change | Punctuation) -> None:
        """Take a punctuation, or a change of an arc, in the midst of a batch: calls `Engine.swap`, or what a punctuation calls."""

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        """Put a table in force, as one swap, that a batch leads to: some arc events have gone, others have come."""

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs that the engine has made by carrying out changes of arcs itself."""


class Numbered(Protocol):
    """The further methods of an engine for gapless numbers; see `afa.operator.gapless`."""

    @property
    def open_gaps(self) -> int:
        """How many gaps can still close, over all keys."""

    def final_gaps(self) -> list[tuple[Hashable, int, int]]:
        """Return the gaps that have become final in this call since the last time: key, first and last missing number."""

    def numbered(self, key: Hashable, number: int) -> tuple[int, Any] | None:
        """Return LE and event, ``(payload, RE)``, of the step of a key with a number; of one that is final, None as its event."""

    def neighbours(self, key: Hashable, le: int, number: int) -> list[tuple[int, int]]:
        """Return LE and number of the steps of a key beside a place, and of the one there."""

    def waiting(self, key: Hashable, payload: Any, le: int, re: int) -> int:
        """Return how many retractions of an event wait."""


class Engine(Protocol):
    """The protocol between the operator and an engine. `ByRows` has what follows for engines that take events one by one.

    Attributes
    ----------
    name : str
        The name by which a user asks for the engine.
    automaton : Automaton
        The automaton whose events and registers the states of `save` and `load` hold.
    bits : list of int or None
        One int for each arc event in force, which a snapshot saves beside the arcs. None: there is nothing to save.
    alone : bool
        Whether `push` may be called.
    began : int or None
        Set to None before `push`; see there.
    """

    name: str
    alone: bool
    began: int | None

    @property
    def automaton(self) -> Automaton: ...

    @property
    def bits(self) -> list[int | None] | None: ...

    @property
    def numbers(self) -> Numbered | None:
        """What it tells where numbers are gapless. None: they are not."""

    @property
    def native(self) -> bool:
        """Whether all arcs in force run without Python."""

    # -- events ------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Take event changes of one key (None: there are no keys), in any order.

        They are checked, not late, with payloads of the schema's type. A retraction whose insertion is not in force waits for it.
        """

    def push(self, change: Change) -> list[Change] | None:
        """Take one event change, as `apply` does, as a call of its own, and return its output, in any order.

        None: nothing was done, as the operator has to look at its number first (`Numbered`).

        The operator ends the call. An engine may end a call without output itself: it first sets ``began`` to its `serial`, and
        changes the serial in the very step that ends the call, so that after an interrupt the operator knows whether it had ended.
        """

    @property
    def serial(self) -> int:
        """The number of the call, for an engine that ends calls itself."""

    def encode(
        self,
        columns: Mapping[str, Any],
        times: Mapping[str, Any],
        arcs: Sequence[Arc],
        window: int | None,
        key_columns: list[Any] | None,
        single: bool,
        /,
    ) -> Batch:
        """Return columns as `run_columns` takes them.

        Parameters
        ----------
        columns : mapping of str to column
            The event's fields; lists, numpy, pandas or Arrow.
        times : mapping of str to column
            ``le``; where the table has them ``re``, ``diff``, ``kind``, ``arc``.
        arcs : sequence of Arc
            The arcs that the column ``arc`` refers to by number.
        window : int or None
            The length of lifetimes without an ``re``.
        key_columns : list of columns or None
            The columns that make the key.
        single : bool
            Whether a key is the value of its one column, or a tuple.

        Raises
        ------
        Unfit
            The rows go one by one, by `apply`; the operator then tells what is wrong with them.
        """

    def run_columns(self, batch: Any, host: Host, cuts: Cuts | None = None) -> None:
        """Carry out a batch that `encode` gave, in order of arrival: events that are late, arcs and punctuations go to the host.

        With ``cuts``, carry the rows out as if each came alone, and note there where the output of each row ends.
        """

    def check_ties(self) -> None:
        """Where the automaton refuses ties, check those that this call may have brought.

        Raises
        ------
        ChangeError
            Two events of one key share their step.
        """

    # -- arcs and punctuations ---------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only.

        Raises
        ------
        AutomatonError
            The engine can't run an arc that has come.
        """

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        """Put a table in force before there is any state, with the `bits` of a snapshot.

        Raises
        ------
        AutomatonError, ValueError
            They do not fit.
        """

    def overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can no longer arrive (LE < t). The first step of every punctuation."""

    def tick(self) -> None:
        """Follow the clock, ``progress.events``: time-outs may fire. The second step."""

    def clean(self) -> None:
        """Drop what the effective punctuation has made final ([AFA10] App. C.1). The last step, if it has moved."""

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop what punctuations with conditions have made superfluous ([AFA10] App. F.2). An engine need not drop anything.

        Parameters
        ----------
        promises : PromisesByKey
        arcs : int
            Before this instant no arc changes any more.
        changes : int
            So many changes of events were taken so far: an engine with many keys looks through them only now and then.
        """

    # -- output ------------------------------------------------------------------------------------------------------------

    def collect(self) -> list[Change]:
        """Return the minimal difference of the matches since the last `collect` or `log`, in any order."""

    def cut(self) -> int:
        """End the output of one change: what comes after it is not netted with it. Returns how many rows there are so far."""

    def log(self, cuts: Cuts | None = None) -> Logged:
        """Return the difference of `collect` as columns, in the order of output; with ``cuts``, each part of it in that order."""

    # -- the call ----------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Forget how to undo the call, as it has worked. Can be repeated."""

    def rollback(self) -> None:
        """Restore the state from before the call, which has failed. The journal has been undone already. Can be repeated."""

    def let_threads_run(self) -> None:
        """Let other threads run while kernels work, for an operator that is `native` and known to one thread only."""

    def let_raise(self) -> None:
        """Raise what users' functions raise from now on; until now `afa.model.raised.Faults` took it."""

    # -- what is held ------------------------------------------------------------------------------------------------------

    def keys(self) -> list[Hashable]:
        """Return the keys that hold any state."""

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        """Return the steps of a key with an LE in ``[low, high]``, the one before and the one behind them; nothing changes.

        Parameters
        ----------
        key : hashable
            One of which nothing is held has no steps.
        low, high : int
        starts : collection, optional
            Only partial matches with one of these starts are wanted. None: all.

        Notes
        -----
        O(steps + what stands there). What is final may be held still, or not: nothing may depend on it.
        """

    def sizes(self) -> Sizes:
        """Return how much is held."""

    def ends(self) -> Ends:
        """Return how many beginnings are over, of what is held."""

    def save(self, changed: bool = False) -> States:
        """Return the states of all keys, or of those that changed or went since the last snapshot, in an order of their own."""

    def saved(self) -> None:
        """Take note that a snapshot was taken."""

    def load(self, states: States) -> None:
        """Load the states of keys that are not held yet, from a snapshot.

        Raises
        ------
        ValueError, TypeError, AfaError
            One does not fit.
        """

    def check(self) -> None:
        """Assert the engine's invariants."""


class ByRows:
    """What an engine that takes events one by one has of the protocol; it supplies the rest, and calls `forget` in `rollback`."""

    alone = True
    began: int | None = None
    bits: list[int | None] | None = None
    serial = 0
    automaton: Automaton
    _log: list[Change] | None = None  # None: no output was cut so far

    @property
    def numbers(self) -> Numbered | None:
        return None

    @property
    def native(self) -> bool:
        return False

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        raise NotImplementedError

    def collect(self) -> list[Change]:
        raise NotImplementedError

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        raise NotImplementedError

    def push(self, change: Change) -> list[Change]:
        """Take one event change; the operator ends the call."""
        self.apply(change.key, [change])
        self.check_ties()
        return self.collect()

    def encode(self, *columns: Any) -> Batch:
        """Refuse: all columns go row by row."""
        raise Unfit

    def let_threads_run(self) -> None:
        """Nothing: no kernels work."""

    def run_columns(self, batch: Any, host: Host, cuts: Cuts | None = None) -> None:
        """Refuse: no batch is from `encode`."""
        raise AfaError(f"expected a batch that this engine has encoded but got {batch!r}")

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        self.swap(table, BEGINNING, FOREVER)

    def cut(self) -> int:
        found = self.collect()
        put_in_order(found)
        if self._log is None:
            self._log = []
        self._log += found
        return len(self._log)

    def log(self, cuts: Cuts | None = None) -> Logged:
        self.cut()
        changes = self._log or []
        self.forget()
        if cuts is not None:
            cuts.keep(np.arange(len(changes)))
        return Logged.of(changes, self.automaton.match_schema)

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        """Refuse: an engine that keeps no lists of partial matches knows of no ways that lead to them."""
        raise AfaError("expected an engine that holds partial matches, for their lineage, but got one without")

    def ends(self) -> Ends:
        """Count nothing: an engine that keeps no lists of partial matches knows of no ends."""
        return Ends()

    def check_ties(self) -> None:
        """Check nothing: events that share a step are alternatives."""

    def forget(self) -> None:
        """Forget the output so far."""
        self._log = None
