"""Queries as users of SQL systems write them, by construct, each in the manner of three dialects: how many run, and are right?

They stand in ``tests/cases/sql/*.sql``, each over a table of `TABLES` with the rows that must come; ``by hand`` where somebody has
worked them out. ``python -m tests.language.user_queries`` tells `N right of M, refused K, wrong W`, and which; with ``--write`` it
writes the rows of new queries, as `sql_by_duckdb` has them, and ``not_yet.txt``, those that are not right yet.
"""

from __future__ import annotations

import ast
import datetime as dt
import re
import sys
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import afa
from afa import AfaError
from tests.language.sql_by_duckdb import answered, connection, plain
from tests.strategies import Seeded

FOLDER = Path(__file__).parents[1] / "cases" / "sql"
NOT_YET = FOLDER / "not_yet.txt"
MANNERS = ("trino", "oracle", "snowflake", "flink")


def day(n: int) -> dt.date:
    return dt.date(2011, 4, n)


def at(hour: int, minute: int) -> dt.datetime:
    return dt.datetime(2024, 5, 1, hour, minute)


ACME = (12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22)
TABLES: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "ticker": (("symbol", "tstamp", "price"), [("ACME", day(i), price) for i, price in enumerate(ACME, 1)]),
    "trades": (
        ("symbol", "ts", "price", "volume"),
        [
            ("A", 1, 10, 100), ("A", 2, 12, 50), ("A", 3, 11, 70), ("A", 4, 9, 20), ("A", 5, 13, 10), ("A", 6, 14, 30),
            ("B", 1, 5, 10), ("B", 2, None, 20), ("B", 3, 6, 30), ("B", 4, 7, 40), ("B", 6, 4, 5),
        ],
    ),
    "clicks": (
        ("customer", "ts", "page", "spent"),
        [
            ("ann", at(9, 0), "home", 0), ("ann", at(9, 5), "product", 0), ("ann", at(9, 7), "cart", 0),
            ("ann", at(9, 9), "pay", 40), ("ann", at(11, 0), "home", 0), ("ann", at(11, 20), "product", 0),
            ("bob", at(9, 1), "product", 0),
            ("bob", at(9, 2), "cart", 0), ("bob", at(9, 50), "home", 0), ("bob", at(9, 55), "pay", 15),
            ("bob", at(9, 58), "pay", 5),
        ],
    ),
    "cards": (
        ("card", "ts", "amount", "place"),
        [
            (1, at(8, 0), 2, "Graz"), (1, at(8, 3), 1, "Graz"), (1, at(8, 6), 900, "Riga"), (1, at(8, 9), 800, "Riga"),
            (2, at(8, 0), 3, "Bonn"), (2, at(9, 30), 700, "Bonn"), (None, at(8, 0), 1, "Oslo"), (None, at(8, 1), 600, "Oslo"),
        ],
    ),
    "nums": (("id", "v"), [(1, 5), (2, 6), (3, 7), (5, 3), (6, 4), (8, 9), (9, 1), (10, 1)]),
    "readings": (
        ("sensor", "seq", "temp", "state"),
        [
            ("s", 1, 20, "ok"), ("s", 2, 25, "ok"), ("s", 3, 31, "hot"), ("s", 4, 33, "hot"), ("s", 5, 29, "ok"),
            ("s", 6, None, "lost"), ("s", 7, 35, "hot"), ("t", 1, 30, "hot"), ("t", 2, 28, "ok"), ("t", 3, 28, "ok"),
        ],
    ),
    "ties": (
        ("grp", "d", "n", "v"),
        [("g", 1, 1, 4), ("g", 1, 2, 3), ("g", 2, 1, 5), ("g", 2, 2, 6), ("g", 3, 1, 2), ("h", 1, 1, 1), ("h", 1, 2, 2)],
    ),
}  # fmt: skip


class UserQuery(NamedTuple):
    """A query; ``checked``: whether its rows were worked out by hand."""

    name: str
    over: str
    text: str
    rows: list[Any] | None
    checked: bool
    manner: str


def not_yet() -> set[str]:
    """The queries that the library does not answer right yet: ``refused: name [manner]``, or ``wrong: ..``."""
    return set(NOT_YET.read_text("utf-8").splitlines())


