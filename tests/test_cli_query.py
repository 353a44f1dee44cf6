"""`afa run QUERY.sase INPUT`, `afa run QUERY.sql INPUT`: events are the rows of the input, as they are."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import afa
from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here


class Stock(NamedTuple):
    symbol: str
    price: int
    at: afa.Instant


SASE = """
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) { [symbol] and a[i].price > a[i-1].price and b.price < a[a.LEN].price }
WITHIN 10 seconds
RETURN a[1].price AS low, a.LEN AS n, b.price AS price
"""
SQL = """
SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES FIRST(A.at) AS begun, LAST(B.price) AS price
AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE B AS B.price < A.price)
"""
TYPED = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { b.x > a.x } WITHIN 9 seconds RETURN b.x"
ROWS = [("A", 5, 0), ("B", 3, 1), ("A", 6, 2), ("A", 7, 4), ("B", 2, 5), ("A", 1, 20), ("A", 0, 22)]


def csv(header: str = "symbol,price,le") -> str:
    return write("ticks.csv", "\n".join([header, *(f"{symbol},{price},{t * 1000}" for symbol, price, t in ROWS), ""]))


def matches(*arguments: str) -> list[str]:
    return sorted(line.replace("symbol=", "") for line in call("run", *arguments).stdout.splitlines())


def test_text() -> None:
    query = write("rise.sase", SASE)
    found = matches(query, csv())
    assert found == ["+ [22000, 30000) A low=1 n=1 price=0", "+ [5000, 11000) B low=3 n=1 price=2"]
    assert found == matches(query, csv("symbol,price,t"), "--time", "t")


def test_times_are_found_and_are_values() -> None:
    query = write("rise.sase", SASE.replace("b.price AS price", "b.at - a[1].at AS took"))
    table = pa.table(
        {
            "symbol": [symbol for symbol, _, _ in ROWS],
            "price": [price for _, price, _ in ROWS],
            "at": pa.array([t * 1000 for _, _, t in ROWS], pa.timestamp("ms")),
        }
    )
    pa.parquet.write_table(table, "ticks.parquet")
    found = matches(query, "ticks.parquet")
    assert [line.rpartition(" ")[2] for line in found] == ["took=4000", "took=2000"]


def test_times_that_a_match_shows_are_times() -> None:
    values = "a[1].at AS begun, max(a[].at) AS top, b.at AS ended, b.at - a[1].at AS took, a[a.LEN-1].at AS second"
    stamps = pa.array([t * 1000 for _, _, t in ROWS], pa.timestamp("ms", "Europe/Berlin"))
    columns = {"symbol": [symbol for symbol, _, _ in ROWS], "price": [price for _, price, _ in ROWS], "at": stamps}
    pa.parquet.write_table(pa.table(columns), "ticks.parquet")
    query = write("rise.sase", SASE.replace("a[1].price AS low, a.LEN AS n, b.price AS price", values))
    assert [
        line.partition(" A ")[2] or line.partition(" B ")[2] for line in matches(query, "ticks.parquet", "--output", "o.parquet")
    ] == [
        f"begun=1970-01-01T01:00:{a}+01:00 top=1970-01-01T01:00:{a}+01:00 ended=1970-01-01T01:00:{b}+01:00 took={took} second=None"
        for a, b, took in (("01", "05", 4000), ("20", "22", 2000))
    ]
    kinds = dict(zip(*(lambda schema: (schema.names, schema.types))(pa.parquet.read_schema("o.parquet"))))
    assert {name for name, kind in kinds.items() if kind == stamps.type} == {"begun", "top", "ended", "second", "le", "re"}
    found = afa.query(Path(query).read_text(), event=Stock, tick="ms")
    for made in (found, pickle.loads(pickle.dumps(found))):
        out = made.operator().push_many(pa.table(columns), time="at")
        assert out.schema.field("second").type == out.schema.field("begun").type == stamps.type
        assert (out["took"].to_pylist(), out["second"].null_count) == ([4000, 2000], 2)
    chosen = afa.sql(SQL, event=Stock, tick="ms")
    assert chosen.operator().push_many(pa.table(columns), time="at").schema.field("begun").type == stamps.type


def test_nothing_may_come_at_the_end() -> None:
    """Which reads the times, also where their column is called le."""
    pattern = "PATTERN SEQ(a x, ~(b y)) WHERE skip_till_next_match(x) { [tag] } WITHIN 5 RETURN x.at AS since"
    query = write("alone.sase", pattern)
    rows = write("rows.csv", "type,tag,le\na,1,1\na,2,2\nb,1,3\nc,9,30\n")
    assert matches(query, rows) == ["+ [7, 8) tag=2 since=2"]


def test_nothing_may_have_come_before_the_start() -> None:
    query = write("calm.sase", "PATTERN SEQ(~(b y), a x) WHERE skip_till_next_match(x) { [tag] } WITHIN 5 RETURN x.at AS since")
    rows = write("rows.csv", "type,tag,le\na,1,1\na,2,9\nb,1,3\na,1,7\na,1,8\n")
    assert matches(query, rows) == ["+ [1, 6) tag=1 since=1", "+ [8, 13) tag=1 since=8", "+ [9, 14) tag=2 since=9"]


def test_sql() -> None:
    query = write(
        "fall.sql",
        """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES a.price AS high, b.price AS low
           AFTER MATCH SKIP PAST LAST ROW PATTERN (a b) DEFINE b AS b.price < a.price)""",
    )
    found = matches(query, csv("symbol,price,at"), "--time", "at")
    assert [line.split(" ", 3)[-1] for line in found] == ["A high=7 low=1", "B high=3 low=2"]


def test_types_are_a_column() -> None:
    rows = "kind,tag,le\nshelf,1,1\nshelf,2,2\nregister,1,3\nexit,1,4\nexit,2,5\n"
    text = (
        "PATTERN SEQ(shelf a, ~(register b), exit c) WHERE skip_till_next_match(a, b, c) { [tag] } WITHIN 9 RETURN a.tag AS stolen"
    )
    query = write("theft.sase", text)
    assert matches(query, write("kinds.csv", rows), "--type", "kind") == ["+ [5, 11) tag=2 stolen=2"]
    assert matches(query, write("types.csv", rows.replace("kind", "type"))) == ["+ [5, 11) tag=2 stolen=2"]


def test_refused() -> None:
    query = write("rise.sase", SASE)
    assert "--key can't be combined with" in fails("run", query, csv(), "--key", "symbol")
    assert "--window can't be combined with" in fails("run", query, csv(), "--window", "9")
    assert "none.sase: " in fails("run", "none.sase", csv())
    assert "expected" in fails("run", write("bad.sase", SASE.replace("a[1].price AS low", "a[1].prize AS low")), csv())


BUILDER = """
from typing import NamedTuple
import afa
from afa.language import many, one
class Stock(NamedTuple):
    symbol: str
    price: int
