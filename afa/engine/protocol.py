"""The protocol between the operator and an engine: what each method promises."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Protocol

from afa.change import Change
from afa.conditions.promised import PromisesByKey
from afa.engine.budget import Budget
from afa.engine.engine_values import Ends, GivenColumns, Living, PathTotals, Picks, Sizes, SoughtMatch, Step, Ways
from afa.engine.logged import Cuts, Logged
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.state.states import States
from punctuation.promise import Punctuation


class Batch(Protocol):
    """Columns as an engine has encoded them."""

    def promised(self, t: int) -> Batch:
        """Return the same, where the operator promises ``t`` right behind it, in the same call: state may be dropped early."""

    def looked_at(self) -> Batch | None:
        """Return the same, where each row stands behind all of its key: the last of these look at those behind them, see
        `Choice.beside`. None: nobody but the caller makes them do so.
        """

    def longest(self) -> int:
        """Return the longest lifetime of its events, in ticks."""


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
        """Let the policy decide about an event that came behind a promise; it may refuse the call (LateEventError)."""

    def take_numbered(self, change: Change) -> int:
        """Return how many copies of an event take effect, where numbers are gapless; see `afa.operator.gapless`."""

    def numbers_applied(self) -> None:
        """Take note that what `take_numbered` let pass is applied; that numbers ascend with time is checked later."""

    def take_record(self, item: Change | Punctuation) -> None:
        """Take a punctuation, or a change of an arc, in the midst of a batch: calls `Engine.swap`, or what a punctuation calls."""

    def replace_arcs(self, gone: Sequence[ArcEvent], come: Sequence[ArcEvent], table: ArcTable) -> None:
        """Put a table in force, as one swap, that a batch leads to: some arc events have gone, others have come."""

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs that the engine has made by carrying out changes of arcs itself."""


class NumberedEngine(Protocol):
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

    ``bits`` are one int for each arc event in force, which a snapshot saves beside the arcs; None: there is nothing to save.
    """

    name: str  # by which a user asks for the engine
    alone: bool  # whether `push` may be called
    began: int | None  # set to None before `push`; see there

    @property
    def automaton(self) -> Automaton: ...

    @property
    def bits(self) -> list[int | None] | None: ...

    @property
    def numbers(self) -> NumberedEngine | None:
        """What it tells where numbers are gapless. None: they are not."""

    @property
    def native(self) -> bool:
        """Whether all arcs in force run without Python."""

    def bound(self, budget: Budget) -> None:
        """Refuse from now on what is beyond a budget (`BudgetError`); what is held already stays."""

    # -- events ------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Take event changes of one key (None: there are no keys), in any order.

        They are checked, not late, with payloads of the schema's type. A retraction whose insertion is not in force waits for it.
        """

    def push(self, change: Change) -> list[Change] | None:
        """Take one event change, as `apply` does, as a call of its own, and return its output, in any order.

        None: nothing was done, as the operator has to look at its number first (`NumberedEngine`).

        The operator ends the call. An engine may end a call without output itself: it first sets ``began`` to its `serial`, and
        changes the serial in the very step that ends the call, so that after an interrupt the operator knows whether it had ended.
        """

    @property
    def serial(self) -> int:
        """The number of the call, for an engine that ends calls itself."""

    def encode(self, given: GivenColumns, /) -> Batch:
        """Return columns as `run_columns` takes them.

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
        """Where the automaton refuses ties (two events of a key at one step), check those that this call may have brought."""

    # -- arcs and punctuations ---------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only; refused if the engine can't run an arc."""

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        """Put a table in force before there is any state, with the `bits` of a snapshot; AutomatonError, ValueError: no fit."""

    def overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can no longer arrive (LE < t). The first step of every punctuation."""

    def tick(self) -> None:
        """Follow the clock, ``progress.events``: time-outs may fire. The second step."""

    def clean(self) -> None:
        """Drop what the effective punctuation has made final ([AFA10] App. C.1). The last step, if it has moved."""

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Drop what punctuations with conditions have made superfluous ([AFA10] App. F.2). An engine need not drop anything.

        Before the instant ``arcs`` no arc changes any more. ``changes`` of events were taken so far: an engine with many keys looks
        through them only now and then.
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

    def known_keys(self) -> list[Hashable]:
        """Return the keys of `keys`, and perhaps more whose state is final, within a call too; nothing changes."""

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        """Returns the steps of a key with an LE in ``[low, high]``, the one before and the one behind them; nothing changes.

        A key of which nothing is held has no steps. Only partial matches with one of ``starts`` are wanted; None: all.
        O(steps + what stands there). What is final may be held still, or not: nothing may depend on it.
        """

    def ways(self, key: Hashable, sought: SoughtMatch) -> Ways | None:
        """Returns all that leads to a match, as of now. None: there is nothing, or `steps` is to tell.

        O(steps from where it began, and the partial matches that began there).
        """

    def totals(self, key: Hashable, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
        """Return the aggregates of a field over all paths of a match, of any field or of the events of a component alone.

        None: `ways` is to tell. O(as `ways`).
        """

    def matches(self, key: Hashable, low: int) -> list[tuple[Any, int, int]] | None:
        """Return ``(register, LE, RE)`` of the matches of a key that are in force and not final, with an LE from ``low`` on.

        Perhaps one more than once; under ``longest=True`` also shorter ones. None: `steps` is to tell. O(steps from there on).
        """

    def living(self, t: int) -> Living:
        """Return where the first partial match began that may go on at an instant. O(keys + the lists there)."""

    def picks(self, key: Hashable, soughts: Sequence[SoughtMatch]) -> Picks:
        """Return the events behind some matches of a key, as of now; of those that `ways` tells of."""

    def sizes(self) -> Sizes:
        """Return how much is held."""

    def memory_bytes(self) -> int:
        """Return how large the state is; 0: it is made of Python's objects."""

    def by_state(self) -> dict[str, int]:
        """Return how many partial matches are stored in each state that has some; their sum is that of `sizes`. O(what is held)."""

    def by_key(self) -> list[tuple[Hashable, int, int]]:
        """Return of each key how many partial matches it holds, and the bytes of its state (0: as of `memory_bytes`). O(all)."""

    def ends(self) -> Ends:
        """Return how many beginnings are over, of what is held."""

    def save(self, changed: bool = False) -> States:
        """Return the states of all keys, or of those that changed or went since the last snapshot, in an order of their own."""

    def saved(self) -> None:
        """Take note that a snapshot was taken."""

    def load(self, states: States) -> None:
        """Load the states of keys that are not held yet, from a snapshot; ValueError, TypeError or AfaError if one does not fit."""

    def check(self) -> None:
        """Assert the engine's invariants."""
