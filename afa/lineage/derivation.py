"""Backward derivation, where no engine finds the ways itself: what leads to a match, from the lists that an engine holds.

The list of each step is derived anew from the one before it, with the picks; what does not lead to the match is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from afa.engine import Step, Ways
from afa.errors import AfaError
from afa.lineage.components import Pick, component_of
from afa.model.pmatch import PMatch, Rest
from afa.model.transitions import Transitions

Taken = tuple["Pick | None", PMatch]
"""What was taken (None: all was passed over), and what came of it."""
Sources = dict["Pick | None", dict["PMatch | None", None]]
"""What leads to a partial match at a step, by picks: partial matches at the step before; None: it begins."""


def derived_ways(
    transitions: Transitions,
    steps: Sequence[Step],
    ends: Mapping[int, Sequence[PMatch]],
    re: int,
    least: int | None = None,
    since: int | None = None,
) -> Ways | None:
    """Return all that leads to partial matches; ``re``: of the match that they stand for. O(steps, and what is listed there).

    ``steps`` are all steps from the first start to the match, with the partial matches of these starts; ``ends`` the partial
    matches that stand for the match, by the number of their step. ``least``: only events with this RE or a larger one are taken.
    None: a way comes from a step below ``since``.
    """
    starts = {p.start for found in ends.values() for p in found}
    rows: list[tuple[int, PMatch, Pick | None, dict[PMatch | None, None]]] = []  # as of `Ways.groups`, later steps first
    held: dict[PMatch | None, None] = {}
    for i in reversed(range(len(steps))):
        held.update(dict.fromkeys(ends.get(i, ())))
        if held and since is not None and steps[i].le < since:
            return None
        found = _sources(transitions, steps, i, starts, least) if held else {}
        before: dict[PMatch | None, None] = {}
        for p in held:
            assert p is not None
            if p not in found:
                raise _impure(steps[i], p)
            for pick, of in found[p].items():
                before.update(of)
                if pick is not None or len(found[p]) > 1 or list(of) != [p]:  # else it rests
                    rows.append((i, p, pick, of))
        before.pop(None, None)
        held = before
    rows.reverse()
    return _written(steps, rows, ends, re)


def _sources(
    transitions: Transitions, steps: Sequence[Step], i: int, starts: set[object], least: int | None
) -> dict[PMatch, Sources]:
    """Derive the list of a step from the one before it: what leads to each partial match."""
    y, found = steps[i], dict[PMatch, Sources]()

    def note(taken: Iterable[Taken], source: PMatch | None) -> None:
        for pick, p in taken:
            found.setdefault(p, {}).setdefault(pick, {})[source] = None

    if y.start in starts:
        note(begun(transitions, y, least), None)
    if i and y.follows:
        for q in steps[i - 1].partial:
            note(derived(transitions, q, steps[i - 1].le, y, least), q)
    return found


def _written(
    steps: Sequence[Step],
    rows: Sequence[tuple[int, PMatch, Pick | None, dict[PMatch | None, None]]],
    ends: Mapping[int, Sequence[PMatch]],
    re: int,
) -> Ways:
    """Return rows as `Ways`, which know those steps alone at which something becomes another; what ends does so since then."""
    numbers: dict[PMatch | None, int] = {None: 0}
    names: dict[str, int] = {}
    events: dict[tuple[int, object, int], int] = {}
    places = {i: place for place, i in enumerate(sorted({i for i, *_ in rows}))}
    became: dict[PMatch, list[int]] = {}

    def number(p: PMatch | None) -> int:
        return numbers.setdefault(p, len(numbers) + 1)  # from 2 on

    groups: list[list[int]] = [[], [], [], []]
    edges: list[tuple[int, int]] = []
    for group, (i, p, pick, sources) in enumerate(rows):
        event, name = -1, 0
        if pick is not None:
            event = events.setdefault((i, pick.payload, pick.re), len(events))
            name = names.setdefault(pick.component, len(names))
        became.setdefault(p, []).append(i)
        for column, word in zip(groups, (places[i], number(p), event, name)):
            column.append(word)
        edges += ((group, number(q)) for q in sources)
    ended = sorted({(places[max(j for j in became[p] if j <= i)], number(p)) for i, found in ends.items() for p in found})
    return Ways(
        times=[steps[i].le for i in places],
        groups=groups,
        edges=np.array(edges, np.int64).reshape(-1, 2).T,
        ends=[[place for place, _ in ended], [p for _, p in ended]],
        events=[((payload,), event_re) for _, payload, event_re in events],
        form=lambda payload: payload,
        components=list(names),
        numbers=len(numbers) + 1,
        re=re,
    )


def _impure(y: Step, p: PMatch) -> AfaError:
    return AfaError(
        f"expected functions that say today of le={y.le} what they said when its events came but got no way "
        f"to state {p.state!r} with register {p.register!r}; fences, transfers and at must be pure"
    )


# -- what partial matches become by one step: `Transitions.begin` and `derive`, told apart by events ---------------------------


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
