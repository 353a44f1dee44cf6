"""A stage at the input or at the output of an operator.

Before   change -> stage -> operator -> out     what waits is not computed yet
After    change -> operator -> stage -> out     all is computed, what waits is not seen yet
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

from afa.change import Change
from afa.errors import AfaError
from afa.operator.single import begin_alone, end_alone, push_alone, takes_alone
from afa.operator.tables import CallInput, CallOutput, items_of
from afa.schema import as_ticks
from punctuation.door import Table
from punctuation.promise import Punctuation
from speculation.around import Around, Front
from speculation.event_columns import EventColumns
from speculation.stage import Output


class Before(Front):
    """A `Cleanse` or a `Consolidate` at the input of an operator; made by their ``before``.

    Behind a `Cleanse` the operator gets an event once its LE is below the stage's bound, and all that a punctuation releases in one
    step with the punctuation. So with ``sigma=0`` no match is ever withdrawn, unless by an arc with a lifetime in the past. A
    waiting event counts as seen: an arc pushed without a lifetime begins after it. What leaves a `Consolidate` before a punctuation
    goes before it.

    Parameters
    ----------
    stage : Cleanse or Consolidate
    operator : Operator or Keyed, or one of these with a stage

    Raises
    ------
    AfaError
        ``operator`` is none of these; or an event that waits in the stage is late for it.

    Examples
    --------
    >>> from afa import Arc, Automaton, Operator, Punctuation, insert
    >>> from speculation import Cleanse
    >>> two = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    >>> late = [insert("b", le=5), insert("a", le=3), insert("x", le=4), Punctuation(9)]
    >>> [len(Operator(two, window=10).push_many(late, net=False)), len(Cleanse(0).before(Operator(two, window=10)).push_many(late))]
    [3, 1]
    """

    stages: ClassVar[tuple[str, ...]] = ("Cleanse", "Consolidate")

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        promised, first = self.promised, stage._waiting.first
        if first is not None and first < promised:
            what = f"expected a {type(stage).__name__} in which nothing below {promised} (promised) waits"
            raise AfaError(f"{what} but got le={first}")
        stage.begin(promised)
        self._hold(stage)

    def _stand(self, operator: Any) -> None:
        super()._stand(operator)
        if not self._before_a_front:
            self._columns = EventColumns(self._core)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core, stage = self._core, self.stage
        if self._inner is not None or not stage.takes_singles or not takes_alone(core, change):
            return None
        checked = core.typed(change, core.key_of(change, key))
        begin_alone(core, stage)
        out: Output = []
        if stage.passes(checked):
            out = push_alone(core, checked)
            stage.answered(out)
        else:
            core.progress.see(checked.le)  # type: ignore[arg-type]
        end_alone(core, stage, out)
        return out

    def _run(self, come: CallInput, net: bool) -> Output:
        """Carry out what one call brings, and let the stage know what came of it."""
        out = super()._run(come, net)
        if net or self._inner is None:
            self.stage.answered(out)
        return out

    def _found(self, come: CallInput, net: bool) -> CallOutput:
        return CallOutput.of(self._run(come, net), self._core.shown) if self.stage.listens else super()._found(come, net)

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        columns = self._columns
        rows = None if columns is None else columns.of(table)
        if columns is None or rows is None or not self.stage.takes_rows(rows) or columns.may_break(rows):
            yield from super()._table_reaches(table, come)
        elif len(rows):
            head = self.stage.pass_rows(rows)
            if head is not None:
                yield columns.step(head)
            self._core.progress.see(int(rows.column("le").to_numpy().max()))

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Yield what of an item reaches the operator; one by one, as arcs in default mode look at what was seen before them."""
        core, stage = self._core, self.stage
        if port == "event" and isinstance(item, Change):
            change = self.typed(item, key)
            at: Any = change.le
            late = at < core.progress.some and core.conditions.broken(change.payload, at) is not None
            if late or stage.passes(change):  # what is late is so now, not when it would leave
                yield port, change, key
            else:
                core.progress.see(at)
        elif port == "event" and isinstance(item, Punctuation) and item.where is not None:
            yield port, stage.some(item), None
        elif port == "event" and isinstance(item, Punctuation):
            t = as_ticks(item.t, "t", core.tick)
            released = stage.punctuate(t)
            if isinstance(released, list):
                yield from (("event", change, change.key) for change in released)
            elif released is not None and (columns := self._columns) is not None:
                yield columns.step(released, t)
            if released is not None:
                yield port, item, None
        else:
            yield port, item, key  # an arc; what is none of these is refused

    def _one_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        found = super()._one_reaches if not self.stage.takes_singles else self._item_reaches  # of which nothing is left at the end
        return found(port, item, key)

    def _left(self) -> Iterator[Any]:
        return iter([("event", change, change.key) for change in self.stage.left()])


class After(Around):
    """A stage at the output of an operator; made by `Cleanse.after` and `Consolidate.after`.

    Parameters
    ----------
    stage : Cleanse or Consolidate
    operator : Operator or Keyed, or one of these with a stage

    Raises
    ------
    AfaError
        ``operator`` is none of these.

    Examples
    --------
    >>> from afa import Arc, Automaton, Operator, Punctuation, insert
    >>> from speculation import Cleanse
    >>> two = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    >>> after = Cleanse(0).after(Operator(two, window=10))
    >>> [after.push(item) for item in (insert("b", le=5), insert("a", le=3), insert("x", le=4), Punctuation(9))][-1]
    [Punctuation(t=9)]
    >>> after.statistics.outputs, after.statistics.retractions, after.stage.statistics.annihilated
    (1, 1, 1)
    """

    place = "after"
    stages: ClassVar[tuple[str, ...]] = ("Cleanse", "Consolidate", "Choose")

    def _hold(self, stage: Any) -> None:
        core = self._core
        if core.told is not None and core.told.tells:
            raise AfaError(
                f"expected an operator without members=, tell=, collapse= and having= in front of a {type(stage).__name__} but got "
                f"one with them: what waits there may be final when it leaves, and its events dropped; hold events back instead"
            )
        super()._hold(stage)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core = self._core
        if self._inner is not None or not takes_alone(core, change):
            return None
        checked = core.typed(change, core.key_of(change, key))
        begin_alone(core, self.stage)
        out = push_alone(core, checked)
        left = self.stage.push_fitting(out) if out else []
        end_alone(core, self.stage, out)
        return left

    def _run(self, come: CallInput, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`; what an operator gives fits the stage; only a user's value fails."""
        if net or not self.stage.draws:
            return self._part(come, net)
        return [
            found
            for item in items_of(self._core, come, self._core.ids is not None)
            for found in self._part(come._replace(parts=[item]), True)
        ]

    def _redefine(self, *given: Any) -> Output:
        found: Output = self.stage.push_fitting(super()._redefine(*given))
        return found

    def _part(self, come: CallInput, net: bool) -> Output:
        """Carry out a part of a call, which is one step for the stage."""
        found: Output = self.stage.push_fitting(self.operator._run(come, net))
        return found
