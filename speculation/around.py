"""A stage at an operator, before its input or behind its output. Together they are used like the operator alone.

    Front    change -> stage -> operator -> out     `Before`, `LookBack`, and what derives situations
    After    change -> operator -> stage -> out

The operator may be one with a stage itself. A call is all or nothing over all of them. ``statistics`` are the operator's; a stage
has its own (``stage.statistics``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import starmap
from typing import Any, ClassVar

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.keys import UNSAID
from afa.model.renamed import warn_renamed
from afa.operator.call import Core
from afa.operator.matching import Matching
from afa.operator.operator import Keyed, Operator
from afa.operator.tables import CallInput, CallOutput, carry_out, items_of
from afa.operator.twins import Twins
from afa.schema import Schema, taker
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from speculation import stage_state as saved
from speculation.event_columns import EventColumns
from speculation.stage import STAGES, Output

AROUND: dict[tuple[str, str], type[Around]] = {}
"""What stands around an operator, by the name of the stage and its place; each registers itself."""
MOST = 16
"""So many stages may stand around an operator."""


class Around(Twins, Matching):
    """The base of what stands around an operator. What it does not say itself is the operator's."""

    _called = "one with a stage"

    stage: Any
    operator: Any
    _inner: Around | None
    """The operator, where it is one with a stage itself."""
    place: ClassVar[str]
    """Where the stage stands, as snapshots and messages have it."""
    stages: ClassVar[tuple[str, ...]]
    """The stages that may stand so, by their names in a snapshot."""
    by_itself = True
    """Whether a snapshot says all of the stage; else one with the same parameters is needed, as conditions are no data."""
    _columns: EventColumns | None = None

    def __init_subclass__(cls) -> None:
        AROUND.update({(name, cls.place): cls for name in cls.__dict__.get("stages", ())})

    def __init__(self, stage: Any, operator: Any) -> None:
        self._stand(operator)
        self._hold(stage)

    def _stand(self, operator: Any) -> None:
        """Stand at an operator; `_hold` says with which stage."""
        if not isinstance(operator, (Operator, Keyed, Around)):
            raise AfaError(f"expected an Operator or a Keyed, perhaps with a stage, but got {operator!r}")
        if len(operator._stages_around()) >= MOST:
            raise AfaError(f"expected at most {MOST} stages around an operator but got one more")
        self.operator = operator
        self._inner = operator if isinstance(operator, Around) else None
        self._core: Core = operator._core

    def _stages_around(self) -> list[Any]:
        return [self.stage, *self.operator._stages_around()]

    def _hold(self, stage: Any) -> None:
        if any(each is stage for each in self.operator._stages_around()):
            raise AfaError(f"expected a stage that stands nowhere at this operator but got {stage!r}, which does")
        if stage.needs_all and self._core.longest:
            raise AfaError(f"expected an operator of all matches for a {type(stage).__name__} behind it but got longest=True")
        self.stage = stage
        stage.stand(self._core.tick)
        shown = getattr(stage, "shown", None)
        if shown is not None:
            self._core.show(shown)
        stage.join(self._core.calls, self._columns and self._columns.changes)

    def _told_as(self) -> str:
        return f"{self.operator._told_as()}, {self.place} it a {type(self.stage).__name__}"

    # -- what comes in -------------------------------------------------------------------------------------------------------------

    @property
    def promised(self) -> int:
        """The watermark of what comes in."""
        return self._core.progress.events if self._inner is None else self._inner.promised

    @property
    def order(self) -> str | None:
        """The field that orders events of one time."""
        return self._core.sequence if self._inner is None else self._inner.order

    @property
    def revisable(self) -> str | None:
        """Which option forbids that events are revised; None: they may be."""
        core = self._core
        return "retractions=False" if not core.retractions else None if core.gapless is None else "gapless="

    def typed(self, change: Change, key: Hashable) -> Change:
        """Return a change that comes in with its payload in its form, its lifetime and its key."""
        return self._core.typed(change, key) if self._inner is None else self._inner.typed(change, key)

    def timed(self, change: Change, payload: Any, key: Hashable) -> Change:
        """Return a change that comes in, whose payload has its form, with its lifetime and its key."""
        return self._core.timed(change, payload, key) if self._inner is None else self._inner.timed(change, payload, key)

    def push(self, change: Change | Punctuation, *, key: Hashable = UNSAID) -> Output:
        """Take one event change or a watermark of the event input. As `Operator.push`; with ``key`` as `Keyed.push`."""
        return self._core.calls.either(self._push_alone, self._push, change, key)

    def _push(self, change: Any, key: Hashable) -> Output:
        change = self._core.in_form(change)
        return self._run(CallInput([("event", change, self._core.key_of(change, key))]), net=True)

    def _push_alone(self, change: Any, key: Hashable) -> Output | None:
        """Return a call of one event that the engine takes alone; None where it must go another way."""
        return None

    def _run(self, come: CallInput, net: bool) -> Output:
        raise NotImplementedError

    def _found(self, come: CallInput, net: bool) -> CallOutput:
        return CallOutput.of(self._run(come, net), self._core.shown)

    def redefine(self, name: str, condition: Any, *, le: Any = None, re: Any = None) -> Output:
        """Put another condition of a definition in force, as one call, where the operator is one of situations.

        Parameters
        ----------
        name : str
        condition : str or callable
            As of `Situation`. Its durations stay.
        le, re : int (ticks), datetime or date, optional
            The lifetime ``[le, re)`` in which it is in force, in place of the one that was. Left out, it begins one tick past the
            largest reading or promise seen, and ends never: past situations stay as they are.

        Returns
        -------
        list of Change
            The minimal difference of the matches.

        Raises
        ------
        AfaError
            There is no such definition, or the condition can't be read.
        LateEventError
            ``le`` lies below the promise.
        """
        return self._core.calls.call(self._redefine, name, condition, le, re)

    def _redefine(self, name: str, condition: Any, le: Any, re: Any) -> Output:
        found: Output = self.operator._redefine(name, condition, le, re)
        return found

    def _chosen(self) -> Callable[[Change], list[Any]] | None:
        found: Callable[[Change], list[Any]] | None = getattr(self.stage, "chosen", None) or self.operator._chosen()
        return found

    @property
    def keys(self) -> list[Hashable]:
        """Return the keys for which the operator holds any state."""
        return self._core.calls.call(self._core.engine.keys)

    # -- snapshots -----------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return stage and operator as bytes: plain data, else `SnapshotError`."""
        return self._core.calls.call(self._snapshot)

    def _snapshot(self) -> bytes:
        stage = self.stage
        waiting = stage._waiting
        rows = saved.stream_of(waiting.rows) if waiting.tables else None
        changes = stage.waiting() if rows is None else []
        return saved.seal(type(stage).__name__, self.place, stage.numbers(), changes, rows, self.operator._snapshot())

    @classmethod
    def restore(cls, *given: Any, **options: Any) -> Any:
        """Make what `snapshot` saved, stages and operator: as `Operator.restore`, by which all are restored.

        With a blob and a function that restores the operator from its part of it, as it was before: that still works.
        """
        blob = given[0] if given else options.get("blob")
        if "operator" not in options and not isinstance(blob, (bytes, bytearray, memoryview)):
            return Operator.restore(*given, **options)
        warn_renamed(f"{cls.__name__}.restore(blob, function)", "Operator.restore(pattern, blob)")
        part = saved.opened(blob)  # type: ignore[arg-type]  # what is no bytes is refused there
        make, like = given[1] if len(given) > 1 else options.get("operator"), options.get("like")
        if part.name not in cls.stages or part.place != cls.place:
            raise SnapshotError(f"expected a snapshot of {saved.in_words(cls.stages, cls.place)} but got one of {part.said}")
        if cls.by_itself != (like is None):
            what = "the pattern whose operator was saved, pattern.restore(blob), or like=" if like is None else "no like="
            raise AfaError(f"expected {what} for a {part.name} but got like={like!r}")
        return cls.loaded(part, make(part.operator), like)  # type: ignore[misc]

    @classmethod
    def joined(cls, stage: Any, operator: Any) -> Any:
        """Put a restored stage at its operator, each with what it held."""
        return cls(stage, operator)

    @classmethod
    def loaded(cls, part: saved.SavedStage, operator: Any, like: Any = None) -> Any:
        """Put the stage that a snapshot holds at its operator, which is restored already.

        ``like``: one with the same parameters, for stages whose conditions are no data.
        """
        found = cls.__new__(cls)
        found._stand(operator)
        columns, core = found._columns, found._core
        rows = None if part.rows is None or columns is None else saved.rows_of(part.rows, columns.of)
        wanted("no rows that wait there", part.rows is None or columns is not None, part.name)
        schema = core.shown if cls.place == "after" else core.taken
        stage = STAGES[part.name].of(part.numbers, part.waiting, taker(schema), rows)
        found._hold(stage)
        found._check_keys()
        return found

    def _check_keys(self) -> None:
        """Refuse a snapshot in which what waits has a key, where the operator knows none."""
        keys = [] if self.stage._waiting.tables else [change.key for change in self.stage.waiting()]
        wanted("no keys of what waits", self._core.keyed or all(key is None for key in keys), keys)


