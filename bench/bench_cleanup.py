"""What do ignorable arcs and punctuations let go, and when ([AFA10] App. C.1, D, F; Figure 15)? What is held as the stream goes on.

Q1, k = 1, drop 0, W = 500, 90 % ignorable, 5 % of the events shifted, looked at every 250 events. Ignorable arcs make runs of
partial matches into one interval each; a punctuation every 500 events lets what is final go; with both, what is held stays flat.
The answers are compared. `bench_predicates` tells what promises about some events let go between the two lines of the figure.
"""

from __future__ import annotations

from typing import Any

from bench.drive import batched, operator, run
from bench.measure import WINDOW, Options, Row, words
from bench.queries import q1
from bench.workloads import punctuated, shifted, ticks

EVERY = 250


def measure(o: Options) -> list[Row]:
    events = shifted(ticks(o.size(10_000), ignorable=0.9), 0.05)
    ways = {
        "nothing": ("plain", events),
        "ignorable arcs": ("ignorable", events),
        "punctuations": ("plain", punctuated(events, WINDOW)),
        "both": ("ignorable", punctuated(events, WINDOW)),
    }
    makes = {skip: operator(q1(1, 0.0, skip), WINDOW, o.engine) for skip in ("plain", "ignorable")}
    answers = {way: run(makes[skip], batched(stream, EVERY)) for way, (skip, stream) in ways.items()}
    assert len({(found.final, found.answer) for found in answers.values()}) == 1, f"expected one answer but got {answers}"
    return [row for way, (skip, stream) in ways.items() for row in held(way, makes[skip](), stream)]


def held(way: str, op: Any, stream: Any) -> list[Row]:
    """What an operator holds after each batch."""
    rows: list[Row] = []
    fed = batched(stream, EVERY)
    for batch in fed.batches:
        op.push_many(batch, **fed.arguments)
        of = op.statistics
        counts = {"events held": of.events, "partial matches": of.partial_matches, "intervals": of.intervals}
        rows.append({"way": way, "rows": len(rows) * EVERY + len(batch["le"]), **counts, "words": words(op)})
    return rows
