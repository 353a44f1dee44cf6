"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import afa
from afa.cli.main import app

ROOT = Path(__file__).parent.parent
PATTERNS = """
from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton


class Tick(NamedTuple):
    price: float
    change: float


class Vees(NamedTuple):
    balance: int = 0
    patterns: int = 0


two_vees = Automaton(
    start="start",
    final={"done"},
    register=Vees(),
    event=Tick,
    arcs=[
        Arc("start", "fall", lambda e, r: e.change < -0.25),
        Arc("fall", "fall", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("fall", "rise", lambda e, r: e.change < 0, lambda e, r: r._replace(balance=r.balance + 1)),
        Arc("rise", "rise", lambda e, r: e.change > 0, lambda e, r: r._replace(balance=r.balance - 1)),
        Arc("rise", "fall", lambda e, r: e.change > 0 and r.patterns + 1 < 2, lambda e, r: Vees(r.balance - 1, r.patterns + 1)),
        Arc("rise", "done", lambda e, r: e.change > 0 and r.patterns + 1 == 2 and r.balance == 1,
            lambda e, r: Vees(r.balance - 1, r.patterns + 1)),
    ],
)


class Reading(NamedTuple):
    value: float
    room: str
    note: str | None = None
    count: int | None = None
    on: bool = True


class Seen(NamedTuple):
    low: float = 0.0
    note: str | None = None
    all: Any = None


drop = Automaton(
    start="high",
    final={"low"},
    register=Seen(),
    event=Reading,
    arcs=[
        Arc("high", "armed", lambda e, r: e.value > 1),
        Arc("armed", "low", lambda e, r: e.value <= 1, lambda e, r: Seen(e.value, e.note, (e.count, e.on))),
    ],
)
quiet = Automaton(
    start="a", final={"out"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: True), Arc.timeout("b", "out", at=lambda r: 9)]
)
every = Automaton(start="a", final={"b"}, event=Tick, register=Vees(), arcs=[Arc("a", "b", lambda e, r: True)])
divides = Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: 1 / e.price > 0, name="share")])
price = Automaton(
    start="a",
    final={"b"},
    event=Tick,
    register=NamedTuple("Price", [("price", float)])(0.0),
    arcs=[Arc("a", "b", lambda e, r: True, lambda e, r: r._replace(price=e.price))],
)
untyped = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)])
any_field = Automaton(
    start="a",
    final={"b"},
    event=NamedTuple("Loose", [("x", Any)]),
    register=NamedTuple("Last", [("x", Any)])(None),
    arcs=[Arc("a", "b", lambda e, r: True, lambda e, r: r._replace(x=e.x))],
)
clash = Automaton(start="a", final={"b"}, event=NamedTuple("Clash", [("le", int)]), arcs=[Arc("a", "b", lambda e, r: True)])
"""
TICKS = """le,price,change
1,10,-1
2,10,-1
3,10,-1
4,10,1
5,10,1
7,10,1
8,10,-1
6,10,-1
"""
TRAVEL = """when,value,room
2013-01-01 00:00:00,2,a
2013-01-01 00:00:01.5,0.5,a
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "p.py").write_text(PATTERNS)
    (tmp_path / "ticks.csv").write_text(TICKS)
    return tmp_path


def call(*arguments: str, status: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments), prog_name="afa")
    assert result.exit_code == status, result.output
    assert status == 2 or result.exception is None or isinstance(result.exception, SystemExit)
    return result


def run(pattern: str, file: str, *options: str) -> list[str]:
    """The lines on standard output."""
    return call("run", f"p.py:{pattern}", file, *options).stdout.splitlines()


def fails(*arguments: str) -> str:
    """The one line on standard error."""
    result = call(*arguments, status=1)
    assert result.stderr.startswith("afa: ")
    assert result.stderr.count("\n") == 1
    return result.stderr[len("afa: ") : -1]


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def json_lines(name: str, rows: list[dict[str, Any]]) -> str:
    return write(name, "".join(f"{json.dumps(row)}\n" for row in rows))


def process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([sys.executable, "-W", "error", "-m", "afa.cli", *arguments], **{**pipes, **options})


# -- afa run: what comes out ---------------------------------------------------------------------------------------------------


def test_worked_example() -> None:
    result = call("run", "p.py:two_vees", "ticks.csv", "--window", "7")
    assert result.stdout == "+ [7, 8) balance=0 patterns=2\n"
    summary = {line[:18].strip(): line[18:].split()[0] for line in result.stderr.splitlines() if line}
    assert summary == {
        "events": "8",
        "late": "0",
        "state": summary["state"],
        "matches inserted": "1",
        "matches withdrawn": "0",
        "matches final": "1",
    }
    assert int(summary["state"]) >= 8


def test_a_late_row_withdraws() -> None:
    rows = [f"{row},1" for row in TICKS.split()[1:]]
    retraction = write("r.csv", "\n".join(["le,price,change,diff", *rows, "6,10,-1,-1", ""]))
    assert run("two_vees", retraction, "--window", "7", "--batch", "1") == [
        "+ [7, 8) balance=0 patterns=2",
        "- [7, 8) balance=0 patterns=2",
    ]
    result = call("run", "p.py:two_vees", retraction, "--window", "7")
    assert result.stdout == ""  # net of one batch: nothing happened
    assert re.search(r"^matches final +0", result.stderr, re.MULTILINE)


def changes(file: str) -> Counter[Any]:
    """The net output of a file."""
    if file.endswith("jsonl"):
        rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
    else:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    net: Counter[Any] = Counter()
    for row in rows:
        net[tuple((name, value) for name, value in row.items() if name != "diff")] += row["diff"]
    return Counter({match: n for match, n in net.items() if n})


def test_every_form_of_input_and_every_batch_size_give_the_same(there: Path) -> None:
    rows = [{"le": i * 7 % 41, "price": float(i), "change": (-1.0) ** (i % 3), "symbol": "xy"[i % 2]} for i in range(41)]
    table = pa.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, "in.parquet")
    pyarrow.csv.write_csv(table, "in.csv")
    (there / "in.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    for name in ("in.csv", "in.jsonl"):
        (there / f"{name}.gz").write_bytes(gzip.compress((there / name).read_bytes()))
    (there / "in.data").write_bytes((there / "in.csv").read_bytes())
    op = afa.Keyed(load("every"), key="symbol", window=5)
    want = op.push_many(table).to_pylist()
    expected = Counter(tuple((name, value) for name, value in row.items() if name != "diff") for row in want)
    assert expected
    for i, (file, *more) in enumerate(
        [
            ("in.parquet",),
            ("in.parquet", "--batch", "1"),
            ("in.csv", "--batch", "3"),
            ("in.csv.gz", "--batch", "41"),
            ("in.jsonl", "--batch", "40"),
            ("in.jsonl.gz", "--batch", "2", "--lateness", "40"),
            ("in.data", "--format", "csv"),
        ]
    ):
        output = f"out{i}.{'jsonl' if i % 2 else 'parquet'}"
        assert run("every", file, "--key", "symbol", "--window", "5", "--matches", "0", "--output", output, *more) == []
        assert changes(output) == expected, file


def load(name: str) -> afa.Automaton:
    from afa.cli.load import load as of

    return of(f"p.py:{name}")


def test_timestamps_are_ticks_and_are_shown_as_timestamps() -> None:
    file = write("t.csv", TRAVEL)
    options = ("--le", "when", "--key", "room")
    assert run("drop", write("d.csv", TRAVEL.replace("room", "room,note,count,on").replace(",a", ",a,,,true")), *options) == [
        "+ [2013-01-01T00:00:01.5, forever) room=a low=0.5 note='' all='(None, True)'"
    ]
    assert "no column 'note'" in fails("run", "p.py:drop", file, *options)
    run("drop", "d.csv", *options, "--window", "2000", "--tick", "ms", "--output", "o.jsonl")
    assert [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()] == [
        {"room": "a", "low": 0.5, "note": "", "all": "(None, True)", "le": 1356998401500, "re": 1356998402000, "diff": 1}
    ]
    for tick, ticks in (("us", 1356998401500000), ("ns", 1356998401500000000)):
        run("drop", "d.csv", *options, "--tick", tick, "--output", "o.parquet")
        assert pyarrow.parquet.read_table("o.parquet")["le"].to_pylist() == [ticks]
    assert fails("run", "p.py:drop", "d.csv", *options, "--tick", "s") == (
        "d.csv: row 3, column 'when': expected a whole number of seconds (int64) "
        "but got 2013-01-01 00:00:01.500000; try a finer --tick"
    )


@pytest.mark.parametrize(
    ("times", "ticks"),
    [
        (pa.array([0, 1500], pa.int32()), [0, 1500]),
        (pa.array([0, 1500], pa.timestamp("ms")), [0, 1500]),
        (pa.array([0, 1500], pa.timestamp("ms", "Europe/Berlin")), [0, 1500]),
        (pa.array([0, 1], pa.date32()), [0, 86_400_000]),
        (pa.array(["1970-01-01T00:00:00Z", "1970-01-01T01:00:01.5+01:00"]), [0, 1500]),
        (pa.array(["1970-01-01", "1970-01-01 00:00:01.500"]), [0, 1500]),
    ],
)
def test_forms_of_time(times: pa.Array, ticks: list[int]) -> None:
    pyarrow.parquet.write_table(pa.table({"le": times, "price": [1, 2], "change": [1.0, 2.0]}), "in.parquet")
    run("every", "in.parquet", "--output", "o.parquet", "--window", "1")
    assert pyarrow.parquet.read_table("o.parquet")["le"].to_pylist() == ticks


def test_ends_of_lifetimes() -> None:
    file = write("re.csv", "t,until,price,change\n1,5,1,1\n2,,1,1\n")
    assert run("every", file, "--le", "t", "--re", "until", "--window", "3") == [
        "+ [1, 5) balance=0 patterns=0",
        "+ [2, 5) balance=0 patterns=0",
    ]
    assert run("every", file, "--le", "t", "--re", "until")[1] == "+ [2, forever) balance=0 patterns=0"


def test_columns_named_le_re_diff_are_found(there: Path) -> None:
    file = write("c.csv", "le,re,diff,price,change\n1,5,1,1,1\n1,5,-1,1,1\n2,6,1,1,1\n")
    assert run("every", file) == ["+ [2, 6) balance=0 patterns=0"]


def test_time_outs_fire_at_the_end() -> None:
    assert run("quiet", write("q.csv", "le,price,change\n1,1,1\n"), "--window", "20") == ["+ [9, 21)"]


def test_two_keys_one_of_them_a_field() -> None:
    shops = (7, 7, None)
    file = json_lines("k.jsonl", [{"le": i, "price": i % 2, "change": 1, "shop": shop} for i, shop in enumerate(shops)])
    assert run("every", file, "--key", "price", "--key", "shop", "--output", "o.parquet") == [
        "+ [0, forever) price=0.0 shop=7 balance=0 patterns=0",
        "+ [1, forever) price=1.0 shop=7 balance=0 patterns=0",
        "+ [2, forever) price=0.0 shop=None balance=0 patterns=0",
    ]
    assert [str(t) for t in pyarrow.parquet.read_schema("o.parquet").types] == ["double", *["int64"] * 6]


def test_keys_of_csv_are_text() -> None:
    lines = run("every", write("k.csv", "le,price,change,k\n1,1,1,007\n2,1,1,7\n3,1,1,\n"), "--key", "k")
    assert [line.split()[3] for line in lines] == ["k=007", "k=7", "k=''"]


def test_types_of_parquet_are_taken_where_nothing_is_lost() -> None:
    columns = {
        "le": pa.array([1, 2], pa.uint8()),
        "value": pa.array([2, 1], pa.int16()),
        "room": pa.array(["a", "a"]).dictionary_encode(),
        "note": pa.nulls(2),
        "count": pa.array([None, 3], pa.int8()),
        "on": [True, False],
        "day": pa.array([0, 0], pa.date32()),
    }
    pyarrow.parquet.write_table(pa.table(columns), "in.parquet")
    assert run("drop", "in.parquet", "--key", "day") == ["+ [2, forever) day=1970-01-01 low=1.0 note=None all='(3, False)'"]


def test_optional_fields_may_be_left_out_of_json() -> None:
    rows: list[dict[str, Any]] = [{"le": 1, "value": 2, "room": "a", "on": True}, {"le": 2, "value": 1, "room": "a", "on": True}]
    assert run("drop", json_lines("o.jsonl", rows)) == ["+ [2, forever) low=1.0 note=None all='(None, True)'"]
    rows[1] |= {"note": "two words", "count": 3}
    assert run("drop", json_lines("o.jsonl", rows)) == ["+ [2, forever) low=1.0 note='two words' all='(3, True)'"]


def test_fields_of_any_type() -> None:
    file = json_lines("a.jsonl", [{"le": 1, "x": "u"}, {"le": 2, "x": None}])
    assert run("any_field", file) == ["+ [1, forever) x=u", "+ [2, forever) x=None"]
    assert run("any_field", write("a.csv", "le,x\n1,2.5\n")) == ["+ [1, forever) x=2.5"]


@pytest.mark.parametrize(("name", "text"), [("e.csv", "le,price,change\n"), ("e.jsonl", ""), ("e.jsonl", "\n")])
def test_no_rows(name: str, text: str) -> None:
    result = call("run", "p.py:every", write(name, text), "--output", "o.parquet")
    assert result.stdout == ""
    assert re.search(r"^events +0", result.stderr, re.MULTILINE)
    assert pyarrow.parquet.read_table("o.parquet").column_names == ["balance", "patterns", "le", "re", "diff"]


def test_no_rows_in_parquet_and_keys() -> None:
    none = pa.array([], pa.int64())
    pyarrow.parquet.write_table(pa.table({"le": none, "price": none, "change": none, "k": none}), "e.parquet")
    assert run("every", "e.parquet", "--key", "k", "--output", "o.parquet") == []
    assert str(pyarrow.parquet.read_schema("o.parquet").field("k").type) == "int64"


def test_nan_and_infinity_in_json() -> None:
    file = write("d.csv", "le,value,room,note,count,on\n1,2,a,,1,true\n2,-inf,a,,2,false\n3,3,a,,1,true\n4,1,a,,1,true\n")
    run("drop", file, "--output", "o.jsonl")
    assert [json.loads(line)["low"] for line in Path("o.jsonl").read_text().splitlines()] == ["-inf", 1.0]
    numbers = write("n.csv", "le,price,change\n1,nan,1\n")
    run("price", numbers, "--output", "o.jsonl")
    assert [json.loads(line)["price"] for line in Path("o.jsonl").read_text().splitlines()] == [None]
    assert run("price", numbers) == ["+ [1, forever) price=nan"]


def test_how_much_is_printed() -> None:
    options = ("--batch", "3")
    assert len(run("every", "ticks.csv", *options)) == 8
    assert run("every", "ticks.csv", *options, "--matches", "0") == []
    result = call("run", "p.py:every", "ticks.csv", *options, "--matches", "4")
    assert len(result.stdout.splitlines()) == 4
    assert "... 4 more changes (--matches N prints more, --output FILE writes all)" in result.stderr
    result = call("run", "p.py:every", "ticks.csv", *options, "--matches", "-1", "--quiet")
    assert len(result.stdout.splitlines()) == 8
    assert result.stderr == ""


def test_many_matches_are_all_printed_with_minus_one() -> None:
    file = write("m.csv", "le,price,change\n" + "".join(f"{i},1,1\n" for i in range(100)))
    assert len(run("every", file, "--matches", "-1", "--batch", "7")) == 100


def test_lateness_and_late_policy() -> None:
    options = ("--window", "7", "--batch", "1", "--lateness")
    assert run("two_vees", "ticks.csv", *options, "2") == ["+ [7, 8) balance=0 patterns=2"]
    assert fails("run", "p.py:two_vees", "ticks.csv", *options, "1") == (
        "expected le >= 7 (promised) but got le=6 for Tick(price=10.0, change=-1.0); "
        "a larger --lateness takes it, --late drop drops it"
    )
    result = call("run", "p.py:two_vees", "ticks.csv", *options, "1", "--late", "drop")
    assert result.stdout == ""
    assert re.search(r"^late +1  dropped", result.stderr, re.MULTILINE)


def test_lateness_around_zero() -> None:
    file = write("z.csv", "le,price,change\n-2,1,1\n0,1,1\n-1,1,1\n")
    text = fails("run", "p.py:every", file, "--batch", "1", "--lateness", "0")
    assert text.startswith("expected le >= 0 (promised) but got le=-1 for Tick(price=1.0, change=1.0)")


def test_lateness_bounds_the_state() -> None:
    file = write("m.csv", "le,price,change\n" + "".join(f"{i},1,1\n" for i in range(200)))

    def state(*options: str) -> int:
        result = call("run", "p.py:every", file, "--window", "3", "--batch", "10", "--matches", "0", *options)
        return int(next(line for line in result.stderr.splitlines() if line.startswith("state")).split()[1])

    assert state("--lateness", "5") < 100 < state()


def test_sequence_orders_equal_timestamps() -> None:
    file = write("s.csv", "le,price,change\n" + "".join(f"5,{i},{c}\n" for i, c in [(2, -1), (1, -1), (3, 1)]))
    assert run("two_vees", file, "--sequence", "price", "--window", "7") == []
    assert fails("run", "p.py:two_vees", file, "--sequence", "sign") == (
        "expected a field of Tick(price: float, change: float) but got sequence='sign'"
    )


# -- afa run: what goes wrong --------------------------------------------------------------------------------------------------

FIELD = "(field change of Tick)"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("b.csv", "le,price,change\n1,1,1\n2,2,x\n", f"row 3, column 'change': expected float {FIELD} but got 'x'"),
        (
            "b.csv",
            "le,price,change\n1,,1\n",
            "row 2, column 'price': expected float (field price of Tick) but got no value; float | None would allow it",
        ),
        ("b.csv", "le,price,change\n1,1,1\n,1,1\n", "row 3, column 'le': expected int or timestamp (--le) but got no value"),
        (
            "b.csv",
            "le,price,change\n1,1,1\nfoo,1,1\n",
            "row 3, column 'le': expected an int or a timestamp (ISO 8601) but got 'foo'",
        ),
        ("b.csv", "le,price,change\n1,1,1\n1.5,1,1\n", "column 'le': expected integers or timestamps (--le) but got double"),
        ("b.csv", "le,price,change\n1,1,1\n1,1\n", "row 3: expected 3 columns, got 2: 1,1"),
        ("b.csv", "le,price,change,le\n1,1,1,1\n", "expected one column 'le' (--le) but got 2"),
        ("b.csv", "le,price,change,diff\n1,1,1,\n", "row 2, column 'diff': expected int (--diff) but got no value"),
        ("b.csv", "le,price,change,diff\n1,1,1,x\n", "row 2, column 'diff': expected int (--diff) but got 'x'"),
        ("b.csv", "le,price\n1,1\n", "no column 'change' (field change of Tick) among le, price"),
        (
            "b.csv",
            "le,price,Change\n1,1,1\n",
            "no column 'change' (field change of Tick) among le, price, Change; did you mean 'Change'?",
        ),
        (
            "b.csv",
            "time,price,change\n1,1,1\n",
            "no column 'le' (--le) among time, price, change; say which column holds the timestamps with --le",
        ),
        (
            "b.csv",
            "le,price,change\n2013-01-01 00:00,1,1\n2013-01-01T00:00:00Z,1,1\n",
            "row 3, column 'le': expected a timestamp without a zone, as in the rows before, but got '2013-01-01T00:00:00Z'",
        ),
        ("b.csv", "", "Empty CSV file"),
        (
            "b.jsonl",
            '{"le":1,"price":1,"change":1}\n{"le":2,"price":1,"change":"x"}\n',
            f"row 2, column 'change': expected float {FIELD} but got 'x'",
        ),
        (
            "b.jsonl",
            '{"le":1,"price":1,"change":1}\n{"le":2,"price":1}\n',
            f"row 2, column 'change': expected float {FIELD} but got no value; float | None would allow it",
        ),
        (
            "b.jsonl",
            '{"le":1,"price":1,"change":1}\n{"le":2.5,"price":1,"change":1}\n',
            "row 2, column 'le': expected int or timestamp (--le) but got 2.5",
        ),
        ("b.jsonl", '{"le":"1","price":1,"change":1}\n', "column 'le': expected integers or timestamps (--le) but got text: '1'"),
        ("b.jsonl", '{"le":1,"price":1,"change":1}\n{"le":', "row 2: expected a JSON object a line but got '{\"le\":'"),
        ("b.jsonl", '{"le":1,"price":1,"change":1}\n[1]\n', "row 2: expected a JSON object a line but got '[1]'"),
        ("b.jsonl", f'["{"x" * 50}"]\n', f"row 1: expected a JSON object a line but got '[\"{'x' * 35}...'"),
        ("b.jsonl", '{"le":[1],"price":1,"change":1}\n', "column 'le': expected a scalar (--le) but got [1]"),
        ("b.jsonl", '{"le":1,"price":1}\n', "no column 'change' (field change of Tick) among le, price"),
        ("b.jsonl", '{"le":1,"price":1,"change":1,"change":2}\n', "Column(/change) was specified twice in row 0"),
        ("b.parquet", "x", "Parquet file size is 1 bytes, smaller than the minimum file footer (8 bytes)"),
    ],
)
def test_bad_input(name: str, text: str, message: str) -> None:
    assert fails("run", "p.py:two_vees", write(name, text)) == f"{name}: {message}"


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("price", pa.array(["a", "b"]), "column 'price': expected float (field price of Tick) but got string"),
        ("price", pa.array([2**60 + 1, 1]), f"row 1, column 'price': expected int that fits double but got {2**60 + 1}"),
        ("le", pa.array([1.0, 2.0]), "column 'le': expected integers or timestamps (--le) but got double"),
        ("le", pa.array([1, 2**63], pa.uint64()), f"row 2, column 'le': expected an int64 (ticks) but got {2**63}"),
        ("le", pa.array([1, None]), "row 2, column 'le': expected int or timestamp (--le) but got no value"),
        ("le", pa.array([0, 10**12], pa.timestamp("s")), None),
        ("k", pa.array([[1], [2]]), "column 'k': expected int, float, bool, str or a time as a key but got list<element: int64>"),
    ],
)
def test_bad_parquet(column: str, values: pa.Array, message: str | None) -> None:
    columns = {"le": [1, 2], "price": [1.0, 2.0], "change": [1.0, 2.0], "k": [1, 2]}
    pyarrow.parquet.write_table(pa.table(columns | {column: values}), "b.parquet")
    if message is None:
        text = fails("run", "p.py:two_vees", "b.parquet", "--tick", "ns")
        assert text.startswith("b.parquet: row 2, column 'le': expected a whole number of nanoseconds (int64) but got")
        return
    assert fails("run", "p.py:two_vees", "b.parquet", "--key", "k") == f"b.parquet: {message}"


def test_a_batch_names_the_row_of_the_file() -> None:
    lines = "".join(f"{i},1,1\n" for i in range(2, 30))
    bad = write("b.csv", f"le,price,change\n{lines},1,1\n")
    assert fails("run", "p.py:every", bad, "--batch", "4").startswith("b.csv: row 30, column 'le'")
    rows = "".join(f'{{"le": {i}, "price": 1, "change": 1}}\n' for i in range(1, 30))
    bad = write("b.jsonl", rows + '{"le": 30, "price": "one", "change": 1}\n')
    assert fails("run", "p.py:every", bad, "--batch", "4").startswith("b.jsonl: row 30, column 'price'")


def test_files_that_cannot_be_read(there: Path) -> None:
    assert fails("run", "p.py:every", "none.csv") == "none.csv: No such file or directory"
    assert fails("run", "p.py:every", "none.parquet") == "none.parquet: No such file or directory"
    assert (
        fails("run", "p.py:every", "p.py")
        == "p.py: expected one of .csv, .jsonl, .ndjson, .json, .parquet, .pq (or these with .gz); "
        "say --format csv, jsonl or parquet"
    )
    (there / "dir.csv").mkdir()
    assert fails("run", "p.py:every", "dir.csv").startswith("dir.csv: ")
    (there / "g.csv.gz").write_bytes(b"no gzip at all")
    assert fails("run", "p.py:every", "g.csv.gz").startswith("g.csv.gz: zlib inflate failed")
    (there / "l.csv").write_bytes(b"le,pr\xefce,change\n")
    assert fails("run", "p.py:every", "l.csv").startswith("l.csv: 'utf-8' codec can't decode")


def test_what_the_operator_refuses() -> None:
    only = write("r.csv", "le,price,change,diff\n1,1,1,-1\n")
    assert fails("run", "p.py:every", only) == (
        "expected the insertion of Tick(price=1.0, change=1.0) at le=1 in the input but got its retraction only; "
        "--late drop drops it"
    )
    empty = write("r.csv", "le,price,change,re\n1,1,1,1\n")
    assert fails("run", "p.py:every", empty) == "expected re > le but got le=1, re=1 for Tick(price=1.0, change=1.0)"
    assert fails("run", "p.py:untyped", "ticks.csv") == (
        "p.py:untyped has no event schema; `afa run` types the input by Automaton(..., event=...)"
    )
    assert fails("run", "p.py:clash", "ticks.csv") == (
        "expected field and key names other than le, re and diff but got 'le' in Clash(le: int)"
    )
    twice = fails("run", "p.py:every", write("t.csv", "le,price,change,balance\n1,1,1,1\n"), "--key", "balance")
    assert twice.startswith("expected columns of different names in the output but got 'balance' twice")


def test_a_fault_in_the_users_function_names_it() -> None:
    text = fails("run", "p.py:divides", write("z.csv", "le,price,change\n1,1,1\n2,0,1\n"))
    assert text.startswith("ZeroDivisionError: ")
    assert "share" in text
    assert "price=0.0" in text


def test_a_failed_run_leaves_what_was_there() -> None:
    write("o.parquet", "before")
    write("o.jsonl", "before")
    bad = write("z.csv", "le,price,change\n1,1,1\n2,0,1\n")
    for output in ("o.parquet", "o.jsonl"):
        fails("run", "p.py:divides", bad, "--batch", "1", "--output", output)
        assert Path(output).read_text() == "before"
    assert sorted(os.listdir()) == ["o.jsonl", "o.parquet", "p.py", "ticks.csv", "z.csv"]


def test_output_that_cannot_be_written() -> None:
    for name in ("none/o.jsonl", "none/o.parquet"):
        assert fails("run", "p.py:every", "ticks.csv", "--output", name) == f"can't write {name}: No such file or directory"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["run", "p.py:every", "ticks.csv", "--output", "o.txt"],
            "expected a name that ends in .parquet, .pq, .jsonl, .ndjson but got 'o.txt'",
        ),
        (["run", "p.py", "ticks.csv"], "expected file.py:name but got 'p.py'"),
        (["show", "p.py:"], "expected file.py:name but got 'p.py:'"),
        (["run", "p.py:every", "ticks.csv", "--window", "0"], "--window"),
        (["run", "p.py:every"], "INPUT"),
        (["run", "p.py:every", "ticks.csv", "--late", "never"], "--late"),
        (["walk"], "walk"),
    ],
)
def test_usage(arguments: list[str], words: str) -> None:
    result = call(*arguments, status=2)
    assert words in result.stderr
    assert result.stdout == ""


# -- patterns ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "b.py has no 'a'; it has no automaton at all"),
        ("a = 1\n", "expected an Automaton but got b.py:a, which is int"),
        ("from p import every, divides\n", "b.py has no 'a'; its automata: divides, every"),
        ("from p import every\na = every.arcs\n", "expected an Automaton but got b.py:a, which is tuple; its automata: every"),
        ("import sys\n\nsys.exit('bye')\n", "b.py:3: SystemExit: bye"),
        ("1 / 0\n", "b.py:1: ZeroDivisionError: division by zero"),
        ("\na = (\n", "b.py:2: SyntaxError: '(' was never closed (b.py, line 2)"),
        ("import nothing_of_this_name\n", "b.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (
            "from afa import Automaton\na = Automaton(start='x', final={'y'}, arcs=[])\n",
            "b.py:2: expected a start state that an arc leaves but got start='x'; arcs leave ",
        ),
    ],
)
def test_patterns_that_cannot_be_loaded(text: str, message: str) -> None:
    assert fails("show", f"{write('b.py', text)}:a").strip() == message.strip()


def test_pattern_file_that_is_not_there(there: Path) -> None:
    assert fails("show", "none.py:a") == "none.py: no such file"
    assert fails("show", f"{there}:a") == f"{there}: not a file"


def test_patterns_of_one_file_name_do_not_meet(there: Path) -> None:
    for name in ("one", "two"):
        (there / name).mkdir()
        write(f"{name}/p.py", PATTERNS.replace('"high"', f'"{name}"'))
    assert "start     one" in call("show", "one/p.py:drop").stdout
    assert "start     two" in call("show", "two/p.py:drop").stdout
    assert str(there / "one") not in sys.path


# -- afa show, afa -------------------------------------------------------------------------------------------------------------


def test_show() -> None:
    lines = call("show", "p.py:two_vees").stdout.splitlines()
    assert lines[:5] == [
        "pattern   p.py:two_vees",
        "event     Tick(price: float, change: float)",
        "register  Vees(balance=0, patterns=0)",
        "start     start",
        "final     done",
    ]
    assert lines[6].split() == ["from", "to", "kind", "fence", "transfer", "final"]
    assert lines[7].split() == ["start", "fall", "consume", "e.change", "<", "-0.25"]
    assert lines[14:15] == ["flowchart LR"]
    assert "event     any hashable payload" in call("show", "p.py:untyped").stdout


def test_show_mermaid_is_only_mermaid() -> None:
    lines = call("show", "p.py:two_vees", "--mermaid").stdout.splitlines()
    assert lines[0] == "flowchart LR"
    assert lines[6] == '    s0 -->|"e.change #lt; -0.25"| s1'
    assert len(lines) == 13


def test_version_and_help() -> None:
    assert call("--version").stdout.startswith("afa ")
    for arguments in (["--help"], ["run", "-h"], ["show", "--help"]):
        assert "Usage: afa" in call(*arguments).stdout


# -- as a process --------------------------------------------------------------------------------------------------------------


def test_status_and_streams() -> None:
    with process("run", "p.py:two_vees", "ticks.csv", "--window", "7") as good:
        out, err = good.communicate()
    assert (good.returncode, out) == (0, "+ [7, 8) balance=0 patterns=2\n")
    assert "\x1b" not in out + err  # no terminal: no colours, no progress bar
    with process("run", "p.py:two_vees", "none.csv") as bad:
        out, err = bad.communicate()
    assert (bad.returncode, out, err) == (1, "", "afa: none.csv: No such file or directory\n")
    with process("run") as usage:
        usage.communicate()
    assert usage.returncode == 2


@pytest.mark.parametrize("output", [None, "o.jsonl"])
def test_a_reader_that_goes_away(output: str | None) -> None:
    many = write("m.csv", "le,price,change\n" + "".join(f"{i},1,1\n" for i in range(5000)))
    options = ["--output", output] if output else []
    with process("run", "p.py:every", many, "--window", "1", "--batch", "500", "--matches", "-1", *options) as job:
        assert job.stdout is not None
        assert job.stderr is not None
        assert job.stdout.readline() == "+ [0, 1) balance=0 patterns=0\n"
        job.stdout.close()
        err = job.stderr.read()
    assert job.returncode == 0
    if output:
        assert "5,000 changes in o.jsonl" in err
        assert len(Path(output).read_text().splitlines()) == 5000
    else:
        assert err == ""


def test_standard_error_closed_too() -> None:
    with process("show", "p.py:every", stderr=subprocess.STDOUT) as job:
        assert job.stdout is not None
        job.stdout.close()
    assert job.returncode == 0
