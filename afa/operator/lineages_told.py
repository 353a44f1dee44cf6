"""What an operator tells of lineages: which options ask, what stands where its output leaves, what lineages are derived from."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError
from afa.lineage.match_ends import LineageSource
from afa.model.automaton import Automaton
from afa.operator.announced import Announcing, told_of
from afa.operator.collapsed_output import Collapsing
from afa.operator.members import Members
from afa.operator.options import Options
from afa.operator.postponed_output import AutomatonHaving, Postponing
from afa.operator.told_anew import ToldAnew
from afa.operator.weak_method import Weak
from afa.rewrite.rewritten_engine import RewrittenEngine

Told = Announcing | ToldAnew | None
"""What leaves of the events behind matches; None: nothing."""


def asks(automaton: Automaton, options: Options) -> bool:
    """Return whether an automaton or options ask for what is derived from paths."""
    asked = (automaton.having, options.members, options.collapse, options.having)
    return told_of(options.tell) or any(each is not None for each in asked)


def told_by(core: Any, held: Weak, options: Options) -> Told:
    """Return what is told of the events behind the matches of a core.

    Raises
    ------
    AfaError
        One of the options says what is none.
    """
    if core.automaton.having is not None:
        return AutomatonHaving(held, core.automaton)
    if options.having is not None:
        return Postponing(held, core.automaton, core.taken, options.having)
    if options.collapse is not None:
        return Collapsing(held, core.automaton, core.taken, options.collapse)
    if options.members is None and options.tell is None:
        return None
    asked = None if options.members is None else Members(core.automaton, core.taken, core.sequence, options.members)
    return Announcing(held, asked, told_of(options.tell))


def held_of(core: Any) -> LineageSource:
    """Return what lineages are derived from, of a core.

    Raises
    ------
    AfaError
        It keeps no payloads.
    """
    if isinstance(core.engine, RewrittenEngine):
        raise AfaError("expected an operator that keeps payloads, for the lineage of a match, but got keep_payloads=False")
    faults = core.faults is not None
    return LineageSource(
        core.engine, core.automaton, core.arcs.table, core.progress, faults, core.matches_shown, core.taken, core.longest
    )
