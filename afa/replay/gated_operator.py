"""A gate before an operator: used like the operator alone; see `afa.replay.gated`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.operator.single import begin_alone, end_alone, push_alone, takes_alone
from afa.operator.tables import Come, Found, carry_out, items_of, step_of
from afa.schema import as_ticks
from afa.state.sound import wanted
from punctuation.calls import DONE
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING
from speculation.around import Around
from speculation.event_columns import Columns
from speculation.stage import Output
from speculation.stage_state import opened


class Gated(Around):
    """A `Gate` at the input of an operator; made by `Gate.before`. Used like the operator.

    Late changes go to the operator's policy when they come, by the input's promise. `Gate.restore` makes both again.

    Parameters
    ----------
    stage : Gate
    operator : Operator or Keyed
        It has taken nothing yet.

    Raises
    ------
    AfaError
        ``operator`` is neither, or has taken something, or the gate does not fit it.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> from afa.replay import Gate
    >>> class Tick(NamedTuple):
    ...     change: float
    >>> crash = Automaton(
    ...     start="0", final={"2"}, event=Tick, arcs=[Arc("0", "1", "change > 0"), Arc("1", "2", "change < -100")],
    ... )
    >>> op = Gate(crash).before(Operator(crash, window=10))
    >>> op.push(insert(Tick(1.0), le=1))
    []
    >>> again = Gate.restore(op.snapshot(), lambda blob: Operator.restore(crash, blob))
    >>> [match.le for match in again.push(insert(Tick(-200.0), le=2))]
    [2]
    """

    place = "before"
    stages = ("Gate",)

    @classmethod
    def restore(cls, blob: Any, operator: Any) -> Any:  # type: ignore[override]
        part = opened(blob)
        return cls.loaded(part, operator(part.operator))

    _columns: Columns

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        core = self._core
        if core.changes or core.progress.events > BEGINNING or stage.stands:
            raise AfaError("expected an operator and a Gate that have taken nothing yet but got one that has")
        self._hold(stage)

    def _stand(self, operator: Any) -> None:
        super()._stand(operator)
        self._columns = Columns(self._core)

    def _hold(self, stage: Any) -> None:
        super()._hold(stage)
        stage.follow(self._core)
        told = self._core.progress.events
        wanted("the promise that the operator was told", stage.told == told or stage.reason is not None, stage.told)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core, stage = self._core, self.stage
        if not takes_alone(core, change) or change.le < stage.promised:
            return None
        checked: Any = core.typed(change, self._key_of(change, key))
        if stage.reason is None and (checked.re - checked.le > stage.window or (checked.diff > 0 and stage.is_witness(checked))):
            return None
        if stage.reason is None and not stage.spans.has(checked.key, checked.le):
            return self._hold_alone(checked)
        begin_alone(core, stage)
        if stage.reason is None:
            stage.goes(checked)
        out = push_alone(core, checked)
        end_alone(core, stage, out)
        return out

    def _hold_alone(self, checked: Any) -> Output:
        """Hold an event, as a call of its own, of which the engine need not know."""
        core, stage = self._core, self.stage
        core.calls.before = ((_not_held, (core.progress, core.progress.now, stage, stage.call_begins())),)
        stage.goes(checked)
        core.progress.see(checked.le)
        core.calls.before = DONE
        stage.call_worked()
        core.calls.before = None
        return []

    def run(self, come: Come, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`: what a witness releases is one step with it."""
        core = self._core
        return core.run_parts([self._reaches(come)] if net else (self._item_reaches(*item) for item in items_of(core, come)))

    def _found(self, come: Come, net: bool) -> Found:
        if not net or self._core.by_rows(net):
            return super()._found(come, net)
        return carry_out(self._core, self._reaches(come), net)

    def _reaches(self, come: Come) -> Iterator[Any]:
        """Return what of a call reaches the operator, as `Core.take` takes it."""
        core, stage = self._core, self.stage
        for part in come.parts:
            if not isinstance(part, Table):
                yield from self._item_reaches(*part)
            elif stage.reason is not None:
                yield step_of(core, part, come.arcs)
            elif (rows := self._columns.of(part)) is not None:
                yield from self._rows_reach(rows)
            else:
                for item in items_of(core, come._replace(parts=[part])):
                    yield from self._item_reaches(*item)

    def _rows_reach(self, rows: Any) -> Iterator[Any]:
        """Return what of rows reaches the operator; those that are late, retractions, or last too long, go one by one."""
        stage = self.stage
        le, re, diff = (rows.column(name).to_numpy() for name in ("le", "re", "diff"))
        plain = (le >= stage.promised) & (diff > 0) & (re - le <= stage.window)
        many = rows if plain.all() else rows.filter(plain)
        found = stage.take_rows(many) if len(many) else []
        if found is None:
            many, found, plain = rows, [], np.zeros(len(rows), np.bool_)
        elif len(many):
            self._core.progress.see(int(many.column("le").to_numpy().max()))
        for each in found:
            yield [("event", change, change.key) for change in each] if isinstance(each, list) else self._columns.step(each)
        if len(many) < len(rows) or not plain.any():
            for change in self._columns.changes(rows.filter(~plain)):
                yield from self._item_reaches("event", change, change.key)

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Return what of an item reaches the operator."""
        core, stage = self._core, self.stage
        if stage.reason is not None or (port == "arc" and isinstance(item, Punctuation)):
            yield port, item, key
        elif port == "event" and isinstance(item, Change):
            yield from self._event_reaches(core.typed(item, key))
        elif port == "event" and isinstance(item, Punctuation) and item.where is None:
            yield from self._promise_reaches(as_ticks(item.t, "t", core.tick))
        else:
            if port == "arc":
                yield from self._opens("an arc changes")
            elif isinstance(item, Punctuation):
                yield from self._opens("a promise comes with a condition")
            yield port, item, key  # what is none of these is refused

    def _event_reaches(self, change: Any) -> Iterator[Any]:
        """Return what goes to the operator when an event in its form comes."""
        core, stage = self._core, self.stage
        if change.le < stage.promised:
            core.take_late(change, stage.promised)
        elif change.re - change.le > stage.window:
            yield from self._opens(f"an event lasts longer than the window of {stage.window}: le={change.le}, re={change.re}")
            yield "event", change, change.key
        elif (out := stage.passes(change)) is None:
            core.progress.see(change.le)
        else:
            yield [("event", each, each.key) for each in out]

    def _promise_reaches(self, t: int) -> Iterator[Any]:
        """Return the promise that goes to the operator when one comes, if any. Retractions that waited in vain are late."""
        overdue, told = self.stage.promise(t)
        for change in sorted(overdue, key=lambda change: (change.le, change.re, repr(change.key), repr(change.payload))):
            at = "" if change.key is None else f" of key {change.key!r}"
            self._core.late.take(
                change,
                f"expected the insertion of {change.payload!r} at le={change.le}{at} before {t} (promised) "
                f"but got its retraction only",
            )
        if told is not None:
            yield "event", Punctuation(told), None

    def _opens(self, reason: str) -> Iterator[Any]:
        """Return what goes to the operator when the gate opens for good: what was held, and what was promised."""
        released, told = self.stage.open(reason)
        yield [("event", change, change.key) for change in released]
        if told is not None:
            yield "event", Punctuation(told), None


def _not_held(before: Any) -> None:
    """Restore gate and progress from before an event was held."""
    progress, now, stage, was = before
    progress.now = now
    stage.call_failed(was)
