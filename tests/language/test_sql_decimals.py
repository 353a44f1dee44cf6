"""DECIMAL in SQL, on both engines: exact up to 15 digits, against DuckDB and Python's decimal; a float beyond, which is told."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import ChangeError, QueryError, insert, retract
from afa.expression import text_of_expr
from afa.expression.nodes import Const, Digits, minus
from afa.state.plain import nearest_floats, units_of
from tests.cli import call

SCHEMA = pa.schema(
    [
        pa.field("i", pa.int64(), nullable=False),
        pa.field("p", pa.decimal128(10, 2), nullable=False),
        pa.field("q", pa.decimal128(9, 3)),
        pa.field("r", pa.decimal128(6, 0), nullable=False),
        pa.field("n", pa.int64(), nullable=False),
        pa.field("f", pa.float64(), nullable=False),
    ]
)
OF_ONE_ROW = """
    p; -p; p + 0.1; p - 0.1; p + q; p - q; p + n; n - p; p * q; p * p * 0.1; p * 0.07 + q; p * n; r * r; r + 0.5; n * 0.1
    0.1 + 0.2; 3 * 0.1 - n; abs(p - q); sign(p - 0.1); p / q; p / 3; p / n; r / (abs(p) + 0.5); p + f; p * f; p + 1e-1; f * 0.1
    round(p * q, 2); round(p * q, 3); round(p, 1); round(p); round(q, 5); round(p * q); round(r); round(p + f, 2); f + 0.1
    floor(p); ceil(p); trunc(q); floor(p) + 0.1; p % 0.1; p % q; mod(p, 1); mod(-p, 0.3); p % n; n % 0.3; mod(q, r)
    greatest(p, q, 0.3) + 0.1; least(p, n) * 3; coalesce(q, p) + 0.1; nullif(p, 0.1) + 0.2; case when p > q then p else q end * 3
    case when q > 0 then q end + p; if(p > 0.5, p, n) + 0.1; cast(p as double) + 0.1; cast(p as int); cast(-q as int)
    sqrt(abs(p)); power(p, 2); p + null; q is null; p in (0.1, 0.3, 0.7); p + 0.1 in (0.3, q); p between 0.1 and q + 0.1
    p + 0.1 = 0.3; p + q = 0.3; p * 3 = 0.3; p - q > 0.1; p + 0.1 >= q; n * 0.1 = 0.3; p * q = 0.06; p is distinct from q + 0.1
    cast(p + 0.5 as int); n * 0.1 + p; cast(p as decimal(9, 1)); cast(q as decimal(7, 2)); cast(-q as decimal(6, 0)) + 0.1
    cast(p * q as decimal(15, 3)); cast(f as decimal(5, 3)); cast(n as decimal(3, 2)) + 0.1; cast(p / 3 as decimal(12, 4)) * 3
    cast(q as decimal(9, 2)) = cast(p as decimal(9, 2)); cast('1.005' as decimal(10, 2)) * 3; cast(0.5 as decimal(9, 0))
    p + 0.100; n * 0.30; 10.00 + n; n - -0.30; -(0.50) + n; n * 5.; p - .50; round(n * 0.300, 1); abs(-0.500); n % 0.30; r - -0.0
    case when p > q then 0.3 else 0.30 end; coalesce(q, 0.1000); nullif(0.50, p); greatest(n, 0.50); 0.10 + 0.20; least(p, 1.0)
    cast(p * 0.07 as decimal(15, 10)); cast(null as decimal(2, 1)); round(p * 0.00000000000001, 12); cast(1.005 as decimal(3, 2))
