"""What an operator tells of the paths of its matches: which options ask for that, and which output they come to."""

from __future__ import annotations

from afa.model.automaton import Automaton
from afa.operator.announced import Announcing, told_of
from afa.operator.collapsed_output import Collapsing
from afa.operator.members import Members
from afa.operator.options import Options
from afa.operator.postponed_output import AutomatonHaving, Postponing
from afa.operator.told_anew import PathOutput
from afa.schema import Schema


def asks(automaton: Automaton, options: Options) -> bool:
    """Return whether an automaton or options ask for what is derived from paths."""
    asked = (automaton.having, options.members, options.collapse, options.having)
    return told_of(options.tell) or any(each is not None for each in asked)


def told_by(automaton: Automaton, event: Schema | None, sequence: str | None, options: Options) -> PathOutput | None:
    """Return what is told of paths, None where matches leave as they are. Raises `AfaError` where an option says what is none."""
    if automaton.having is not None:
        return AutomatonHaving(automaton)
    if options.having is not None:
        return Postponing(automaton, event, options.having)
    if options.collapse is not None:
        return Collapsing(automaton, event, options.collapse)
    if options.members is None and options.tell is None:
        return None
    members = None if options.members is None else Members(automaton, event, sequence, options.members)
    return Announcing(members, told_of(options.tell))
