"""Situations at the input of an operator: users push readings, the operator gets events about situations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.conditions.condition import Condition
from afa.errors import AfaError, ChangeError
from afa.extra.situations.deriving import Deriving, vain
from afa.extra.situations.reading_layout import LineWords
from afa.model.copies import as_diff
from afa.model.keys import Keys
from afa.operator.operator import Keyed, Operator
from afa.operator.tables import CallInput
from afa.schema import as_ticks
from afa.state.plain import Unfit
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, end_of_time
from speculation.around import Front
from speculation.stage import Output
from speculation.stage_state import SavedStage

FEW = 8
"""Up to so many events go to the operator one by one: columns take longer to make."""

MANY = 1 << 14
"""From so many events on those that revise others go apart from those that come behind all: of fewer it took a fifth longer."""


class _Of(NamedTuple):
    """What `Keys` ask of an automaton: here the readings, which make the key."""

    event_schema: Any


class Situated(Front):
    """A `Deriving` at the input of an operator. Used like the operator, with readings.

    A call gives the minimal difference of the matches, also where a late reading revises others. Late readings go to the operator's
    policy as they came.

    Parameters
    ----------
    stage : Deriving
    operator : Operator or Keyed
        It takes what the stage tells, retractions too, and has taken nothing yet.

    Raises
    ------
    AfaError
        ``operator`` is neither, or does not fit.
    """

    stages = ("Deriving",)
    by_itself = False
    stage: Deriving
    _latest = BEGINNING  # up to when something was told: what lies behind it goes to the operator in order

    def __init__(self, stage: Deriving, operator: Any) -> None:
        self._stand(operator)
        core = self._core
        if core.changes or core.progress.events > BEGINNING or stage.promised > BEGINNING:
            raise AfaError("expected an operator and a stage that have taken nothing yet but got one that has")
        self._fit()
        self._hold(stage)

    @property
    def promised(self) -> int:
        """The watermark of the readings."""
        return self.stage.promised

    @property
    def order(self) -> str | None:
        """The field that orders readings of one time."""
        return self.stage.order

    def _stand(self, operator: Any) -> None:
        if not isinstance(operator, (Operator, Keyed)):
            raise AfaError(f"expected an Operator or a Keyed but got {operator!r}")
        super()._stand(operator)

    def _fit(self) -> None:
        core = self._core
        if not core.retractions or core.gapless is not None:
            what = "retractions=False" if not core.retractions else "gapless="
            raise AfaError(f"expected an operator of events that may be revised, as a late reading revises others, but got {what}")

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        core = self._core
        core.take_as(stage.event_schema)
        self._events = core.taken
        if core.keys is not None:
            core.keys = Keys(_Of(stage.event_schema), core.keys.names[0] if core.keys.single else core.keys.names, core.tick)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.stage.judged.names)}, at {self.operator!r})"

    # -- one call --------------------------------------------------------------------------------------------------------------

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        if not self._table(table):
            yield from super()._table_reaches(table, come)

    def _table(self, table: Table) -> bool:
        """Let the stage take a table as columns. Returns whether it has; else its rows must come one by one.

        What it leads to leaves with what the rest of the call leads to: readings of one time may still be retracted there.
        """
        core, stage = self._core, self.stage
        coming = stage.tables.coming(table, core.keys) if "le" in table.names else None
        if coming is None:
            return False
        for change in stage.take_table(coming):
            core.take_late(change, stage.promised)
        if len(coming.le):
            core.progress.see(int(coming.le.max()))
        return True

    def _columns_of(self, lines: Any) -> list[Any]:
        """Return what is told as the operator takes it."""
        stage = self.stage
        if not len(lines):
            return []
        if len(lines) > FEW and stage.telling.instant is not None:
            t, latest = lines[:, LineWords.told], self._latest
            if self._core.keys is None and (t[1:] < t[:-1]).any():
                lines = lines[np.argsort(t, kind="stable")]
                t = lines[:, LineWords.told]
            self._latest, before = max(latest, int(t.max())), t <= latest
            many = int(np.count_nonzero(before))
            apart = many and len(t) > MANY and 2 * many < len(t)  # what lies behind all that was told goes apart
            try:
                return [self._encoded(part) for part in ((lines[before], lines[~before]) if apart else (lines,))]
            except Unfit:
                pass
        found = [("event", change, change.key) for change in stage.changes(lines)]
        return [found] if found else []

    def _encoded(self, lines: Any) -> Any:
        core = self._core
        columns, times, of_keys = self.stage.tables.columns(lines, core.keys)
        return core.encoded(columns, times, of_keys)

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        core, stage = self._core, self.stage
        if port == "event" and isinstance(item, Change):
            self._see(item, key)
            return
        yield from self._left()
        if port != "event" or not isinstance(item, Punctuation):
            yield port, item, key
        elif item.where is not None:
            raise ChangeError(f"expected a promise of all readings but got one with a condition, {item!r}")
        else:
            t = as_ticks(item.t, "t", core.tick)
            if t > stage.promised:
                yield from self._columns_of(stage.brought(t))
                for change in sorted(stage.settled(t), key=lambda change: (change.le, repr(change))):
                    core.late.take(change, vain(change, t))
                yield port, stage.passed_on(t), None

    def _left(self) -> Iterator[Any]:
        """Yield what leaves the stage."""
        yield from self._columns_of(self.stage.told())

    def timed(self, change: Change, payload: Any, key: Hashable) -> Change:
        """Return a change of a reading with its times; without RE it holds until the next one."""
        item, core = change, self._core
        if item.le is None:
            raise ChangeError(f"expected a reading with a time but got le=None for {payload!r}")
        le = as_ticks(item.le, "le", core.tick)
        if le == FOREVER:
            raise ChangeError(f"{end_of_time(le)} for {payload!r}")
        re = None if item.re is None else as_ticks(item.re, "re", core.tick)
        re = None if re == FOREVER else re
        if re is not None and re <= le:
            raise ChangeError(f"expected re > le but got le={le}, re={re} for {payload!r}")
        return Change(payload, le, re, as_diff(item.diff, payload), key)

    # -- definitions that change -----------------------------------------------------------------------------------------------

    def _redefine(self, name: str, condition: Any, le: Any, re: Any) -> Output:
        core, stage = self._core, self.stage
        read = Condition(condition, stage.event_schema, core.tick or "ns")
        since = max(core.progress.now, stage.promised) if le is None else as_ticks(le, "le", core.tick)
        until = FOREVER if re is None else as_ticks(re, "re", core.tick)
        if until <= since:
            raise ChangeError(f"expected re > le but got le={since}, re={until} for the definition {name!r}")
        return core.run_parts([self.redefined(name, read, since, until)])

    def redefined(self, name: str, condition: Condition, le: int, re: int = FOREVER) -> Iterator[Any]:
        """Put another condition in force, within a call. Yields what reaches the operator."""
        self.stage.redefine(name, condition, le, re)
        yield from self._left()

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    @classmethod
    def loaded(cls, part: SavedStage, operator: Any, like: Any = None) -> Situated:
        """Put the stage that a snapshot holds at its operator; ``like``: one with its definitions, which has taken nothing."""
        like.stand(operator._core.tick)
        like.load(part.numbers, part.waiting)
        return cls.joined(like, operator)

    @classmethod
    def joined(cls, stage: Deriving, operator: Any) -> Situated:
        """Put a stage at its operator, each with what it held.

        Raises
        ------
        SnapshotError
            They have taken different things.
        """
        found = cls.__new__(cls)
        found._stand(operator)
        found._fit()
        wanted("a promise not above that of the readings", found._core.progress.events <= stage.promised, stage.promised)
        found._hold(stage)
        found._check_keys()
        return found
