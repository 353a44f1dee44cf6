"""The invariants of [AFA10] Sec. 5.1 and App. C.1, checked by recomputation; for tests, O(everything).

Content       each step's list is what the list before it and the arcs in force give, counts included
Ordering      each list is in increasing order of start
Completeness  follows from Content: every partial match has a way that leads to it
Cleanup       nothing before cover(t_p), no events before t_p, no arcs that ended at or before t_p
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from afa.interpreted.algorithm import Algorithm
from afa.interpreted.longest import Longest
from afa.interpreted.state import Entry, State
from afa.model.pmatch import PMatch, le_of
from punctuation.time import FOREVER


def check(algorithm: Algorithm, s: State) -> None:
    """Assert all invariants of one key; the message says which one does not hold, and where."""
    steps: list[Entry] = list(s.index.values())
    _check_cleanup(algorithm, s, steps)
    x: Entry | None = None
    for i, y in enumerate(steps):
        starts = [p.start for p in s.layer(y)]
        assert starts == sorted(starts), f"Ordering at {y.key}: {starts}"
        assert [p.start for p in y.nodes] == sorted(p.start for p in y.nodes), f"Ordering of nodes at {y.key}"
        assert all(p.re > y.le for p in s.layer(y)), f"Content at {y.key}: a lifetime that has ended"
        assert all(le_of(p.start) <= y.le for p in s.layer(y)), f"Content at {y.key}: one that begins later"
        assert y.key == steps[i].key, "the index and its entries disagree"
        if y.events and (s.pruned is None or (x is not None and x.key > s.pruned)):
            _check_content(algorithm, s, x, y)
        z = steps[i + 1] if i + 1 < len(steps) else None
        horizon = z.le if z is not None and algorithm.linked(y, z) else y.le
        assert horizon <= y.horizon <= (FOREVER if z is None else z.le), f"horizon at {y.key}: {y.horizon} against {horizon}"
        x = y
    _check_numbers(algorithm, s, steps)
    _check_matches(algorithm, s, steps)
    assert not s.delta, "a difference was left behind"
    assert all(count > 0 for count in s.pending.values()), "pending counts"
    spans: Counter[PMatch] = Counter(span.data for span in s.runs)
    for span in s.runs:
        others = [o for o in s.runs if o.data == span.data and o is not span]
        assert not any(o.begin <= span.end and span.begin <= o.end for o in others), f"runs touch: {span} {others}"
    assert sum(spans.values()) == len(s.runs), "runs"


def _check_content(algorithm: Algorithm, s: State, x: Entry | None, y: Entry) -> None:
    assert all(count > 0 for count in y.events.values()), f"event counts at {y.key}"
    nodes: Counter[PMatch] = Counter()
    stays: set[PMatch] = set()
    for p in algorithm.source(s, x, y):
        found, stay = algorithm.transitions.derive(p, (x or y).rest, y.le, y.events)
        nodes.update(found)
        stays |= {p} if stay else set()
    nodes.update(algorithm.transitions.begin(y.key, y.le, y.events))
    if isinstance(algorithm, Longest):
        nodes, stays = Counter(algorithm.kept(nodes + Counter(stays))), set()
    assert nodes == Counter(y.nodes), f"Content at {y.key}: stored {y.nodes}, derived {dict(nodes)}"
    assert stays == set(s.runs.at(y.key)), f"Content at {y.key}: runs {s.runs.at(y.key)}, derived {stays}"


def _check_numbers(algorithm: Algorithm, s: State, steps: list[Entry]) -> None:
    if algorithm.gaps is None:
        return
    pairs = list(itertools.pairwise(steps))
    assert all(x.key[1] < y.key[1] for x, y in pairs), "numbers against times"
    gaps = [y.key for x, y in pairs if x.key[1] + 1 < y.key[1] and y.le >= algorithm.progress.events]
    assert list(s.gaps) == gaps, f"gaps: {list(s.gaps)} against {gaps}"
    assert all(sum(y.events.values()) <= 1 for y in steps), "a number twice"


def _check_matches(algorithm: Algorithm, s: State, steps: list[Entry]) -> None:
    found: Counter[Any] = Counter()
    final, transitions = algorithm.final(s), algorithm.transitions
    for y in steps:
        for p in s.layer(y):
            instants = [(y.le, p)] if y.events or y.le >= final else []
            instants += transitions.fired(p, y.rest, y.horizon)
            found.update((t, q.register, q.re) for t, q in instants if t >= final and transitions.final(q.state, t))
    stored = Counter({(le, *match): n for le, bucket in s.matches.items() for match, n in bucket.items()})
    assert found == stored, f"matches: stored {dict(stored)}, derived {dict(found)}"


def _check_cleanup(algorithm: Algorithm, s: State, steps: list[Entry]) -> None:
    t = algorithm.final(s)
    early = [y for y in steps if y.le < t]
    assert len(early) <= 1, f"Cleanup: steps before cover({t}): {[y.key for y in early]}"
    for y in early:
        assert not y.events, f"Cleanup: events before {t} at {y.key}"
        assert all(p.re > t for p in y.nodes), f"Cleanup: partial matches that can't go on at {y.key}"
        assert all(span.end >= s.runs.after(y.key) and span.data.re > t for span in s.runs), f"Cleanup: runs before {t}"
    assert all(y.events or (s.pruned is not None and y.key <= s.pruned) for y in steps if y.le >= t), "a step without events"
    assert all(le >= t for le in s.matches), f"Cleanup: final matches before {t}"
    final = algorithm.progress.floor  # arcs are shared by all keys: what one is promised ends none
    assert all(event.re > final for event in algorithm.transitions.table.events), f"Cleanup: arcs that ended before {final}"