"""
EXPRESSIONS = [each.strip() for line in OF_ONE_ROW.strip().splitlines() for each in line.split(";")]
SMALL = ("0.10", "0.20", "0.30", "0.70", "1.10", "2.50", "0.00", "-0.30")


def rows(n: int, digits: int = 7) -> list[tuple[Any, ...]]:
    """Random rows; half of the values are ones that floats don't add up."""
    rng = random.Random(7)

    def decimal(scale: int) -> Decimal:
        value = Decimal(rng.choice(SMALL)) if rng.random() < 0.5 else Decimal(rng.randint(-(10**digits), 10**digits)).scaleb(-scale)
        return value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)

    def row(i: int) -> tuple[Any, ...]:
        q = rng.choice([None, *[decimal(3) or Decimal("0.100")] * 5])
        return i, decimal(2), q, Decimal(rng.choice([-7, 1, 2, 31])), rng.choice([-7, 1, 2, 3]), rng.uniform(-9, 9)

    return [row(i) for i in range(n)]


ROWS = rows(60)
BY_KEY = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES SUM(v) AS s PATTERN (a b) DEFINE b AS v > PREV(v))"


def keyed(*keys: str | None, kind: Any = pa.decimal128(18, 2)) -> Any:  # noqa: B008  (a type is a value)
    """Two rows for each key, the first of them first."""
    values = [None if key is None else Decimal(key) for key in keys]
    of = pa.array(values * 2, kind)
    return pa.table({"k": of, "v": [1] * len(keys) + [2] * len(keys), "at": [*range(2 * len(keys))]})


def told_keys(table: Any) -> list[Any]:
    return sorted(table["k"].to_pylist(), key=lambda key: (key is None, key))


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_keys(engine: Any, tmp_path: Path) -> None:
    """A value is one key whatever it came as, and leaves in the type of its column."""
    events = keyed("0.10", "2.00", None)
    query, kind, want = afa.sql(BY_KEY, event=events), events["k"].type, [Decimal("0.10"), Decimal("2.00"), None]
    pq.write_table(events, tmp_path / "t.parquet", row_group_size=2)
    prepared = afa.prepared(events, key="k", time="at")
    found = [afa.find(query, each, time="at") for each in (events, tmp_path / "t.parquet", prepared)]
    found += [afa.backtest({"q": query}, events, time="at").matches, query.operator(engine=engine).push_many(events, time="at")]
    for each in found:
        assert (each["k"].type, told_keys(each)) == (kind, want)
    frame = events.to_pandas()
    for each in (afa.find(query, frame, time="at"), query.operator(engine=engine).push_many(frame, time="at")):
        assert {type(key) for key in each["k"]} == {Decimal, type(None)}
        assert told_keys(pa.table({"k": each["k"]})) == want
    op = query.operator(engine=engine)
    assert op.push_many(keyed("0.10").slice(0, 1), time="at").num_rows == 0
    (change,) = op.push(insert({"k": 0.1, "v": 2}, 1))
    op = query.restore(op.snapshot(), engine=engine)
    assert (change.key, op.push(retract({"k": Decimal("0.100"), "v": 2}, 1))[0].diff) == (0.1, -1)


def test_keys_in_files(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(BY_KEY)
    pq.write_table(keyed("0.10", "1234567890123456.10", "1234567890123456.11", None), tmp_path / "t.parquet")
    call("run", f"{tmp_path}/q.sql", f"{tmp_path}/t.parquet", "--output", f"{tmp_path}/out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert [*map(str, told_keys(out))] == ["0.10", "1234567890123456.10", "1234567890123456.11", "None"]
    assert out["k"].type == pa.decimal128(18, 2)


def test_long_keys() -> None:
    """They are told apart exactly, or refused where floats would have to."""
    events = keyed("1234567890123456.10", "1234567890123456.11")
    query = afa.sql(BY_KEY, event=events)
    assert told_keys(query.operator().push_many(events, time="at")) == events["k"].to_pylist()[:2]
    for call_of in (lambda: afa.find(query, events, time="at"), lambda: afa.backtest({"q": query}, events, time="at")):
        with pytest.raises(ChangeError, match=r"at most 15 digits, .* but got k=1234567890123456\.11 in .*: cast it to"):
            call_of()
    short = keyed("123456789012345", "1.25", kind=pa.decimal128(38, 4))  # a wide type of values that floats tell apart
    with pytest.raises(ChangeError, match="at most 15 digits"):
        afa.find(query, short, time="at")
    assert told_keys(afa.find(query, keyed("12345678901", "1.25", kind=pa.decimal128(38, 4)), time="at"))[0] == Decimal("1.25")


def table(given: Sequence[tuple[Any, ...]] = ROWS) -> Any:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row)) for row in given], SCHEMA)


