"""LastBefore at the input of an operator: users push their own events, the operator gets them with the fields that look back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.operator.matching import Matching
from afa.operator.tables import Come, Found, carry_out, items_of, shape_of
from afa.schema import Schema, as_ticks
from afa.state.plain import Unfit, ints
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.reading import EVENT, PUNCTUATION
from speculation import stage_state as saved
from speculation.before_after import Around
from speculation.rows.row_names import R_LE
from speculation.stage import STAGES, Output, Stage

FEW = 8
"""Up to so many versions of events go to the operator one by one: columns take longer to make."""
PIECES = 64
"""A table with more punctuations among its rows than one in so many goes row by row."""


class LookBack(Around):
    """A `LastBefore` at the input of an operator; made by `LastBefore.before`. Used like the operator, with the stage's events.

    A call gives the minimal difference of the matches, also where a late event revises others. Late changes go to the operator's
    policy as they came.

    Parameters
    ----------
    stage : LastBefore
    operator : Operator or Keyed
        Its automaton has ``event=stage.filled``. It takes retractions, as events are revised, and has taken nothing yet.

    Raises
    ------
    AfaError
        ``operator`` is neither, or does not fit.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> from speculation import LastBefore
    >>> class Tick(NamedTuple):
    ...     kind: str
    >>> stage = LastBefore(Tick, {"alarm": "kind == 'alarm'"}, window=10)
    >>> calm = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "kind == 'stop' and alarm is None")])
    >>> op = stage.before(Operator(calm, window=10))
    >>> [(match.le, match.diff) for match in op.push_many([insert(Tick("stop"), 9), insert(Tick("stop"), 30)])]
    [(9, 1), (30, 1)]
    >>> [(match.le, match.diff) for match in op.push(insert(Tick("alarm"), 5))]  # late
    [(9, -1)]
    """

    _place = "before"
    _stages = ("LastBefore",)

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        self._fit(stage)
        core = self._core
        if core.changes or core.progress.events != stage._promised or stage._lines:
            raise AfaError("expected an operator and a LastBefore that have taken nothing yet but got one that has")
        self._hold(stage)

    def _fit(self, stage: Any) -> None:
        core, filled = self._core, Schema.of(stage.filled, "event")
        found = core.automaton.event_schema
        if found is None or found.cls is not filled.cls:
            raise AfaError(
                f"expected an automaton with event=<the stage's filled>, {filled.describe()}, but got "
                f"event={None if found is None else found.describe()}"
            )
        if not core.retractions or core.gapless is not None:
            what = "gapless=" if core.retractions else "retractions=False"
            raise AfaError(f"expected an operator of events that may be revised, as a late one revises others, but got {what}")
        if core.sequence != stage.order:
            raise AfaError(f"expected the operator's sequence as the stage's order, {stage.order!r}, but got {core.sequence!r}")

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        stage.follow(self._core)
        self._core.take_as(stage.event_schema)

    def run(self, come: Come, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`."""
        core = self._core
        if net:
            return core.run_parts([self.reaches(come)])
        return core.run_parts(self._reaches([item]) for item in items_of(core, come))

    def _found(self, come: Come, net: bool) -> Found:
        if not net or self.stage.rows is None or self._core.by_rows(net):
            return super()._found(come, net)
        return carry_out(self._core, self.reaches(come), net)

    def reaches(self, come: Come) -> Iterator[Any]:
        """Return what of a call reaches the operator, as `Core.take` takes it, within that call."""
        if self.stage.rows is None:
            yield from self._reaches(items_of(self._core, come))
            return
        for part in come.parts:
            pieces = self._pieces(part) if isinstance(part, Table) else [part]
            for piece in items_of(self._core, come._replace(parts=[part])) if pieces is None else pieces:
                if isinstance(piece, tuple):
                    yield from self._item_reaches(*piece)
                else:
                    self._see_rows(piece)
        yield from self._left()

    def _reaches(self, items: Iterable[tuple[str, Any, Hashable]]) -> Iterator[tuple[str, Any, Hashable]]:
        """Return what of a call reaches the operator: versions of events before the next promise or arc, and at the end."""
        for item in items:
            yield from self._item_reaches(*item)
        yield from self._left()

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        core = self._core
        if port == "event" and isinstance(item, Change):
            self._see(item, key)
            return
        yield from self._left()
        if port == "event" and isinstance(item, Punctuation) and item.where is None:
            t = as_ticks(item.t, "t", core.tick)
            if t > core.progress.events:
                self._settle(t)
        yield port, item, key

    def _left(self) -> Iterator[Any]:
        """Yield what leaves the stage: versions of events, as columns if they are many."""
        core, rows = self._core, self.stage.rows
        if rows is None:
            yield from (("event", change, change.key) for change in self.stage.revisions())
            return
        left = rows.left()
        if left is None:
            return
        if len(left.diff) > FEW:
            columns, times, of_keys = rows.fields(left, core.keys)
            try:
                yield core.engine.encode(columns, times, [], core.window, of_keys, core.keys is None or core.keys.single)
                return
            except Unfit:
                pass
        yield from (("event", change, change.key) for change in rows.changes(left))

    def _pieces(self, table: Table) -> list[Any] | None:
        """Return a table's events as rows of words, and the punctuations between them; None: its rows must come one by one."""
        core = self._core
        mixed = shape_of(core, table).mixed
        if (core.rows_alike and "re" in table.names) or (mixed and "arc" in table.names):
            return None
        if not mixed:
            rows = self.stage.rows.rows_of(table, core.keys, core.window)
            return None if rows is None else [rows]
        try:
            kind, le = ints(table.take([("kind", int, False), ("le", int, False)]))
        except Unfit:
            return None
        places = np.flatnonzero(kind)
        if len(places) * PIECES > len(kind) or (kind[places] != PUNCTUATION).any():
            return None
        rows = self.stage.rows.rows_of(table, core.keys, core.window, kind == EVENT)
        if rows is None:
            return None
        found: list[Any] = []
        low = 0
        for place in places.tolist():
            found += [rows[low:place], ("event", Punctuation(int(le[place])), None)]
            low = place + 1
        return [*found, rows[low:]]

    def _see_rows(self, rows: Any) -> None:
        """Let the stage take rows of words; those that are late go to the policy."""
        core, stage = self._core, self.stage
        late = rows[:, R_LE] < core.progress.events
        if late.any():
            for change in stage.rows.events(rows[late]):
                core.take_late(change, core.progress.events)
            rows = rows[~late]
        if len(rows):
            core.progress.see(int(rows[:, R_LE].max()))
            stage.rows.take_rows(rows)

    def _see(self, item: Change, key: Hashable) -> None:
        """Let the stage take an event, or the policy, if it is late."""
        core, stage = self._core, self.stage
        schema: Any = core.taken
        change = core.timed(item, schema.take(schema.dated(item.payload, item.le)), key)
        assert change.le is not None
        if change.le < core.progress.events:
            core.take_late(change, core.progress.events)
        else:
            core.progress.see(change.le)
            stage.see(change)

    def _settle(self, t: int) -> None:
        core = self._core
        for change in sorted(self.stage.settled(t), key=lambda change: (change.le, repr(change))):
            at = "" if change.key is None else f" of key {change.key!r}"
            core.late.take(
                change,
                f"expected the insertion of {change.payload!r} at le={change.le}{at} before {t} (promised) "
                f"but got its retraction only",
            )

    @classmethod
    def restore(  # type: ignore[override]  # conditions are no data
        cls, blob: bytes, operator: Callable[[bytes], Any], *, like: Any
    ) -> LookBack:
        """Make the stage and the operator that `snapshot` saved.

        Parameters
        ----------
        blob : bytes
        operator : callable
            Restores the operator from its part of the blob.
        like : LastBefore
            A stage with the same parameters as the one that was saved.

        Raises
        ------
        SnapshotError
            The blob is no snapshot of a LastBefore before an operator, is damaged, or the stage had other parameters.
        """
        _, numbers, waiting, _, inner = saved.unseal(blob, cls._stages, cls._place)
        made = operator(inner)
        if isinstance(like, Stage) and isinstance(made, Matching):
            like.stand(made._core.tick)
        return cls.joined(STAGES["LastBefore"].resumed(numbers, waiting, like), made)

    @classmethod
    def joined(cls, stage: Any, operator: Any) -> LookBack:
        """Put a restored stage at its operator.

        Raises
        ------
        SnapshotError
            They have taken different things.
        """
        found = cls.__new__(cls)
        found._stand(operator)
        found._fit(stage)
        wanted("one promise of stage and operator", stage._promised == found._core.progress.events, stage._promised)
        found._hold(stage)
        found._check_keys()
        found._name_events(anew=True)
        return found
