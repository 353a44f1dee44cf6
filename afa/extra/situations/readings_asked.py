"""The situations of a temporal pattern as plain data, which travels to the workers: there a `Deriving` is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from afa.conditions.condition import Condition
from afa.errors import AfaError, QueryError
from afa.extra.situations.deriving import Deriving
from afa.extra.situations.pattern_operator import deriving, kinds_of
from afa.extra.situations.situated import Situated
from afa.extra.situations.situation import Definition
from afa.extra.situations.situation_aggregates import SituationAggregate
from afa.extra.situations.told_forms import instants
from afa.schema import Schema
from speculation.layers import Layer


class ReadingsAsked(NamedTuple):
    """What a temporal pattern asks for in front of an operator of its automaton; durations are microseconds."""

    definitions: tuple[tuple[str, str, Any, Any], ...]  # name, condition as text, ``at_least`` and ``at_most``, which may be None
    aggregates: tuple[SituationAggregate, ...]
    span: int  # how long an instant lives
    order: str | None  # the field that orders readings of one time

    @property
    def clocked(self) -> bool:
        """Whether some instants become known by the clock, without a reading: how long a situation has lasted."""
        return any(at_least is not None for _, _, at_least, _ in self.definitions)

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions of the definitions by name, which a running job may change."""
        return {name: text for name, text, _, _ in self.definitions}

    @property
    def recipe(self) -> dict[str, Any]:
        """What a running job may not change, as plain data; the constraints are arcs, which it may."""
        return {
            "definitions": [[name, at_least, at_most] for name, _, at_least, at_most in self.definitions],
            "aggregates": list(map(str, self.aggregates)),
            "within": self.span,
            "sequence": self.order,
        }

    def with_conditions(self, conditions: Mapping[str, str]) -> ReadingsAsked:
        """Return the same with other conditions."""
        definitions = ((name, conditions[name], *durations) for name, _, *durations in self.definitions)
        return self._replace(definitions=tuple(definitions))

    def condition(self, text: str, event: Any) -> Condition:
        """Return a condition over readings of a class."""
        return Condition(text, Schema.of(event, "event"), "us")

    def stage(self, event: Any, cls: Any) -> Deriving:
        """Make the stage; ``event``: the class of the readings, ``cls``: that of the instants. AfaError: no such field orders."""
        made = [Definition(name, self.condition(text, event), *durations) for name, text, *durations in self.definitions]
        telling = instants(kinds_of(made, self.aggregates), cls, self.span)
        return deriving(Schema.of(event, "event"), made, self.aggregates, telling, self.order, "us")

    def layer(self, event: Any) -> Layer:
        """Return what stands around an operator of the instants, which takes readings of a class."""
        return Layer("Deriving", Situated, lambda operator: self.stage(event, operator._core.automaton.event))


def readings_asked(pattern: Any, order: str | None) -> ReadingsAsked:
    """Returns what a temporal pattern asks for. AfaError: ticks are no microseconds, or the order is no field that orders."""
    if pattern.tick not in (None, "us"):
        raise QueryError(
            f"expected a temporal pattern with tick='us', or with none, as times are microseconds on Spark, but got "
            f"tick={pattern.tick!r}"
        )
    bound = pattern.bound("us")
    if not bound.event_schema.scalar:
        raise AfaError(f"expected readings with scalar fields (Spark's columns have types) but got {bound.event_schema.describe()}")
    span: Any = bound.window
    definitions = tuple((each.name, each.condition.text, each.at_least, each.at_most) for each in bound.definitions)
    asked = ReadingsAsked(definitions, bound.aggregates, span, order)
    asked.stage(bound.event_schema.cls, bound.instants)  # which checks the order
    return asked