rise = (
    many("a", where=lambda e, m: e.price > m.a.last.price).followed_by(one("b", lambda e, m: e.price < m.a.last.price))
    .by("symbol").within("10 seconds").returns(low=lambda m: m.a.first.price, n=lambda m: m.a.count, price=lambda m: m.b.price)
)
typed = afa.query(rise, event=Stock, tick="ms")
minutes = afa.query(rise, event=Stock, tick="s")
slow = rise.of(Stock, tick="min").within("9000 min")
"""


def test_a_query_made_in_python() -> None:
    """Its events are the input's columns, or those that it says."""
    write("b.py", BUILDER)
    want = matches(write("rise.sase", SASE), csv())
    assert matches("b.py:rise", csv()) == matches("b.py:typed", csv()) == want
    assert matches("b.py:slow", csv())  # ticks of integers are what they are
    write("times.csv", "symbol,price,le\nA,1,2026-01-01 00:00:00\nA,2,2026-01-01 00:00:01\nA,1,2026-01-01 00:00:05\n")
    assert matches("b.py:minutes", "times.csv")[0].startswith("+ [2026-01-01T00:00:05, 2026-01-01T00:00:10) A low=1 n=2")
    assert fails("run", "b.py:slow", "times.csv") == (
        "b.py:slow: expected tick= as one of s, ms, us, ns, as times are timestamps, but got 'min'"
    )
    assert "--key can't be combined with" in fails("run", "b.py:typed", csv(), "--key", "symbol")
    assert "ticks.csv: no column 'price' (field price of Stock)" in fails("run", "b.py:typed", csv("symbol,cost,le"))


