"""The automaton of a temporal pattern, over its instants.

An *instant* is one event for each key and time at which a situation of the key begins, ends, or has lasted long enough. For each
definition ``k`` it says

    k_begins   a situation of k begins here
    k_ends     one ends here, and has lasted as long as it should
    k_lasts    where it is to last at least so long: one has just lasted so long, and goes on
    k_fails    where it is to last at least or at most so long: one ends here, and has not lasted as it should

and for each aggregate that matches return its value, of the situation that goes on behind this instant or ends here; last its time,
`at`. Fences read the event only; the register is what a match shows: ``k_ts``, ``k_te`` and the aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from afa.errors import QueryError
from afa.extra.situations.configuration_names import DECIDED, START, arc_name, loop_name, state_name
from afa.extra.situations.configurations import BEGINS, ENDS, LASTS, ON, STAYS, YOUNG, Configuration, ConfigurationStep, PatternPlan
from afa.extra.situations.situation import Definition
from afa.extra.situations.situation_aggregates import SituationAggregate
from afa.language.payload_classes import made
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.schema import Instant, Schema

AT = "at"
"""The field of an instant that holds its time."""
FieldType = tuple[str, type, bool]


def instants_of(definitions: Sequence[Definition], aggregates: Iterable[SituationAggregate], event: Schema) -> Any:
    """Return the class of the instants."""
    fields: list[FieldType] = []
    for each in definitions:
        flags = ["begins", "ends", *["lasts"] * (each.at_least is not None), *["fails"] * each.fails]
        fields += [(f"{each.name}_{flag}", bool, False) for flag in flags]
    fields += [(each.name, each.type_of(event), True) for each in aggregates]
    fields.append((AT, cast(type, Instant), False))
    _check_names(fields, "an instant")
    return made("Instant", tuple(fields))


def match_of(definitions: Sequence[Definition], returns: Mapping[str, SituationAggregate], event: Schema) -> Any:
    """Return the class of the matches; its instance without arguments is the register at the start."""
    fields: list[FieldType] = []
    for each in definitions:
        fields += [(f"{each.name}_ts", int, False), (f"{each.name}_te", int, True)]
    fields += [(name, aggregate.type_of(event), True) for name, aggregate in returns.items()]
    _check_names(fields, "a match")
    times = [name for name, _, _ in fields[: 2 * len(definitions)]]
    times += [name for name, aggregate in returns.items() if aggregate.is_time(event)]
    return made("Match", tuple(fields), tuple(times))


def automaton_of(plan: PatternPlan, instants: Any, match: Any, returns: Mapping[str, SituationAggregate]) -> Automaton:
    """Return the automaton of a plan."""
    names = {there: state_name(plan, there) for there in plan.configurations}
    arcs = []
    for step in plan.steps:
        before = names[step.before]
        after = DECIDED if step.after is None else names[step.after]
        arcs.append(
            Arc(before, after, _fence(plan, step), _transfer(plan, step, returns), name=arc_name(before, after, plan, step))
        )
    for there, name in names.items():
        if (
            name != START
        ):  # a self-loop, no skip: one event is a step, and both run alike (15 M instants a second, aggressive drivers)
            arcs.append(Arc(name, name, _nothing(plan, there), name=loop_name(name)))
    first = match(*(None if field.optional else 0 for field in Schema.of(match, "register").fields))
    return Automaton(start=START, final={DECIDED}, register=first, event=instants, arcs=arcs)


def _fence(plan: PatternPlan, step: ConfigurationStep) -> str:
    parts = []
    for k, what in enumerate(step.happens):
        name, status = plan.definitions[k].name, step.before.statuses[k]
        if what == STAYS:
            parts += _stays(plan, k, status)
        else:
            parts.append(f"{name}_{ {BEGINS: 'begins', ENDS: 'ends', LASTS: 'lasts'}[what] }")
    return " and ".join(parts)


def _nothing(plan: PatternPlan, there: Configuration) -> str:
    """Return the fence of the self-loop: nothing happens to what goes on."""
    parts = [part for k, status in enumerate(there.statuses) for part in _stays(plan, k, status)]
    return " and ".join(parts) or "True"


def _stays(plan: PatternPlan, k: int, status: int) -> list[str]:
    each = plan.definitions[k]
    if status not in (YOUNG, ON):
        return []
    flags = ["ends", *["fails"] * each.fails, *["lasts"] * (status == YOUNG)]
    return [f"not {each.name}_{flag}" for flag in flags]


def _transfer(plan: PatternPlan, step: ConfigurationStep, returns: Mapping[str, SituationAggregate]) -> str | None:
    sets = []
    for k, what in enumerate(step.happens):
        each = plan.definitions[k]
        if what in (BEGINS, ENDS):
            sets.append(f"{each.name}_{'ts' if what == BEGINS else 'te'}=e.{AT}")
        if what == ENDS or (step.after is None and step.goes_on(k)):
            sets += [f"{name}=e.{aggregate.name}" for name, aggregate in returns.items() if aggregate.definition == each.name]
    return f"r._replace({', '.join(sets)})" if sets else None


def _check_names(fields: Sequence[FieldType], what: str) -> None:
    names = [name for name, _, _ in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryError(
            f"expected names that make different fields but got two fields {twice!r} of {what}; rename a definition or a result"
        )
