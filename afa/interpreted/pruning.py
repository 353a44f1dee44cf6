"""Drop the state that no coming event can touch, if nothing is retracted ([AFA10] App. F.2).

    steps           a       b       c       d       e          some events are promised beyond d, others only to a
    after pruning   a{q}    .       .       d{q,F}  e{..}      what can come before d leads on from q alone

A partial match in a state q is of use to an event that comes right behind it and takes an arc out of q. If no such event can come
any more before the next step, the partial match is dropped. An event is of use to computations that come before it and lead to it.
If there can be none any more, its step stays as a *stone*: a step without events, which ends every computation that newly reaches
it. Partial matches in final states stay, as an event that comes between ends the runs that they stand for. Stones that no
computation meets are dropped.

So the lists up to `State.pruned` can't be derived from the lists before them. An event inserted there follows Algorithm 1 as
printed: behind it, all partial matches that began before it are removed, and derived anew from its list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afa.conditions.promised import Promises
from afa.interpreted.algorithm import NOTHING, Algorithm
from afa.interpreted.cleanup import clean, drop_final
from afa.interpreted.state import Entry, State, by_start, joined
from afa.model.pmatch import PMatch


def prune(algorithm: Algorithm, s: State, promises: Promises, arcs: int) -> None:
    """Drop the state that promises have made superfluous. Arcs may change from ``arcs`` on. O(state)."""
    if algorithm.transitions.table.timeouts:
        return  # when one fires is a matter of the clock, which conditions do not move, and of any event
    if algorithm.gaps is not None:
        return  # which numbers may still come is not told by events that may not
    t = min(promises.of_all(), arcs)
    if t > s.promised:
        s.journal.note(setattr, s, "promised", s.promised)
        s.promised = t
        clean(algorithm, s, t)
        if not s.delta:  # else `collect` does, after it has looked at what is in force
            drop_final(s, t)
    if s.ordered:
        return  # steps of one LE lie beside each other: what comes between them is not told by LE alone
    if algorithm.transitions.table.skips:
        return  # an event that comes to a step may end a computation there, and one that takes no arc may, too
    steps = list(s.index.values())
    for y, z in zip(steps, [*steps[1:], None]):
        changed = _drop_events(s, y, promises, arcs)
        if z is not None:
            changed = _drop_nodes(algorithm, s, y, z, promises, arcs) or changed
        if changed:
            _note(s, y)
    _drop_runs(algorithm, s, promises, arcs)
    _drop_stones(algorithm, s, promises, arcs)


def _note(s: State, y: Entry) -> None:
    """Note that a step's list can't be derived from the one before it, or the next list can't be derived from this one."""
    if s.pruned is None or s.pruned < y.key:
        s.journal.note(setattr, s, "pruned", s.pruned)
        s.pruned = y.key


def _drop_events(s: State, y: Entry, promises: Promises, arcs: int) -> bool:
    if not y.events or any(y.le >= min(promises.of_event(payload), arcs) for payload, _ in y.events):
        return False
    s.keep(y).events = {}
    return True


def _drop_nodes(algorithm: Algorithm, s: State, y: Entry, z: Entry, promises: Promises, arcs: int) -> bool:
    """Drop the partial matches of a step that no event can continue before the next step."""
    idle = [p for p in y.nodes if z.le < min(promises.of_state(p.state), arcs) and not _stands(algorithm, s, y, p)]
    for p in idle:
        del s.keep(y).nodes[p]
    return bool(idle)


def _stands(algorithm: Algorithm, s: State, y: Entry, p: PMatch) -> bool:
    """Return whether a partial match stands for a match that is not final."""
    return y.le >= algorithm.final(s) and algorithm.transitions.final(p.state, y.le)


def _drop_runs(algorithm: Algorithm, s: State, promises: Promises, arcs: int) -> None:
    """Cut ignorable runs down to the steps at which they are of use."""
    for span in list(s.runs):
        p = span.data
        if algorithm.transitions.table.marks or algorithm.transitions.final(p.state, 0):
            continue
        y = s.before(s.place(min(promises.of_state(p.state), arcs)))
        if y is not None and span.begin < y.key:
            s.runs.uncover(p, span.begin, min(y.key, span.end))
            if x := s.before(y.key):
                _note(s, x)


