"""The stage of a pattern in front of the operator of a bucket, and its state.

    rows, promise -> LastBefore -> operator -> changes
                  -> Deriving   ->

A query that begins with a negation has the first one, a temporal pattern the other. What it holds is kept as blobs: a whole one,
then one for each save since, of the keys that have changed. What a promise has made final since is forgotten anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from afa.model.keys import take_key
from afa.model.raised import Faults
from afa.operator.call import Core
from afa.operator.keyed import Keyed
from afa.operator.snapshot import plain, unplain
from afa.operator.tables import CallInput, step_of
from afa.schema import Schema
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation.last_before import LastBefore
from speculation.layers import Layer, build
from speculation.look_back import LookBack

OLD = {"order_by": "order"}
"""Names of options as checkpoints have them."""


def _under_old_names(options: Mapping[str, Any]) -> dict[str, Any]:
    said = {OLD.get(name, name): value for name, value in options.items() if name != "neighbours" or value}
    if "neighbours" in said:
        said["neighbours"] = {name: list(beside) for name, beside in said["neighbours"].items()}
    return said


class PatternStages(NamedTuple):
    """What a pattern asks for beside an operator: its stages. It travels to the workers as part of the job."""

    event: Any = None  # class of the rows, if not the automaton's: a negation at the start adds fields, readings become instants
    before: Mapping[str, Any] | None = None  # the conditions, the window and the order of its `LastBefore`
    held: Mapping[str, str] | None = None  # for each state of a query a digest of the values that a match holds there
    readings: Any = None  # the situations of a temporal pattern: what its `readings_asked` returns
    choice: Any = None  # by what the automaton of a query chooses, as plain data: see `afa.model.choice.Choice.said`
    shown: Any = None  # class of matches as they leave, where the automaton's are others
    own: Any = None  # in the place of all stages, what a pattern makes: see `afa.operator.contract.Pattern.in_parts`

    @property
    def recipe(self) -> dict[str, Any]:
        """What a state depends on, as plain data."""
        before = None if self.before is None else [Schema.of(self.event, "event").describe(), _under_old_names(self.before)]
        return {
            "before": before,
            "choose": self.choice,
            "held": self.held and dict(self.held),
            **self._of_readings(),
            **({} if self.own is None else self.own.recipe),
        }

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
    """The stage around an operator; where a pattern asks for none, the operator alone.

    ``blobs`` is what `save` gave; ``faults`` are told of two readings of a key and time, None: they are refused.
    """

    def __init__(
        self, asked: PatternStages, core: Core, names: Sequence[str], faults: Faults | None, blobs: Sequence[bytes] = ()
    ) -> None:
        self._core, self._names = core, names
        self._blobs = list(blobs)
        self._asked = asked
        keys = core.keys
        assert keys is not None
        parts, layers = list(map(_unpacked, blobs)), list[Layer]()
        if asked.before is not None:
            filled: Any = core.automaton.event
            stage = LastBefore(asked.event, filled=filled, **asked.before)
            for part, without in _newest(parts):
                stage.load(part.numbers, part.waiting, without)
            layers.append(Layer("LastBefore", LookBack, lambda _: stage))
        if asked.readings is not None:
            derived = asked.readings.stage(asked.event, core.automaton.event)
            derived.faults = Faults()  # what is derived anew was told before
            for part, without in _newest(parts):
                derived.load(part.numbers, part.waiting, without)
            derived.faults = faults
            layers.append(asked.readings.layer(derived))
        around: Any = build(Keyed._of(core, keys.names[0] if keys.single else keys.names), layers, restored=True)
        self._looking: Any = around if layers else None  # at the operator, with the stage
        self._fresh: dict[Hashable, None] = {}  # keys that have changed since the last save

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, rows: pa.Table | None, promised: int | None = None) -> None:
        """Take rows, and behind them a promise, within a call."""
        core, parts = self._core, list[Any]()
        if rows is not None and rows.num_rows:
            parts.append(Table("arrow", rows, rows))
        if promised is not None:
            parts.append(("event", Punctuation(promised), None))
        if self._looking is None:
            after = BEGINNING if promised is None else promised
            core.take(step_of(core, part, promised=after) if isinstance(part, Table) else part for part in parts)
            return
        if rows is not None:
            self._fresh.update(dict.fromkeys(self._keys_of(rows)))
        core.take(self._looking.reaches(CallInput(parts)))

    def redefine(self, conditions: Mapping[str, str], le: int) -> None:
        """Put other conditions of definitions in force from a time on, within a call."""
        for name, text in conditions.items():
            assert self._asked.readings is not None
            condition = self._asked.readings.condition(text, self._asked.event)
            self._core.take(self._looking.redefined(name, condition, le))

    def overdue(self) -> None:
        """Let the policy have the retractions whose rows have not come, now that nothing comes any more."""
        looking = self._looking
        for change in self._core.engine.overdue(FOREVER) if looking is None else looking.stage.settled(FOREVER):
            self._core.late.take(change, "")

    def _keys_of(self, rows: pa.Table) -> Iterator[Hashable]:
        """Return the keys of rows, in their form."""
        if len(self._names) == 1:
            return map(take_key, pc.unique(rows[self._names[0]]).to_pylist())
        found = rows.group_by(list(self._names)).aggregate([])
        return map(take_key, zip(*(found[name].to_pylist() for name in self._names)))

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Forget all that is final."""
        if self._looking is not None:
            self._looking.stage.clean()

    def wakes(self, watermark: int, lifetimes: bool) -> int | None:
        """Return the watermark (ms) at which something is told or can be forgotten; None: nothing is held, or for ever."""
        asked = self._asked.readings
        if asked is None:
            stage = self._looking and self._looking.stage
            return watermark + stage.window // 1000 + 1 if stage and stage.window and stage.keys else None
        due = self._core.calls.call(self._due)
        if due == FOREVER:
            return None
        told = asked.clocked or lifetimes  # else what is held is forgotten only
        return max(watermark + 1, -(-due // 1000)) if told else watermark + asked.span // 1000 + 1

    def _due(self) -> int:
        found: int = self._looking.stage.due
        return found

    # -- state -----------------------------------------------------------------------------------------------------------------

    def save(self, incremental: bool) -> list[bytes]:
        """Return what the stage holds, or that of the keys that have changed since the last time. Nothing without one."""
        if self._looking is None:
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
        """Return what the stage holds in parts: for each of so many buckets the keys that it has then."""
        if self._looking is None:
            return [[]] * count
        keys = list(self._looking.stage.keys)
        of: list[list[Hashable]] = [[] for _ in range(count)]
        for key, number in zip(keys, numbers_of(keys).tolist() if keys else []):
            of[number].append(key)
        return [[self._core.calls.call(self._packed, each, whole=True)] for each in of]

    def _packed(self, keys: list[Hashable] | None, whole: bool = False) -> bytes:
        """Return what the stage holds of some keys; None: of all. Behind it None, the place of a second stage."""
        stage = self._looking.stage
        return plain([[stage.numbers(keys), None if whole else keys, stage.part(keys)], None])


class _StagePart(NamedTuple):
    """What a blob says of a stage; ``keys``: those that have changed since the blob before, None: it is a whole one."""

    numbers: Any
    keys: Any
    waiting: Any


def _unpacked(blob: bytes) -> _StagePart:
    found = unplain(blob)
    wanted("the state of a stage", isinstance(found, list) and len(found) == 2 and found[0] is not None, found)
    return _StagePart(*found[0])


def _newest(parts: Sequence[_StagePart]) -> Iterator[tuple[_StagePart, set[Hashable]]]:
    """Return parts in their order, each with the keys of which a later one says more."""
    found: list[tuple[_StagePart, set[Hashable]]] = []
    later = set[Hashable]()
    for part in reversed(parts):
        found.append((part, later))
        later = later.union(part.keys or ())
    yield from reversed(found)
