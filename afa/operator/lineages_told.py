"""What an operator tells of lineages: which options ask, what stands where its output leaves, what lineages are derived from."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError
from afa.lineage.match_ends import Held
from afa.model.automaton import Automaton
from afa.operator.announced import Announcing, told_of
from afa.operator.collapsed_output import Collapsing
from afa.operator.members import Members
from afa.operator.postponed_output import Having, Postponing
from afa.operator.told_anew import ToldAnew
from afa.operator.weak_method import Weak
from afa.rewrite.rewritten_engine import RewrittenEngine

Told = Announcing | ToldAnew | None
"""What leaves of the events behind matches; None: nothing."""


def asks(automaton: Automaton, members: Any, tell: Any, collapse: Any, having: Any) -> bool:
    """Return whether an automaton or options ask for what is derived from paths."""
    return automaton.having is not None or members is not None or told_of(tell) or collapse is not None or having is not None


def told_by(core: Any, held: Weak, members: Any, tell: Any, collapse: Any, having: Any) -> Told:
    """Return what is told of the events behind the matches of a core.

    Raises
    ------
    AfaError
        One of the options says what is none, or they don't go together.
    """
    if not asks(core.automaton, members, tell, collapse, having):
        return None
    if core.automaton.having is not None:
        return _own(core, held, members=members, tell=tell, collapse=collapse, having=having)
    if collapse is not None or having is not None:
        return _told_anew(core, held, members, tell, collapse, having)
    asked = None if members is None else Members(core.automaton, core.taken, core.sequence, members)
    return Announcing(held, asked, told_of(tell))


def _own(core: Any, held: Weak, **options: Any) -> ToldAnew:
    """Return what leaves where the automaton has a condition on paths of its own."""
    said = {name: value for name, value in {**options, "longest": core.longest or None}.items() if value is not None}
    if said:
        name, value = next(iter(said.items()))
        own = core.automaton.having
        raise AfaError(f"expected an automaton without having= beside {name}= but got {name}={value!r} and one with {own!r}")
    return Having(held, core.automaton)


def _told_anew(core: Any, held: Weak, members: Any, tell: Any, collapse: Any, having: Any) -> ToldAnew:
    """Return what leaves in place of matches."""
    if members is not None or tell is not None:
        name = "collapse" if having is None else "having"
        raise AfaError(f"expected {name}= without members= and tell= but got members={members!r}, tell={tell!r}")
    if having is None:
        return Collapsing(held, core.automaton, core.taken, collapse)
    if collapse is not None or core.longest:
        raise AfaError(f"expected having= without collapse= and longest= but got collapse={collapse!r}, longest={core.longest}")
    return Postponing(held, core.automaton, core.taken, having)


def held_of(core: Any) -> Held:
    """Return what lineages are derived from, of a core.

    Raises
    ------
    AfaError
        It keeps no payloads.
    """
    if isinstance(core.engine, RewrittenEngine):
        raise AfaError("expected an operator that keeps payloads, for the lineage of a match, but got keep_payloads=False")
    faults = core.faults is not None
    return Held(core.engine, core.automaton, core.arcs.table, core.progress, faults, core.matches_shown, core.taken, core.longest)
