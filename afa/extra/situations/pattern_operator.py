"""The operator of a temporal pattern: the stage that derives instants, in front of an operator of the pattern's automaton.

Another pattern takes its place by arcs that go and come. States and arcs are named by what they mean, so that two patterns over the
same definitions differ by two sets of names; the partial matches of those that stay go on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afa.change import insert, retract
from afa.errors import AfaError, QueryError
from afa.extra.situations.consistency import network_of
from afa.extra.situations.deriving import Deriving
from afa.extra.situations.judged import Judged
from afa.extra.situations.key_standing import Kind
from afa.extra.situations.relations import set_of
from afa.extra.situations.situated import Situated
from afa.extra.situations.situation import Definition, length
from afa.extra.situations.situation_aggregates import SituationAggregate
from afa.extra.situations.told_forms import Telling, instants
from afa.extra.situations.where_text import RelationConstraint
from afa.language.changes import QueryChanges
from afa.model.arc import Arc
from afa.model.conflicts import TEMPORAL, check
from afa.model.option_values import threads_of, tick_of
from afa.operator.contract import Spanned
from afa.operator.operator import Operator
from afa.operator.options import IN_FRONT, Options
from afa.schema import Schema
from punctuation.durations import Duration, has_unit, nanoseconds_of, ticks_of_duration
from speculation.layers import Layer, build, in_front, restore

FOLLOWS = set_of(["before", "meets"])
"""The relations in which one situation ends before the other begins, or as it begins."""


def window_of(within: Duration, tick: str | None) -> Duration:
    """Return a window in ticks, or as it is where it waits for a tick.

    AfaError: it is no duration, or no whole number of ticks, or below one.
    """
    if tick is None and has_unit(within):
        found: Duration = within if nanoseconds_of(within, "within") > 0 else 0
    else:
        found = ticks_of_duration(within, tick, "within")
    if not has_unit(found) and length(found, "within") < 1:
        raise QueryError(f"expected within= of at least one tick but got within={within!r}")
    return found


def check_window(window: Duration, definitions: Sequence[Definition], constraints: Sequence[RelationConstraint]) -> None:
    """Refuse a window in which no match can be decided, as situations that follow one another last longer.

    Raises
    ------
    QueryError
    """
    lasting = {each.name: each.at_least for each in definitions if each.at_least is not None}
    if not lasting or len({has_unit(value) for value in [window, *lasting.values()]}) > 1:
        return
    lengths = {name: length(value, "at_least") for name, value in lasting.items()}
    chain = _longest([each.name for each in definitions], constraints, lengths)
    if length(window, "within") <= sum(lengths[name] for name in chain):
        said = " + ".join(str(lasting[name]) for name in chain)
        follow = f"{', '.join(chain)} follow one another and last" if len(chain) > 1 else f"{chain[0]} lasts"
        raise QueryError(f"expected within= above {said} but got within={window!r}: {follow} at least so long")


def _longest(names: Sequence[str], constraints: Sequence[RelationConstraint], lengths: Mapping[str, Any]) -> list[str]:
    """Return the definitions that must follow one another and together last longest, of those with ``at_least``."""
    network = network_of(names, constraints)
    follow = {name: [other for other in lengths if other != name and not network[name, other] & ~FOLLOWS] for name in lengths}

    @functools.cache
    def best(name: str) -> tuple[Any, tuple[str, ...]]:
        total, chain = max((best(other) for other in follow[name]), default=(0, ()))
        return lengths[name] + total, (name, *chain)

    return list(max(best(name) for name in lengths)[1])


def made(pattern: Any, key: Any, options: dict[str, Any]) -> Any:
    """Make an operator of a temporal pattern that has taken nothing; see `TemporalPattern.operator`."""
    said = Options(**options).said
    check(said | {TEMPORAL: True})
    pattern, order_by = _bound(pattern, key, said)
    layers = [_layer(pattern, order_by), *in_front(said)]
    return build(Operator(pattern.automaton, key=key, **said), layers)


def restored(pattern: Any, blob: bytes, key: Any, arcs: Iterable[Arc], stages: Iterable[Any], said: dict[str, Any]) -> Any:
    """Make the operator that was saved; see `TemporalPattern.restore`."""
    pattern, order_by = _bound(pattern, key, said)
    front = {name: said.pop(name) for name in IN_FRONT if name in said}
    alone = lambda part: Operator.restore(pattern.automaton, part, key=key, arcs=arcs, **said)  # noqa: E731
    return restore(blob, alone, [_layer(pattern, order_by)], stages, front)


def _layer(pattern: Any, order_by: str | None) -> Layer:
    """Return the stage that derives a pattern's instants, as it stands at its operator; its durations are ticks."""

    def stage(_: Any) -> Deriving:
        kinds = kinds_of(pattern.definitions, pattern.aggregates)
        telling = instants(kinds, pattern.instants, pattern.window)
        made = deriving(pattern.event_schema, pattern.definitions, pattern.aggregates, telling, order_by, pattern.tick)
        made.waits = any(each.at_least is not None for each in pattern.definitions)
        made.spanned = Spanned(pattern.window, [f"{each.name}_ts" for each in pattern.definitions])
        return made

    return Layer("Deriving", Situated, stage)


