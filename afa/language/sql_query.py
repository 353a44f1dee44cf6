"""A query in SQL before its events are known: `afa.sql(text)` without them, and the text in place of a pattern in `afa.find`.

afa.find("SELECT * FROM ticks MATCH_RECOGNIZE (..)", frame)     the columns of the frame are the fields of its events
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from afa.errors import AfaError
from afa.language.query import Query, sql
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SKIP
from afa.operator.contract import Pattern


@dataclass(frozen=True)
class SqlQuery(Pattern):
    """A query in SQL that waits for the events that it is over; `over` makes the `Query`."""

    text: str
    dialect: str | None = None
    own_tick: str | None = None
    order_by: str | None = None
    ties: str | None = None

    @property
    def automaton(self) -> Automaton:
        """There is none yet."""
        self._waits()

    @property
    def traits(self) -> tuple[str, ...]:
        """What contradicts options: it is a query that chooses."""
        return QUERY, SKIP

    def operator(self, *args: Any, **options: Any) -> NoReturn:
        """There is none yet."""
        self._waits()

    operator_by = restore = operator

    def over(
        self,
        event: Callable[[], Any],
        *,
        tick: str | None = None,
        type: str | None = None,
        order_by: str | None = None,
    ) -> Query:
        """Return the query over the events of a class, of a table, or of an Arrow schema."""
        said = {"dialect": self.dialect, "tick": self.own_tick or tick, "order_by": self.order_by or order_by, "ties": self.ties}
        found: Query = sql(self.text, event=event(), **said)
        return found

    def _waits(self) -> NoReturn:
        raise AfaError(
            "expected a query whose events are known but got one in SQL without: say afa.sql(text, event=<class or table>)"
        )


def over_frame(pattern: Any, frame: Any) -> Any:
    """Return a pattern; one in SQL, or the text of one, over the columns of a frame, or of files."""
    if isinstance(pattern, str):
        pattern = SqlQuery(pattern)
    return pattern.over(lambda: _schema_of(frame)) if isinstance(pattern, SqlQuery) else pattern


def _schema_of(frame: Any) -> Any:
    """Return the columns of files as an Arrow schema; a frame as it is."""
    from afa.io.frame import is_stored

    if not is_stored(frame):
        return frame
    import pyarrow.dataset as ds

    return (frame if isinstance(frame, ds.Dataset) else ds.dataset(frame)).schema
