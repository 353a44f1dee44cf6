"""LastBefore at the input of an operator: users push their own events, the operator gets them with the fields that look back."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.operator.event_input import take_vain
from afa.operator.tables import CallInput, items_of, shape_of
from afa.schema import Schema, as_ticks
from afa.state.plain import Unfit, ints
from afa.state.sound import wanted
from afa.state.states import Column
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.reading import EVENT, PUNCTUATION
from punctuation.time import BEGINNING
from speculation.around import Front
from speculation.rows.row_layout import RowPool
from speculation.rows.row_tails import RowRuns
from speculation.stage import STAGES, Stage
from speculation.stage_state import SavedStage

FEW = 8
"""Up to so many versions of events go to the operator one by one: columns take longer to make."""
PIECES = 64
"""A table with more punctuations among its rows than one in so many goes row by row."""


class LookBack(Front):
    """A `LastBefore` at the input of an operator; made by `LastBefore.before`. Used like the operator, with the stage's events.

    A call gives the minimal difference of the matches, also where a late event revises others. Late changes go to the operator's
    policy as they came.

    Parameters
    ----------
    stage : LastBefore
    operator : Operator or Keyed, or one of these with a stage
        Its events are of the class ``stage.filled``. It takes retractions, as events are revised, and has taken nothing yet.

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

    stages = ("LastBefore",)
    by_itself = False

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        self._fit(stage)
        if self._core.progress.now > BEGINNING or super().promised != stage._promised or stage.keys:
            raise AfaError("expected an operator and a LastBefore that have taken nothing yet but got one that has")
        self._hold(stage)

    def _fit(self, stage: Any) -> None:
        filled, found = Schema.of(stage.filled, "event"), self._core.taken
        if found is None or found.cls is not filled.cls:
            raise AfaError(
                f"expected an automaton with event=<the stage's filled>, {filled.describe()}, but got "
                f"event={None if found is None else found.describe()}"
            )
        if self.revisable is not None:
            what = "expected an operator of events that may be revised, as a late one revises others"
            raise AfaError(f"{what}, but got {self.revisable}")
        if super().order != stage.order:
            raise AfaError(f"expected the operator's sequence as the stage's order, {stage.order!r}, but got {super().order!r}")

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        self._core.take_as(stage.event_schema)
        self._events = self._core.taken

    @property
    def promised(self) -> int:
        """The watermark of the stage's events."""
        return self.stage._promised  # type: ignore[no-any-return]

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        try:
            pieces = self._pieces(table)
        except Unfit:
            pieces = items_of(self._core, come._replace(parts=[table]))
        for piece in pieces:
            if type(piece) is tuple:
                yield from self._item_reaches(*piece)
            else:
                yield from self._rows_reach(piece)

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Yield what reaches the operator: versions of events before the next watermark or arc, and at the end."""
        if port == "event" and isinstance(item, Change):
            self._see(item, key)
            return
        yield from self._left()
        if port == "event" and isinstance(item, Punctuation) and item.where is None:
            t = as_ticks(item.t, "t", self._core.tick)
            if t > self.promised:
                self._settle(t)
                self._core.progress.see(t)
            if (passed := self.stage.passes(t)) is not None:
                yield port, passed, key
        else:
            yield port, item, key  # the operator refuses a promise with a condition: a late event may revise others that satisfy it

    def _left(self) -> Iterator[Any]:
        """Yield what leaves the stage: versions of events, as columns if they are many."""
        left = self.stage.rows.left()
        if left is None:
            return
        yield from self._versions(left)

    def _versions(self, left: Any) -> Iterator[Any]:
        """Yield versions of events, in words, as columns if they are many."""
        core, rows, found = self._core, self.stage.rows, None
        if len(left) > FEW and not self._before_a_front:
            with contextlib.suppress(Unfit):
                found = core.encoded(*rows.fields(left, core.keys))
        yield from (("event", change, change.key) for change in rows.changes(left)) if found is None else (found,)

    def _pieces(self, table: Table) -> Iterable[Any]:
        """Return a table's events as rows, and the punctuations between them. `Unfit`: its rows must come one by one."""
        core = self._core
        mixed = shape_of(core, table).mixed
        if self._before_a_front or (core.rows_alike and "re" in table.names) or (mixed and "arc" in table.names):
            raise Unfit
        if not mixed:
            return [self.stage.rows.rows_of(table, core.keys, core.window)]
        kind, le = ints(table.take([("kind", int, False), ("le", int, False)]))
        places = np.flatnonzero(kind)
        if len(places) * PIECES > len(kind) or (kind[places] != PUNCTUATION).any():
            raise Unfit
        rows = self.stage.rows.rows_of(table, core.keys, core.window, kind == EVENT)
        found: list[Any] = []
        low = 0
        for place in places.tolist():
            found += [rows.part(low, place), ("event", Punctuation(int(le[place])), None)]
            low = place + 1
        return [*found, rows.part(low, len(kind))]

    def _rows_reach(self, piece: Any) -> Iterator[Any]:
        """Yield what reaches the operator of rows at once: of those that come in order. Others wait for the end."""
        core, rows, le = self._core, self.stage.rows, piece.times["le"]
        if not len(le):
            return

        def encoded(runs: RowRuns, beside: dict[str, Column]) -> Any:
            fields = runs.piece.fields
            added = {name: beside.get(name, Column(runs.le)) for name in self.stage.filled._fields[len(fields) :]}
            return core.encoded(fields | added, runs.piece.times, runs.of_keys if core.keys else None, runs=runs.n)

        ahead = rows.ahead(piece, encoded) if int(le.min()) >= self.promised else None
        if ahead is None:
            self._see_rows(rows.words_of(piece))
            return
        core.progress.see(int(le.max()))
        revised, versions = ahead
        if revised is not None:
            yield from self._versions(revised)
        yield versions

    def _see_rows(self, rows: Any) -> None:
        """Let the stage take rows in words; those that are late go to the policy."""
        core, stage = self._core, self.stage
        late = rows[:, RowPool.le] < self.promised
        if late.any():
            for change in stage.rows.events(rows[late]):
                core.take_late(change, self.promised)
            rows = rows[~late]
        if len(rows):
            core.progress.see(int(rows[:, RowPool.le].max()))
            stage.rows.see(rows)

    def _settle(self, t: int) -> None:
        for change in sorted(self.stage.settled(t), key=lambda change: (change.le, repr(change))):
            take_vain(self._core, change, t)

    @classmethod
    def loaded(cls, part: SavedStage, operator: Any, like: Any = None) -> LookBack:
        """Put the stage that a snapshot holds at its operator; ``like``: one with its conditions, which are no data."""
        if isinstance(like, Stage):
            like.stand(operator._core.tick)
        return cls.joined(STAGES["LastBefore"].resumed(part.numbers, part.waiting, like), operator)

    @classmethod
    def joined(cls, stage: Any, operator: Any) -> LookBack:
        """Put a restored stage at its operator. Raises `SnapshotError` where they have taken different things."""
        found = cls.__new__(cls)
        found._stand(operator)
        found._fit(stage)
        inner = super(LookBack, found).promised
        wanted("one promise of stage and operator", stage.passed == inner, stage.passed)
        found._hold(stage)
        found._check_keys()
        return found
