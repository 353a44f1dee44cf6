"""The spans in which changes can change matches: around changed rows, around the rows that a changed arc takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.model.binding import bound_arc
from afa.replay.changed_rows import Changed
from afa.replay.group_rows import see_keys
from afa.replay.key_spans import Places, Spans, different, joined, later, touching
from afa.replay.question import Question, lifetime_of
from afa.replay.scanning import Scan, Scanner, WitnessBlock
from afa.replay.seen_keys import SeenKeys
from afa.replay.witness.boxes import ArcLifetime, boxes_of
from afa.replay.witness.witnesses import Witness
from punctuation.time import BEGINNING, FOREVER


def changed_spans(asking: Question, come: Changed, number: Any, keys: SeenKeys, longest: int, latest: tuple[int, int]) -> Spans:
    """Return the spans of keys in which some run, or the wait behind it, can be another after the changes.

    ``number``: of the key of each changed row; ``keys`` takes the keys that a changed arc concerns. ``latest``: the largest LE
    before the changes and after them: between the two time-outs fire that did not, or no more.
    """
    if asking.by_span is None or not asking.plan.steady:  # what is chosen of overlapping matches hangs together without an end
        if come.arcs or latest[0] != latest[1]:
            see_keys(asking, keys, range(len(asking.stored)))
        many = np.arange(len(keys))
        return Spans(many, np.full(len(many), BEGINNING), np.full(len(many), FOREVER))
    parts = [(number, later(come.le, 1 - longest), later(come.le, longest))]
    if latest[0] != latest[1]:
        parts.append(_all_keys(asking, keys, _moved(min(latest), 1 - longest), _moved(max(latest), 1)))
    for change in come.arcs:
        le, re = lifetime_of(change)
        serving = ArcLifetime(bound_arc(change.payload, asking.plan.tick, asking.plan.automaton), le, re)
        if serving.arc.reads_event and not serving.arc.final:
            parts += _around_takers(asking, serving, keys, longest)
        else:  # it may serve behind any event
            parts.append(_all_keys(asking, keys, _moved(le, 1 - longest), _moved(re, longest)))
    return joined(*(np.concatenate(columns) for columns in zip(*parts)))


def _around_takers(asking: Question, serving: ArcLifetime, keys: SeenKeys, longest: int) -> list[tuple[Any, Any, Any]]:
    """Return the spans around the events that an arc may take."""
    boxes = boxes_of(serving, asking.plan.automaton.event_schema, asking.plan.automaton.register_schema)
    witness = Witness(boxes, (serving.arc,), False, False, None)
    scanner = Scanner(asking, [witness], keys, longest, lambda place: 1.0)
    groups = np.flatnonzero(asking.extents.may_hold(boxes)).tolist()
    scan = Scan(witness.fields, (WitnessBlock((0,), (0,)),))
    found = [one for _, several in scanner.candidates(scan, groups, None) for one in several]
    return [(one.key, later(one.le, 1 - longest), later(one.le, longest)) for one in found]


def _all_keys(asking: Question, keys: SeenKeys, low: int, high: int) -> tuple[Any, Any, Any]:
    """Return a span of time for each key that has rows in it."""
    time = Spans(np.zeros(1, np.int64), np.array([low]), np.array([high]))
    see_keys(asking, keys, np.flatnonzero(touching(time, asking.extents.least, asking.extents.latest)).tolist())
    many = len(keys)
    return np.arange(many), np.full(many, low), np.full(many, high)


def _moved(at: int, by: int) -> int:
    return min(max(at + by, BEGINNING), FOREVER)


def span_of(spans: Spans, key: Any, le: Any) -> Any:
    """Return the number of the span in which each event lies; each lies in one."""
    if not len(spans.low):
        return np.zeros(len(le), np.int64)
    at = Places(different(spans.low))
    return np.searchsorted(at.of(spans.key, spans.low), at.of(key, le), "right") - 1
