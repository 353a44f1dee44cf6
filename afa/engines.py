"""Which engine serves: the compiled one where it can hold what the automaton's schemas allow, else the interpreted one."""

from __future__ import annotations

from collections.abc import Iterable

from afa.engine import Engine, Setup
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.rewrite.reduction import Reduction
from afa.rewrite.rewritten_engine import RewrittenEngine
from afa.rewrite.triggers import Triggers


def make_engine(name: str, setup: Setup) -> Engine:
    """Make the engine of that name.

    AfaError: there is none of that name, or the compiled one can't serve this automaton; ``"auto"`` then takes the interpreted one.
    AutomatonError: with ``"compiled"``: an arc would run in Python; so does the engine's ``swap`` for arcs that come later.
    """
    _check_name(name)
    choice = setup.automaton.choice
    if name != "interpreted":
        from afa.compiled.fit import serves

        if serves(setup.automaton, name == "compiled"):
            from afa.compiled.compiled_engine import CompiledEngine

            return CompiledEngine(setup, name == "compiled")
    if choice is not None:
        from afa.scan.scan_engine import ScanEngine

        return ScanEngine(setup)
    from afa.interpreted.interpreted_engine import InterpretedEngine

    return InterpretedEngine(setup)


def rewritten_engine(name: str, setup: Setup) -> Engine:
    """Make the engine of that name over triggering sets; as `make_engine`.

    AfaError, AutomatonError: what `make_engine` raises; or an arc does not split.
    """
    triggers = Triggers(Reduction(setup.automaton, setup.sequence), setup.table.events)
    inner = make_engine(name, setup._replace(automaton=triggers.reduction.rewritten, table=triggers.table, faults=None))
    return RewrittenEngine(triggers, inner, setup.progress, setup.journal)


def check_engine(name: str, automaton: Automaton, arcs: Iterable[Arc]) -> None:
    """Refuse what `make_engine` would refuse, before a restore."""
    _check_name(name)
    if name == "compiled":
        from afa.compiled.fit import check_arcs

        check_arcs(automaton, arcs)


def _check_name(name: str) -> None:
    if name not in ("auto", "compiled", "interpreted"):
        raise AfaError(f'expected engine="auto", "compiled" or "interpreted" but got engine={name!r}')
