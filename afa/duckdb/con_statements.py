"""Statements by DuckDB: on a connection, and over files."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from afa.errors import AfaError
from afa.language.query import Query
from afa.language.shown_columns import ShownColumn
from afa.language.whole_statement import RelationalEngine, whole
from afa.operator.options import check_options
from afa.replay.table_answer import answered, numbered

if TYPE_CHECKING:
    from afa.operator.options import StatementOptions, Unpack


TAKES = ("engine", "max_bytes", "partial_matches", "threads")
"""The options of `afa.find` that say something of a MATCH_RECOGNIZE."""
HANDED = {"HUGEINT": "DECIMAL(38, 0)", "UHUGEINT": "DECIMAL(38, 0)", "BIT": "VARCHAR", "TIME WITH TIME ZONE": "VARCHAR"}
"""Types of which Arrow would be handed other values: as what it is handed them."""
INSIDE = re.compile(rf"'[^']*'|\b({'|'.join([*HANDED, 'VARIANT'])})\b")
"""One of them in another type; else a word of an ENUM."""


def _bound(afa_con_: Any, afa_text_: str) -> Any:
    return afa_con_.sql(afa_text_)


def sql(
    con: Any,
    text: str,
    *,
    dialect: str | None = "duckdb",
    tick: str | None = None,
    ties: str | None = None,
    **options: Unpack[StatementOptions],
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
    tick, ties : optional
        As of `afa.sql`.
    options
        As of `afa.find`, of each MATCH_RECOGNIZE: ``engine=``, ``threads=``, ``partial_matches=``, ``max_bytes=``.

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
    check_options(options, TAKES, "afa.duckdb.sql")
    return whole(_DuckDb(con, sys._getframe(1), options), text, dialect, tick, ties)


def over_files(text: str, files: Mapping[str, tuple[str, str]], tick: str | None, **options: Any) -> pa.Table:
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
                reads[form](glob.escape(file)).create_view(name)  # type: ignore[operator]
            except duckdb.Error as error:
                raise AfaError(f"{file}: {str(error).splitlines()[0]}") from error
        found = whole(_DuckDb(con, None, options), text, "duckdb", tick, None)
        spans = {name: "VARCHAR" for name, kind in zip(found.columns, found.types) if str(kind) == "INTERVAL"}  # no file has it
        return (_cast(found, spans) if spans else found).to_arrow_table()


class _DuckDb(RelationalEngine):
    name, dialect, of_lists = "DuckDB", "duckdb", "list_aggregate"

    def __init__(self, con: Any, caller: Any, options: Mapping[str, Any]) -> None:
        self._con, self._options = con, options
        self._known = {**caller.f_globals, **caller.f_locals} if caller is not None else {}

    def answer(self, statement: str, views: Mapping[str, Any]) -> Any:
        # DuckDB looks for a name that no table has among those of Python where it is called, and holds what it finds there for as
        # long as the relation lives, and those made of it; a view would have to be dropped at some time, and could hide a table.
        return FunctionType(_bound.__code__, {**self._known, **views})(self._con, statement)

    def rows(self, statement: str, views: Mapping[str, Any]) -> RowsOfRelation:
        found = self.answer(statement, views)
        kinds = tuple(map(str, found.types))
        other = {name: HANDED[kind] for name, kind in zip(found.columns, kinds) if kind in HANDED}
        for name, kind in zip(found.columns, kinds):
            inside = None if name in other else next(filter(None, INSIDE.findall(kind)), None)
            if inside is not None:
                raise AfaError(f"expected columns that Arrow holds exactly but got {inside} in column {name!r}; cast it")
        if other and len({name.lower() for name in found.columns}) == len(found.columns):
            found = _cast(found, other)
        return RowsOfRelation(found.to_arrow_table(), kinds)

    def columns(self, rows: RowsOfRelation) -> list[str]:
        return list(rows.table.column_names)

    def renamed(self, rows: RowsOfRelation, names: Sequence[str]) -> RowsOfRelation:
        return rows._replace(table=rows.table.rename_columns(list(names)))

    def events(self, rows: RowsOfRelation) -> pa.Schema:
        return numbered(pa.schema([field.with_nullable(self.has_null(rows, field.name)) for field in rows.table.schema]))

    def has_null(self, rows: RowsOfRelation, column: str) -> bool:
        return column in rows.table.column_names and rows.table[column].null_count > 0

    def matches(self, query: Query, rows: RowsOfRelation, shown: Sequence[ShownColumn], numbers: Mapping[str, str]) -> Any:
        found = answered(query, rows.table, shown, numbers, **self._options)
        kinds = dict(zip(rows.table.column_names, rows.kinds))
        relation = self._con.from_arrow(found)
        back = {
            each.name: kinds[each.field]
            for each, kind in zip(shown, relation.types)
            if each.at is not None and kinds[each.field] != str(kind)
        }
        return _cast(relation, back) if back else found


class RowsOfRelation(NamedTuple):
    """Rows as Arrow has them, and the types that DuckDB says their columns have: it has more of them."""

    table: pa.Table
    kinds: tuple[str, ...]


def _cast(relation: Any, kinds: Mapping[str, str]) -> Any:
    """Return a relation with other types of some columns."""
    quoted = {'"' + name.replace('"', '""') + '"': kind for name, kind in kinds.items()}
    return relation.project(f"* REPLACE ({', '.join(f'CAST({name} AS {kind}) AS {name}' for name, kind in quoted.items())})")