def _drop_stones(algorithm: Algorithm, s: State, promises: Promises, arcs: int) -> None:
    """Drop the stones that no computation meets: none can start before them or pass them, and none has begun at or passed them.

    A computation that has passed a stone goes on if another event comes at the very same LE, so such a stone stays.
    """
    begins = min(promises.of_start(), arcs)
    steps = list(s.index.values())
    earliest: list[Any] = [None]  # where the earliest run began of those that stand behind a step
    for y in reversed(steps):
        starts = [p.start for p in s.layer(y)] + [start for start in earliest[-1:] if start is not None]
        earliest.append(min(starts, default=None))
    before: Entry | None = None  # what stands before
    leads_on = False  # whether something could go on from there
    for y, start in zip(steps, earliest[-2::-1]):
        stone = not y.events and not s.layer(y)
        passed = y.le < s.promised or (y.le <= begins and (start is None or start > y.key))
        if stone and not leads_on and passed:
            s.journal.drop(s.index, y.key)
            continue
        if before:
            algorithm.set_horizon(s, before, y.le)
        before, leads_on = y, not stone


# -- insertion ---------------------------------------------------------------------------------------------------------------


def behind(s: State, key: Any) -> bool:
    """Return whether a (new) step lies where lists can't be derived from the lists before them."""
    if s.pruned is None:
        return False
    x = s.before(key)
    return x is None or bool(x.key <= s.pruned)


def insert(algorithm: Algorithm, s: State, key: Any, le: int, events: Mapping[tuple[Any, int], int]) -> None:
    """Insert an event as Algorithm 1 prints it. O(later steps * partial matches)."""
    y = s.index.get(key)
    if y is None:
        y = Entry(key, le, s.journal.serial)
        y.events = dict(events)
        _insert_step(algorithm, s, y)
        _note(s, y)  # by how many ways the next list is given what it had is not known
        return
    s.keep(y)
    fresh = {event: n for event, n in events.items() if event not in y.events}
    y.events = {**y.events, **{event: y.events.get(event, 0) + n for event, n in events.items()}}
    if fresh:
        _add_alternatives(algorithm, s, y, fresh)


def _insert_step(algorithm: Algorithm, s: State, y: Entry) -> None:
    x, z = s.before(y.key), s.after(y.key)
    if x:
        algorithm.set_horizon(s, x, y.le)
    y.nodes, stays = algorithm._make_transitions(s.layer(x) if x else NOTHING, (x or y).rest, y)
    s.journal.put(s.index, y.key, y)
    algorithm._set_runs(s, x, y, z, stays)
    y.horizon = z.le if z else max(y.le, algorithm.progress.events)
    source = joined(y.nodes, stays)
    algorithm.within(s, y, source)
    for p in source:
        algorithm.emit(s, y, p, 1)
    before = y
    for z in s.steps(y.key, inclusive=False):
        old = s.layer(z)
        counts: dict[PMatch, int] = {}
        again: dict[PMatch, int] = {}
        algorithm._derive_all(source, before.rest, z, 1, counts, again)
        s.keep(z)
        z.nodes = _ordered({**{p: n for p, n in z.nodes.items() if p.start > y.key}, **counts})
        later = {p: 1 for p in s.runs.at(z.key) if p.start > y.key}
        algorithm._set_runs(s, before, z, s.after(z.key), {**later, **again})
        new = s.layer(z)
        gone, come = [p for p in old if p not in new], [p for p in new if p not in old]
        if come:
            algorithm.within(s, z, new)
        _emit(algorithm, s, z, gone, come)
        if not gone and not come and s.pruned < z.key:
            break
        source, before = {p: 1 for p in new if p.start <= y.key}, z


def _add_alternatives(algorithm: Algorithm, s: State, y: Entry, events: Mapping[tuple[Any, int], int]) -> None:
    """Add an event to an existing step. This removes no partial match."""
    x = s.before(y.key)
    other = Entry(y.key, y.le, s.journal.serial)
    other.events = dict(events)
    counts, stays = algorithm._make_transitions(s.layer(x) if x else NOTHING, (x or y).rest, other)
    before = x
    for z in s.steps(y.key):
        old = s.layer(z)
        s.keep(z)
        z.nodes = _ordered({**z.nodes, **{p: z.nodes.get(p, 0) + n for p, n in counts.items()}})
        if stays:
            algorithm._set_runs(s, before, z, s.after(z.key), {**dict.fromkeys(s.runs.at(z.key), 1), **stays})
        new = s.layer(z)
        come = [p for p in new if p not in old]
        _emit(algorithm, s, z, [], come)
        if not come:
            break
        algorithm.within(s, z, new)
        following = s.after(z.key)
        counts, stays, before = {}, {}, z
        if following:
            algorithm._derive_all(come, z.rest, following, 1, counts, stays)


def _ordered(nodes: Mapping[PMatch, int]) -> dict[PMatch, int]:
    return dict(sorted(nodes.items(), key=lambda node: by_start(node[0])))  # INVARIANT: Ordering


def _emit(algorithm: Algorithm, s: State, z: Entry, gone: list[PMatch], come: list[PMatch]) -> None:
    for p in gone:
        algorithm.emit(s, z, p, -1)
    for p in come:
        algorithm.emit(s, z, p, 1)
