"""Queries in SQL: `afa.sql`, with their events or without, and the text in place of a pattern in `afa.find`.

afa.find("SELECT * FROM ticks MATCH_RECOGNIZE (..)", frame)     the columns of the frame are the fields of its events
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from afa.errors import AfaError, QueryError
from afa.language.query import Query, over_events, text_given
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SKIP
from afa.model.renamed import renamed as old_names
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


@old_names("order")
def sql(
    text: str,
    *,
    event: Any = None,
    dialect: str | None = None,
    tick: str | None = None,
    order_by: str | None = None,
    ties: str | None = None,
) -> Any:
    """Make a query of SQL's MATCH_RECOGNIZE.

    Parameters
    ----------
    text : str
        ``SELECT .. FROM .. MATCH_RECOGNIZE (..)``; the first column of ORDER BY is LE, the others order events of one instant. With
        another order of rows than by time, ascending, only `find` takes the query. Of several MATCH_RECOGNIZE over one another a
        `StackedQuery` is made, by which the matches of one are the events of the next.
    event : NamedTuple class, table or pyarrow.Schema, optional
        As of `query`; of a table the first column of ORDER BY is the time. Left out: `find` takes the columns of its frame.
    dialect : str, optional
        The dialect that the text is in: "trino", "oracle", "snowflake", "flink", "duckdb" .. None: what they have in common.
    tick : str, optional
        What one tick of LE is ("us", "ms", "s" ..), for a WITHIN. None: the unit of the table's timestamps.
    order_by : str, optional
        The field that orders events of one instant, where ORDER BY does not say it; or a list, as of `Operator`.
    ties : "value", optional
        Rows that ORDER BY does not tell apart stand in the order of all their values, field by field, ascending, None last.
        Left out: they are refused.

    Raises
    ------
    AfaError
        The text is no such statement, or says what no automaton does; with line and column, and a way out.
    """
    from afa.language.sql_reader import reading, time_in  # which loads sqlglot
    from afa.language.sql_stack import query_of

    if ties not in (None, "value"):
        raise AfaError(f'expected "value" or None but got ties={ties!r}')
    statement = reading(text_given(text), dialect, lambda found: found)
    time = time_in(statement, dialect)  # refuses what is no statement of ours
    if event is None:
        return SqlQuery(text, dialect, tick, order_by, ties)

    def made(cls: Any, tick: str | None) -> Any:
        try:
            return query_of(statement, cls, dialect, tick, order_by, ties)
        except RecursionError:  # NULL is told apart in what a CASE comes to
            raise QueryError("expected less nesting; split the condition over several variables") from None

    return over_events(event, tick, made, time=time)


def over_columns(pattern: Any, columns: Callable[[], Any]) -> Any:
    """Return a pattern; one in SQL without events, or the text of one, over the columns of a table or an Arrow schema."""
    if isinstance(pattern, str) and "match_recognize" in pattern.lower():
        pattern = SqlQuery(pattern)
    return pattern.over(columns) if isinstance(pattern, SqlQuery) else pattern
