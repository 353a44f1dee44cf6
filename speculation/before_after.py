"""A stage at the input or at the output of an operator. Together they are used like the operator alone.

    Before   change -> stage -> operator -> out     what waits is not computed yet
    After    change -> operator -> stage -> out     all is computed, what waits is not seen yet

A call is all or nothing over both. ``statistics`` are the operator's; the stage has its own (``stage.statistics``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.lineage import Lineage
from afa.model.arc import Arc
from afa.model.keys import Keys, take_key
from afa.operator import snapshot
from afa.operator.call import Core
from afa.operator.keyed import Keyed
from afa.operator.match_lineage import lineage_in
from afa.operator.matching import Matching
from afa.operator.operator import Operator
from afa.operator.postponed_output import Having
from afa.operator.single import begin_alone, end_alone, push_alone, takes_alone
from afa.operator.tables import Come, Found, answer, carry_out, items_of, opened, steps
from afa.operator.twins import Twins
from afa.schema import as_ticks, taker
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from speculation import stage_state as saved
from speculation.event_columns import Columns
from speculation.stage import STAGES, Output

A = TypeVar("A", bound="Around")
_MISSING: Any = object()


class Around(Twins, Matching):
    """The base of `Before` and `After`. What it does not say itself is the operator's."""

    _called = "one with a stage"

    stage: Any
    operator: Any
    _place: ClassVar[str]  # where the stage stands, and which stages and operators may, as snapshots and messages have it
    _stages: ClassVar[tuple[str, ...]]
    _operators: ClassVar[str] = "an Operator or a Keyed"
    _columns: Columns | None = None

    def _stand(self, operator: Any) -> None:
        """Stand at an operator; `_hold` says with which stage."""
        nested = isinstance(operator, Around) and isinstance(self, After)
        if not nested and not isinstance(operator, (Operator, Keyed)):
            early = isinstance(operator, Around) and operator._core.taken != operator._core.automaton.event_schema
            hint = (
                "; no stage stands before situations, or before another stage yet: let rows be what it makes of them"
                if early
                else ""
            )
            raise AfaError(f"expected {self._operators} but got {operator!r}{hint}")
        self.operator = operator
        self._core: Core = operator._core
        self._key: Keys | None = self._core.keys

    def _hold(self, stage: Any) -> None:
        if stage.needs_all and self._core.longest:
            raise AfaError(f"expected an operator of all matches for a {type(stage).__name__} behind it but got longest=True")
        self.stage = stage
        stage.stand(self._core.tick)
        shown = getattr(stage, "shown", None)
        if shown is not None:
            self._core.show(shown)
        stage.join(self._core.calls, self._columns and self._columns.changes)

    def _told_as(self) -> str:
        return f"{self.operator._told_as()}, {self._place} it a {type(self.stage).__name__}"

    def push(self, change: Change | Punctuation, *, key: Hashable = _MISSING) -> Output:
        """Take one event change or a promise of the event input. As `Operator.push`; with ``key`` as `Keyed.push`."""
        return self._core.calls.either(self._push_alone, self._push, change, key)

    def _push(self, change: Any, key: Hashable) -> Output:
        change = self._core.in_form(change)
        return self.run(Come(self._core.resolved([("event", change, self._key_of(change, key))])), net=True)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        """Return a call of one event that the engine takes alone; None where it must go another way."""
        return None

    def _arc_input(self, item: Any) -> Output:
        return self._core.calls.call(self.run, Come([("arc", item, None)]), net=True)

    def _push_many(self, batch: Any, net: bool, arcs: Sequence[Arc], time: str) -> Any:
        core = self._core
        come = opened(core, batch, arcs, time)
        if come.like is None:
            return self.run(come, net)
        return answer(self._found(come, net), come, core, net)

    def run(self, come: Come, net: bool) -> Output:
        """Carry out the steps of one call. Returns changes and punctuations, as `Core.run`."""
        raise NotImplementedError

    def _found(self, come: Come, net: bool) -> Found:
        """Carry out what a call with tables brings. Returns the output, as columns if no stage need look at it."""
        return Found.of(self.run(come, net), self._core.shown)

    def lineage(self, match: Change) -> Lineage:
        """Return which events stand behind a match in force. As `Operator.lineage`; behind a `Choose`, of those that are chosen."""
        return self._core.calls.call(lineage_in, self._core, match, self._chosen())

    def collapsed(self, match: Change) -> Lineage:
        """Return which events stand behind a payload at an LE. As `Operator.collapsed`; behind a `Choose`, of chosen matches."""
        return self._core.calls.call(lineage_in, self._core, match, self._chosen(), True)

    def _chosen(self) -> Callable[[Change], list[Any]] | None:
        """Return the function that tells which matches are meant by one that is shown; None: itself."""
        found: Callable[[Change], list[Any]] | None = getattr(self.stage, "chosen", None)
        return self.operator._chosen() if found is None and isinstance(self.operator, Around) else found

    @property
    def keys(self) -> list[Hashable]:
        """Return the keys for which the operator holds any state."""
        return self._core.calls.call(self._core.engine.keys)

    def _key_of(self, change: Any, key: Hashable) -> Hashable:
        """Return the key of a change, in its form."""
        if not isinstance(change, Change) or (self._core.named is not None and key is _MISSING):
            return None
        if self._key is None:
            if key is not _MISSING:
                raise ChangeError(f"expected a key for a Keyed only but got key={key!r} for an Operator")
            return None
        found: Hashable = take_key(self._key.of_change(change) if key is _MISSING else key)
        return found

    def snapshot(self) -> bytes:
        """Return stage and operator as bytes: plain data.

        Raises
        ------
        SnapshotError
            As `Operator.snapshot`; or a change that waits has a key or payload that is no plain data.
        """
        return self._core.calls.call(self._snapshot)

    def _snapshot(self) -> bytes:
        stage, operator = self.stage, self.operator
        around = isinstance(operator, Around)
        inner = operator._snapshot() if around else snapshot.save(self._core)
        waiting = stage._waiting
        rows = saved.stream_of(waiting.rows) if waiting.tables else None
        return saved.seal(type(stage).__name__, self._place, stage.numbers(), waiting.changes, rows, inner)

    @classmethod
    def restore(cls: type[A], blob: bytes, operator: Callable[[bytes], Any]) -> A:
        """Make the stage and the operator that `snapshot` saved.

        Parameters
        ----------
        blob : bytes
        operator : callable
            Restores the operator from its part of the blob: ``lambda blob: Keyed.restore(automaton, blob, key="symbol")``.

        Raises
        ------
        SnapshotError
            The blob is no snapshot of a stage that stands there, or is damaged. Also what ``operator`` raises.
        """
        name, numbers, waiting, stream, inner = saved.unseal(blob, cls._stages, cls._place)
        found = cls.__new__(cls)
        found._stand(operator(inner))
        columns, automaton = found._columns, found.automaton
        rows = None if stream is None or columns is None else saved.rows_of(stream, columns.of)
        schema = found._core.shown if columns is None else automaton.event_schema
        found._hold(STAGES[name].of(numbers, waiting, taker(schema), rows))
        found._check_keys()
        if cls._place == "before":
            found._name_events()
        return found

    def _name_events(self, anew: bool = False) -> None:
        """Let the operator know the events in the stage by their ids (``id=``); ``anew``: these are all."""
        core = self._core
        if core.named is not None:
            if anew:
                core.named.clear()
            core.named.load(self.stage.waiting(), core.progress.events)
            core.journal.commit()

    def _check_keys(self) -> None:
        """Refuse a snapshot in which what waits has no key, or one that the operator does not know."""
        keys = [change.key for change in self.stage._waiting.changes]
        keyed = self._core.keyed
        wanted("keys of what waits" if keyed else "no keys of what waits", all((key is not None) is keyed for key in keys), keys)


