"""What has to be said only once of engines that take events one by one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from afa.change import Change, put_in_order
from afa.engine.engine_values import GivenColumns, PathTotals, Picks, SoughtMatch, Ways
from afa.engine.logged import Cuts, Logged
from afa.engine.protocol import Batch, Host
from afa.errors import AfaError
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.state.plain import Unfit
from punctuation.time import BEGINNING, FOREVER


class ByRows:
    """What an engine that takes events one by one has of the protocol; it supplies the rest, and calls `forget` in `rollback`."""

    alone = True
    began: int | None = None
    bits: list[int | None] | None = None
    serial = 0
    automaton: Automaton
    _log: list[Change] | None = None  # None: no output was cut so far

    @property
    def native(self) -> bool:
        return False

    def apply(self, key: Hashable, changes: Sequence[Change]) -> None:
        raise NotImplementedError

    def collect(self) -> list[Change]:
        raise NotImplementedError

    def swap(self, table: ArcTable, le: int, re: int) -> None:
        raise NotImplementedError

    def push(self, change: Change) -> list[Change]:
        """Take one event change; the operator ends the call."""
        self.apply(change.key, [change])
        self.check_ties()
        return self.collect()

    def encode(self, given: GivenColumns, /) -> Batch:
        """Refuse: all columns go row by row."""
        raise Unfit

    def let_threads_run(self) -> None:
        """Nothing: no kernels work."""

    def run_columns(self, batch: Any, host: Host, cuts: Cuts | None = None) -> None:
        """Refuse: no batch is from `encode`."""
        raise AfaError(f"expected a batch that this engine has encoded but got {batch!r}")

    def install(self, table: ArcTable, bits: Sequence[int | None] | None) -> None:
        self.swap(table, BEGINNING, FOREVER)

    def cut(self) -> int:
        found = self.collect()
        put_in_order(found)
        if self._log is None:
            self._log = []
        self._log += found
        return len(self._log)

    def log(self, cuts: Cuts | None = None) -> Logged:
        self.cut()
        changes = self._log or []
        self.forget()
        if cuts is not None:
            cuts.keep(np.arange(len(changes)))
        return Logged.of(changes, self.automaton.match_schema)

    def ways(self, key: Hashable, sought: SoughtMatch) -> Ways | None:
        """Return None: `steps` tells."""
        return None

    def totals(self, key: Hashable, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
        """Return None: `steps` tells."""
        return None

    def matches(self, key: Hashable, low: int) -> list[tuple[Any, int, int]] | None:
        """Return None: `steps` tells."""
        return None

    def picks(self, key: Hashable, soughts: Sequence[SoughtMatch]) -> Picks:
        """Return nothing: `steps` tells."""
        return Picks([None for _ in soughts], [])

    def check_ties(self) -> None:
        """Check nothing: events that share a step are alternatives."""

    def forget(self) -> None:
        """Forget the output so far."""
        self._log = None
