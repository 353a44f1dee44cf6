"""The stages of a pattern around the operator of a bucket, and their state.

    rows, promise -> RowView, LastBefore -> operator -> MatchNumbers -> changes
                  -> Deriving              ->

They are the pattern's own (`Query.stages`), as they stand around any operator of it. What they hold is kept as blobs, with a part
for each stage that holds anything: a whole one, then one for each save since, of the keys that have changed. What a promise has
made final since is forgotten anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from afa.engine import Logged
from afa.model.keys import take_key
from afa.model.raised import Faults
from afa.operator.call import Core
from afa.operator.operator import Keyed
from afa.operator.snapshot import plain, unplain
from afa.operator.tables import CallInput, CallOutput, steps
from afa.schema import Schema
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import FOREVER
from speculation.around import Front
from speculation.layers import Layer

OLD = {"order_by": "order"}
"""Names of options as checkpoints have them."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


def under_old_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a `LastBefore` as checkpoints have them."""
    said = {OLD.get(name, name): value for name, value in options.items() if name != "neighbours" or value}
    if "neighbours" in said:
        said["neighbours"] = {name: list(beside) for name, beside in said["neighbours"].items()}
    return said


class PatternStages(NamedTuple):
    """What a pattern asks for beside an operator: its stages. It travels to the workers as part of the job."""

    event: Any = None  # class of the rows, if not the automaton's: a negation at the start adds fields, readings become instants
    around: tuple[Layer, ...] = ()  # the stages of a query, from the operator outwards
    said: Mapping[str, Any] = NOTHING  # what a state depends on of those in front of the operator, as plain data
    held: Mapping[str, str] | None = None  # for each state of a query a digest of the values that a match holds there
    readings: Any = None  # the situations of a temporal pattern: what its `readings_asked` returns
    choice: Any = None  # by what a query chooses and shows matches, as plain data: see `afa.Query.shown_as`
    shown: Any = None  # class of matches as they leave, where the automaton's are others
    own: Any = None  # in the place of all stages, what a pattern makes: see `afa.operator.contract.Pattern.in_parts`
    ahead: bool = False  # whether rows wait for those behind them, so that matches may change behind the watermark

    @property
    def recipe(self) -> dict[str, Any]:
        """What a state depends on, as plain data."""
        return {
            "before": None,
            **self.said,
            "choose": self.choice,
            "held": self.held and dict(self.held),
            **self._of_readings(),
            **({} if self.own is None else self.own.recipe),
        }

    @property
    def layers(self) -> Sequence[Layer]:
        """The stages, from the operator outwards."""
        return self.around if self.readings is None else [self.readings.layer(self.event)]

    @property
    def chooses(self) -> bool:
        """Whether some matches are chosen among all (AFTER MATCH SKIP)."""
        return self.choice is not None

    @property
    def keeps_arcs(self) -> bool:
        """Whether no arc can come: they follow from the pattern."""
        return self.readings is not None or self.own is not None

    def as_made(self, recipe: Mapping[str, Any]) -> PatternStages:
        """Return the same with the conditions of definitions that an operator was made with, by its recipe."""
        if self.readings is None:
            return self
        return self._replace(readings=self.readings.with_conditions(recipe["conditions"]))

    def _of_readings(self) -> dict[str, Any]:
        if self.readings is None:
            return {}
        situations = {"readings": Schema.of(self.event, "event").describe(), **self.readings.recipe}
        return {"situations": situations, "conditions": self.readings.conditions}


NONE = PatternStages()


class Stages:
    """The stages around an operator; where a pattern asks for none, the operator alone.

    ``blobs`` is what `save` gave; ``faults`` are told of two readings of a key and time, None: they are refused.
    """

    def __init__(
        self, asked: PatternStages, core: Core, names: Sequence[str], faults: Faults | None, blobs: Sequence[bytes] = ()
    ) -> None:
        self._asked, self._core, self._names = asked, core, names
        self._blobs = list(blobs)
        self._fronts: list[Any] = []  # stages at the input of the operator, as they stand there, the outermost first
        self._behind: list[Any] = []  # stages at its output
        self._holding: list[Any] = []  # of all those that hold something, from the operator outwards
        self._fresh: dict[Hashable, None] = {}  # keys that have changed since the last save
        keys, parts = core.keys, list(map(_unpacked, blobs))
        assert keys is not None
        operator: Any = Keyed._of(core, keys.names[0] if keys.single else keys.names)
        for layer in asked.layers:
            stage = layer.stage(operator)
            if stage.by_keys:
                stage.faults = Faults()  # what is derived anew was told before
                for part, without in _newest([part[len(self._holding)] for part in parts]):
                    stage.load(part.numbers, part.waiting, without)
                stage.faults = faults
                self._holding.append(stage)
            operator = layer.around.joined(stage, operator)
            if isinstance(operator, Front):
                self._fronts.insert(0, operator)
            else:
                self._behind.append(stage)
        wanted("a part for each stage", all(len(part) == len(self._holding) for part in parts), parts)

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, rows: pa.Table | None, promised: int | None = None) -> None:
        """Take rows, and behind them a promise, within a call. `told` says what comes of all."""
        parts = list[Any]()
        if rows is not None and rows.num_rows:
            parts.append(Table("arrow", rows, rows))
            if self._holding:
                self._fresh.update(dict.fromkeys(self._keys_of(rows)))
        if promised is not None:
            parts.append(("event", Punctuation(promised), None))
        come = CallInput(parts)
        for front in self._fronts[:-1]:
            come = front._passed(come)
        self._core.take(self._fronts[-1].reaches(come) if self._fronts else steps(self._core, come))

    def told(self, before: int) -> Logged:
        """Return what leaves at the end of a call; ``before``: the promise of the operator's output as it began."""
        rows, after = self._core.logged(), self._core.progress.output
        if self._behind:
            self._fresh.update(dict.fromkeys(rows.keys))
        found = CallOutput(rows, [(len(rows.le), after)] if after > before else [])
        for stage in self._behind:
            found = stage.columns(found)
        return found.rows

    def redefine(self, conditions: Mapping[str, str], le: int) -> None:
        """Put other conditions of definitions in force from a time on, within a call."""
        for name, text in conditions.items():
            assert self._asked.readings is not None
            condition = self._asked.readings.condition(text, self._asked.event)
            self._core.take(self._fronts[-1].redefined(name, condition, le))

    def overdue(self) -> None:
        """Let the policy have the retractions whose rows have not come, now that nothing comes any more."""
        vain = [self._core.engine.overdue(FOREVER), *(stage.settled(FOREVER) for stage in self._looking)]
        for change in (change for each in vain for change in each):
            self._core.late.take(change, "")

    @property
    def _looking(self) -> list[Any]:
        """The stages in front that hold rows."""
        return [front.stage for front in self._fronts if front.stage.by_keys]

    def _keys_of(self, rows: pa.Table) -> Iterator[Hashable]:
        """Return the keys of rows, in their form."""
        if len(self._names) == 1:
            return map(take_key, pc.unique(rows[self._names[0]]).to_pylist())
        found = rows.group_by(list(self._names)).aggregate([])
        return map(take_key, zip(*(found[name].to_pylist() for name in self._names)))

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Forget all that is final."""
        for stage in self._holding:
            stage.clean()

    def wakes(self, watermark: int, lifetimes: bool) -> int | None:
        """Return the watermark (ms) at which something is told or can be forgotten; None: nothing is held, or for ever."""
        asked = self._asked.readings
        if asked is None:
            windows: list[int] = self._core.calls.call(lambda: [stage.window for stage in self._looking if stage.ages])
            return watermark + max(windows) // 1000 + 1 if windows else None
        due: int = self._core.calls.call(lambda: self._looking[0].due)
        if due == FOREVER:
            return None
        told = asked.clocked or lifetimes  # else what is held is forgotten only
        return max(watermark + 1, -(-due // 1000)) if told else watermark + asked.span // 1000 + 1

    # -- state -----------------------------------------------------------------------------------------------------------------

    def save(self, incremental: bool) -> list[bytes]:
        """Return what the stages hold, or that of the keys that have changed since the last time. Nothing where none holds any."""
        if not self._holding:
            return []
        blob = self._core.calls.call(self._packed, list(self._fresh) if incremental else None)
        self._blobs = [*self._blobs, blob] if incremental else [blob]
        self._fresh.clear()
        return [blob]

    @property
    def blobs(self) -> list[bytes]:
        """What `save` gave, from the last whole one on."""
        return self._blobs

    def split(self, numbers_of: Callable[[Sequence[Hashable]], Any], count: int) -> list[list[bytes]]:
        """Return what the stages hold in parts: for each of so many buckets the keys that it has then."""
        if not self._holding:
            return [[]] * count
        keys = list(dict.fromkeys(key for stage in self._holding for key in stage.keys))
        of: list[list[Hashable]] = [[] for _ in range(count)]
        for key, number in zip(keys, numbers_of(keys).tolist() if keys else []):
            of[number].append(key)
        return [[self._core.calls.call(self._packed, each, whole=True)] for each in of]

    def _packed(self, keys: list[Hashable] | None, whole: bool = False) -> bytes:
        """Return what the stages hold of some keys; None: of all."""
        return plain([[stage.numbers(keys), None if whole else keys, stage.part(keys)] for stage in self._holding])


class _StagePart(NamedTuple):
    """What a blob says of a stage; ``keys``: those that have changed since the blob before, None: it is a whole one."""

    numbers: Any
    keys: Any
    waiting: Any


def _unpacked(blob: bytes) -> list[_StagePart]:
    found = unplain(blob)
    wanted("the states of stages", isinstance(found, list), found)
    return [_StagePart(*part) for part in found if part is not None]  # of older versions None stands for a second stage


def _newest(parts: Sequence[_StagePart]) -> Iterator[tuple[_StagePart, set[Hashable]]]:
    """Return parts in their order, each with the keys of which a later one says more."""
    found: list[tuple[_StagePart, set[Hashable]]] = []
    later = set[Hashable]()
    for part in reversed(parts):
        found.append((part, later))
        later = later.union(part.keys or ())
    yield from reversed(found)