def test_ties_that_nothing_puts_in_order_are_told() -> None:
    query = write("rise.sase", SASE)
    ties = write("ties.csv", "symbol,price,le,n\nA,1,1,1\nA,2,2,2\nA,3,2,3\nA,0,4,4\n")
    told = call("run", query, ties, "--quiet")
    assert told.stderr.startswith("afa: events of one instant are alternatives, of which a match takes one: ")
    assert told.stderr.endswith("--order-by names the field that puts them in order\n")
    assert call("run", query, ties, "--quiet", "--order-by", "n").stderr == ""
    assert call("run", query, csv(), "--quiet").stderr == ""


def test_show() -> None:
    query = write("rise.sase", SASE)
    told = call("show", query, csv()).stdout
    assert "state a+: skips by next: not (e.price is not None" in told
    assert "a: a+ -> a+" in told
    assert call("show", query, csv(), "--mermaid").stdout.startswith("flowchart LR")
    write("b.py", BUILDER)
    assert "state a+" in call("show", "b.py:typed").stdout
    assert "state a+" in call("show", "b.py:slow").stdout
    assert "state a+" in call("show", "b.py:rise", csv()).stdout
    for pattern in (query, "b.py:rise"):
        said = "expected an input whose columns the query reads but got none"
        assert fails("show", pattern) == f"{said}; say afa show {pattern} INPUT"


def test_a_header_alone_is_an_input_without_rows() -> None:
    for header, query, name in (
        ("symbol,price,at", SASE, "q.sase"),
        ("at,price,symbol", SQL, "q.sql"),
        ("type,le,x", TYPED, "t.sase"),
    ):
        result = call("run", write(name, query), write("none.csv", header + "\n"))
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
        assert "events             0" in result.stderr
        assert "in Python" not in result.stderr
    wrong = write("wrong.sase", SASE.replace("b.price", "b.cost"))
    assert "cost, which is no field of Stock" in fails("run", wrong, write("none.csv", "symbol,price,at\n"))


def test_rows_without_a_key_are_those_of_a_key() -> None:
    rows = write("keys.csv", "symbol,price,at\n1,5,0\n,6,1000\n1,4,2000\n,3,3000\n")
    for name, query in (("q.sase", SASE), ("q.sql", SQL)):
        found = sorted(call("run", write(name, query), rows, "--time", "at").stdout.splitlines())
        assert [("symbol=1 " in line, "symbol=None " in line, line.rpartition(" ")[2]) for line in found] == [
            (True, False, "price=4"),
            (False, True, "price=3"),
        ]


def test_keys_that_no_column_holds() -> None:
    """Computed of each row, or taken from the matches of another MATCH_RECOGNIZE; with the output as a table, too."""
    rows = write("rows.csv", "at,s,n\n1000,a,1\n2000,A,2\n3000,b,3\n")
    inner = "(SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(at) AS t1, a.n % 2 AS p PATTERN (a) WITHIN 9))"
    for key, of, order, keys in (
        ("upper(s)", "t", "at", {"key_0=A", "key_0=B"}),
        ("k", "(SELECT at AS t0, n % 2 AS k FROM t)", "t0, k", {"k=0", "k=1"}),
        ("p", inner, "t1", {"p=0", "p=1"}),
    ):
        text = (
            f"SELECT * FROM {of} MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY {order} MEASURES COUNT(*) AS c PATTERN (a+) WITHIN 9)"
        )
        file = write("k.sql", text)
        found = [line for line in call("run", file, rows, "--time", "at").stdout.splitlines() if line.startswith("+")]
        assert {part for line in found for part in line.split()} >= keys
        call("run", file, rows, "--time", "at", "--output", "k.parquet", "--force")
        assert len(pyarrow.parquet.read_table("k.parquet")) == len(found)


