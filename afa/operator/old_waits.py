"""Snapshots of versions up to 8: there a time-out fired again at each event that a skip passed; now it fires once.

Lists are derived anew when a snapshot is read, so that the restored operator would not know of such matches, and never withdraw
them, though they were told. One that holds any is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from afa.engine import Engine
from afa.errors import SnapshotError
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from afa.state.states import States
from punctuation.time import BEGINNING, FOREVER

FIRES_AGAIN = 8
"""The last version in which time-outs fired again behind skips."""


def check_waits(engine: Engine, automaton: Automaton, table: ArcTable, goes_on: bool, old: Iterable[States]) -> None:
    """Raise `SnapshotError` if a restored operator holds waits behind skips whose time-outs have fired again.

    ``goes_on``: an arc does not serve where it raises. ``old``: the states that snapshots of such a version have brought.
    O(their state), where there are skips beside time-outs.
    """
    if not (table.timeouts and table.skips):
        return
    transitions = Transitions(automaton, table, Faults() if goes_on else None)
    for key in [key for part in old for key in part.keys]:
        before: set[PMatch] = set()
        for y in engine.steps(key, BEGINNING, FOREVER - 1):
            passed = [p for p in y.partial if p in before and p.state in table.skips] if y.events else []
            for p in [reached for each in passed for reached in transitions.closure(each, y.le)]:
                for arc, begin, end in table.timeouts.get(p.state, ()):
                    if begin <= y.le < end and transitions.instant(arc, p.register, y.le) <= y.le:
                        raise SnapshotError(
                            f"expected a snapshot of a version above {FIRES_AGAIN}, up to which {arc!r} fired again at each event "
                            f"that a skip passed, but got one that holds such matches, of key {key!r} at le={y.le}, which would "
                            f"never be withdrawn; make the operator anew from its events"
                        )
            fired = [q for p in y.partial for _, q in transitions.fired(p, Rest.behind(y.le), FOREVER - 1)]
            before = {*y.partial, *fired}
