"""Buffer and sort ([AFA10] Sec. 1): events wait for a punctuation, which lets all before it pass in order; no speculation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workloads import EVENT, PROMISE, Stream, take


class BufferAndSort:
    """An operator, which ``make`` makes, behind a buffer; takes batches of columns."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._op = make()
        self._held: Stream | None = None
        self.most = 0  # events held, at most

    def push_many(self, batch: Stream, net: bool = True) -> Any:
        """Take a batch; release what its last punctuation allows, by LE, and then the punctuation."""
        events = take(batch, batch["kind"] == EVENT)
        if self._held is not None:
            events = {name: np.concatenate([self._held[name], column]) for name, column in events.items()}
        promises = np.flatnonzero(batch["kind"] == PROMISE)
        self.most = max(self.most, len(events["le"]))
        if not len(promises):
            self._held = events
            return None
        promise = take(batch, promises[-1:])
        free = events["le"] < promise["le"][0]
        self._held = take(events, ~free)
        out = take(events, np.flatnonzero(free)[np.argsort(events["le"][free], kind="stable")])
        out = {name: np.concatenate([column, promise[name]]) for name, column in out.items()}
        return self._op.push_many(out, net=net)