def test_null_in_order_by_stands_where_sql_says() -> None:
    rows = write("order.csv", "at,n,x\n1,,5\n1,2,6\n2,1,7\n")
    plain = write("q.sql", "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, n MEASURES FIRST(x) AS first PATTERN (a b c))")
    wanted = "row 2, column 'n': expected int (the order of rows) but got no value; NULLS LAST behind it in ORDER BY of SQL would"
    assert wanted in fails("run", plain, rows)
    for nulls, first in ((" NULLS LAST", 6), (" NULLS FIRST", 5)):
        text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, n{nulls} MEASURES FIRST(x) AS first PATTERN (a b c))"
        assert f"first={first}" in call("run", write("q.sql", text), rows).stdout
        assert afa.find(text, pyarrow.csv.read_csv(rows))["first"].to_pylist() == [first]


def test_the_tick_of_a_query_in_python_is_its_own() -> None:
    code = f"import afa\nfrom {__name__} import Stock, SASE\nQUERY = afa.query(SASE, event=Stock, tick='s')\n"
    made = write("ticking.py", code) + ":QUERY"
    assert "ticking.py:QUERY: expected --tick s, as the query says, but got ms; leave it out" in fails(
        "run", made, csv(), "--tick", "ms"
    )
    assert call("run", made, csv(), "--tick", "s").exit_code == 0


def test_the_place_of_an_error_is_one_line() -> None:
    query = write("bad.sase", SASE.replace("b.price AS price", "b.prize AS price"))
    said = "bad.sase: line 5, column 41: expected a value but got prize, which is no field of Stock; its fields: symbol, price, at"
    said += "; did you mean 'price'?"
    assert fails("run", query, csv()) == said


def test_a_type_that_no_row_has_is_told() -> None:
    rows = write("kinds.csv", "type,tag,le\nshelf,1,1\nexit,1,4\n")
    text = "PATTERN SEQ(Shelf a, ~(till b), exit c) WHERE skip_till_next_match(a, b, c) { [tag] } WITHIN 9"
    said = call("run", write("theft.sase", text), rows, "--quiet")
    assert said.stderr == "afa: no row has 'Shelf' in column type, which holds 'exit', 'shelf'\n"
    assert call("run", write("theft.sase", text.replace("Shelf", "shelf")), rows, "--quiet").stderr == ""


def test_the_time_is_that_of_order_by() -> None:
    text = """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY AT MEASURES b.at - a.at AS took
              AFTER MATCH SKIP PAST LAST ROW PATTERN (a b) DEFINE b AS b.price < a.price)"""
    found = matches(write("fall.sql", text), csv("symbol,price,at"))
    assert [line.rpartition(" ")[2] for line in found] == ["took=16000", "took=4000"]


NAMED = "PATTERN SEQ(E a, E b) WHERE skip_till_next_match(a, b) { a.COLUMN > 1 } WITHIN 10 seconds RETURN b.kind"


@pytest.mark.parametrize("text", [NAMED, NAMED.replace("a.COLUMN > 1", "[COLUMN]"), NAMED.replace("b.kind", "b.COLUMN")])
def test_a_column_that_no_query_reads_is_told_with_its_type(text: str) -> None:
    pyarrow.parquet.write_table(pa.table({"at": [datetime(2026, 1, 1)], "kind": ["a"], "parts": [[1]]}), "x.parquet")
    wrong = fails("run", write("q.sase", text.replace("COLUMN", "parts")), "x.parquet", "--time", "at")
    assert wrong.endswith(
        "; column 'parts' is list<element: int64>, which no query reads: a field is an int, a float, a bool, a text or a time"
    )


