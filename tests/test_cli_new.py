"""`afa new`: the event class and the first pattern that it writes run as they are, over each form of input."""

from __future__ import annotations

import ast
import datetime
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli import call, fails, write


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")


ROWS = [
    {
        "ts": 1000 * i + i % 3,
        "card": f"c{i % 5}",
        "amount": 1 if i == 0 else 10.5 + i % 7,
        "note": None if i % 4 else "x",
        "ok": i % 2 == 0,
    }
    for i in range(60)
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def ran(name: str, file: str, *options: str) -> int:
    """Run what stands at the top of the file, and return how many matches there are."""
    call("new", name, "--from", file, *options)
    text = Path(name).read_text("utf-8")
    command = re.search(r"^    afa (run .*)$", text, re.MULTILINE)
    assert command is not None
    result = call(*command[1].split())
    found = re.search(r"^matches inserted +([\d,]+)", result.stderr, re.MULTILINE)
    assert found is not None
    return int(found[1].replace(",", ""))


def test_json_lines() -> None:
    write("pay.jsonl", lines(ROWS))
    assert ran("pay.py", "pay.jsonl") > 10
    text = Path("pay.py").read_text("utf-8")
    wanted = "class Pay(NamedTuple):\n    ts: afa.Instant\n    card: str\n    amount: float\n    note: str | None\n    ok: bool\n"
    assert wanted in text
    assert '.by("card").within(100000)' in text
    assert "two events of one card, one after the other, the amount rising" in text


def test_csv_with_timestamps() -> None:
    begin = datetime.datetime(2026, 1, 1)
    rows = [
        f"{(begin + datetime.timedelta(seconds=30 * i)).isoformat()},s{i % 3},{i % 7},{'' if i % 4 else 1.5}" for i in range(60)
    ]
    write("sensor-values.csv", "\n".join(["when,sensor_id,level,extra", *rows, ""]))
    assert ran("sensor_values.py", "sensor-values.csv") > 5
    text = Path("sensor_values.py").read_text("utf-8")
    assert (
        "class SensorValues(NamedTuple):\n    when: afa.Instant\n    sensor_id: str\n    level: int\n    extra: float | None\n"
        in text
    )
    assert '.by("sensor_id").within("1 hour"),\n    event=SensorValues,\n    tick="ms",\n)' in text


def test_parquet() -> None:
    times = [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=i) for i in range(40)]
    table = pa.table({"placed_at": times, "user": [i % 4 for i in range(40)], "class": ["a"] * 40, "kind": ["x", "y"] * 20})
    pyarrow.parquet.write_table(table, "orders.parquet")
    assert ran("orders.py", "orders.parquet", "--key", "user") > 0
    text = Path("orders.py").read_text("utf-8")
    assert "    # column 'class' is left out: it is no name of a field\n" in text
    assert '.by("user").within("1 week")' in text


def test_json_with_times_as_text_and_a_condition_on_text() -> None:
    rows = [{"at": f"2026-01-01T00:{i:02}:00", "user": f"u{i % 3}", "page": ("home", "home", 'a "b"')[i % 3]} for i in range(50)]
    rows[20]["new"] = "x"
    write("clicks.jsonl", lines(rows))
    assert ran("clicks.py", "clicks.jsonl") > 0
    text = Path("clicks.py").read_text("utf-8")
    assert 'where=lambda e: e.page == "home"' in text
    assert "    new: str | None\n" in text


def test_times_in_a_column_called_le_and_one_that_is_no_name() -> None:
    write("a.csv", "le,x\n1,2\n2,3\n3,1\n")
    assert ran("a.py", "a.csv") == 1
    assert "    at: afa.Instant\n    x: int\n" in Path("a.py").read_text("utf-8")
    write("b.csv", "from,x\n1,2\n2,3\n3,1\n")
    assert ran("b.py", "b.csv", "--time", "from") == 1
    assert "afa run b.py:pattern b.csv --time from\n" in Path("b.py").read_text("utf-8")


def test_a_form_that_the_name_does_not_tell() -> None:
    write("a.txt", "at,x\n1,2\n2,3\n")
    assert ran("a.py", "a.txt", "--format", "csv") == 1
    assert "afa run a.py:pattern a.txt --format csv\n" in Path("a.py").read_text("utf-8")


