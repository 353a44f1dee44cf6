"""A third engine, written from the docstrings of `afa.engine` alone: all that ever came is kept, and the oracle asked again.

It needs no lists, no index and no cleanup, and shows what an engine must do: net copies of events, retractions that wait, arcs in
force, the difference of the matches, the way back. It takes no snapshots, for which partial matches are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from afa import AfaError, Change
from afa.conditions.promised import PromisesByKey
from afa.engine import Budget, ByRows, Ends, Living, NumberedEngine, Setup, Sizes, Step
from afa.model.arctable import ArcTable
from afa.model.copies import added
from afa.state.states import States
from punctuation.time import FOREVER
from tests import oracle

Event = tuple[Any, int, int]


class OracleEngine(ByRows):
    """See `afa.engine.Engine`."""

    name = "oracle"

    def __init__(self, setup: Setup) -> None:
        if setup.gaps is not None:
            raise AfaError(f"expected numbers with gaps for the oracle but got gaps={setup.gaps!r}")
        self.automaton = setup.automaton
        self._setup = setup
        self._journal, self._progress = setup.journal, setup.progress
        self._copies: dict[Hashable, dict[Event, int]] = {}  # by key; negative: retractions that wait
        self._table = setup.table
        self._dropped: list[Any] = []  # arc events that have ended, and served events that are kept here
        self._held: set[Change] = set()  # matches in force that are not final
        self._final = self._progress.final  # when the matches were looked at last
        self._changed = False

    # -- what came ---------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Count copies."""
        self._changed = True
        if key not in self._copies:
            self._journal.put(self._copies, key, {})
        for payload, le, re, diff, _ in changes:
            assert le is not None
            assert re is not None
            self._count(key, (payload, le, re), diff)

    def _count(self, key: Hashable, event: Event, diff: int) -> None:
        copies = self._copies[key]
        n = added(copies.get(event, 0), diff, event[0], event[1])
        if n:
            self._journal.put(copies, event, n)
        elif event in copies:
            self._journal.drop(copies, event)

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force; what it only drops, as no event that comes can take it, may have served those that came."""
        self._changed = True
        if le == FOREVER:
            self._journal.set(self, "_dropped", self._dropped + [e for e in self._table.events if e not in table.events])
        self._journal.set(self, "_table", table)

    def overdue(self, t: int) -> list[Change]:
        """Take out the retractions that wait in vain."""
        found = [(key, event, n) for key, copies in self._copies.items() for event, n in copies.items() if n < 0 and event[1] < t]
        for key, event, n in found:
            self._count(key, event, -n)
        return [Change(*event, n, key) for key, event, n in found]

    def tick(self) -> None:
        """Time-outs may have fired."""
        self._changed = True

    def clean(self) -> None:
        """Nothing is dropped."""

    def prune(self, promises: PromisesByKey, arcs: int, changes: int) -> None:
        """Nothing is dropped."""

    # -- what comes of it --------------------------------------------------------------------------------------------------

    def collect(self) -> list[Change]:
        """Return by what the matches differ from those at the last time, of those that were not final then."""
        if not self._changed:
            return []
        arcs = [tuple(event) for event in (*self._dropped, *self._table.events)]
        now = {
            Change(register, le, re, 1, key)
            for key, copies in self._copies.items()
            for register, le, re in self._matches([(*event, n) for event, n in copies.items()], arcs)
            if le >= self._final
        }
        changes = [*(now - self._held), *(gone._replace(diff=-1) for gone in self._held - now)]
        final = self._progress.final
        self._journal.set(self, "_held", {match for match in now if match.le is not None and match.le >= final})
        self._journal.set(self, "_final", final)
        self._changed = False
        return changes

    def _matches(self, changes: list[Any], arcs: list[Any]) -> set[tuple[Any, int, int]]:
        found = oracle.matches(self.automaton, changes, arcs, self._progress.events, self._setup.sequence)
        return oracle.longest(found) if self._setup.longest else found

    # -- the call ----------------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """The journal is the operator's, which clears it."""

    def rollback(self) -> None:
        """The journal has put all back."""
        self._changed = False
        self.forget()

    def let_raise(self) -> None:
        """The oracle always does."""

    # -- what is held ------------------------------------------------------------------------------------------------------

    def known_keys(self) -> list[Hashable]:
        return self.keys()

    def keys(self) -> list[Hashable]:
        """Return the keys that ever came."""
        return list(self._copies)

    def sizes(self) -> Sizes:
        """Return how much must be held; more is."""
        final = self._progress.final
        copies = [(event[1], n) for copies in self._copies.values() for event, n in copies.items()]
        events, pending = sum(n for le, n in copies if n > 0 and le >= final), -sum(n for _, n in copies if n < 0)
        return Sizes(events, 0, 0, len(self._held), pending, len(self._copies))

    @property
    def numbers(self) -> NumberedEngine | None:
        return None

    def bound(self, budget: Budget) -> None:
        """Nothing is refused."""

    def steps(self, key: Hashable, low: int, high: int, starts: Collection[Any] | None = None) -> list[Step]:
        """Refuse: there are no lists."""
        raise AfaError("expected an engine that holds partial matches, for their lineage, but got one without")

    def living(self, t: int) -> Living:
        """Refuse, as `steps` does."""
        raise AfaError("expected an engine that holds partial matches, for their lineage, but got one without")

    def memory_bytes(self) -> int:
        """Return 0: all are Python's objects."""
        return 0

    def by_key(self) -> list[tuple[Hashable, int, int]]:
        """Count nothing: there are no lists."""
        return []

    def by_state(self) -> dict[str, int]:
        """Count nothing: there are no lists."""
        return {}

    def ends(self) -> Ends:
        """Count nothing: no ends are known."""
        return Ends()

    def all_of_it(self) -> Any:
        """Return the state, to be compared."""
        return {key: dict(copies) for key, copies in self._copies.items()}, self._held, list(self._table.events), self._final

    def save(self, changed: bool = False) -> States:
        """Refuse."""
        raise AfaError("expected an engine that has partial matches for a snapshot but got the oracle")

    def saved(self) -> None:
        """Nothing is saved."""

    def load(self, states: States) -> None:
        """Refuse."""
        raise AfaError("expected an engine that has partial matches for a restore but got the oracle")

    def check(self) -> None:
        """All is asked anew each time."""
