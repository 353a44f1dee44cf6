"""What of an operator a poll of an arc log depends on."""

from __future__ import annotations

from afa.arclog.log_state import Here
from afa.engine import Engine
from afa.engines import check_engine
from afa.model.arc import Arc
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.binding import Binder
from afa.rewrite.reduction import Reduction
from punctuation.progress import Progress


def here(
    automaton: Automaton,
    engine: Engine,
    asked: str,
    binder: Binder,
    table: ArcTable,
    progress: Progress,
    tick: str | None,
    sequence: str | None,
) -> Here:
    """Return it; ``asked``: the engine's name, as the operator was given it. Without payloads, all behind the present is late."""

    def fitting(arc: Arc) -> Arc:
        """Return an arc of a line with its spans as ticks; refuse one that could not be put in force."""
        arc = binder.fitting(arc)
        reduction = None if engine.bits is None else Reduction(automaton, sequence)
        held = automaton if reduction is None else reduction.rewritten
        check_engine(asked, held, [arc if reduction is None else reduction.rewrite(arc)])
        return arc

    promised = progress.arc_promise if engine.bits is None else max(progress.arc_promise, progress.now)
    return Here(automaton, fitting, table, tick, progress.now, promised, progress.floor)
