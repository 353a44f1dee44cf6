"""What partial matches become by one step, each time with the pick: `Transitions.begin` and `derive`, told apart by events."""

from __future__ import annotations

from collections.abc import Iterator

from afa.engine import Step
from afa.lineage.components import Pick, component_of
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions

Taken = tuple["Pick | None", PMatch]
"""What was taken (None: all was passed over), and what came of it."""


def begun(transitions: Transitions, y: Step, least: int | None = None) -> Iterator[Taken]:
    """Yield what begins at a step; ``least``: by events with this RE or a larger one only, with it as ``m``."""
    for source in transitions.ready(y.start, y.le):
        yield from _consumed(transitions, source, least, y, least)


def derived(transitions: Transitions, q: PMatch, since: int, y: Step, least: int | None = None) -> Iterator[Taken]:
    """Yield what ``q``, which rests since an instant, becomes by the next step; itself, where it stays as it is."""
    if q.re <= y.le:
        return
    ready = [q] if q.state not in transitions.table.timeouts else [q, *transitions.fired_values(q, Rest.behind(since), y.le)]
    for source in ready:
        yield from _consumed(transitions, source, q.re, y, least)
        for passed in transitions.passed(source, y.le, y.events) if transitions.table.skips else ():
            yield from ((None, p) for p in transitions.closure_passed(source, passed, y.le))


def _consumed(transitions: Transitions, source: PMatch, m: int | None, y: Step, least: int | None) -> Iterator[Taken]:
    for arc, begin, end in transitions.table.consuming.get(source.state, ()):
        if not begin <= y.le < end:
            continue
        component = component_of(arc)
        for payload, re in y.events:
            if least is not None and re < least:
                continue
            register = transitions.consume(arc, payload, source.register, y.le)
            if register is not None:
                pick = None if component is None else Pick(component, payload, re)
                made = PMatch(source.start, re if m is None else min(m, re), arc.dst, register)
                yield from ((pick, p) for p in transitions.closure(made, y.le, transitions.table.timeouts))
