"""A call that holds tables, through an engine that takes columns: what comes in as columns leaves as columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from afa.cuts import Cuts
from afa.operator.call import Core
from punctuation.promise import Punctuation


class Found(NamedTuple):
    """The output of a call.

    Parameters
    ----------
    rows : numpy.ndarray
        Of the output log.
    keys : list
        Of each row; empty without keys.
    promises : list of (int, int)
        How many rows stand before a punctuation, and its time.
    """

    rows: Any
    keys: list[Hashable]
    promises: list[tuple[int, int]]

    def parts(self) -> Iterator[Any]:
        """Rows with their keys, and punctuations, as they follow on each other."""
        low = 0
        for high, t in self.promises:
            if low < high:
                yield self.rows[low:high], self.keys[low:high]
            yield Punctuation(t)
            low = high
        if low < len(self.rows):
            yield self.rows[low:], self.keys[low:]


def takes_tables(core: Core) -> bool:
    """Return whether the operator's engine takes columns."""
    return hasattr(core.engine, "run_columns")


def carry_out(core: Core, parts: Iterable[Any], net: bool) -> Found:
    """Carry out what one call brings.

    Parameters
    ----------
    parts : iterable
        Encoded tables, and lists of what `Core.run` takes, in order of arrival. Each is asked for when those before it are done.
    net : bool
        True: one minimal difference, and at most one punctuation. False: what each change on its own would have given.
    """
    before = core.progress.final
    cuts = None if net else Cuts(before)
    for part in parts:
        if isinstance(part, list):
            _take(core, part, cuts)
        else:
            core.engine.run_columns(part, core, cuts)  # type: ignore[attr-defined]
    rows, keys = core.logged(cuts)
    if cuts is not None:
        return Found(rows, keys, cuts.promises)
    after = core.progress.final
    return Found(rows, keys, [(len(rows), after)] if after > before else [])


def _take(core: Core, items: list[Any], cuts: Cuts | None) -> None:
    """Carry out items, all at once or one by one."""
    if cuts is None:
        core.take(items)
        return
    for item in items:
        core.take([item])
        cuts.after(core.engine.logged, core.progress.final)  # type: ignore[attr-defined]
