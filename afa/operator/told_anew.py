"""Output that follows from the paths of matches: what leaves in their place is derived before a change is taken, and behind it.

Nothing is held from call to call. What a change may touch is what stands at the LEs of its key from the change's LE on; with
time-outs from the step before it on, as a retraction of the last event takes the clock back to there; for an arc that of all keys.
So output is exact by its definition: `collapsed_output` and `postponed_output` say of what.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change, put_in_order
from afa.engine import Logged
from afa.lineage.match_ends import LineageSource, matches_from
from afa.schema import Schema, any_payload
from punctuation.time import BEGINNING, FOREVER


class ToldAnew:
    """What the calls of an operator tell in place of matches. It stands where `afa.operator.announced.Announcing` does.

    Parameters
    ----------
    held : callable
        Returns what lineages are derived from, at present.
    inner, shown : Schema
        Of matches, and of what leaves in their place.
    """

    members = None
    again = True
    options: Sequence[list[Any]]

    def __init__(self, held: Callable[[], LineageSource], inner: Schema, shown: Schema) -> None:
        self._held, self.inner, self.shown = held, inner, shown
        self._from: dict[Hashable, int] = {}  # by key, from which LE on all was derived in this part of a call
        self._before: dict[Any, Change | None] = {}

    def name(self, match: Change) -> Any:
        """Return what tells apart what leaves in place of matches."""
        raise NotImplementedError

    def derive(self, held: LineageSource, name: Any) -> Change | None:
        """Return what leaves in place of the matches of a name, at least one of which is in force or was. None: nothing."""
        raise NotImplementedError

    # -- before a change is taken ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a part of a call, whose output is one difference."""
        self._from, self._before = {}, {}

    def touch(self, key: Hashable, le: int) -> None:
        """Derive what a change of a key at ``le`` may touch. O(what is held of the key from there on), once a call."""
        held = self._held()
        if held.table.timeouts:
            le = min([le, *(y.le for y in held.engine.steps(key, le, le, ()))])
        read = self._from.get(key, FOREVER)
        if le >= read:
            return
        names = {self.name(match): None for match in matches_from(held, key, le) if match.le < read}  # type: ignore[operator]
        self._before |= {name: self.derive(held, name) for name in names}
        self._from[key] = le

    def touch_all(self, le: int) -> None:
        """Derive what a change of an arc may touch, of all keys."""
        for key in self._held().engine.known_keys():
            self.touch(key, le)

    def touch_rows(self, rows: Any) -> None:
        """Derive what events in an engine's own form may touch, whichever keys they have."""
        self.touch_all(BEGINNING if rows.kind is not None or not len(rows.le) else int(rows.le.min()))

    # -- behind it -------------------------------------------------------------------------------------------------------------

    def told(self, changes: Iterable[Change]) -> list[Change]:
        """Return what a part of a call has changed, in order; ``changes``: of matches."""
        held = self._held()
        found: list[Change] = []
        for name in dict.fromkeys((*self._before, *map(self.name, changes))):
            old, new = self._before.get(name), self.derive(held, name)
            if old is None or new is None or any_payload(old) != any_payload(new):
                found += [old._replace(diff=-1)] if old is not None else []
                found += [new] if new is not None else []
        self.begin()  # which lets go what was read
        if len(found) > 1:
            put_in_order(found)
        return found

    def told_rows(self, rows: Logged, schema: Schema) -> Logged:
        """Return what a call has changed as columns; ``schema``: of matches."""
        return Logged.of(self.told(rows.changes(schema)), self.shown)
