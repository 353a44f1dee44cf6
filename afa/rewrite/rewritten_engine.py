"""An engine over triggering sets, behind an operator whose events have payloads; see `afa.rewrite.triggers`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from afa.change import Change
from afa.engine import Engine
from afa.errors import AfaError, ChangeError
from afa.journal import Journal
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.rewrite.triggers import Triggers
from punctuation.progress import Progress
from punctuation.time import BEGINNING, FOREVER, as_count


def check_options(automaton: Automaton, retractions: bool, arc_punctuation: bool) -> None:
    """Refuse what needs payloads.

    Raises
    ------
    AfaError
    """
    for name, value in (("retractions", retractions), ("arc_punctuation", arc_punctuation)):
        if value:
            raise AfaError(f"expected {name}=False with keep_payloads=False but got {name}={value!r}")
    if automaton.event_schema is None:
        raise AfaError(f"expected an automaton with event= for keep_payloads=False but got {automaton!r}")


class Reduced:
    """What stands between an operator and an engine: triggering sets go in, arcs are rewritten; see `afa.engine.Engine`.

    Parameters
    ----------
    triggers : Triggers
        The arcs in force.
    inner : Engine
        Of the rewritten automaton.
    progress : Progress
    journal : Journal
    """

    def __init__(self, triggers: Triggers, inner: Engine, progress: Progress, journal: Journal) -> None:
        self.triggers = triggers
        self.progress = progress
        self._journal = journal
        self.inner: Any = inner
        self.name = inner.name
        # What sees neither payloads nor arcs:
        self.overdue, self.tick, self.clean, self.prune = inner.overdue, inner.tick, inner.clean, inner.prune
        self.collect, self.keys, self.sizes = inner.collect, inner.keys, inner.sizes
        self.commit, self.rollback, self.check = inner.commit, inner.rollback, inner.check
        self.save, self.saved, self.load = inner.save, inner.saved, inner.load

    # -- arcs ------------------------------------------------------------------------------------------------------------------

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        """Put a table in force that differs from the last one in ``[le, re)`` only.

        Raises
        ------
        AutomatonError
            An arc that has come does not split, or there is no bit for it.
        ChangeError
            It differs before the present: of the events there the payloads are gone.
        """
        now = self.progress.now
        if le < now:
            new, old = Counter(table.events), Counter(self.triggers.events)
            arc = next(event.arc for event in (*(new - old), *(old - new)))
            raise ChangeError(
                f"expected a change of an arc from {now} on (keep_payloads=False: the payloads before it are gone) "
                f"but got le={le} for {arc!r}"
            )
        self._put(self.triggers.followed_by(table.events, FOREVER if le == FOREVER else now), le, re)

    def put(self, table: ArcTable, bits: Sequence[int | None]) -> None:
        """Put a table in force with the bits that a snapshot gives, before there is any state.

        Raises
        ------
        AutomatonError, ValueError
            They do not fit.
        """
        given = [bit if bit is None else as_count(bit + 1) - 1 for bit in bits]
        triggers = Triggers(self.triggers.reduction, table.events, given)
        twins = any(triggers.places[id(event.arc), event.le] != bit for event, bit in zip(triggers.events, triggers.bits))
        if triggers.bits != given or twins:
            raise ValueError(f"expected a bit for each arc that needs one but got bits={bits!r}")
        self._put(triggers, BEGINNING, FOREVER)

    def _put(self, triggers: Triggers, le: int, re: int) -> None:
        self.follow(triggers)
        self.inner.swap(triggers.table, le, re)

    def follow(self, triggers: Triggers) -> None:
        """Let these be the arcs that sets are made by."""
        self._journal.note(setattr, self, "triggers", self.triggers)
        self.triggers = triggers

    # -- events ----------------------------------------------------------------------------------------------------------------

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        """Apply event changes of one key."""
        self.inner.apply(key, [self.reduced(change) for change in changes])

    def reduced(self, change: Change) -> Change:
        """Return the change with the event's triggering set in place of its payload."""
        payload, le, re, diff, key = change
        assert le is not None
        return Change(self.triggers.reduction.set_of(self.triggers.of(payload, le), payload), le, re, diff, key)
