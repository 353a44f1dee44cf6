"""Output that follows from the paths of matches: read before a change is taken, and behind it.

Nothing is held from call to call. What a change may touch is what stands at the LEs of its key from the change's LE on; with
time-outs from the step before it on, as a retraction of the last event takes the clock back to there; for an arc that of all keys.
No other match can have that event, or that arc, in a path. So output is exact by its definition: `announced`, `collapsed_output`
and `postponed_output` say of what.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change, put_in_order
from afa.engine import Logged
from afa.lineage.match_ends import LineageSource, matches_from
from afa.operator.members import Members
from afa.schema import Schema, any_payload
from punctuation.time import BEGINNING, FOREVER


class PathOutput:
    """What the calls of an operator tell of the paths of its matches: `read` before a change is taken, `told` behind it.

    ``again``: also matches that stay are looked at, so that a change touches what is in force. ``tells``: more than matches is
    told, so that no stage may hold them back while their events are dropped. ``members``: what of its events comes with a match.
    ``options``: those that it was made by, by name. ``inner`` and ``shown`` are of matches and of what leaves in their place;
    None: matches leave.
    """

    again = tells = True
    members: Members | None = None
    options: Sequence[list[Any]] = ()
    inner: Schema | None = None
    shown: Schema | None = None

    def __init__(self) -> None:
        self._from: dict[Hashable, int] = {}  # by key, from which LE on its matches were read in this part of a call
        self._before: dict[Any, Any] = {}

    def read(self, held: LineageSource, matches: list[Change]) -> dict[Any, Any]:
        """Return by name what is told of matches in force."""
        raise NotImplementedError

    def told(self, core: Any, changes: list[Change]) -> list[Change]:
        """Return what a part of a call tells, in any order; ``changes``: of matches."""
        raise NotImplementedError

    def told_rows(self, core: Any, rows: Logged) -> Logged:
        """Return what a call tells as columns; ``rows``: of matches."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin a part of a call, whose output is one difference. Drops what was read."""
        self._from, self._before = {}, {}

    def touch(self, core: Any, key: Hashable, le: int) -> None:
        """Read what a change of a key at ``le`` may touch. O(what is held of the key from there on), once a call."""
        if core.automaton.choice is not None:  # which matches are shown may be others from the first start on that may take the row
            le = BEGINNING if core.window is None else max(le - core.window + 1, BEGINNING)
        elif core.arcs.table.timeouts:
            le = min([le, *(y.le for y in core.engine.steps(key, le, le, ()))])
        read = self._from.get(key, FOREVER)
        if le < read:
            held = core.held(whole=True)
            self._before |= self.read(held, [match for match in matches_from(held, key, le) if match.le < read])  # type: ignore[operator]
            self._from[key] = le

    def touch_all(self, core: Any, le: int) -> None:
        """Read what a change of an arc may touch, of all keys."""
        for key in core.engine.known_keys():
            self.touch(core, key, le)

    def touch_rows(self, core: Any, rows: Any) -> None:
        """Read what events in an engine's own form may touch, whichever keys they have."""
        least = _least(rows)
        reaches_back = core.arcs.table.timeouts or core.automaton.choice is not None  # a row at the end may change what is shown
        if least < core.progress.now or (reaches_back and least < FOREVER):
            self.touch_all(core, least)


class ToldAnew(PathOutput):
    """What leaves in place of matches, derived anew for each name that a call may touch."""

    inner: Schema
    shown: Schema

    def __init__(self, inner: Schema, shown: Schema) -> None:
        super().__init__()
        self.inner, self.shown = inner, shown

    def name(self, match: Change) -> Any:
        """Return what tells apart what leaves in place of matches."""
        raise NotImplementedError

    def derive(self, held: LineageSource, name: Any) -> Change | None:
        """Return what leaves in place of the matches of a name, at least one of which is in force or was. None: nothing."""
        raise NotImplementedError

    def read(self, held: LineageSource, matches: list[Change]) -> dict[Any, Any]:
        return {name: self.derive(held, name) for name in dict.fromkeys(map(self.name, matches))}

    def told(self, core: Any, changes: Iterable[Change]) -> list[Change]:
        held = core.held(whole=True)
        found: list[Change] = []
        for name in dict.fromkeys((*self._before, *map(self.name, changes))):
            old, new = self._before.get(name), self.derive(held, name)
            if old is None or new is None or any_payload(old) != any_payload(new):
                found += [old._replace(diff=-1)] if old is not None else []
                found += [new] if new is not None else []
        self.begin()
        return found

    def told_rows(self, core: Any, rows: Logged) -> Logged:
        found = self.told(core, rows.changes(self.inner))
        put_in_order(found)
        return Logged.of(found, self.shown)


def match_name(match: Change) -> Any:
    """Return what tells matches, or events, apart."""
    return any_payload(match.payload), match.le, match.re, match.key


def _least(rows: Any) -> int:
    """Return the smallest LE that rows in an engine's own form may touch."""
    return BEGINNING if rows.kind is not None else int(rows.le.min()) if len(rows.le) else FOREVER
