"""The stages of a pattern around the operator of a bucket, and their state: `LastBefore` or `Deriving` in front, `Choose` behind.

    rows, promise -> LastBefore -> operator -> Choose -> changes
                  -> Deriving   ->

A query that begins with a negation has the first one, a temporal pattern that below it, a query with AFTER MATCH SKIP the second;
behind that stands the one that tells rows (ALL ROWS PER MATCH), whose state follows from that of the operator and the choice. What
they hold is kept as blobs: a whole one, then one for each save since, of the keys that have changed. What a promise has made final
since is forgotten anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.change import Change
from afa.engine import Logged
from afa.language.all_rows import AllRows
from afa.language.pattern import Tree
from afa.language.query import Query
from afa.language.rows_asked import rows_alike
from afa.model.keys import take_key
from afa.model.raised import Faults, Raised
from afa.operator.call import Core
from afa.operator.keyed import Keyed
from afa.operator.snapshot import plain, unplain
from afa.operator.tables import CallInput, CallOutput, step_of
from afa.schema import Schema
from afa.state.sound import wanted
from punctuation.door import Table
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation.around import Around
from speculation.before_after import After
from speculation.choose import Choose
from speculation.last_before import LastBefore
from speculation.layers import Layer, build
from speculation.look_back import LookBack

OLD = {"order_by": "order"}
"""Names of options as checkpoints have them."""


def _under_old_names(options: Mapping[str, Any]) -> dict[str, Any]:
    return {OLD.get(name, name): value for name, value in options.items()}


class PatternStages(NamedTuple):
    """What a pattern asks for beside an operator: its stages. It travels to the workers as part of the job."""

    event: Any = None  # class of the rows, if not the automaton's: a negation at the start adds fields, readings become instants
    before: Mapping[str, Any] | None = None  # the conditions, the window and the order of its `LastBefore`
    choose: Mapping[str, Any] | None = None  # the options of `Choose`
    shown: Any = None  # class of matches as they leave, where `Choose` takes more of them
    held: Mapping[str, str] | None = None  # for each state of a query a digest of the values that a match holds there
    rows: Tree | None = None  # the query, where each row of a match is told (ALL ROWS PER MATCH)
    readings: Any = None  # the situations of a temporal pattern: what its `readings_asked` returns
    choice: Any = None  # by what the automaton of a query chooses, as plain data: see `afa.model.choice.Choice.said`
    own: Any = None  # in the place of all stages, what a pattern makes: see `afa.operator.contract.Pattern.in_parts`

    @property
    def recipe(self) -> dict[str, Any]:
        """What a state depends on, as plain data."""
        before = None if self.before is None else [Schema.of(self.event, "event").describe(), _under_old_names(self.before)]
        return {
            "before": before,
            "choose": self.choice if self.choose is None else dict(self.choose),
            "held": self.held and dict(self.held),
            **({} if self.rows is None else {"rows": repr(rows_alike(self.rows))}),
            **self._of_readings(),
            **({} if self.own is None else self.own.recipe),
        }

    @property
    def chooses(self) -> bool:
        """Whether some matches are chosen among all (AFTER MATCH SKIP)."""
        return self.choose is not None or self.choice is not None

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
    """The stages around an operator; where a query asks for none, the operator alone.

    ``blobs`` is what `save` gave; ``faults`` are told of two readings of a key and time, None: they are refused.
    """

    def __init__(
        self, asked: PatternStages, core: Core, names: Sequence[str], faults: Faults | None, blobs: Sequence[bytes] = ()
    ) -> None:
        self._core, self._names = core, names
        self._blobs = list(blobs)
        self._asked = asked
        self._looking: Any = None  # a LookBack, or what stands around the stage of readings
        self._choosing: After | None = None
        self._telling: AllRows | None = None
        self._bits = -1
        keys = core.keys
        assert keys is not None
        parts, layers = list(map(_unpacked, blobs)), list[Layer]()
        if asked.before is not None:
            filled: Any = core.automaton.event
            stage = LastBefore(asked.event, filled=filled, **asked.before)
            for part, without in _newest(part[0] for part in parts):
                stage.load(part.numbers, part.waiting, without)
            layers.append(Layer("LastBefore", LookBack, lambda _: stage))
        if asked.readings is not None:
            derived = asked.readings.stage(asked.event, core.automaton.event)
            derived.faults = Faults()  # what is derived anew was told before
            for part, without in _newest(part[0] for part in parts):
                derived.load(part.numbers, part.waiting, without)
            derived.faults = faults
            layers.append(asked.readings.layer(derived))
        if asked.choose is not None:
            layers.append(Layer("Choose", After, lambda _: self._choose(asked, [part[1] for part in parts])))
            prefer = asked.choose["prefer"]
            if prefer and prefer[0][0] == ":":
                self._bits = core.automaton.match_schema.cls._fields.index(prefer[0][1:])  # type: ignore[attr-defined]
            if asked.rows is not None:
                layers += Query(asked.rows).stages()[-1:]
        around = build(Keyed._of(core, keys.names[0] if keys.single else keys.names), layers, restored=True)
        while isinstance(around, Around):
            if isinstance(around, AllRows):
                self._telling = around
            elif isinstance(around, After):
                self._choosing = around
            else:
                self._looking = around
            around = around.operator
        self._fresh: dict[str, dict[Hashable, None]] = {"looking": {}, "choosing": {}}  # keys that have changed since the last save

    def _choose(self, asked: PatternStages, parts: Sequence[Any]) -> Choose:
        core, stage = self._core, Choose(**asked.choose or {}, shown=asked.shown if asked.rows is None else None)
        stage.follow(core)
        for part, without in _newest(parts):
            stage.load(part.numbers, part.waiting, core.automaton.match_schema, without)
        if core.progress.final > BEGINNING:
            stage.push(Punctuation(core.progress.final))
            stage.clean()
        return stage

    @property
    def _all(self) -> list[tuple[str, Any]]:
        """The stages with their names; None where there is none."""
        found = ("looking", self._looking), ("choosing", self._choosing)
        return [(name, around and around.stage) for name, around in found]

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
            self._fresh["looking"].update(dict.fromkeys(self._keys_of(rows)))
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

    def logged(self, before: int, faults: Faults | None) -> Logged:
        """Return, within a call, what has changed; ``before``: what was final when it began.

        A match of too many choices is told, if faults are not to stop the query: it is not chosen.
        """
        rows, final = self._core.logged(), self._core.progress.final
        if self._choosing is None:
            return rows
        self._fresh["choosing"].update(dict.fromkeys(rows.keys))
        if self._bits >= 0 and faults is not None:
            rows = self._that_can_be_chosen(rows, faults)
        stage, core = self._choosing.stage, self._core
        if stage.columns and self._telling is None:
            return stage.pass_found(CallOutput(rows, [(len(rows.le), final)] if final > before else [])).rows  # type: ignore[no-any-return]
        came: list[Any] = rows.changes(core.automaton.match_schema)
        chosen = stage.push_fitting([*came, *([Punctuation(final)] if final > before else [])])
        if self._telling is not None:
            chosen = self._telling.stage.push_fitting(chosen)
        return Logged.of([item for item in chosen if isinstance(item, Change)], core.shown)

    def _that_can_be_chosen(self, rows: Logged, faults: Faults) -> Logged:
        there = np.asarray(rows.fields[self._bits]) != 0
        for row in np.flatnonzero(~there & (rows.diff > 0)).tolist():
            said = "expected a match of at most 62 choices of its pattern, as a group in it repeats, but got one of more"
            at = int(rows.le[row])
            faults.take(Raised(rows.keys[row], at, None, "", "choices", said), f"at le={at}: it is left out")
        return rows if there.all() else rows.at(np.flatnonzero(there))

    def _keys_of(self, rows: pa.Table) -> Iterator[Hashable]:
        """Return the keys of rows, in their form."""
        if len(self._names) == 1:
            return map(take_key, pc.unique(rows[self._names[0]]).to_pylist())
        found = rows.group_by(list(self._names)).aggregate([])
        return map(take_key, zip(*(found[name].to_pylist() for name in self._names)))

    # -- what is held ----------------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Forget all that is final."""
        for _, stage in self._all:
            if stage is not None:
                stage.clean()

    def wakes(self, watermark: int, lifetimes: bool) -> int | None:
        """Return the watermark (ms) at which something is told or can be forgotten; None: nothing is held, or for ever."""
        asked = self._asked.readings
        if asked is None:
            window = max((stage.window for _, stage in self._all if stage and stage.window and stage.keys), default=None)
            return None if window is None else watermark + window // 1000 + 1
        due = self._core.calls.call(self._due)
        if due == FOREVER:
            return None
        told = asked.clocked or lifetimes  # else what is held is forgotten only
        return max(watermark + 1, -(-due // 1000)) if told else watermark + asked.span // 1000 + 1

    def _due(self) -> int:
        found: int = self._looking.stage.due
        return found

    @property
    def matches(self) -> int:
        """The matches of which it is not final whether they are chosen. O(these)."""
        if self._asked.choice is not None:
            return self._core.engine.sizes().matches
        return 0 if self._choosing is None else self._choosing.stage.statistics.held

    # -- state -----------------------------------------------------------------------------------------------------------------

    def save(self, incremental: bool) -> list[bytes]:
        """Return what the stages hold, or that of the keys that have changed since the last time. Nothing without stages."""
        if self._looking is None and self._choosing is None:
            return []
        of = {name: list(keys) if incremental else None for name, keys in self._fresh.items()}
        blob = self._core.calls.call(self._packed, of)
        self._blobs = [*self._blobs, blob] if incremental else [blob]
        for keys in self._fresh.values():
            keys.clear()
        return [blob]

    @property
    def blobs(self) -> list[bytes]:
        """What `save` gave, from the last whole one on."""
        return self._blobs

    def split(self, numbers_of: Callable[[Sequence[Hashable]], Any], count: int) -> list[list[bytes]]:
        """Return what the stages hold in parts: for each of so many buckets the keys that it has then."""
        if self._looking is None and self._choosing is None:
            return [[]] * count
        of: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, stage in self._all:
            keys = list(stage.keys) if stage else []
            numbers = numbers_of(keys).tolist() if keys else []
            for number in range(count):
                of[number][name] = [key for key, its in zip(keys, numbers) if its == number]
        return [[self._core.calls.call(self._packed, each, whole=True)] for each in of]

    def _packed(self, of: Mapping[str, Any], whole: bool = False) -> bytes:
        """Return what the stages hold of some keys; None: of all."""
        parts: list[Any] = []
        for name, stage in self._all:
            keys = of[name]
            if stage is None:
                parts.append(None)
                continue
            numbers = stage.numbers(keys) if name == "looking" else stage.numbers()
            parts.append([numbers, None if whole else keys, stage.part(keys)])
        return plain(parts)


class _StagePart(NamedTuple):
    """What a blob says of a stage; ``keys``: those that have changed since the blob before, None: it is a whole one."""

    numbers: Any
    keys: Any
    waiting: Any


def _unpacked(blob: bytes) -> list[_StagePart | None]:
    found = unplain(blob)
    wanted("the state of two stages", isinstance(found, list) and len(found) == 2, found)
    return [None if part is None else _StagePart(*part) for part in found]


def _newest(parts: Iterable[_StagePart | None]) -> Iterator[tuple[_StagePart, set[Hashable]]]:
    """Return parts in their order, each with the keys of which a later one says more."""
    found: list[tuple[_StagePart, set[Hashable]]] = []
    later = set[Hashable]()
    for part in reversed(list(parts)):
        wanted("the state of a stage", part is not None, part)
        assert part is not None
        found.append((part, later))
        later = later.union(part.keys or ())
    yield from reversed(found)
