"""A temporal pattern: situations of one key and the relations between them, compiled into an automaton over instants."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from afa.errors import QueryError
from afa.extra.situations.configurations import PatternPlan, plan_of
from afa.extra.situations.consistency import parts_of
from afa.extra.situations.explain_pattern import PatternExplanation, explained, not_connected
from afa.extra.situations.pattern_automaton import automaton_of, instants_of, match_of
from afa.extra.situations.pattern_operator import changes_between, check_window, made, restored, window_of
from afa.extra.situations.readings_asked import ReadingsAsked, readings_asked
from afa.extra.situations.situation import Definition, definition_of
from afa.extra.situations.situation_aggregates import SituationAggregate, aggregates_of
from afa.extra.situations.where_text import RelationConstraint, constraints_of
from afa.html_tables import pairs, titled
from afa.language.changes import QueryChanges
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.conflicts import TEMPORAL
from afa.model.frozen import Frozen
from afa.operator.contract import Pattern, own_key
from afa.operator.options import OperatorOptions, Unpack, options_again, said_options, takes_options
from afa.schema import Schema
from punctuation.durations import Duration, has_unit, in_units, ticks_of_duration
from speculation.around import Front


class _Parts(NamedTuple):
    """What a pattern is made of, and is compared by."""

    event: Schema
    definitions: tuple[Definition, ...]
    constraints: tuple[RelationConstraint, ...]
    returns: tuple[tuple[str, SituationAggregate], ...]
    window: Duration
    tick: str | None
    key: str | tuple[str, ...] | None


class TemporalPattern(Frozen, Pattern):
    """Situations and the relations between them, frozen: a match picks one situation of each definition.

    Parameters
    ----------
    event : NamedTuple class
        A reading.
    within : int, str or timedelta
        The deciding instant of a match lies before the begin of its first situation + ``within``, where its lifetime ends.
    where : str, optional
        Constraints between two definitions each: ``"a meets|overlaps b and b before c"``, by Allen's relations. Left out where
        there is one definition only.
    returns : dict of str to str, optional
        Further fields of a match: ``{"speed": "avg(speeding.speed)"}``; `first`, `last`, `count`, `sum`, `avg`, `min`, `max` of the
        readings up to the deciding instant.
    tick : "ns", "us", "ms", "s", "min", "h" or "d", optional
        What one int of LE counts, for durations that are text or a timedelta. Without it these wait until the pattern is bound.
    key : str or sequence of str, optional
        The fields of the readings that tell keys apart.
    definitions
        Each a `Situation`, in the order in which matches show them.

    Attributes
    ----------
    automaton : Automaton
        Over instants; a match shows for each definition ``k`` its ``k_ts`` and ``k_te`` (None: it goes on), then what it returns.
    instants : type
        The class of the instants; see `afa.extra.situations.pattern_automaton`.
    definitions : tuple of Definition
    constraints : tuple of Constraint
    aggregates : tuple of Aggregate
        What an instant says beside what begins and ends, each once, by definition.
    window : int, str or timedelta
    waits : frozenset of str
        The definitions of which the automaton reads ``k_lasts``.

    Raises
    ------
    QueryError, AutomatonError
        Something is wrong with a name, a condition, a duration, the relations or an aggregate; the constraints can't hold together;
        there would be more than 500 states.

    Warns
    -----
    UserWarning
        The pattern is not connected, so that matches multiply.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa.situations import Situation
    >>> class Sample(NamedTuple):
    ...     service: str
    ...     p99: float
    ...     deploying: bool
    >>> slow = TemporalPattern(
    ...     event=Sample, within=3600, key="service", slow=Situation("p99 > 0.5", at_least=60), deploy=Situation("deploying"),
    ...     where="slow overlaps|during deploy", returns={"worst": "max(slow.p99)"},
    ... )
    >>> slow.instants._fields
    ('slow_begins', 'slow_ends', 'slow_lasts', 'slow_fails', 'deploy_begins', 'deploy_ends', 'max_slow_p99', 'at')
    >>> slow.automaton.match_schema.cls._fields
    ('slow_ts', 'slow_te', 'deploy_ts', 'deploy_te', 'worst')
    >>> print(*slow.explain().decided, sep="; ")
    slow overlaps|during deploy: when slow ends
    """

    __slots__ = ("_made", "_parts")

    _made: tuple[PatternPlan, Any, Automaton]
    _parts: _Parts

    def __init__(
        self,
        *,
        event: type,
        within: Duration,
        where: str | None = None,
        returns: Mapping[str, str] | None = None,
        tick: str | None = None,
        key: str | Sequence[str] | None = None,
        **definitions: Any,
    ) -> None:
        schema = Schema.of(event, "event")
        if not definitions:
            raise QueryError('expected definitions but got none; write speeding=Situation("speed > 70")')
        defined = tuple(definition_of(name, given, schema, tick) for name, given in definitions.items())
        names = list(definitions)
        constraints = constraints_of(where, names)
        asked = aggregates_of(returns, names, schema)
        parts = _Parts(schema, defined, constraints, tuple(asked.items()), window_of(within, tick), tick, _key(key, schema))
        self._fill(parts)
        groups = parts_of(names, constraints)
        if len(groups) > 1:
            warnings.warn(f"a pattern that is not connected: {not_connected(groups, within)}", stacklevel=2)

    def _fill(self, parts: _Parts) -> None:
        check_window(parts.window, parts.definitions, parts.constraints)
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_made", _compiled(parts.event, parts.definitions, parts.constraints, parts.returns))

    @property
    def traits(self) -> tuple[str, ...]:
        """What contradicts options: it is one."""
        return (TEMPORAL,)

    @property
    def automaton(self) -> Automaton:
        """The automaton over instants that the pattern stands for."""
        return self._made[2]

    @property
    def instants(self) -> Any:
        """The class of the instants, a NamedTuple."""
        return self._made[1]

    @property
    def event(self) -> type:
        """The class of the readings."""
        return self._parts.event.cls

    @property
    def event_schema(self) -> Schema:
        """The fields of the readings."""
        return self._parts.event

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in their order, with durations in ticks once these are known."""
        return self._parts.definitions

    @property
    def constraints(self) -> tuple[RelationConstraint, ...]:
        """The constraints, one for each pair."""
        return self._parts.constraints

    @property
    def returns(self) -> dict[str, SituationAggregate]:
        """What a match tells of its situations beside their times, by the names of its fields."""
        return dict(self._parts.returns)

    @property
    def aggregates(self) -> tuple[SituationAggregate, ...]:
        """The aggregates that an instant holds, in its order: by definition, of one as they were asked for."""
        return _distinct(self.definitions, self._parts.returns)

    @property
    def waits(self) -> frozenset[str]:
        """The definitions of which a match waits until they have lasted: those of which the automaton reads ``k_lasts``."""
        plan = self._made[0]
        return frozenset(each.name for each, waits in zip(plan.definitions, plan.waits) if waits)

    @property
    def window(self) -> Duration:
        """How long an instant lives in the operator, in ticks once the tick is known."""
        return self._parts.window

    @property
    def tick(self) -> str | None:
        """What one int of LE counts, where that is said."""
        return self._parts.tick

    @property
    def key(self) -> str | tuple[str, ...] | None:
        """The field or fields that tell keys apart, as `Keyed` takes them; None: there are none."""
        return self._parts.key

    def bound(self, tick: str | None) -> TemporalPattern:
        """Return the pattern with all durations in ticks; this very one where they are.

        Raises
        ------
        AfaError
            There is no tick, or a duration is no whole number of ticks; or the pattern has another one.
        """
        if self.tick is not None and tick not in (None, self.tick):
            raise QueryError(f"expected the pattern's own tick={self.tick!r} but got tick={tick!r}")
        waiting = [self.window, *(value for each in self.definitions for value in (each.at_least, each.at_most))]
        if not any(has_unit(value) for value in waiting):
            return self
        window = window_of(ticks_of_duration(self.window, tick, "within"), tick)
        definitions = tuple(each.bound(tick) for each in self.definitions)
        return _pattern(self._parts._replace(window=window, definitions=definitions, tick=tick))

    @takes_options()
    def operator(self, **options: Unpack[OperatorOptions]) -> Front:
        """Make an operator that takes readings: a `Keyed` where the pattern has a key or ``key=`` is said, else an `Operator`.

        Parameters
        ----------
        options
            As of `Operator`; the window is the pattern's. ``order_by`` orders readings of one time, of which the last one holds.
            ``threads`` counts with a key only.

        Raises
        ------
        AfaError
            An option is one that the pattern says, or that does not go with readings that may be revised.
        """
        said = said_options(options, "TemporalPattern.operator")
        found: Front = made(self, own_key(self, said), said)
        return found

    def operator_by(self, key: str, /, **options: Unpack[OperatorOptions]) -> Front:
        """Make an operator that matches within the values of another column than the key, which readings need not have."""
        found: Front = made(self._keyless(), key, said_options(options, "TemporalPattern.operator_by"))
        return found

    def _keyless(self) -> TemporalPattern:
        return _pattern(self._parts._replace(key=None))

    def restore(
        self, blob: bytes, *, arcs: Iterable[Arc] = (), stages: Iterable[Any] = (), **options: Unpack[OperatorOptions]
    ) -> Front:
        """Make the operator of this pattern that ``snapshot`` saved.

        Parameters
        ----------
        blob : bytes
        arcs, stages, options
            As of `Operator.restore`; ``key``, ``order_by`` and ``tick`` as the operator was made with them.

        Raises
        ------
        SnapshotError
            The blob is no snapshot of an operator of this pattern, or is damaged.
        """
        said = options_again(options)
        found: Front = restored(self, blob, own_key(self, said), arcs, stages, said)
        return found

    def changes_to(self, other: TemporalPattern) -> QueryChanges:
        """Return what leads a running operator of this pattern to another one, over the same definitions.

        ``operator.push_many(list(pattern.changes_to(other).arcs))`` puts the other relations in force, from the present on; partial
        matches in states of both go on. Conditions change by ``operator.redefine``.

        Raises
        ------
        AfaError
            The patterns differ in more than ``where``.
        """
        if not isinstance(other, TemporalPattern):
            raise QueryError(f"expected a TemporalPattern but got {other!r}")
        return changes_between(self, other)

    def explain(self) -> PatternExplanation:
        """Explain the pattern: states, arcs, at which instant each relation is decided, durations, costs; ``print`` shows it."""
        return explained(self._made[0], self.constraints, self.window)

    def readings_asked(self, order_by: str | None) -> ReadingsAsked:
        """Return what it asks of readings as plain data, which travels to workers of Spark."""
        return readings_asked(self, order_by)

    def draw(self, form: str = "svg", *, labels: str = "code") -> str:
        """Draw the automaton that the pattern stands for; see `Automaton.draw`."""
        return self.automaton.draw(form, labels=labels)

    def _repr_html_(self) -> str:
        """Return what the pattern asks for, and its automaton, for notebooks."""
        rows = [(each.name, _definition_text(each)) for each in self.definitions]
        rows += [("where", " and ".join(map(str, self.constraints))), ("within", in_units(self.window, self.tick))]
        rows += [(name, str(aggregate)) for name, aggregate in self._parts.returns]
        return titled("TemporalPattern", pairs([row for row in rows if row[1]]), self.draw(labels="names"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TemporalPattern) and self._same() == other._same()

    def __hash__(self) -> int:
        return hash(self._same())

    def _same(self) -> tuple[Any, ...]:
        """Return what counts: of the constraints neither their order nor their direction."""
        turned = (each if self._place(each.first) < self._place(each.second) else each.turned() for each in self.constraints)
        return *self._parts._replace(constraints=()), frozenset(turned)

    def _place(self, name: str) -> int:
        return next(i for i, each in enumerate(self.definitions) if each.name == name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _pattern, (_Parts(*self._parts),)

    def __repr__(self) -> str:
        where = " and ".join(map(str, self.constraints))
        definitions = ", ".join(each.name for each in self.definitions)
        return f"TemporalPattern({definitions}{f': {where}' if where else ''}, within={self.window!r})"


def _pattern(parts: _Parts) -> TemporalPattern:
    """Make a pattern of checked parts, for pickle and for `bound`; it does not warn again."""
    pattern = TemporalPattern.__new__(TemporalPattern)
    pattern._fill(parts)
    return pattern


@functools.lru_cache(maxsize=256)
def _compiled(
    event: Schema,
    definitions: tuple[Definition, ...],
    constraints: tuple[RelationConstraint, ...],
    returns: tuple[tuple[str, SituationAggregate], ...],
) -> tuple[PatternPlan, Any, Automaton]:
    """Return the plan of a pattern, the class of its instants, and its automaton."""
    instants = instants_of(definitions, _distinct(definitions, returns), event)
    match = match_of(definitions, dict(returns), event)
    plan = plan_of(definitions, constraints)
    return plan, instants, automaton_of(plan, instants, match, dict(returns))


def _distinct(
    definitions: Sequence[Definition], returns: Sequence[tuple[str, SituationAggregate]]
) -> tuple[SituationAggregate, ...]:
    asked = dict.fromkeys(aggregate for _, aggregate in returns)
    return tuple(aggregate for each in definitions for aggregate in asked if aggregate.definition == each.name)


def _key(key: Any, event: Schema) -> str | tuple[str, ...] | None:
    names = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    for name in names:
        if all(field.name != name for field in event.fields):
            raise QueryError(f"expected a field of {event.cls.__name__} but got key={name!r}; {event.hint(str(name))}")
    return None if not names else names[0] if len(names) == 1 else names


def _definition_text(each: Definition) -> str:
    bounds = (("at_least", each.at_least), ("at_most", each.at_most))
    return ", ".join([each.condition.text, *(f"{name}={value}" for name, value in bounds if value is not None)])