def query(measures: str, define: str = "TRUE", pattern: str = "a", dialect: str | None = "duckdb") -> Any:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {measures} PATTERN ({pattern}) DEFINE a AS {define})"
    return afa.sql(text, event=SCHEMA, dialect=dialect)


def shown(made: Any, engine: str, given: Sequence[tuple[Any, ...]] = ROWS) -> list[Any]:
    op = made.operator(engine=engine)
    return [out.payload.v for row in given for out in op.push(insert(made.event(*row), row[0]))]


@pytest.fixture(scope="module")
def con() -> Any:
    con = pytest.importorskip("duckdb").connect()
    con.execute("CREATE TABLE t (i BIGINT, p DECIMAL(10, 2), q DECIMAL(9, 3), r DECIMAL(6, 0), n BIGINT, f DOUBLE)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return con


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_are_duckdb_s(expression: str, con: Any) -> None:
    wanted = [each for (each,) in con.execute(f"SELECT {expression} FROM t ORDER BY i").fetchall()]
    made = query(f"{expression} AS v")
    found = shown(made, "interpreted")
    for one, other, row in zip(found, wanted, ROWS, strict=True):
        if isinstance(other, Decimal):
            assert repr(float(one)) == repr(float(other)), row
        else:
            assert one == (pytest.approx(other, rel=1e-14) if isinstance(other, float) else other), row
    assert repr(shown(made, "compiled")) == repr(found)


def test_texts_are_duckdb_s(con: Any) -> None:
    """In a whole statement, where a DECIMAL shows all digits that it has behind the point."""
    kinds = con.sql(f"SELECT {', '.join(EXPRESSIONS)} FROM t").types
    decimals = [expression for expression, kind in zip(EXPRESSIONS, kinds) if str(kind).startswith("DECIMAL")]
    assert len(decimals) > 70
    measures = ", ".join(f"{expression} AS v{i}" for i, expression in enumerate(decimals))
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {measures} PATTERN (a))"
    found = afa.duckdb.sql(con, text, engine="interpreted")
    for i, expression in enumerate(decimals):
        one = found.select(f"CAST(v{i} AS VARCHAR)").fetchall()
        assert Counter(one) == Counter(con.sql(f"SELECT CAST({expression} AS VARCHAR) FROM t").fetchall()), expression


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_a_cast_beyond_its_digits_raises(engine: Any) -> None:
    """As in SQL; the operator is as it was."""
    for said, cast in (
        ("measure", query("CAST(p * 10 AS DECIMAL(5, 1)) AS v")),
        ("define", query("1 AS v", "CAST(p * 10 AS DECIMAL(5, 1)) > 0")),
    ):
        op = cast.operator(engine=engine)
        (row,) = rows(1)
        fits, beyond = (cast.event(i, p, *row[2:]) for i, p in ((1, 999.99), (2, 1000.0)))
        assert len(op.push(insert(fits, 1))) == 1, said
        saved = op.snapshot()
        with pytest.raises(ValueError, match=r"expected a number below 10000 in CAST to DECIMAL but got 10000\.0"):
            op.push(insert(beyond, 2))
        assert op.snapshot() == saved


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("oracle", "NUMBER(5, 1)"), ("snowflake", "NUMBER(5, 1)"), ("trino", "DECIMAL(5, 1)"), ("spark", "DECIMAL(5, 1)"),
        ("flink", "DECIMAL(5, 1)"), ("bigquery", "NUMERIC(5, 1)"), ("databricks", "DEC(5, 1)"), (None, "NUMERIC(5, 1)"),
    ],
)  # fmt: skip
def test_dialects_round_decimals_alike(dialect: str | None, said: str) -> None:
    made = query(f"CAST(q AS {said}) AS v", dialect=dialect)
    (row,) = rows(1)
    given = [(i, *row[1:2], Decimal(q), *row[3:]) for i, q in enumerate(("0.250", "-0.250", "1.050", "0.249"))]
    assert shown(made, "interpreted", given) == shown(made, "compiled", given) == [0.3, -0.3, 1.1, 0.2]


