"""State cleanup using punctuations ([AFA10] Sec. 5.4, App. C.1).

    before t        steps a  b  c | d  e        cover(t) = c: the latest step with LE < t
    after cleanup           c' | d  e           c' has no events any more, and the list of c

t is what the promise has made final; where lineages are kept, an earlier instant: the operator's floor (`punctuation.progress`).
No later change has an LE below t, so that nothing before the list of cover(t) is looked up again. From that list fall the partial
matches whose ``m`` is not after t: no event that can still come lies in their lifetime.
"""

from __future__ import annotations

from afa.interpreted.algorithm import Algorithm
from afa.interpreted.state import Entry, State
from afa.model.pmatch import Rest


def tick(algorithm: Algorithm, s: State) -> list[tuple[int, int]]:
    """Let the time-outs fire that a new punctuation's clock has reached, and gaps be final; the numbers missing in these."""
    if s.index:
        last = s.index.peekitem(-1)[1]
        algorithm.set_horizon(s, last, max(last.le, algorithm.progress.events))
    return algorithm.pass_gaps(s) if s.gaps else []


def clean(algorithm: Algorithm, s: State, t: int) -> None:
    """Drop what lies before ``cover(t)``. O(what is dropped + the list of cover)."""
    cover = s.before(s.place(t))
    if cover is None:
        return
    if s.pruned is not None and cover.key > s.pruned:
        s.journal.note(setattr, s, "pruned", s.pruned)
        s.pruned = None  # its list is what the one before gave, and the next one needs
    s.keep(cover)
    layer = s.layer(cover)
    # What a time-out before t has made stands in the list from now on: the arc that made it may be dropped.
    fired = dict.fromkeys(q for p in layer for _, q in algorithm.transitions.fired(p, cover.rest, min(cover.horizon, t - 1)))
    alive = algorithm.kept({p: 1 for p in {**layer, **fired} if p.re > t})
    if cover.events:  # what has skipped them may outlive them
        cover.over = max([*(re for _, re in cover.events), *(p.re for p in alive)])
    for p in layer:
        algorithm.emit(s, cover, p, -1)
    for key in list(s.index.irange(maximum=cover.key, inclusive=(True, False))):
        s.journal.drop(s.index, key)
    cover.events = {}
    cover.rest = Rest(cover.le, max(cover.rest.since, t))
    cover.nodes = dict(sorted(alive.items(), key=lambda node: node[0].start))
    s.runs.trim(s.runs.after(cover.key), t)  # Departs: cover(t) stores what is covered there; the anchor need not stay
    for p in alive:
        algorithm.emit(s, cover, p, 1)  # what fires from t on, counted from what stands in cover
    z = s.after(cover.key)
    if fired and algorithm.linked(cover, z):
        assert z is not None
        algorithm.derive_from_cover(s, z)  # with the ways that lead to it counted from what stands in cover
    if not alive and algorithm.gaps is None:
        s.journal.drop(s.index, cover.key)
    forget_cover(algorithm, s)


def forget_cover(algorithm: Algorithm, s: State) -> None:
    """Forget a key's cover, of many keys, if nothing follows it and its lifetime is over. Else cover keeps its number for gaps."""
    if algorithm.gaps is not None and s.key is not None and len(s.index) == 1:
        cover = s.index.peekitem(0)[1]
        if not cover.events and cover.over <= algorithm.final(s):
            s.journal.drop(s.index, cover.key)


def drop_final(s: State, t: int) -> None:
    """Forget matches that can't change any more."""
    while s.matches and s.matches.peekitem(0)[0] < t:
        s.journal.drop(s.matches, s.matches.peekitem(0)[0])


def deadlines(algorithm: Algorithm, s: State) -> tuple[int | None, int | None]:
    """Return the smallest punctuation at which this key has something to say, and the smallest floor at which it shrinks; or None.

    O(lists of the first and last step).
    """
    says, shrinks = [le + 1 for _, le, _ in s.pending], []
    if s.matches:
        shrinks.append(s.matches.peekitem(0)[0] + 1)
    if s.index:
        first: Entry = s.index.peekitem(0)[1]
        last: Entry = s.index.peekitem(-1)[1]
        if first.events or first.le >= algorithm.final(s):
            shrinks.append(first.le + 1)
        else:
            shrinks += [p.re for p in first.nodes]
            if len(s.index) > 1:
                shrinks.append(s.index.peekitem(1)[1].le + 1)
            if first is last and algorithm.gaps is not None and s.key is not None:
                shrinks.append(first.over)
        waiting: list[Entry | None] = [last]
        if s.gaps:
            says.append(s.gaps.keys()[0][0] + 1)
            waiting += [s.before(key) for key in s.gaps if algorithm.transitions.table.timeouts]
        for y in {id(y): y for y in [first, *waiting] if y is not None}.values():
            fired, later = _instants(algorithm, s, y, last=any(y is other for other in waiting))
            shrinks += fired
            says += later
    return min(says, default=None), min(shrinks, default=None)


def _instants(algorithm: Algorithm, s: State, y: Entry, last: bool) -> tuple[list[int], list[int]]:
    """When what time-outs of a list have made must stand for itself, and when the next ones fire.

    Only functions of what has been reached are called: an instant that the clock never reaches runs no code.
    """
    transitions, final = algorithm.transitions, algorithm.progress.floor
    stands: list[int] = []
    fires: list[int] = []
    for p in s.layer(y) if transitions.table.timeouts else ():
        if p.state in transitions.table.timeouts:
            fired = transitions.fired(p, y.rest, y.horizon)
            stands += [t + 1 for t, _ in fired if t >= final]
            if last:
                fires += [t for since, q in [(y.le, p), *fired] for t in transitions.waits(q, since) if t > y.horizon]
    return stands, fires
