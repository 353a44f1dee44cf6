"""The flights as a stream of revisions: what an airport would have sent while the year went on.

The flights, their schedule and what became of them are data. *When each of it was published is not in the data; it is derived
here*: a departure is announced twelve hours ahead, as on time; at the instant at which the aircraft left, that event is
retracted and the actual departure inserted (a flight that left on the minute needs no revision); a cancelled flight is
retracted at its scheduled instant.

The watermark that follows each slot holds by construction: a message of later arrival concerns either a departure that is still
to come, or one that is announced and *open*, neither left nor cancelled. So no later message has an LE below
``min(now, earliest open departure)``, and the airport knows that instant without looking ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

AHEAD = 12 * 60  # minutes between announcement and scheduled departure
SLOT = 60  # minutes of arrival that are fed as one batch


class Stream(NamedTuple):
    """All messages by arrival: ``arrive`` (minutes), and their columns as `afa.Keyed.push_many` takes them."""

    arrive: np.ndarray
    columns: pa.Table  # tail, carrier, flight, origin, dest, delay, le, diff
    flights: int
    departed: int
    cancelled: int

    @property
    def messages(self) -> int:
        return len(self.arrive)

    @property
    def retractions(self) -> int:
        return int(np.count_nonzero(self.columns["diff"].to_numpy() < 0))


class Slot(NamedTuple):
    """The messages that arrive in ``[end - SLOT, end)``, and the watermark that holds once they are here."""

    end: int
    rows: pa.Table
    promise: int


def revisions(flights: pa.Table) -> Stream:
    """Turn flights into messages, in the order of arrival. O(n log n), columns throughout."""
    scheduled = flights["scheduled"].to_numpy()
    left = flights["delay"].is_valid().to_numpy()
    delay = flights["delay"].fill_null(0).to_numpy()
    on_time = left & (delay == 0)
    actual = scheduled + delay  # of a cancelled flight: the instant at which it is taken out

    everyone = np.arange(len(flights))
    revised = everyone[~on_time]
    moved = everyone[left & ~on_time]
    none = np.zeros(len(flights), dtype=np.int64)
    arrive = np.concatenate([scheduled - AHEAD, actual[revised], actual[moved]])
    row = np.concatenate([everyone, revised, moved])
    le = np.concatenate([scheduled, scheduled[revised], actual[moved]])
    late = np.concatenate([none, none[revised], delay[moved]])
    diff = np.repeat(np.array([1, -1, 1]), [len(everyone), len(revised), len(moved)])

    order = np.argsort(arrive, kind="stable")  # stable: of one flight, the retraction before the insertion
    columns = flights.select(["tail", "carrier", "flight", "origin", "dest"]).take(pa.array(row[order])).combine_chunks()
    for name, values in (("delay", late), ("le", le), ("diff", diff)):
        columns = columns.append_column(name, pa.array(values[order]))
    return Stream(arrive[order], columns, len(flights), int(left.sum()), int((~left).sum()))


def slots(stream: Stream) -> Iterator[Slot]:
    """The stream slot by slot, empty ones too: the watermark moves on in them."""
    if not stream.messages:
        return
    # The earliest LE among the messages from each one on; only open departures make it earlier than their arrival.
    coming = np.minimum.accumulate(stream.columns["le"].to_numpy()[::-1])[::-1]
    first = int(stream.arrive[0]) // SLOT * SLOT
    ends = np.arange(first + SLOT, int(stream.arrive[-1]) + SLOT + 1, SLOT)
    stops = np.searchsorted(stream.arrive, ends)
    start = 0
    for end, stop in zip(ends.tolist(), stops.tolist()):
        promise = min(end, int(coming[stop])) if stop < stream.messages else end
        yield Slot(end, stream.columns.slice(start, stop - start), promise)
        start = stop
