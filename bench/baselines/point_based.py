"""Point-based evaluation of sequences over events with intervals (PVLDB 2010, Sec. 4), on the operator as it is.

Each possible instant of an event is an event, with its probability; skip till any match finds all choices of instants, those of one
instant being one step. The register holds the product of probabilities, so that the matches of a signature add up to its
confidence. Under skip till next an event also says the next event's latest time (NELT), behind which nothing is next to it, and a
match is weighed by the probability that no competitor lies in between.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Operator, Punctuation
from bench.baselines.valid_intervals import Known, free

Column = np.ndarray[Any, Any]
NEVER = 2**62
NAMES = "abcdef"


class Point(NamedTuple):
    """An instant of an event: component, number, time, the last time at which an event may be next to it, and probability."""

    kind: int
    id: int
    t: int
    until: int
    p: float


def automaton(length: int) -> Automaton:
    """Return skip till any match, in which an event is not behind the NELT of the one before."""
    fields = [(name + part, int) for part in ("", "_t") for name in NAMES[:length]]
    register: Any = NamedTuple("Points", [*fields, ("until", int), ("p", float)])  # type: ignore[misc]  # by length
    arcs = []
    for number, name in enumerate(NAMES[:length]):
        here, there = str(number), str(number + 1)
        if number:
            arcs.append(Arc(here, here, "True", name=f"skip {here}"))
        fence = f"kind == {number}" + (" and t <= r.until" if number else "")
        arcs.append(Arc(here, there, fence, f"r._replace({name}=e.id, {name}_t=e.t, until=e.until, p=r.p * e.p)", name=name))
    start = register(*[-1] * (2 * length), NEVER, 1.0)
    return Automaton(start="0", final={str(length)}, event=Point, register=start, arcs=arcs)


def run(
    events: list[Known], length: int, window: int, following: bool, engine: Any = "compiled", batch: int = 20
) -> dict[tuple[int, ...], float]:
    """Evaluate a whole stream; ``batch``: so many instants in a call. Returns the confidence of each signature."""
    events = [event for event in events if event.component < length]
    points = _points(events, length, following)
    op = Operator(automaton(length), window=window, engine=engine)
    found = defaultdict[tuple[int, ...], float](float)
    of = [[event for event in events if event.component == number] for number in range(length)]
    for start in range(int(points["t"][0]), int(points["t"][-1]) + 1, batch):
        low, high = np.searchsorted(points["t"], [start, start + batch])
        out = op.push_many({name: column[low:high] for name, column in points.items()})
        op.push(Punctuation(start + batch))
        _add(found, out, length, of if following else None)
    return {signature: confidence for signature, confidence in found.items() if confidence > 0}


def _points(events: list[Known], length: int, following: bool) -> dict[str, Column]:
    """Return the instants of all events, in their order."""
    kind, number, lower, upper = (np.array(column) for column in zip(*events))
    until = np.full(len(events), NEVER)
    if following:
        for component in range(length - 1):
            these, others = kind == component, kind == component + 1
            begin, over = lower[others], upper[others]
            order = np.argsort(begin, kind="stable")
            least = np.append(np.minimum.accumulate(over[order][::-1])[::-1], NEVER)
            until[these] = least[np.searchsorted(begin[order], upper[these], "right")]
    many = upper - lower + 1
    at = np.repeat(np.arange(len(events)), many)
    t = np.arange(len(at)) - np.repeat(np.cumsum(many) - many, many) + lower[at]
    order = np.argsort(t, kind="stable")
    at, t = at[order], t[order]
    return {"kind": kind[at], "id": number[at], "t": t, "until": until[at], "p": 1.0 / many[at], "le": t}


def _add(found: dict[tuple[int, ...], float], out: Any, length: int, of: list[list[Known]] | None) -> None:
    """Add up the matches of a call, by signature."""
    if not len(out["le"]):
        return
    ids = np.stack([np.asarray(out[name]) for name in NAMES[:length]])
    weight = np.array(out["p"])
    for number in range(1, length if of is not None else 0):
        s, t = (np.asarray(out[f"{NAMES[n]}_t"]) for n in (number - 1, number))
        weight *= _free(of[number], ids[number], s, t)  # type: ignore[index]  # of events, where it is asked
    names, inverse = np.unique(ids, axis=1, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=weight)
    for signature, confidence in zip(names.T.tolist(), sums.tolist()):
        found[tuple(signature)] += confidence


def _free(events: list[Known], own: Column, s: Column, t: Column) -> Column:
    """Return for each match the probability that no competitor of an event lies between two times; each case once."""
    cases, inverse = np.unique(np.stack([own, s, t]), axis=1, return_inverse=True)
    found = np.ones(cases.shape[1])
    for each in np.unique(cases[0]).tolist():
        these = cases[0] == each
        found[these] = free([event for event in events if event.id != each], cases[1, these], cases[2, these])
    return np.asarray(found[inverse.ravel()])
