"""Batches in which events, promises and changes of arcs stand side by side: one pass over such a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.memory import WordArray, address
from afa.compiled.store import Store

STEP = 64


class MixedRows(NamedTuple):
    """The facts that are known of the rows of a batch.

    others           those that are no events, `OtherRow` of `afa.compiled.kernel.layout`
    promised, then   how many of them are promises; the latest one
    least            of every STEP rows the least LE of an event
    single           whether each event is an insertion of one copy
    own_lifetimes    whether any arc changes otherwise than in the default mode
    """

    others: Any
    promised: int
    then: int
    least: Any
    single: bool
    own_lifetimes: bool

    def promises(self) -> Any:
        """Return which rows are promises."""
        rows = self.others[:, k.OtherRow.row]
        return (rows if self.promised == len(rows) else rows[rows & 3 == k.PROMISED]) >> 2

    def ahead(self, rows: Any) -> Any:
        """Return an LE before which no event comes from a row on, for each of some rows."""
        least: Any = np.minimum.accumulate(self.least[::-1])[::-1]
        return least[rows // STEP]

    def tell(self, columns: WordArray) -> None:
        """Write the rows' addresses for the kernels; the rows must outlive ``columns``."""
        columns.words[0, k.TableWords.others], columns.words[0, k.TableWords.count] = address(self.others), len(self.others)


def mixed_rows(store: Store, le: Any, kind: Any, arc: Any, diff: Any, arcs: int) -> MixedRows | None:
    """Look at columns of int64, ``kind`` of int8; None if a row is of no kind, or names none of so many arcs. O(n)."""
    n, row = len(le), [0] * k.TableWords.payload
    others = np.empty((np.count_nonzero(kind) + 1, k.OtherRow.SIZE), np.int64)  # with room for one more, see `find_others`
    least = np.empty(n // STEP + 1, np.int64)
    least[-1] = k.FOREVER  # where n is a multiple of STEP, no event stands there
    given = (
        (k.TableWords.le, le),
        (k.TableWords.kind, kind),
        (k.TableWords.arc, arc),
        (k.TableWords.diff, diff),
        (k.TableWords.others, others),
        (k.TableWords.least, least),
    )
    for at, column in given:
        row[at] = 0 if column is None else address(column)
    row[k.TableWords.count] = n
    found = store.tell(k.OTHERS, STEP, arcs, WordArray(np.array([row], np.int64)))
    if found & k.UNKNOWN:
        return None
    promised, then = others[-1].tolist()
    return MixedRows(others[:-1], promised, then, least, bool(found & k.SINGLE), bool(found & k.OWN))