def changes_between(now: Any, then: Any) -> QueryChanges:
    """Return what leads from one pattern to another; see `TemporalPattern.changes_to`."""
    for what, one, other in (
        ("readings", now.event_schema.describe(), then.event_schema.describe()),
        ("definitions (a condition is changed by redefine)", now.definitions, then.definitions),
        ("within", now.window, then.window),
        ("returns", now.returns, then.returns),
        ("key", now.key, then.key),
    ):
        if one != other:
            raise AfaError(f"expected a pattern with the same {what} for a running operator, {one!r}, but got {other!r}")
    old, new = ({str(arc.name): arc for arc in pattern.automaton.arcs} for pattern in (now, then))
    gone = [retract(arc) for name, arc in old.items() if name not in new]
    come = [insert(arc) for name, arc in new.items() if name not in old]
    before, after = (set(pattern.automaton.states) - pattern.automaton.final - {pattern.automaton.start} for pattern in (now, then))
    stays, goes, comes = (tuple(sorted(part)) for part in (before & after, before - after, after - before))
    return QueryChanges((*gone, *come), stays, goes, comes, then)


def _bound(pattern: Any, key: Any, said: dict[str, Any]) -> tuple[Any, str | None]:
    """Return the pattern in ticks and the order of readings; leave what its operator is told in ``said``."""
    if said.get("window") not in (None, pattern.window):
        raise AfaError(f"expected the pattern's own window={pattern.window!r} (within) but got window={said['window']!r}")
    tick = tick_of(said.get("tick")) or pattern.tick
    pattern = pattern.bound(tick)
    if key is None:
        threads_of(said.pop("threads", 1))
    order_by = said.pop("order_by", None)
    said |= {"window": pattern.window, "tick": tick}
    return pattern, order_by


def kinds_of(definitions: Sequence[Definition], aggregates: Sequence[SituationAggregate], begun: bool = False) -> list[Kind]:
    """Return what of definitions counts for what they derive; ``begun``: also when each situation began."""
    found = []
    for each in definitions:
        folds = tuple(of.function for of in aggregates if of.definition == each.name)
        plain = not begun and each.at_least is None and each.at_most is None and not folds
        found.append(Kind(each.at_least, each.at_most, folds, plain))  # type: ignore[arg-type]  # ticks
    return found


def deriving(
    event: Schema,
    definitions: Sequence[Definition],
    aggregates: Iterable[SituationAggregate],
    telling: Telling,
    order_by: str | None,
    tick: str | None,
) -> Deriving:
    """Make the stage of some definitions."""
    names = [each.name for each in definitions]
    fields = [[aggregate.field for aggregate in aggregates if aggregate.definition == name] for name in names]
    judged = Judged.of(names, [each.condition for each in definitions])
    return Deriving(event, judged, fields, telling, order_by=order_by, tick=tick)
