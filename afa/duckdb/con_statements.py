"""Statements by DuckDB: on a connection, and over files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from afa.errors import AfaError
from afa.language.query import Query
from afa.language.whole_statement import RelationalEngine, ShownColumn, whole
from afa.replay.table_answer import answered, numbered

if TYPE_CHECKING:
    from afa.operator.options import FrameOptions, Unpack


def _bound(con: Any, text: str) -> Any:
    return con.sql(text)


def sql(
    con: Any,
    text: str,
    *,
    dialect: str | None = "duckdb",
    ties: str | None = None,
    **options: Unpack[FrameOptions],
) -> Any:
    """Run a statement in SQL with MATCH_RECOGNIZE in it, wherever a table may stand.

    The rows in front of each MATCH_RECOGNIZE are read now, and matched by `afa.find`; the rest is a relation of DuckDB's, as of
    ``con.sql(text)``: it runs when it is asked for. In the database nothing is made for it: the relation holds the matches.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        Tables are its own, and those of Python that have their names where this is called, as of ``con.sql``.
    text : str
        ``SELECT ..``, with joins, groups, windows, unions, CTEs, and any number of MATCH_RECOGNIZE, also over one another.
    dialect : str, optional
        The dialect that the text is in, as of `afa.sql`; it is brought into DuckDB's.
    ties : "value", optional
        As of `afa.sql`.
    options
        As of `afa.find`, of each MATCH_RECOGNIZE: ``tick=``, ``threads=``, ``partial_matches=``, ``max_bytes=`` ..

    Returns
    -------
    duckdb.DuckDBPyRelation
        Of MATCH_RECOGNIZE SQL's columns: of ONE ROW PER MATCH those of PARTITION BY and MEASURES; of ALL ROWS PER MATCH those of
        PARTITION BY, of ORDER BY, MEASURES, and all others of the input, of any type. No ``le``, no ``re``.

    Raises
    ------
    AfaError
        The text is no such statement, with line and column; or DuckDB refuses a part of it.

    Examples
    --------
    >>> import duckdb
    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE ticks AS SELECT * FROM (VALUES ('A', 1, 9), ('A', 2, 7), ('A', 3, 8)) t(symbol, ts, price)")
    >>> sql(con, '''SELECT symbol, m.low * 2 AS twice FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
    ...     MEASURES LAST(down.price) AS low PATTERN (s down+ up) DEFINE down AS price < PREV(price), up AS price > PREV(price)) m
    ...     JOIN (SELECT 'A' AS symbol) USING (symbol)''').fetchall()
    [('A', 14)]
    """
    return whole(_DuckDb(con, sys._getframe(1), options), text, dialect, options.get("tick"), ties)


def over_files(text: str, files: Mapping[str, tuple[str, str]], **options: Any) -> pa.Table:
    """Return what a statement answers over files, each a table: its form ("csv", "jsonl", "parquet"), and where it is.

    An `AfaError`: DuckDB is not installed, or can't read a file.
    """
    try:
        import duckdb
    except ImportError:
        raise AfaError(
            'expected DuckDB, which runs what stands around the matches, but got none: pip install "afa[duckdb]"'
        ) from None
    with duckdb.connect() as con:
        reads = {"csv": con.read_csv, "jsonl": con.read_json, "parquet": con.read_parquet}
        for name, (form, file) in files.items():
            try:
                reads[form](file).create_view(name)  # type: ignore[operator]
            except duckdb.Error as error:
                raise AfaError(f"{file}: {str(error).splitlines()[0]}") from error
        return sql(con, text, **options).to_arrow_table()


class _DuckDb(RelationalEngine):
    name, dialect = "DuckDB", "duckdb"

    def __init__(self, con: Any, caller: Any, options: Mapping[str, Any]) -> None:
        self._con, self._options = con, options
        self._known = {**caller.f_globals, **caller.f_locals} if caller is not None else {}

    def answer(self, statement: str, views: Mapping[str, Any]) -> Any:
        # DuckDB looks for a name that no table has among those of Python where it is called, and holds what it finds there for as
        # long as the relation lives, and those made of it; a view would have to be dropped at some time, and could hide a table.
        return FunctionType(_bound.__code__, {**self._known, **views})(self._con, statement)

    def rows(self, statement: str, views: Mapping[str, Any]) -> pa.Table:
        return self.answer(statement, views).to_arrow_table()

    def columns(self, rows: pa.Table) -> list[str]:
        return list(rows.column_names)

    def renamed(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        return rows.rename_columns(list(names))

    def events(self, rows: pa.Table) -> pa.Schema:
        return numbered(pa.schema([field.with_nullable(self.has_null(rows, field.name)) for field in rows.schema]))

    def has_null(self, rows: pa.Table, column: str) -> bool:
        return column in rows.column_names and rows[column].null_count > 0

    def matches(self, query: Query, rows: pa.Table, shown: Sequence[ShownColumn]) -> pa.Table:
        return answered(query, rows, shown, **self._options)
