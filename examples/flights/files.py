"""The stream as files that arrive: one Parquet file for each hour of arrival, written while the job runs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from examples.flights.job import SWAP
from examples.flights.stream import SLOT, Slot, Stream, slots

MINUTE = 60_000_000  # microseconds
COLUMNS = "tail string, carrier string, flight long, origin string, dest string, delay long, at timestamp, diff long"


class Airport:
    """Writes the hours into a folder, one call for all that arrive before the next batch.

    Parameters
    ----------
    stream : Stream
    folder : Path
    hours : int
        How many arrive between two batches.
    """

    def __init__(self, stream: Stream, folder: Path, hours: int) -> None:
        self._slots = list(slots(stream))
        self._folder = folder
        self._hours = hours
        self._largest = np.maximum.accumulate(stream.columns["le"].to_numpy())
        self.batches = -(-len(self._slots) // hours)
        self._sent = np.cumsum([len(slot.rows) for slot in self._slots])
        folder.mkdir(parents=True)

    def arrive(self, batch: int) -> None:
        """Write the hours of a batch; again, if it is said again: the same ones."""
        for slot in self._slots[batch * self._hours : (batch + 1) * self._hours]:
            write(slot, self._folder)

    def end(self, batch: int) -> int:
        """The minute at which the last hour of a batch ends."""
        return self._slots[self._last(batch)].end

    def sent(self, batch: int) -> int:
        """Messages so far."""
        return int(self._sent[self._last(batch)])

    def _last(self, batch: int) -> int:
        return min((batch + 1) * self._hours, len(self._slots)) - 1

    def swaps(self, batch: int) -> bool:
        """Whether the swap falls into the hours of a batch."""
        begin = self._slots[0].end - SLOT if batch == 0 else self.end(batch - 1)
        return begin <= SWAP < self.end(batch) and batch < self.batches

    @property
    def unheard(self) -> int:
        """The first minute after all departures that were announced before the swap."""
        before = [slot.end <= SWAP for slot in self._slots].count(True)
        return int(self._largest[self._sent[before - 1] - 1]) + 1


def write(slot: Slot, folder: Path) -> None:
    """One hour as a file; it is there as a whole or not at all. Spark takes files by their times: the hour itself."""
    at = pc.multiply(slot.rows["le"], MINUTE).cast(pa.timestamp("us", tz="UTC"))
    rows = slot.rows.set_column(slot.rows.column_names.index("le"), "at", at)
    name = f"{np.datetime64(slot.end - SLOT, 'm')}".replace(":", "") + ".parquet"
    hidden = folder / f".{name}"  # which no reader takes
    parquet.write_table(rows, hidden)
    os.utime(hidden, (slot.end * 60, slot.end * 60))
    hidden.replace(folder / name)


def emptied(work: Path, names: tuple[str, ...]) -> list[Path]:
    """The folders of those names, without what an earlier run has left there."""
    for name in names:
        shutil.rmtree(work / name, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    return [work / name for name in names]
