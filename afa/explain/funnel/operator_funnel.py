"""The funnel of an operator: what it holds, counted when it is asked."""

from __future__ import annotations

from dataclasses import replace

from afa.errors import AfaError
from afa.explain.funnel.counted import BEFORE, MOST, FunnelSource, funnel_of
from afa.explain.funnel.funnel import Funnel
from afa.operator.call import Core
from afa.operator.matching import Matching
from afa.operator.told_anew import ToldAnew
from afa.rewrite.rewritten_engine import RewrittenEngine


def funnel(self: Matching, *, most: int | None = MOST) -> Funnel:
    """Return what every arc was asked, where partial matches ended, and in one sentence why there is no match.

    What is held is counted: with what the watermark has dropped it says nothing. Nothing is kept for it before. Matches are
    those of the arcs, before AFTER MATCH SKIP, ``collapse=``, ``having=`` or a stage behind the operator; `why` says so of the
    first three.

    Parameters
    ----------
    most : int or None
        So many functions are asked at most; what is left out then, whole keys, is said. None: all is counted.

    Returns
    -------
    Funnel
        To print, as an Arrow table (`table`), as plain data (`to_json`); a notebook shows it.

    Raises
    ------
    AfaError
        Payloads are not kept (``keep_payloads=False``), or the automaton has a condition on paths (``having=``), as that of a
        query with conditions that wait for the match.

    Notes
    -----
    O(events * arcs), where the event alone decides for what waits; else O(what stands at each step).

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> class Pay(NamedTuple):
    ...     amount: int
    >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
    ...     Arc("0", "small", "amount < 10"), Arc("small", "big", "amount > 500"),
    ... ])
    >>> op = Operator(two, window=2)
    >>> _ = op.push_many([insert(Pay(1), le=1), insert(Pay(900), le=4)])
    >>> op.funnel().why.partition(" (")[0]
    '`small -> big` was never asked: the one partial match in `small` ended by the window'
    """
    return self._core.calls.call(_funnel_in, self._core, most)


def _funnel_in(core: Core, most: int | None) -> Funnel:
    """Return the funnel of an operator, within a call."""
    if most is not None and (type(most) is not int or most < 1):
        raise AfaError(f"expected a number of functions to ask, at least 1, or None but got most={most!r}")
    if isinstance(core.engine, RewrittenEngine):
        raise AfaError("expected an operator that keeps payloads, for its funnel, but got keep_payloads=False")
    if core.automaton.having is not None:
        raise AfaError(
            "expected an operator whose arcs ask all that there is to ask, for its funnel, but got one with a condition on paths, "
            "having= of its automaton; give Query.operator postpone=False"
        )
    held = core.held()
    progress, keys = held.progress, "" if core.keys is None else ", ".join(core.keys.names)
    source = FunnelSource(
        engine=held.engine,
        automaton=held.automaton,
        table=held.table,
        clock=progress.events,
        since=progress.floor,
        some=progress.some,
        longest=held.longest,
        window=core.window,
        tick=core.tick,
        keys=keys or ("its keys" if core.keyed else ""),
        late=core.late.count,
        taken=core.changes,
    )
    found = funnel_of(source, most)
    options = core.told.options if isinstance(core.told, ToldAnew) else []
    if found.cause == "matched" and options:
        found = replace(found, why=f"{found.why}{BEFORE}{' and '.join(f'{name}=' for name, _ in options)}")
    return found