def test_a_file_that_is_there_stays() -> None:
    write("pay.jsonl", lines(ROWS))
    write("pay.py", "mine")
    assert fails("new", "pay.py", "--from", "pay.jsonl") == "pay.py is there already: give another name"
    assert Path("pay.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", (), "expected a column of times but got a, b; say which it is with --time"),
        ("at,card\n1,2\n", ("--key", "crad"), "no column 'crad' among at, card; did you mean 'card'?"),
        ("at,card\n1,2\n", ("--key", "at"), "column 'at' can't be a key: it holds the times"),
        ("at,card\n1,\n2,7\n", ("--key", "card"), "column 'card' can't be a key: it has no value in some row"),
    ],
)
def test_what_can_t_be_written(text: str, options: tuple[str, ...], message: str) -> None:
    write("in.csv", text)
    assert fails("new", "out.py", "--from", "in.csv", *options) == f"in.csv: {message}"
    assert not Path("out.py").exists()


def test_other_refusals() -> None:
    write("in.jsonl", '{"at": 1, "x": [1], "y": 1, "z": null}\n{"at": 2, "x": [2], "y": "a"}\n')
    call("new", "out.py", "--from", "in.jsonl")
    text = Path("out.py").read_text("utf-8")
    assert "    # column 'x' is left out: they are no scalars\n" in text
    assert "    # column 'y' is left out: its values are of several types\n" in text
    assert "    # column 'z' is left out: it has no values\n" in text
    assert "expected a name that ends in .py but got 'out.txt'" in call("new", "out.txt", "--from", "in.jsonl", status=2).stderr
    assert fails("new", "no/out.py", "--from", "in.jsonl") == "can't write no/out.py: No such file or directory"
    write("deep.jsonl", '{"x": [1]}\n')
    assert fails("new", "d.py", "--from", "deep.jsonl") == "deep.jsonl: expected columns of scalars but got x"


@pytest.mark.parametrize("name", ['x"""\nprint("run")\n"""', "x\\", "two words", "it's", "a\0b"])
def test_a_name_out_of_the_input_is_never_run(name: str) -> None:
    times = [datetime.datetime(2026, 1, day) for day in (1, 2)]
    pyarrow.parquet.write_table(pa.table({name: pa.array(times), "amount": [1.0, 2.0]}), "in.parquet")
    call("new", "out.py", "--from", "in.parquet")
    body = ast.parse(Path("out.py").read_text("utf-8")).body
    assert [type(each).__name__ for each in body] == ["Expr", "ImportFrom", "Import", "ImportFrom", "ClassDef", "Assign"]
    assert shlex.quote(name) in (ast.get_docstring(ast.Module(body, []), clean=False) or "")


def test_the_field_of_the_times_has_a_name_that_no_column_has() -> None:
    write("in.csv", "at,time,instant,my ts\n1,2,3,4\n2,3,4,5\n")
    call("new", "out.py", "--from", "in.csv", "--time", "my ts")
    assert "    at_2: afa.Instant\n" in Path("out.py").read_text("utf-8")


def test_an_example_with_its_input() -> None:
    done = call("new", "pay day.py")
    assert "to see it run: afa run 'pay day.py' 'pay day.jsonl' --report run.html" in done.stderr
    out = call("run", "pay day.py", "pay day.jsonl", "--report", "run.html", "--reasons").stdout
    assert [line[0] for line in out.splitlines()[::2]] == ["+", "-", "+", "+", "-", "+"]
    assert "Withdrawn: 'approved, 35.0, 14:03:23' arrived late and lies between two of its events" in out
    assert "afa run 'pay day.py' 'pay day.jsonl' --report run.html" in Path("pay day.py").read_text("utf-8")
    assert "pay day.py is there already" in fails("new", "pay day.py")
    Path("pay day.py").unlink()
    assert "pay day.jsonl is there already" in fails("new", "pay day.py")
    assert "expected --from INPUT beside --time, --key, --id and" in call("new", "p.py", "--time", "at", status=2).stderr
    assert "expected a name that ends in .py" in call("new", "p.txt", status=2).stderr
    assert "can't write no/p.py: No such file or directory" in fails("new", "no/p.py")
