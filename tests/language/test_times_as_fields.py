"""Timestamps and dates beside LE, and decimals, as fields: of tables of all libraries, files, single events, and out again."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import AfaError, insert
from afa.io.event_class import events_of
from tests.cli import call

AT = [datetime(2026, 1, 1, 0, 0, second) for second in (0, 10, 20)]
PAID = [AT[0] - timedelta(days=1), None, AT[2]]
DAYS = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]
NEAREST = [Decimal("10.100000"), Decimal("0.300000"), Decimal("8537.123457")]
COLUMNS: dict[str, Any] = {"card": ["x", "y", "x"], "at": AT, "paid": PAID, "day": DAYS, "price": NEAREST, "tags": [[1], [2], [3]]}
SQL = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY card ORDER BY at
         MEASURES FIRST(a.paid) AS p, MAX_BY(paid, day) AS m, LAST(b.day) AS d, a.paid + INTERVAL '1' HOUR AS later
         PATTERN (a b) WITHIN INTERVAL '2' DAY DEFINE b AS b.paid > a.paid AND b.day > a.day)"""
TEXT = """PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { [card] and b.paid > a.paid and b.day > a.day }
          WITHIN 2 days RETURN a.paid as p, b.paid as m, b.day as d"""
MATCH = {"card": "x", "p": PAID[0], "m": AT[2], "d": DAYS[2], "le": AT[2], "re": AT[0] + timedelta(days=2)}
LATER = AT[0] - timedelta(hours=23)


def table() -> Any:
    return pa.table(COLUMNS)


def frames() -> dict[str, Any]:
    polars = pytest.importorskip("polars")
    return {"arrow": table(), "pandas": table().to_pandas(), "polars": polars.from_arrow(table()), "dict": COLUMNS}


def rows(found: Any) -> list[dict[str, Any]]:
    """Returns a table of any library as rows of Python's values."""
    if hasattr(found, "to_arrow"):
        found = found.to_arrow()
    if not isinstance(found, pa.Table):
        items = found if isinstance(found, dict) else {name: found[name] for name in found}
        found = pa.table({name: pa.array(items[name], from_pandas=True) for name in items})
    plain = [{**row} for row in found.to_pylist()]
    return [{name: getattr(item, "to_pydatetime", lambda item=item: item)() for name, item in row.items()} for row in plain]


@pytest.mark.parametrize("library", ["arrow", "pandas", "polars", "dict"])
@pytest.mark.parametrize("language", ["sql", "text"])
def test_times_and_dates_come_and_leave_as_such(library: str, language: str, engine: str) -> None:
    frame = frames()[library]
    query = afa.sql(SQL, event=frame) if language == "sql" else afa.query(TEXT, event=frame, tick="ns")
    wanted = {**MATCH, "later": LATER} if language == "sql" else MATCH
    assert rows(afa.find(query, frame, time="at")) == [wanted]
    op = query.operator(engine=engine)
    assert rows(op.push_many(frame, time="at")) == [{**wanted, "diff": 1}]
    op._check()


def test_types_of_what_leaves() -> None:
    found = afa.find(afa.sql(SQL, event=table()), table())
    assert [found.schema.field(name).type for name in ("p", "m", "d", "later")] == [
        pa.timestamp("us"), pa.timestamp("us"), pa.date32(), pa.timestamp("us"),
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["day", "paid"])
@pytest.mark.parametrize("library", ["arrow", "pandas", "polars", "dict"])
def test_keys_that_are_times_leave_as_they_came(library: str, key: str, engine: str) -> None:
    frame = frames()[library]
    there = {name: [column[0], column[2]] for name, column in COLUMNS.items()}
    frame = {"arrow": pa.table, "pandas": lambda of: pa.table(of).to_pandas(), "dict": dict}.get(library, lambda _: frame[::2])(
        there
    )
    query = afa.sql(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY at MEASURES a.card AS c PATTERN (a))", event=frame
    )
    for found in (afa.find(query, frame), query.operator(engine=engine).push_many(frame)):
        assert [row[key] for row in rows(found)] == there[key]


def test_all_rows_show_them() -> None:
    query = afa.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at ALL ROWS PER MATCH PATTERN (a+))", event=table())
    found = afa.find(query, table())
    assert found["paid"].to_pylist() == PAID
    assert found["day"].to_pylist() == DAYS
    assert found.schema.field("day").type == pa.date32()


