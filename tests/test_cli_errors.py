"""`afa run`: what goes wrong, in input, output, options and patterns; one clear line each."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import afa
from afa.cli.load import load
from afa.cli.main import app
from tests.cli import PATTERNS, call, fails, write
from tests.cli import there as there  # the fixture of all tests here

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
        ("b.csv", "le,price,change\n1,1,1\n,1,1\n", "row 3, column 'le': expected int or timestamp (--time) but got no value"),
        (
            "b.csv",
            "le,price,change\n1,1,1\nfoo,1,1\n",
            "row 3, column 'le': expected an int or a timestamp (ISO 8601) but got 'foo'",
        ),
        ("b.csv", "le,price,change\n1,1,1\n1.5,1,1\n", "column 'le': expected integers or timestamps (--time) but got double"),
        ("b.csv", "le,price,change\n1,1,1\n1,1\n", "row 3: expected 3 columns, got 2: 1,1"),
        ("b.csv", "le,price,change,le\n1,1,1,1\n", "expected one column 'le' (--time) but got 2"),
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
            "no column 'le' (--time) among time, price, change; say which column holds the timestamps with --time",
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
            "row 2, column 'le': expected int or timestamp (--time) but got 2.5",
        ),
        ("b.jsonl", '{"le":"1","price":1,"change":1}\n', "column 'le': expected integers or timestamps (--time) but got text: '1'"),
        ("b.jsonl", '{"le":1,"price":1,"change":1}\n{"le":', "row 2: expected a JSON object a line but got '{\"le\":'"),
        ("b.jsonl", '{"le":1,"price":1,"change":1}\n[1]\n', "row 2: expected a JSON object a line but got '[1]'"),
        ("b.jsonl", f'["{"x" * 50}"]\n', f"row 1: expected a JSON object a line but got '[\"{'x' * 35}...'"),
        ("b.jsonl", '{"le":[1],"price":1,"change":1}\n', "column 'le': expected a scalar (--time) but got [1]"),
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
        ("le", pa.array([1.0, 2.0]), "column 'le': expected integers or timestamps (--time) but got double"),
        ("le", pa.array([1, 2**63], pa.uint64()), f"row 2, column 'le': expected an int64 (ticks) but got {2**63}"),
        ("le", pa.array([1, None]), "row 2, column 'le': expected int or timestamp (--time) but got no value"),
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


KINDS: list[Any] = [
    *(
        (kind, 1)
        for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.date32(), pa.time32("s"), pa.timestamp("ms"), pa.duration("ms"))
    ),
    *((kind, "x") for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary(1))),
    *((kind, None) for kind in (pa.null(), pa.decimal128(9, 2), pa.int64())),
    (pa.bool_(), True),
    (pa.decimal128(9, 2), 1),
    (pa.list_(pa.int64()), [1]),
    (pa.struct([("a", pa.int64())]), {"a": 1}),
]


@pytest.mark.parametrize("column", ["value", "le", "k"])
@pytest.mark.parametrize(("kind", "value"), KINDS, ids=str)
def test_a_type_of_parquet_is_taken_as_the_operator_takes_it_or_refused_in_a_line(kind: Any, value: Any, column: str) -> None:
    """But for what the command line alone does: decimals are floats, times ticks, times in a key text, bools no numbers."""
    columns = {"le": [1, 2], "value": [2.0, 1.0], "room": ["a"] * 2, "k": [1, 1]}
    rest = {"note": ["b"] * 2, "count": [1, 2], "on": [True] * 2}
    table = pa.table(columns | rest | {column: pa.array([value] * 2, kind)})
    pyarrow.parquet.write_table(table, "b.parquet")
    result = CliRunner().invoke(app, ["run", "p.py:inverse", "b.parquet", "--key", "k"], prog_name="afa")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if result.exit_code:
        assert result.stderr.startswith("afa: ")
        assert result.stderr.count("\n") == 1
    try:
        afa.Keyed(load("p.py:inverse"), key="k", engine="interpreted").push_many(table)
        taken = True
    except afa.AfaError:
        taken = False
    ours = value is True or (value == 1 and (pa.types.is_decimal(kind) or (column == "le" and pa.types.is_temporal(kind))))
    assert ours or (result.exit_code == 0) == taken or (column, result.exit_code) == ("k", 1), (result.output, taken)


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
    only = write("r.csv", "le,price,change,diff\n1,1,1,-1\n2,1,1,1\n")
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
    for output in ("o.parquet", "o.jsonl", "o.csv"):
        write(output, "before")
    bad = write("z.csv", "le,price,change\n1,1,1\n2,0,1\n")
    for output in ("o.parquet", "o.jsonl", "o.csv"):
        fails("run", "p.py:divides", bad, "--batch", "1", "--output", output, "--force")
        assert Path(output).read_text() == "before"
    left = set(os.listdir()) - {"__pycache__"}  # of p.py, where Python keeps bytecode
    assert left == {"o.csv", "o.jsonl", "o.parquet", "p.py", "ticks.csv", "z.csv"}


def test_output_that_cannot_be_written() -> None:
    for name in ("none/o.jsonl", "none/o.parquet", "none/o.csv"):
        assert fails("run", "p.py:every", "ticks.csv", "--output", name) == f"can't write {name}: No such file or directory"


def test_an_output_that_is_no_file_is_refused_before_the_work(there: Path) -> None:
    (there / "d.parquet").mkdir()
    os.mkfifo(there / "f.jsonl")
    for name, what in (("d.parquet", "a directory"), ("f.jsonl", "no file")):
        assert fails("run", "p.py:none", "none.csv", "--output", name).startswith("p.py has no 'none'")
        assert fails("run", "p.py:every", "none.csv", "--output", name) == f"can't write {name}: {what}"


def test_an_output_that_is_a_link_stays_one(there: Path) -> None:
    (there / "far").mkdir()
    os.symlink("far/o.jsonl", "o.jsonl")
    call("run", "p.py:every", "ticks.csv", "--output", "o.jsonl")
    assert Path("o.jsonl").is_symlink()
    assert len(Path("far/o.jsonl").read_text().splitlines()) == 8
    assert os.listdir("far") == ["o.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["run", "p.py:every", "ticks.csv", "--output", "o.txt"],
            "expected a name that ends in .parquet, .pq, .jsonl, .ndjson, .csv but got 'o.txt'",
        ),
        (["run", "p.py:every", "ticks.csv", "--output", "o.csv.gz"], ".ndjson, .csv but got 'o.csv.gz'"),
        (["run", "there_is_none.py", "ticks.csv"], "expected file.py:name, file.sase or file.sql but got 'there_is_none.py'"),
        (["show", "p.py:"], "expected file.py:name, file.sase or file.sql but got 'p.py:'"),
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


def test_the_only_pattern_of_a_file_needs_no_name() -> None:
    write("one.py", "from p import every\nsame = every\n")
    assert call("run", "one.py", "ticks.csv").stdout == call("run", "p.py:every", "ticks.csv").stdout != ""
    assert call("show", "one.py").stdout == call("show", "p.py:every").stdout.replace("p.py:every", "one.py")
    write("two.py", "from p import every, divides\n")
    message = "expected two.py:name, or one pattern in the file, but got 'two.py'; its patterns: divides, every"
    assert fails("run", "two.py", "ticks.csv") == message
    write("none.py", "")
    assert fails("run", "none.py", "ticks.csv").endswith("got 'none.py'; it has no automaton and no query at all")


# -- patterns ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "b.py has no 'a'; it has no automaton and no query at all"),
        ("a = 1\n", "expected an automaton or a query but got b.py:a, which is int"),
        ("from p import every, divides\n", "b.py has no 'a'; its patterns: divides, every"),
        (
            "from p import every\na = every.arcs\n",
            "expected an automaton or a query but got b.py:a, which is tuple; its patterns: every",
        ),
        ("import sys\n\nsys.exit('bye')\n", "b.py:3: SystemExit: bye"),
        ("1 / 0\n", "b.py:1: ZeroDivisionError: division by zero"),
        ("\na = (\n", "b.py:2: SyntaxError: '(' was never closed (b.py, line 2)"),
        ("import nothing_of_this_name\n", "b.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (
            "from afa import Automaton\na = Automaton(start='x', final=set(), arcs=[])\n",
            "b.py:2: expected at least one final state but got final=set()",
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
