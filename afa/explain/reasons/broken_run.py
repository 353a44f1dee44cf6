"""What became of a partial match at an event that came between two events of its match: it took another arc there, or none."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.lineage.match_ends import starts_of
from afa.model.pmatch import Rest
from afa.model.transitions import Transitions


def broken_run(core: Any, match: Change, first: Change, change: Change) -> str | None:
    """Return a sentence about the partial matches of a match in force when an event comes that is not there yet.

    The core is that before the event; ``first`` is the first event of one of the match's paths; the key has no event at the instant
    of the new one. None: there is not one answer for all partial matches of this match, or it was chosen by a scan.
    """
    if core.automaton.choice is not None:
        return None
    try:
        held = core.held()
        le: Any = change.le
        end: Any = change.re
        steps = [y for y in held.engine.steps(match.key, le, le) if y.le < le]
        if not steps:
            return None
        starts = starts_of(held, match)
        begun = {start for start in starts if (start[0] if isinstance(start, tuple) else start) == first.le}
        transitions = Transitions(held.automaton, held.table)
        rows = [p for p in steps[-1].partial if p.start in (begun or starts)]
        rows = [p for p in rows if p.re >= match.re]  # no other leads to it
        if not rows or held.goes_on or any(p.state in transitions.table.timeouts for p in rows):
            return None
        rest = Rest.behind(steps[-1].le)
        led = [(p.state, *transitions.derive(p, rest, le, {(change.payload, end): 1})) for p in rows]
    except AfaError:
        return None
    states = {state for state, _, _ in led}
    if any(stays for _, _, stays in led) or len(states) > 1:
        return None
    (state,) = states
    to = {q.state for _, found, _ in led for q in found}
    if not to and not any(found for _, found, _ in led):
        return f"In state {state!r} no arc takes it: the partial match ends there."
    if len(to) == 1 and all(found for _, found, _ in led):
        (then,) = to
        return f"In state {state!r} the partial match takes it, and goes on in {then!r}."
    return None
