"""Give events their lifetimes when a job's window has changed: those before the present keep the old one, for their retractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from afa.state.sound import wanted
from punctuation.time import BEGINNING, FOREVER, as_time


class Windows:
    """Windows by the LE of events.

    Parameters
    ----------
    spans : sequence of (int, int or None)
        From which LE on which window holds (ticks; None: for ever), in order; the first from BEGINNING on.
    """

    def __init__(self, spans: Sequence[Any]) -> None:
        self.spans = [(as_time(begin, "begin"), None if window is None else as_time(window, "window")) for begin, window in spans]
        begins = [begin for begin, _ in self.spans]
        sound = begins[:1] == [BEGINNING] and begins == sorted(set(begins))
        sound = sound and all(window is None or window > 0 for _, window in self.spans)
        wanted("windows in order", sound, self.spans)

    def change(self, present: int, window: int | None) -> None:
        """Let another window hold from the present on."""
        self.spans = [span for span in self.spans if span[0] < present]
        self.spans.append((present if self.spans else BEGINNING, window))

    def forget(self, promised: int) -> None:
        """Drop those of which no event can come any more."""
        while len(self.spans) > 1 and self.spans[1][0] <= promised:
            self.spans[:2] = [(BEGINNING, self.spans[1][1])]

    @property
    def one(self) -> bool:
        """Whether there is but one."""
        return len(self.spans) == 1

    @property
    def latest(self) -> int | None:
        """The one that holds now."""
        return self.spans[-1][1]

    @property
    def longest(self) -> int | None:
        """The longest of them."""
        windows = [window for _, window in self.spans]
        return None if None in windows else max(window for window in windows if window is not None)

    def lived(self, rows: pa.Table) -> pa.Table:
        """Return rows with an ``re`` each: their own, or the one by the window."""
        own = rows["re"] if "re" in rows.column_names else None
        if (own is None and self.one) or (own is not None and not own.null_count):
            return rows
        le = rows["le"].to_numpy()
        begins, windows = zip(*self.spans)
        ticks = np.array([FOREVER if window is None else window for window in windows], np.int64)
        window = ticks[np.searchsorted(np.array(begins, np.int64), le, "right") - 1]
        re = np.where(le > FOREVER - window, FOREVER, le + np.minimum(window, FOREVER - np.maximum(le, 0)))
        if own is None:
            return rows.append_column("re", pa.array(re))
        filled = np.where(own.is_valid().to_numpy(), own.fill_null(0).to_numpy(), re)
        return rows.set_column(rows.column_names.index("re"), "re", pa.array(filled))