class Front(Around):
    """A stage at the input of an operator: what it lets through reaches the operator, or the stage at whose front it stands."""

    place = "before"
    messages = False
    """Whether rows that come are messages, of which a retraction may say an id alone."""
    _events: Schema | None = None
    """The events that come in, where they are others than the operator's."""

    def _stand(self, operator: Any) -> None:
        super()._stand(operator)
        if any(stage.foremost for stage in operator._stages_around()):
            raise AfaError(
                "expected Ids in front of all other stages (Ids(..).before(operator)) but got another one in front of it"
            )

    @property
    def _before_a_front(self) -> bool:
        """Whether another stage stands between this one and the operator's input, so that no columns of the operator pass."""
        inner = self._inner
        while inner is not None and not isinstance(inner, Front):
            inner = inner._inner
        return inner is not None

    def _run(self, come: CallInput, net: bool) -> Output:
        """Carry out what one call brings, as `Core.run`: what a punctuation releases is one step with it."""
        core, inner = self._core, self._inner
        if inner is None:
            return core.run_parts([self.reaches(come)] if net else starmap(self._one_reaches, items_of(core, come, self.messages)))
        if net:
            return inner._run(self._passed(come), True)
        items = items_of(core, come, self.messages)
        return [found for item in items for found in self._run(come._replace(parts=[item]), True)]

    def _found(self, come: CallInput, net: bool) -> CallOutput:
        if not net or self._core.by_rows(net):
            return super()._found(come, net)
        inner = self._inner
        return carry_out(self._core, self.reaches(come), net) if inner is None else inner._found(self._passed(come), net)

    def _passed(self, come: CallInput) -> CallInput:
        """Return what of a call reaches the stage behind this one."""
        steps = (item for step in self.reaches(come) for item in (step if isinstance(step, list) else [step]))
        return come._replace(parts=steps)  # type: ignore[arg-type]  # taken one by one, as each depends on those before

    def reaches(self, come: CallInput) -> Iterator[Any]:
        """Return what of a call reaches the operator, as `Core.take` takes it; in front of another stage items and tables."""
        for part in come.parts:
            if isinstance(part, Table):
                yield from self._table_reaches(part, come)
            else:
                yield from self._item_reaches(*part)
        yield from self._left()

    def _one_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Yield what reaches the operator of one item that is a call of its own."""
        yield from self._item_reaches(port, item, key)
        yield from self._left()

    def _table_reaches(self, table: Table, come: CallInput) -> Iterator[Any]:
        """Yield what of a table reaches the operator: of its rows one by one."""
        for item in items_of(self._core, come._replace(parts=[table])):
            yield from self._item_reaches(*item)

    def _item_reaches(self, port: str, item: Any, key: Hashable) -> Iterator[Any]:
        """Yield what reaches the operator of an item on the "event" or "arc" input."""
        raise NotImplementedError

    def typed(self, change: Change, key: Hashable) -> Change:
        """Return a change that comes in with its payload in its form, its lifetime and its key."""
        schema = self._events
        if schema is None:
            return super().typed(change, key)
        return self.timed(change, schema.take(schema.dated(change.payload, change.le)), key)

    def _see(self, item: Change, key: Hashable) -> None:
        """Let the stage take an event, or the policy, if it is late."""
        core, change, promised = self._core, self.typed(item, key), self.promised
        assert change.le is not None
        if change.le < promised:
            core.take_late(change, promised)
        else:
            core.progress.see(change.le)
            self.stage.see(change)

    def _left(self) -> Iterator[Any]:
        """Yield what leaves the stage at the end of a call."""
        return iter(())