@pytest.mark.parametrize(
    ("cast", "words"),
    [
        (
            "CAST(p AS DECIMAL(18, 2))",
            r"DECIMAL\(p, s\) of at most 15 digits, .* but got 'CAST\(p AS DECIMAL\(18, 2\)\)'; say fewer",
        ),
        ("CAST(p AS DECIMAL(2, 3))", "of at most 15 digits"),
        ("CAST(p AS DECIMAL)", r"of at most 15 digits, .* but got 'CAST\(p AS DECIMAL\)'"),
        ("CAST(p > 1 AS DECIMAL(2, 1))", "a CAST of a number to DECIMAL but got .*; CAST to DOUBLE first"),
        ("CAST('x' AS DECIMAL(2, 1))", "a number as text but got 'x'"),
        ("CAST('inf' AS DECIMAL(2, 1))", "a CAST of a number to DECIMAL"),
    ],
)
def test_casts_that_are_refused(cast: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        query(f"{cast} AS v")
    with pytest.raises(QueryError, match="whose digits RisingWave does not read"):
        query("CAST(p AS DECIMAL(5, 2)) AS v", dialect="risingwave")
    with pytest.raises(QueryError, match="in which dialects keep different digits; say DECIMAL"):
        query("CAST(p AS DECIMAL) AS v", dialect="spark")


OF_ROWS = """
    sum(p); sum(q); sum(p) + 0.1; sum(p * q); sum(p + q) - sum(p); sum(r); sum(r * p); sum(n * 0.1); sum(p) filter (where n > 1)
    avg(p); avg(q); avg(r); avg(p * q); avg(p + 0.1); min(p + q); max(p - q) * 3; min(q); max(p) + 0.1; count(p * q)
    max_by(p, q) + 0.1; min_by(p + 0.1, n * 0.1 + i); count(distinct p + 0.1); sum(case when p > q then p else 0 end)
    sum(p) = sum(p + 0.1) - count(*) * 0.1; sum(round(p * q, 1)); round(avg(p), 2); any_value(p) + 0.2; sum(abs(q) % 0.3)
    sum(p) / count(p)
"""


@pytest.mark.parametrize("expression", [each.strip() for line in OF_ROWS.strip().splitlines() for each in line.split(";")])
def test_aggregates_are_duckdb_s(expression: str, con: Any) -> None:
    ((wanted,),) = con.execute(f"SELECT {expression} FROM (SELECT * FROM t ORDER BY i)").fetchall()
    wanted = float(wanted) if isinstance(wanted, Decimal) else pytest.approx(wanted, rel=1e-15)  # which rounds means twice
    for engine in ("interpreted", "compiled"):
        (found,) = query(f"{expression} AS v", pattern="a+").operator(engine=engine).push_many(table()).to_pydict()["v"]
        assert found == wanted


PRICES = ("0.20", "0.30", "0.40", "9.10", "9.20", "9.21")
TABLE = pa.table({"i": range(6), "p": pa.array(map(Decimal, PRICES), pa.decimal128(10, 2))})
FOUND = [0.2, 0.3, 9.1]


def pairs(define: str = "b.p = a.p + 0.1") -> str:
    """Each two rows, one behind the other, of which a condition holds."""
    clauses = f"MEASURES a.p AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS {define}"
    return f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i {clauses})"


