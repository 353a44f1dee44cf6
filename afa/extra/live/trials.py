"""Try a constant of a running query: how many matches other values of it find in the rows so far. Nothing changes.

text -> its constants -> a text for each value -> queries -> one sweep in lanes over the rows that the operator has taken

A trial runs in a thread of the server, beside the input, one at a time, within bounds; operators take nothing of it.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from afa.cli.vary import values_of
from afa.compiled.lane_program import NoLanes
from afa.errors import AfaError
from afa.frames.frame_reading import FrameReading
from afa.frames.lane_budget import LaneBudget
from afa.frames.prepared import ROW, VALUE, Prepared, prepared
from afa.io.seen_rows import RowsSoFar, SeenRows
from afa.language.query import Query
from afa.language.query_text import another
from afa.language.sase_grammar import RefusedError
from afa.language.text_constants import TextConstant, constants_of
from afa.operator.options import Options
from afa.replay.backtest import swept

BYTES = 1 << 27
"""How many bytes the rows may take, and once more where they are held sorted."""
SECONDS = 3.0
"""How long a trial may take."""
VALUES, LONGEST = 25, 200
"""How many values a trial may have, and how many characters they may be said in."""
MATCHES = 1_000_000
"""How many matches a trial may write, where it can't count them only."""


def constants_in(text: str | None) -> tuple[TextConstant, ...]:
    """Return the constants of a text that can be tried; none where it has no tokens of its own."""
    try:
        return () if text is None else constants_of(text)
    except RefusedError:
        return ()


class Trials:
    """Carries out trials over the rows that ``seen`` holds; ``options``: what the operator is told beside its query."""

    def __init__(self, options: Options) -> None:
        self.seen = SeenRows(BYTES, lambda columns: VALUE * columns + ROW)
        self._options, self._busy = options, threading.Lock()
        self._held: tuple[int, Prepared] | None = None

    def carry_out(self, query: Query, text: str, rows: RowsSoFar, data: dict[str, Any]) -> dict[str, Any]:
        """Return how many matches each value finds, the one of the text first, and over which rows; as the page sends it."""
        if not self._busy.acquire(blocking=False):
            raise AfaError("expected one trial at a time but got another one: try again when it has ended")
        try:
            return self._carried_out(query, text, rows, data)
        except NoLanes as why:
            raise AfaError(f"expected a query that can be tried beside the input but got one that can't: {why}") from None
        finally:
            self._busy.release()

    def _carried_out(self, query: Query, text: str, rows: RowsSoFar, data: dict[str, Any]) -> dict[str, Any]:
        began, budget = time.monotonic(), LaneBudget(SECONDS, MATCHES)
        constant = _chosen(text, data)
        written = list(dict.fromkeys([constant.written, *_values(text, constant, data.get("values"))]))
        if not rows.came:
            raise AfaError("expected some rows to try a constant over but got none yet")
        queries = []
        for each in written:
            budget.check()
            queries.append(another(query, constant.replaced(text, each)))
        history = self._prepared(rows)
        reading = FrameReading("le", "re" if "re" in history.names else None)
        found = swept({"constant tried": written}, queries, history, reading, self._options, False, 1, True, budget)
        counts = found.table["matches"].to_pylist()
        which = f"all {rows.came:,} rows so far" if rows.kept == rows.came else f"the last {rows.kept:,} of {rows.came:,} rows"
        said = (
            f"{counts[0]:,} matches as it is, in {len(history.given):,} events, those of {which}; {time.monotonic() - began:.2f} s"
        )
        return {"said": said, "tried": [{"written": each, "matches": count} for each, count in zip(written, counts)]}

    def _prepared(self, rows: RowsSoFar) -> Prepared:
        """Return the events that are there, sorted; as before, if no rows have come since."""
        if self._held is None or self._held[0] != rows.came:
            self._held = None  # freed before others take its place
            self._held = rows.came, prepared(rows.net(), max_bytes=BYTES)
        return self._held[1]


def _chosen(text: str, data: dict[str, Any]) -> TextConstant:
    place, known = data.get("constant"), constants_in(text)
    written = data.get("written")
    if type(place) is not int or not 0 <= place < len(known) or known[place].written != written:
        raise AfaError(f"expected a constant of the query as it is now but got constant={place!r}, written={written!r}")
    return known[place]


def _values(text: str, constant: TextConstant, given: Any) -> list[str]:
    """Return numbers, said as for ``--vary``, as they are written in the place of a constant."""
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST:
        raise AfaError(f"expected low:high:step or a,b,c, in at most {LONGEST} characters, but got values={str(given)[:LONGEST]!r}")
    values = values_of(given, f"values={given!r}")
    if len(values) > VALUES:
        raise AfaError(f"expected at most {VALUES} values but got {len(values):,}")
    for value in values:
        if isinstance(value, (bool, str)) or not math.isfinite(value):
            raise AfaError(f"expected numbers but got {value!r}")
    return [constant.as_written(text, value) for value in values]
