"""The protocol of an engine. The operator keeps promises, arcs and the order of output; an engine keeps the state of all keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

from afa.change import Change
from afa.conditions.promised import Promises
from afa.model.arctable import ArcTable
from afa.state.states import States
from punctuation.promise import Punctuation


class Sizes(NamedTuple):
    """Events, partial matches, intervals, matches, pending retractions and keys held."""

    events: int
    partial_matches: int
    intervals: int
    matches: int
    pending: int
    keys: int


class Engine(Protocol):
    """The protocol between the operator and an engine. A call ends with `commit` or `rollback`, which undoes all since the last."""

    name: str

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Apply event changes of one key, checked and not late, in any order: the one entry point of changes."""

    def overdue(self, t: int) -> list[Change]:
        """Remove and return the retractions whose insertion can no longer arrive (LE < t). The first step of every punctuation."""

    def tick(self) -> None:
        """Follow the clock: time-outs may fire."""

    def clean(self) -> None:
        """Drop what the effective punctuation has made final ([AFA10] App. C.1)."""

    def prune(self, promises: Callable[[Hashable], Promises], arcs: int, changes: int) -> None:
        """Drop what punctuations with conditions have made superfluous ([AFA10] App. F.2).

        ``promises`` returns what they promise a key. No arc changes below ``arcs`` any more. ``changes`` is the number of event
        changes taken so far: many keys are searched only now and then.
        """

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only."""

    def collect(self) -> list[Change]:
        """Return the minimal difference since the last collect, in no order."""

    def keys(self) -> list[Hashable]:
        """Return the keys that hold any state."""

    def sizes(self) -> Sizes:
        """Return how much is held."""

    def commit(self) -> None:
        """Make the call's changes permanent, as it has worked."""

    def rollback(self) -> None:
        """Restore the state from before the call, which has failed."""

    def save(self, changed: bool = False) -> States:
        """Return the states of all keys, or of those that changed or went since the last snapshot, in a canonical order."""

    def saved(self) -> None:
        """Take note that a snapshot was taken."""

    def load(self, states: States) -> None:
        """Load the states of keys that are not held yet, from a snapshot.

        Raises
        ------
        ValueError, TypeError, AfaError
            A state does not fit.
        """

    def check(self) -> None:
        """Assert the engine's invariants."""


class Numbered(Protocol):
    """What an engine has besides where numbers are gapless; see `afa.operator.gapless`."""

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


class Host(Protocol):
    """What an engine may ask of the operator while it carries out a batch of columns."""

    refuses_late: bool
    """Whether a late event makes the call fail: the engine need not go on."""

    def counted(self, changes: int) -> None:
        """Count so many changes of events as taken."""

    def progress_to(self, t: int) -> None:
        """Take a promise of the event input under which no retraction waits in vain: tick, clean."""

    def take_late(self, change: Change, promised: int) -> None:
        """Let the policy decide about an event that came behind a promise."""

    def take_numbered(self, change: Change) -> int:
        """How many copies of an event take effect, where numbers are gapless; see `afa.operator.gapless`."""

    def numbers_settled(self) -> None:
        """The numbers that `take_numbered` let pass are applied: check that they ascend with time."""

    def take_record(self, item: Change | Punctuation) -> None:
        """Take a punctuation, or a change of an arc, in the midst of a batch."""

    def follow_arcs(self, table: ArcTable) -> None:
        """Take over a table of arcs: the result of changes that the engine has carried out itself."""
