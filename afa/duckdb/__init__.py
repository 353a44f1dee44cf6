"""afa in DuckDB: whole statements in SQL, of which each MATCH_RECOGNIZE is afa's, and what stands around it DuckDB's.

    afa.duckdb.sql(con, "SELECT s.sector, count(*) FROM ticks MATCH_RECOGNIZE (..) m JOIN stocks s USING (symbol) GROUP BY ALL")

con_statements  `sql`, and the same over files for the command line
"""

from afa.duckdb.con_statements import sql

__all__ = ["sql"]