@pytest.mark.parametrize(
    ("column", "shown"),
    [("amount", "2.5"), ("due", "2026-01-03"), ("seen", "2026-01-02T00:00:00")],
    ids=["decimal", "date", "time"],
)
def test_decimals_dates_and_times_beside_le_are_read(column: str, shown: str) -> None:
    given = {
        "at": [datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 1)],
        "amount": [Decimal("1.50"), Decimal("2.50")],
        "due": [date(2026, 1, 2), date(2026, 1, 3)],
        "seen": [datetime(2026, 1, 1), datetime(2026, 1, 2)],
    }
    pyarrow.parquet.write_table(pa.table(given), "x.parquet")
    text = "PATTERN SEQ(E a, E b) WHERE skip_till_next_match(a, b) { b.COLUMN > a.COLUMN } WITHIN 10 seconds RETURN b.COLUMN as x"
    (found,) = matches(write("q.sase", text.replace("COLUMN", column)), "x.parquet", "--time", "at")
    assert f"x={shown}" in found.replace(" 00:00:00", "T00:00:00")


def test_show_says_key_and_window_and_the_page_has_the_text() -> None:
    query, ticks = write("rise.sase", SASE), csv()
    assert [line for line in call("show", query, ticks).stdout.splitlines() if line.startswith(("key ", "window "))] == [
        "key       symbol",
        "window    10 seconds",
    ]
    assert "window    10000" in call("show", query, ticks, "--tick", "ms").stdout.replace("10 seconds", "10000")
    call("show", query, ticks, "--html", "rise.html")
    page = Path("rise.html").read_text("utf-8")
    assert "<div><b>key</b> symbol</div><div><b>window</b> 10 seconds</div>" in page
    assert "<pre>PATTERN SEQ(Stock+ a[], Stock b)&#10;" in page
    assert "its transfer then makes the register" in page
    write(
        "made.py",
        "import afa\nfrom typing import NamedTuple\nfrom afa.language import one\n\n"
        "class Pay(NamedTuple):\n    card: str\n    n: int\n\n"
        "keyed = afa.query(one('a').next(one('b')).by('card').within('90 minutes'), event=Pay, tick='s')\n"
        "plain = afa.query(one('a').next(one('b')), event=Pay)\n",
    )
    shown = call("show", "made.py:keyed").stdout.splitlines()
    assert shown[3:5] == ["key       card", "window    90 minutes"]
    assert call("show", "made.py:plain").stdout.splitlines()[3:5] == ["key       none: all events together", "window    no end"]
    call("show", "made.py:keyed", "--html", "made.html")
    assert "<pre>PATTERN SEQ(" in Path("made.html").read_text("utf-8")


def test_a_column_that_can_be_no_field() -> None:
    text = """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY "class" ORDER BY at MEASURES a.price AS low
              AFTER MATCH SKIP PAST LAST ROW PATTERN (a b) DEFINE b AS b.price < a.price)"""
    said = fails("run", write("fall.sql", text), csv("class,price,at"))
    assert said.endswith("but got 'class'; rename column 'class': it is no name of a field")


def test_columns_of_parquet_that_are_full_are_never_none() -> None:
    """So that the query asks nothing of them that it need not: it costs half of the rate."""
    query = write("rise.sase", SASE)
    table = pa.table({"symbol": ["A"] * 3, "price": [1, 2, 1], "le": [0, 1, 2]})
    pa.parquet.write_table(table, "full.parquet")
    pa.parquet.write_table(table.set_column(1, "price", pa.array([1, 2, None])), "holes.parquet")
    assert "event     Stock(symbol: str, price: int, at: int)" in call("show", query, "full.parquet").stdout.replace(
        ", le: int", ""
    )
    assert "price: int | None" in call("show", query, "holes.parquet").stdout
    assert matches(query, "full.parquet") == ["+ [2, 10000) A low=1 n=2 price=1", "+ [2, 10001) A low=2 n=1 price=1"]
    assert matches(query, "holes.parquet") == []