def written() -> list[UserQuery]:
    """All queries as they are written."""
    found = []
    for path in sorted(FOLDER.glob("*.sql")):
        for block in re.split(r"^-- name: ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            head, _, rest = block.partition("\n")
            name, over, manner = (each.strip() for each in (head + " | ").split("|")[:3])
            text, word, rows = re.split(r"^-- (rows|by hand): ?", rest + "\n-- rows: \n", maxsplit=1, flags=re.MULTILINE)
            rows = rows.partition("-- rows: \n")[0].replace("\n--", "\n").strip()
            found.append(UserQuery(name, over, text.strip(), ast.literal_eval(rows) if rows else None, word == "by hand", manner))
    return found


def queries() -> list[UserQuery]:
    """Each query in the manner of each dialect; one that is written for a dialect alone as it is."""
    found = []
    for query in written():
        for manner in (query.manner,) if query.manner else MANNERS:
            text = query.text if query.manner else in_manner(query.text, manner, TABLES[query.over][0])
            found.append(query._replace(text=text, manner=manner))
    return found


def in_manner(text: str, manner: str, columns: tuple[str, ...]) -> str:
    """A text as users of a dialect write it: Oracle's in capitals, Snowflake's with quotes and LAG, Flink's with backticks."""
    parts = re.split(r"('[^']*'|--[^\n]*)", text)
    quote = {"snowflake": '"', "flink": "`"}.get(manner)
    for i in range(0, len(parts), 2):
        if manner == "oracle":
            parts[i] = parts[i].upper()
        if quote:
            parts[i] = re.sub(rf"\b({'|'.join(columns)})\b", rf"{quote}\1{quote}", parts[i])
        if manner == "snowflake":
            parts[i] = parts[i].replace("PREV(", "LAG(").replace("NEXT(", "LEAD(").replace("MATCH_RECOGNIZE", "match_recognize")
    return "".join(parts)


def rows_of(table: str) -> list[dict[str, Any]]:
    names, rows = TABLES[table]
    return [dict(zip(names, row, strict=True)) for row in rows]


def due(query: UserQuery) -> tuple[list[str], Counter[Any]]:
    """What a query must answer."""
    return _due(query.text, query.over)


@cache
def _due(text: str, over: str) -> tuple[list[str], Counter[Any]]:
    return answered(text, {over: rows_of(over)})


@lru_cache(maxsize=1)
def mixed(over: str, name: str) -> pa.Table:
    """The rows of a table in the disorder of a query."""
    rows, choose = rows_of(over), Seeded(name)
    return pa.Table.from_pylist([rows.pop(choose.number(0, len(rows) - 1)) for _ in range(len(rows))])


@lru_cache(maxsize=1)
def made_of(text: str, over: str, name: str, manner: str) -> Any:
    """The query of a text, which each engine runs; None where the library says that DuckDB has to compute it, too."""
    try:
        return afa.sql(text, event=mixed(over, name), dialect=manner)
    except AfaError as error:
        if "afa.duckdb.sql" not in str(error):
            raise
        return None


def given(query: UserQuery, columns: list[str], engine: str = "auto") -> Counter[Any]:
    """What the library answers, of rows in disorder, by DuckDB where it says so; an `AfaError` where it refuses."""
    table = mixed(query.over, query.name)
    made = made_of(query.text, query.over, query.name, query.manner)
    if made is None:
        con = connection()
        con.register(query.over, table)
        frame = afa.duckdb.sql(con, query.text, dialect=query.manner, engine=engine).to_arrow_table()
    else:
        time = time_of(query)
        frame = afa.find(made, table, engine=engine, **({"time": time} if time else {}))
    found = {name.lower(): frame.column(name).to_pylist() for name in frame.column_names}
    return Counter(tuple(plain(found[name][i]) for name in columns) for i in range(frame.num_rows))


def time_of(query: UserQuery) -> str:
    """The first column of the first ORDER BY, if it may be a time."""
    found = re.search(r"ORDER BY [\"`]?(?:\w+\.)?[\"`]?(\w+)", query.text, re.IGNORECASE)
    name = found[1].lower() if found else ""
    return name if name in ("tstamp", "ts", "id", "seq", "d") else ""


def outcome(query: UserQuery, engine: str = "auto") -> tuple[str, str]:
    """Whether the library is right, refuses, or is wrong, and the words."""
    columns, _ = due(query)
    expected = Counter(map(tuple, query.rows or []))
    try:
        found = given(query, columns, engine)
    except AfaError as error:
        return "refused", str(error)
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"
    return ("right", "") if found == expected else ("wrong", f"missing {expected - found}, too much {found - expected}")


def write() -> None:
    """Write the rows of queries that have none."""
    for path in sorted(FOLDER.glob("*.sql")):
        blocks = re.split(r"^(?=-- name: )", path.read_text("utf-8"), flags=re.MULTILINE)
        for i, block in enumerate(blocks):
            if block.startswith("-- name: ") and not re.search(r"^-- (rows|by hand):", block, re.MULTILINE):
                name = block.partition("\n")[0][9:].split("|")[0].strip()
                query = next(each for each in queries() if each.name == name)
                rows = sorted(due(query)[1].elements(), key=repr)
                blocks[i] = block.rstrip() + f"\n-- rows: {in_lines(rows)}\n\n"
        path.write_text("".join(blocks).rstrip() + "\n", "utf-8")


def in_lines(rows: list[Any]) -> str:
    """Rows as a comment of several lines."""
    found = [""]
    for i, row in enumerate(rows):
        text = f"{row!r}{',' if i < len(rows) - 1 else ''}"
        if len(found[-1]) + len(text) > 110:
            found.append("")
        found[-1] += f" {text}" if found[-1] else text
    return f"[{chr(10).join(found)}]".replace("\n", "\n--     ")


def main() -> None:
    if "--write" in sys.argv:
        write()
    told, lines = Counter[str](), list[str]()
    for query in queries():
        verdict, words = outcome(query)
        told[verdict] += 1
        if verdict != "right":
            lines.append(f"{verdict}: {query.name} [{query.manner}]")
            print(f"{lines[-1]}: {' '.join(words.split())[:200]}")
    if "--write" in sys.argv:
        NOT_YET.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{told['right']} right of {sum(told.values())}, refused {told['refused']}, wrong {told['wrong']}")


if __name__ == "__main__":
    main()