@pytest.mark.parametrize("define", ["b.p = a.p + 0.1", "b.p - a.p = 0.1", "PREV(b.p) + 0.1 = b.p", "SUM(p) - 2 * a.p = 0.1"])
def test_a_condition_holds_where_it_holds_of_decimals(define: str, engine: str) -> None:
    """As floats 0.2 + 0.1 is not 0.3, and 9.1 + 0.1 not 9.2."""
    assert (0.2 + 0.1, 9.2 - 9.1) != (0.3, 0.1)
    made = afa.sql(pairs(define), event=TABLE.schema)
    for kind in (Decimal, float):
        op, found = made.operator(engine=engine), Counter[float]()
        rows = [made.event(i, kind(p)) for i, p in enumerate(PRICES)]
        wrong = made.event(2, kind("0.25"))
        for batch in (
            [insert(row, row.i) for row in (*rows[1::2], wrong)],
            [retract(wrong, 2), *(insert(row, row.i) for row in rows[::2])],
        ):
            for each in op.push_many(batch):
                found[each.payload.v] += each.diff
        assert +found == Counter(FOUND)
        op._check()


def test_on_every_way_in(tmp_path: Path) -> None:
    file, out = tmp_path / "t.parquet", tmp_path / "out.jsonl"
    pq.write_table(TABLE, file)
    (tmp_path / "q.sql").write_text(pairs())
    for frame in (TABLE, TABLE.to_pandas(), TABLE.to_pydict(), str(file), TABLE.set_column(1, "p", TABLE["p"].dictionary_encode())):
        assert list(pa.table(afa.find(pairs(), frame))["v"].to_pylist()) == FOUND
    call("run", str(tmp_path / "q.sql"), str(file), "--output", str(out))
    assert [json.loads(line)["v"] for line in out.read_text().splitlines()] == FOUND
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as con:
        con.register("t", TABLE)
        for define in ("b.p = a.p + 0.1", "b.p - a.p = 0.1", "b.p - (SELECT 0.1) = a.p"):
            assert [float(v) for (v,) in afa.duckdb.sql(con, pairs(define)).fetchall()] == FOUND


def test_exact_up_to_15_digits(engine: str) -> None:
    rng, rows = random.Random(11), list[tuple[Decimal, Decimal]]()
    while len(rows) < 400:
        p, q = (Decimal(rng.randint(-(10 ** rng.randint(1, 15)), 10 ** rng.randint(1, 15))).scaleb(-scale) for scale in (2, 5))
        rows += [(p, q)] if all(abs(x.scaleb(scale)) < 10**15 for x, scale in ((p + q, 5), (p, 5), (p * q, 7))) else []
    kinds = pa.schema([("i", pa.int64()), ("p", pa.decimal128(15, 2)), ("q", pa.decimal128(15, 5))])
    given = pa.table([range(len(rows)), *zip(*rows)], kinds)
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES p + q AS a, p - q AS b, p * q AS c, SUM(q) AS d PATTERN (x))"
    found = afa.find(text, given, engine=engine)
    for name, value in {"a": lambda p, q: p + q, "b": lambda p, q: p - q, "c": lambda p, q: p * q, "d": lambda p, q: q}.items():
        assert found[name].to_pylist() == [float(value(p, q)) for p, q in rows]


def test_a_float_beyond(engine: str) -> None:
    """More than 15 digits, or so many behind the point: as floats have it, and nothing overflows."""
    large, small = Decimal("99999999.99999999"), Decimal("0.000000000000000001")
    given = pa.table({"i": [1], "a": pa.array([large], pa.decimal128(18, 8)), "b": pa.array([small], pa.decimal128(38, 18))})
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES a * a AS v, b + b AS w, SUM(a) * 2 AS x PATTERN (r))"
    ((found),) = afa.find(text, given, engine=engine).select(["v", "w", "x"]).to_pylist()
    assert found == {"v": float(large) ** 2, "w": 2e-18, "x": pytest.approx(2 * float(large), rel=1e-15)}