@pytest.mark.parametrize("name", ["q.sase", "q.sql", "q.py:q"])
def test_a_bare_number_that_stands_for_time(name: str) -> None:
    texts = {
        "q.sase": "PATTERN SEQ(Any a, Any b) WHERE { a.v = 1 and b.v = 2 } WITHIN %s RETURN b.v AS v",
        "q.sql": "SELECT v FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES b.v AS v PATTERN (a b) WITHIN %s "
        "DEFINE a AS v = 1, b AS v = 2)",
        "q.py:q": "from afa.language import one\nb = one('b', lambda e: e.v == 2)\n"
        "q = one('a', lambda e: e.v == 1).next(b).within(%s).returns(v=lambda m: m.b.v)",
    }
    unit = {"q.sase": "1 minute", "q.sql": "INTERVAL '1' MINUTE", "q.py:q": "'1 minute'"}[name]
    file = name.partition(":")[0]
    rows = write("rows.csv", "at,v\n2026-01-01T12:00:00,1\n2026-01-01T12:00:20,2\n")
    ints = write("ints.csv", "at,v\n0,1\n20,2\n")
    write(file, texts[name] % 60)
    for command in ("run", "why", "serve"):
        said = fails(command, name, rows, "--time", "at")
        assert "expected durations with units, as times are timestamps" in said
        assert "got WITHIN 60; write WITHIN 60 seconds" in said
        assert "or say --tick" in said
    assert "v=2" in call("run", name, rows, "--time", "at", "--tick", "s").output
    assert "v=2" in call("run", name, ints, "--time", "at").output
    write(file, texts[name] % unit)
    assert "v=2" in call("run", name, rows, "--time", "at").output


def test_one_over_another() -> None:
    """Changes of the outermost, its times as the input has them; what needs one query is refused by name."""
    text = """SELECT * FROM (SELECT * FROM t MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY at MEASURES COUNT(*) AS n, LAST(at) AS until
          PATTERN (a b+) WITHIN INTERVAL '1' MINUTE DEFINE b AS price < PREV(price)))
        MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY until MEASURES FIRST(until) AS first, COUNT(*) AS falls
          PATTERN (c d+) WITHIN INTERVAL '5' MINUTE DEFINE d AS n >= PREV(n))"""
    rows = [f"A,2024-05-01T09:0{i // 6}:{i % 6}0.000,{price}" for i, price in enumerate((5, 4, 6, 5, 3, 7, 2))]
    file = write("t.csv", "\n".join(["symbol,at,price", *rows[:2], *rows[3:], rows[2]]))  # the third row comes last
    told = call("run", write("q.sql", text), file, "--batch", "6").stdout.splitlines()
    assert told == [
        "+ [2024-05-01T09:01:00, 2024-05-01T09:05:10) symbol=A first=2024-05-01T09:00:10 falls=3",
        "- [2024-05-01T09:01:00, 2024-05-01T09:05:10) symbol=A first=2024-05-01T09:00:10 falls=3",
        "+ [2024-05-01T09:00:40, 2024-05-01T09:05:10) symbol=A first=2024-05-01T09:00:10 falls=2",
    ]
    for option, words in (("--reasons", "expected one MATCH_RECOGNIZE here"), ("--members", "but got members=")):
        more = ["at"] if option == "--members" else []
        assert words in fails("run", write("q.sql", text), file, option, *more)
    for command in ("show", "why"):
        assert "expected one MATCH_RECOGNIZE here" in fails(command, write("q.sql", text), file)
    unordered = text.replace("ORDER BY until", "ORDER BY n").replace("WITHIN INTERVAL '5' MINUTE", "")
    assert "expected ORDER BY with the time" in fails("run", write("r.sql", unordered), file)