class Before(Around):
    """A `Cleanse` at the input of an operator; made by `Cleanse.before`.

    The operator gets an event once its LE is below the stage's bound, and all that a punctuation releases in one step with the
    punctuation. So with ``sigma=0`` no match is ever withdrawn, unless by an arc with a lifetime in the past. A waiting event
    counts as seen: an arc pushed without a lifetime begins after it.

    Parameters
    ----------
    stage : Cleanse
    operator : Operator or Keyed

    Raises
    ------
    AfaError
        ``operator`` is neither; or an event that waits in the stage is late for it.

    Examples
    --------
    >>> from afa import Arc, Automaton, Operator, Punctuation, insert
    >>> from speculation import Cleanse
    >>> two = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    >>> late = [insert("b", le=5), insert("a", le=3), insert("x", le=4), Punctuation(9)]
    >>> [len(Operator(two, window=10).push_many(late, net=False)), len(Cleanse(0).before(Operator(two, window=10)).push_many(late))]
    [3, 1]
    """

    _place = "before"
    _stages = ("Cleanse",)
    _columns: Columns

    def __init__(self, stage: Any, operator: Operator | Keyed) -> None:
        self._stand(operator)
        stage.begin(self._core.progress.events)
        self._hold(stage)

    def _stand(self, operator: Any) -> None:
        super()._stand(operator)
        self._columns = Columns(self._core)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core, stage = self._core, self.stage
        if not takes_alone(core, change):
            return None
        checked = core.typed(change, self._key_of(change, key))
        begin_alone(core, stage)
        out: Output = []
        if stage.passes(checked):
            out = push_alone(core, checked)
            stage.answered(out)
        else:
            core.progress.see(checked.le)  # type: ignore[arg-type]
        end_alone(core, stage, out)
        return out

    def run(self, come: Come, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`: what a punctuation releases is one step with it."""
        parts = (self._item_reaches(*item) for item in items_of(self._core, come))
        out = self._core.run_parts([self._reaches(come)] if net else parts)
        self.stage.answered(out)
        return out

    def _found(self, come: Come, net: bool) -> Found:
        if not net or self.stage.listens or self._core.by_rows(net):
            return super()._found(come, net)
        return carry_out(self._core, self._reaches(come), net)

    def _reaches(self, come: Come) -> Iterator[Any]:
        """Return what of a call reaches the operator, as `Core.take` takes it."""
        core = self._core
        for part in come.parts:
            if not isinstance(part, Table):
                yield from self._item_reaches(*part)
            elif (rows := self._rows_of(part)) is None:
                for item in items_of(core, come._replace(parts=[part])):
                    yield from self._item_reaches(*item)
            elif len(rows):
                head = self.stage.pass_rows(rows)
                if head is not None:
                    yield self._columns.step(head)
                core.progress.see(int(rows.column("le").to_numpy().max()))

    def _rows_of(self, table: Table) -> Any:
        """Return a table as rows that may wait as such; None: a row is of another form, or may break a promise with a condition."""
        rows = self._columns.of(table)
        return None if rows is None or not self.stage.takes_rows(rows) or self._columns.may_break(rows) else rows

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Return what of an item reaches the operator; one by one, as arcs in default mode look at what was seen before them."""
        core, stage = self._core, self.stage
        if port == "event" and isinstance(item, Change):
            change = core.typed(item, key)
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
            elif released is not None:
                yield self._columns.step(released, t)
            if released is not None:
                yield port, item, None
        else:
            yield port, item, key  # an arc; what is none of these is refused


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

    _place = "after"
    _stages = ("Cleanse", "Consolidate", "Choose")
    _operators = "an Operator or a Keyed, perhaps with a stage,"

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        self._hold(stage)

    def _hold(self, stage: Any) -> None:
        watched = self._core.watched
        told = self._core.told
        if (told is not None and not isinstance(told, Having)) or (watched is not None and watched.tells):
            raise AfaError(
                f"expected an operator without members=, tell=, collapse= and having= in front of a {type(stage).__name__} but got "
                f"one with them: what waits there may be final when it leaves, and its events dropped; hold events back instead"
            )
        super()._hold(stage)
        if not isinstance(self.operator, After):
            stage.follow(self._core)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        core = self._core
        if isinstance(self.operator, Around) or not takes_alone(core, change):
            return None
        checked = core.typed(change, self._key_of(change, key))
        begin_alone(core, self.stage)
        out = push_alone(core, checked)
        left = self.stage.push_fitting(out) if out else []
        end_alone(core, self.stage, out)
        return left

    def run(self, come: Come, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`; what an operator gives fits the stage, which therefore does not fail."""
        if net or not self.stage.draws:
            return self._part(come, net)
        return [found for item in items_of(self._core, come) for found in self._part(come._replace(parts=[item]), True)]

    def _part(self, come: Come, net: bool) -> Output:
        """Carry out a part of a call, which is one step for the stage."""
        core = self._core
        if isinstance(self.operator, Around):
            out = self.operator.run(come, net)
        else:
            out = core.run(steps(core, come) if net else items_of(core, come), net)
        found: Output = self.stage.push_fitting(out)
        return found

    def _found(self, come: Come, net: bool) -> Found:
        if not self.stage.columns or (self.stage.draws and not net):
            return super()._found(come, net)
        core, inner = self._core, self.operator
        out = inner._found(come, net) if isinstance(inner, Around) else carry_out(core, steps(core, come), net)
        found: Found = self.stage.pass_found(out)
        return found
