"""Situations alone: an operator from readings to what lasts, and changes of it when readings come late or go.

Gaps and islands that stay right under revision. Each situation is a record that lives as long as it lasts; an operator that shows
each of its events takes them, so that calls, tables, watermarks and snapshots are those of any operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from afa.errors import AfaError, QueryError, SnapshotError
from afa.extra.situations.pattern_operator import deriving, kinds_of
from afa.extra.situations.situated import Situated
from afa.extra.situations.situation import bare_durations, definition_of
from afa.extra.situations.situation_aggregates import SituationAggregate, aggregates_of
from afa.extra.situations.told_forms import records
from afa.language.payload_classes import made as payload_class
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.option_values import tick_of
from afa.model.renamed import renamed, warn_renamed
from afa.operator.contract import Pattern
from afa.operator.operator import Operator
from afa.operator.options import EngineName, said_options
from afa.schema import Schema
from punctuation.late import Policy
from speculation.layers import Layer, restore


class Derive(Situated):
    """Readings in, changes of situations out.

    A situation is a record: its ``name``, ``ts``, ``te`` (None: it goes on), then what ``returns`` asks for (None for situations of
    other definitions). Its lifetime is ``[ts, te)``, without an end while it goes on. One that ends, or whose aggregates
    change with a further reading, is withdrawn and told anew. With ``at_least`` it is told once it has lasted so long; with
    ``at_most`` once it has ended.

    Parameters
    ----------
    event : NamedTuple class
        Of the readings: each holds from its LE until the next one of its key, or until its own RE, where it has one.
    key : str or sequence of str, optional
        The field or fields by which readings are taken apart.
    returns : dict of str to str, optional
        Further fields: ``{"top": "max(speeding.speed)"}``; see `TemporalPattern`.
    order_by : str, optional
        The field that orders readings of one time, of which the last one holds. Without it two of them are refused.
    engine, late, tick
        As of `Operator`.
    definitions
        Each a `Situation`.

    Raises
    ------
    AfaError, QueryError
        There is no definition; something is wrong with a condition, a duration, an aggregate, a name.

    Notes
    -----
    O(log n) for a reading in order. A late one touches what lies between it and the end of the situations there. The
    watermark of the situations is that of the readings, but at most the beginning of the first one that goes on.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import insert
    >>> from afa.situations import Situation
    >>> class Car(NamedTuple):
    ...     speed: float
    >>> op = Derive(Car, speeding=Situation("speed > 70"))
    >>> found = [*op.push_many([insert(Car(speed), le) for le, speed in ((1, 60.0), (2, 80.0), (5, 50.0))])]
    >>> found
    [Change(payload=Situation(name='speeding', ts=2, te=5), le=2, re=5, diff=1, key=None)]
    >>> for change in op.push(insert(Car(65.0), 3)):  # late: it was slower in between
    ...     print(change.diff, change.payload)
    -1 Situation(name='speeding', ts=2, te=5)
    1 Situation(name='speeding', ts=2, te=3)
    """

    @renamed("sequence")
    def __init__(
        self,
        event: type,
        *,
        key: str | Sequence[str] | None = None,
        returns: Mapping[str, str] | None = None,
        order_by: str | None = None,
        engine: EngineName = "auto",
        late: Policy = "raise",
        tick: str | None = None,
        **definitions: Any,
    ) -> None:
        pattern = DerivePattern(event, key, returns, order_by, tick_of(tick), definitions)
        options: dict[str, Any] = {"engine": engine, "late": late, "tick": pattern.tick}
        super().__init__(pattern.stage(), Operator(pattern.automaton, key=key, **options))

    def as_pattern(self) -> DerivePattern:
        """Return what makes more of them."""
        found: DerivePattern = self.stage.said
        return found

    @property
    def tick(self) -> str | None:
        """What one int of LE counts; None: that was not said."""
        return self.as_pattern().tick

    @property
    def bare_durations(self) -> list[str]:
        """The durations that are bare numbers of ticks, as they are written."""
        return bare_durations(self.as_pattern().definitions)

    def restore(self: Any, *given: Any, engine: EngineName = "auto", late: Policy | None = None, **said: Any) -> Any:  # type: ignore[override]
        """Make the operator that ``snapshot`` of one with these definitions has saved, ``derive.restore(blob)``; this one stays.

        ``Derive.restore(blob, Car, key="id", speeding=Situation("speed > 70"))`` is ``Derive(Car, ..).restore(blob)``.

        Raises
        ------
        SnapshotError
            The blob is none of such an operator, is damaged, or its definitions differ.
        """
        if not isinstance(self, Derive):
            event = given[0] if given else said.pop("event")
            return Derive(event, **said).restore(self, engine=engine, late=late)
        (blob,) = given or (said.pop("blob"),)
        return self.as_pattern().restore(blob, engine=engine, late=late, **said)

    def again(self, key: Any = None, tick: str | None = None) -> Derive:
        """Make another one of the same definitions, as `DerivePattern.operator`, by which it is made now."""
        warn_renamed("again(..)", "as_pattern().operator(..)")
        return self.as_pattern().operator(key=key, tick=tick)

    def resumed(self, blob: bytes, *, engine: EngineName = "auto", late: Policy | None = None) -> Any:
        """As `restore`, which it is called now."""
        warn_renamed("resumed(..)", "restore(..)")
        return self.restore(blob, engine=engine, late=late)


class DerivePattern(Pattern):
    """What makes operators of the definitions of a `Derive`."""

    def __init__(
        self, event: type, key: Any, returns: Any, order_by: str | None, tick: str | None, definitions: Mapping[str, Any]
    ) -> None:
        if not definitions:
            raise QueryError('expected definitions but got none; write speeding=Situation("speed > 70")')
        self._key, self._tick, self.definitions = key, tick, definitions
        self._returns, self._order_by, self._schema = returns, order_by, Schema.of(event, "event")
        self._defined = [definition_of(name, given, self._schema, tick).bound(tick) for name, given in definitions.items()]
        names = _names_of(aggregates_of(returns, list(definitions), self._schema))
        self._aggregates = [each for of in self._defined for each in names if each.definition == of.name]
        fields: list[tuple[str, type | None, bool]] = [("name", str, False), ("ts", int, False), ("te", int, True)]
        fields += [(names[each], each.type_of(self._schema), True) for each in self._aggregates]
        self._cls = payload_class("Situation", tuple(fields), ("ts", "te"))
        show = Arc("start", "found", "True", f"r._replace({', '.join(f'{name}=e.{name}' for name, _, _ in fields)})")
        empty = self._cls("", 0, None, *[None] * len(self._aggregates))
        self._automaton = Automaton(start="start", final={"found"}, event=self._cls, register=empty, arcs=[show])

    def stage(self) -> Any:
        """Make the stage that derives records."""
        kinds = kinds_of(self._defined, self._aggregates, begun=True)
        telling = records(kinds, list(self.definitions), self._cls)
        made = deriving(self._schema, self._defined, self._aggregates, telling, self._order_by, self.tick)
        made.said = self
        return made

    @property
    def automaton(self) -> Automaton:
        return self._automaton

    @property
    def event(self) -> type:
        return self._schema.cls

    @property
    def key(self) -> Any:
        return self._key

    @property
    def tick(self) -> str | None:
        return self._tick

    def operator(self, **options: Any) -> Derive:
        """Make another one of the same definitions, which has taken nothing: ``key`` in place of its own, ``tick`` if it has none.

        Raises
        ------
        QueryError
            It has another tick.
        AfaError
            It was made with all other options.
        """
        said = said_options(options, "Derive", ("key", "tick"))
        asked = tick_of(said.get("tick"))
        if None not in (self.tick, asked) and self.tick != asked:
            raise QueryError(f"expected its own tick={self.tick!r} but got tick={asked!r}")
        like: dict[str, Any] = {"returns": self._returns, "order_by": self._order_by, **self.definitions}
        return Derive(self.event, key=said.get("key") or self.key, tick=self.tick or asked, **like)

    def operator_by(self, key: str, /, **options: Any) -> Derive:
        """Make another one that judges within the values of another column than the key."""
        return self.operator(key=key, **options)

    def restore(
        self, blob: bytes, *, arcs: Any = (), stages: Any = (), engine: EngineName = "auto", late: Policy | None = None, **said: Any
    ) -> Any:
        """Make the operator that ``snapshot`` of one with these definitions has saved; no arcs come to it."""
        if arcs:
            raise AfaError(f"expected no arcs, as those of a Derive stay, but got arcs={arcs!r}")
        for name, own in (("key", self.key), ("tick", self.tick)):
            if (asked := said.pop(name, own)) != own:
                raise SnapshotError(f"expected {name}={own!r}, as it says itself, but got {name}={asked!r}")
        said_options(said, "Derive", ("key", "tick"))  # which refuses what else is said
        options: dict[str, Any] = {"key": self.key, "engine": engine, "tick": self.tick} | ({} if late is None else {"late": late})
        alone = lambda part: Operator.restore(self.automaton, part, **options)  # noqa: E731
        return restore(blob, alone, [Layer("Deriving", Derive, lambda _: self.stage())], stages)


def _names_of(asked: Mapping[str, SituationAggregate]) -> dict[SituationAggregate, str]:
    """Return the field in which each aggregate is told."""
    found: dict[SituationAggregate, str] = {}
    for name, aggregate in asked.items():
        if name in ("name", "ts", "te"):
            raise AfaError(f"expected names beside name, ts and te in returns= but got {name!r}")
        if aggregate in found:
            raise AfaError(f"expected each aggregate once but got {aggregate} as {found[aggregate]!r} and {name!r}")
        found[aggregate] = name
    return found