def test_of_matches_over_one_another(engine: str) -> None:
    """What one MATCH_RECOGNIZE shows of DECIMALs counts as such in the next one: 0.7 - 0.3 is 0.4."""
    below = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES LAST(i) AS i, SUM(p) AS s, p * 0.10 AS x PATTERN (a b))"
    over = "MATCH_RECOGNIZE (ORDER BY i MEASURES SUM(s) AS v, d.x - 0.1 AS w PATTERN (c d) DEFINE d AS s - c.s = x * 10)"
    given = pa.table({"i": range(4), "p": pa.array(map(Decimal, ("0.10", "0.20", "0.30", "0.40")), pa.decimal128(10, 2))})
    made = afa.sql(f"SELECT * FROM ({below}) {over}", event=given.schema)
    rows = [insert(made.event(*row), row[0]) for row in zip(*given.to_pydict().values())]
    (found,) = made.operator(engine=engine).push_many(rows)
    assert found.payload[:2] == (1.0, -0.06)


def test_written_digits_are_no_part_of_a_constant() -> None:
    """A condition on 0.3 is one on 0.30, also in snapshots; a copy of the constant, and the negative number, keep the digits."""
    made, *others = [query("n AS v", f"p > {number}") for number in ("0.3", "0.30", "-(-0.300)")]
    for each in others:
        assert each.automaton.arcs == made.automaton.arcs
        made.restore(each.operator().snapshot())
    one = Digits(0.3, 2)
    assert one == Const(0.3) == Digits(0.3, 1)
    assert text_of_expr(one) == "0.3"
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), minus(minus(one))):
        assert (other, other.scale) == (one, 2)


def test_what_is_no_decimal() -> None:
    assert shown(query("n * 1e-1 AS v", dialect=None), "interpreted")[:1] == [ROWS[0][4] * 0.1]
    for dialect, wanted in (("bigquery", 3 * 0.1), ("trino", 0.3)):
        assert shown(query("n * 0.1 AS v", dialect=dialect), "compiled", [(0, *ROWS[0][1:4], 3, 0.0)]) == [wanted]


def test_of_which_columns_it_is_told_that_they_are_floats(caplog: pytest.LogCaptureFixture) -> None:
    kinds = pa.schema([("i", pa.int64()), ("cents", pa.decimal128(15, 2)), ("euros", pa.decimal128(18, 2))])
    for name in ("cents", "euros", "euros"):
        afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES SUM({name}) AS v PATTERN (a))", event=kinds)
    afa.query("PATTERN SEQ(Pay a) WHERE skip_till_any_match(a) { a.cents > 1 } WITHIN 9 RETURN a.cents", event=kinds)
    said = [record.getMessage() for record in caplog.records if "DECIMAL" in record.getMessage()]
    assert [each.partition(",")[2].partition(",")[0] for each in said] == [" as of euros", " as of cents"]
    assert said[0].startswith("a DECIMAL is taken as the nearest float, as of euros, which in SQL is exact up to 15 digits")


@pytest.mark.parametrize("scale", range(19))
def test_floats_are_the_nearest_ones(scale: int) -> None:
    rng = random.Random(scale)
    for most in (10**15, 2**53, 10**18):
        values = [Decimal(rng.randint(-most + 1, min(most, 10 ** rng.randint(0, 18)) - 1)).scaleb(-scale) for _ in range(300)]
        column = pa.array([None, *values, None], pa.decimal128(18, scale))[1:]
        for given in (column, pa.chunked_array([column[:7], column[7:]])):
            assert nearest_floats(given).to_pylist() == [*map(float, values), None]
        assert units_of(column).tolist() == [*(int(each.scaleb(scale)) for each in values), 0]