def test_single_events_take_times(engine: str) -> None:
    class Pay(NamedTuple):
        at: afa.Instant
        paid: afa.Time | None
        day: afa.Date
        price: float

    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.paid AS p, a.day AS d, a.price AS x PATTERN (a))"
    op = afa.sql(text, event=Pay, tick="s").operator(engine=engine)
    (found,) = op.push(insert(Pay(None, AT[1], DAYS[1], Decimal("0.3")), AT[1]))  # type: ignore[arg-type]
    assert found.payload == (1_767_225_610, 1_767_312_000, 0.3)
    with pytest.raises(
        AfaError, match=r"expected a whole number of ticks \(tick='s'\), an int64, but got paid=2026-01-01 00:00:20.5"
    ):
        op.push(insert(Pay(None, AT[2] + timedelta(seconds=0.5), DAYS[1], 1.0), AT[2]))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files(tmp_path: Path, form: str) -> None:
    given, query, out = tmp_path / f"t.{form}", tmp_path / "q.sql", tmp_path / "out.jsonl"
    if form == "parquet":
        pq.write_table(table(), given)
        assert rows(afa.find(afa.sql(SQL, event=table()), str(given), time="at")) == [{**MATCH, "later": LATER}]
    else:
        import pyarrow.csv

        pyarrow.csv.write_csv(table().drop(["tags", "price"]), given)
    query.write_text(SQL)
    call("run", str(query), str(given), "--tick", "us", "--output", str(out))
    wanted = {name: str(item).replace(" ", "T") for name, item in {**MATCH, "later": LATER}.items()}
    assert [json.loads(line) for line in out.read_text().splitlines()] == [{**wanted, "diff": 1}]


def test_decimals_are_the_nearest_floats(engine: str, tmp_path: Path) -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.price AS x PATTERN (a) DEFINE a AS a.price <> 0.3)"
    wanted = [10.1, 8537.123457]
    for frame in frames().values():
        query = afa.sql(text, event=frame)
        for found in (afa.find(query, frame), query.operator(engine=engine).push_many(frame)):
            assert [row["x"] for row in rows(found)] == wanted
    given, out = tmp_path / "t.parquet", tmp_path / "out.jsonl"
    pq.write_table(table(), given)
    assert afa.find(afa.sql(text, event=table()), str(given))["x"].to_pylist() == wanted
    (tmp_path / "q.sql").write_text(text)
    call("run", str(tmp_path / "q.sql"), str(given), "--tick", "us", "--output", str(out))
    assert [json.loads(line)["x"] for line in out.read_text().splitlines()] == wanted


def test_a_column_of_times_that_no_query_names_may_hold_anything(engine: str) -> None:
    given = {"n": [1, 2], "at": pa.array(AT[:2], pa.timestamp("s")), "odd": [each + timedelta(microseconds=1) for each in AT[:2]]}
    frame = pa.table(given)
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.n AS n, b.{} AS x PATTERN (a b))"
    query = afa.sql(text.format("n"), event=frame)
    assert query.tree.event._fields == ("n", "at")
    assert len(query.operator(engine=engine).push_many(frame)) == 1
    named = afa.sql(text.format("odd"), event=frame)
    for go in (lambda: afa.find(named, frame), lambda: named.operator(engine=engine).push_many(frame)):
        with pytest.raises(AfaError, match=r"whole number of ticks \(tick='s'\), an int64, but got odd=2026-01-01 00:00:00.000001"):
            go()
    finer = afa.sql(text.format("odd"), event=frame, tick="us")
    assert afa.find(finer, frame.set_column(1, "at", frame["at"].cast(pa.timestamp("us"))))["x"].to_pylist() == given["odd"][1:]


def test_why_a_column_is_no_field() -> None:
    with pytest.raises(
        AfaError, match=r"but got 'TAGS'; column 'tags' is list<.*: int64>, which no query reads: a field is an int"
    ):
        afa.sql(SQL.replace("LAST(b.day)", "LAST(b.TAGS)"), event=table())
    with pytest.raises(AfaError, match=r"column 'tags' is list<.*: int64>, which no query reads"):
        afa.query(TEXT.replace("b.day as d", "b.tags as d"), event=table(), tick="us")
    ints = {"le": [1], "n": [2], "seen": AT[:1]}
    with pytest.raises(
        AfaError, match=r"column 'seen' is timestamp\[us\], and nothing says what one int of a time counts: say tick="
    ):
        afa.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le MEASURES a.seen AS s PATTERN (a))", event=ints)
    assert events_of(ints, tick="ms").cls.__annotations__ == {"n": int, "seen": afa.Time}


def test_a_bare_number_beside_a_time_of_an_event_is_refused() -> None:
    text = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { b.paid - a.paid > 60 } WITHIN 2 RETURN a.paid as p"

    class Pay(NamedTuple):
        paid: afa.Time | None

    with pytest.raises(AfaError, match="expected durations with units, as times are timestamps"):
        afa.find(afa.query(text, event=Pay), {"at": AT, "paid": PAID}, time="at")


def test_times_that_only_a_view_names() -> None:
    text = """SELECT n FROM (SELECT * FROM t WHERE day > DATE '2026-01-01')
              MATCH_RECOGNIZE (ORDER BY at MEASURES COUNT(*) AS n PATTERN (a+))"""
    assert afa.find(text, table())["n"].to_pylist() == [2]
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(a.day, 1) AS never PATTERN (a))"
    assert afa.find(text, table())["never"].to_pylist() == [None] * 3
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY price DESC, paid, day MEASURES COUNT(*) AS n PATTERN (a+))"
    assert afa.find(text, table().drop_columns(["at"]), tick="s")["n"].to_pylist() == [3]
