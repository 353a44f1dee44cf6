"""`afa run` in pipes: standard input, an output that is full or goes away, rows of megabytes."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from afa.cli.main import app
from afa.io import file_bytes as stream
from tests.cli import TICKS, call, fails, process, run, write
from tests.cli import there as there  # the fixture of all tests here

FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full here")
OPTIONS = ("--window", "7")


def rows() -> list[dict[str, Any]]:
    lines = TICKS.split()[1:]
    return [dict(zip(("le", "price", "change"), map(int, line.split(",")))) for line in lines]


def as_bytes(form: str) -> bytes:
    if form == "csv":
        return TICKS.encode()
    if form == "jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in rows()).encode()
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows()), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("head", [1 << 20, 40])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_standard_input(form: str, head: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEAD", head)
    arguments = ["run", "p.py:two_vees", "-", "--format", form, *OPTIONS]
    result = CliRunner().invoke(app, arguments, prog_name="afa", input=as_bytes(form))
    assert result.stdout == "+ [7, 8) balance=0 patterns=2\n", result.output


def test_standard_input_of_a_process_to_standard_output() -> None:
    """Byte by byte, as a pipe may bring them."""
    with process("run", "p.py:two_vees", "-", "--format", "csv", "--output", "-", *OPTIONS, stdin=-1) as job:
        assert job.stdin is not None
        for letter in TICKS:
            job.stdin.write(letter)
            job.stdin.flush()
        out, err = job.communicate()
    assert [json.loads(line) for line in out.splitlines()] == [{"balance": 0, "patterns": 2, "le": 7, "re": 8, "diff": 1}]
    assert "matches final" in err
    assert "-" not in os.listdir()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("pattern", ["p.py:every", "p.py:patient"])  # the second has no match: why it is so is told of what came
def test_a_named_pipe_is_read_as_standard_input_is(form: str, pattern: str) -> None:
    os.mkfifo(f"in.{form}")
    Path(f"plain.{form}").write_bytes(as_bytes(form))
    writer = threading.Thread(target=lambda: Path(f"in.{form}").write_bytes(as_bytes(form)), daemon=True)
    writer.start()
    found = call("run", pattern, f"in.{form}", *OPTIONS)
    writer.join()
    assert found.stdout == call("run", pattern, f"plain.{form}", *OPTIONS).stdout
    assert ("`e.price % 4 == 0` is true of no event" in found.stderr) is (pattern == "p.py:patient")


def test_a_named_pipe_that_is_gone_when_it_is_asked_why() -> None:
    os.mkfifo("in.csv")

    def write_once() -> None:
        with open("in.csv", "wb") as pipe:
            os.unlink("in.csv")
            pipe.write(as_bytes("csv"))

    writer = threading.Thread(target=write_once, daemon=True)
    writer.start()
    found = call("run", "p.py:patient", "in.csv", *OPTIONS)
    writer.join()
    assert "`e.price % 4 == 0` is true of no event" in found.stderr


def test_a_named_pipe_of_what_is_packed() -> None:
    os.mkfifo("in.csv.gz")
    assert fails("run", "p.py:every", "in.csv.gz", *OPTIONS) == (
        "in.csv.gz: expected a pipe whose bytes are not compressed; decompress them on the way"
    )


@pytest.mark.parametrize("name", ["a.jsonl", "-"])
@pytest.mark.parametrize(("row", "deep"), [(1, 5_000), (2, 5_000), (1, 200_000), (2_000, 5_000), (2_000, 200_000)])
def test_a_row_of_deeply_nested_objects(row: int, deep: int, name: str) -> None:
    """In a column that nothing reads: a line that can't be read is said, as any other; far behind the look it is not even read."""
    lines = ['{"le": 1, "price": 1, "change": 1}'] * (row - 1)
    lines += ['{"le": 1, "price": 1, "change": 1, "x": ' + '{"a": ' * deep + "1" + "}" * deep + "}"]
    write("a.jsonl", "\n".join(lines))
    options = ["run", "p.py:every", name, *OPTIONS, "--format", "jsonl"]
    result = CliRunner().invoke(app, options, input=Path("a.jsonl").read_bytes(), prog_name="afa")
    assert result.exit_code == (row < 2_000)
    if row < 2_000:
        got = """'{"le": 1, "price": 1, "change": 1, "x...'"""
        assert result.stderr == f"afa: {name}: row {row}: expected a JSON object a line but got {got}\n"


def test_standard_input_has_no_extension() -> None:
    assert fails("run", "p.py:two_vees", "-") == "-: expected the form of standard input; say --format csv, jsonl or parquet"
    result = CliRunner().invoke(app, ["run", "p.py:every", "-", "--format", "csv"], prog_name="afa", input="le,price\n1,1\n")
    assert result.stderr.startswith("afa: -: no column 'change' (field change of Tick) among le, price")


@FULL
@pytest.mark.parametrize("arguments", [("run", "p.py:two_vees", "ticks.csv", *OPTIONS), ("show", "p.py:every"), ("--help",)])
def test_an_output_that_is_full(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full, process(*arguments, stdout=full) as job:
        _, err = job.communicate()
    assert job.returncode == 1
    assert err.splitlines()[-1] == "afa: can't write standard output: No space left on device"
    assert "Traceback" not in err


@FULL
def test_words_that_no_one_can_hear() -> None:
    with open("/dev/full", "w") as full, process("run", "p.py:two_vees", "none.csv", stderr=full) as job:
        job.communicate()
    assert job.returncode == 1


@pytest.mark.parametrize("output", ["-", None])
def test_a_pipe_that_closes_at_once(output: str | None) -> None:
    write("m.csv", "le,price,change\n" + "".join(f"{i},1,1\n" for i in range(3000)))
    options = ("--output", output) if output else ("--matches", "-1")
    with process("run", "p.py:every", "m.csv", "--window", "1", *options) as job:
        assert job.stdout is not None
        assert job.stderr is not None
        job.stdout.close()
        err = job.stderr.read()
    assert (job.returncode, err) == (0, "")


@pytest.mark.parametrize("file", ["big.csv", "big.csv.gz"])
def test_a_cell_of_megabytes(file: str) -> None:
    """It is longer than what is parsed at once; what came before it is not taken twice."""
    import gzip

    head = "le,value,room,note,count,on\n1,2,a,,1,true\n"
    many = "".join(f"{i},2,a,,1,true\n" for i in range(2, 150_000))
    text = f'{head}{many}150000,1,a,"{"x" * 3_000_000}",1,true\n150001,2,a,,1,true\n150002,0.5,a,,1,true\n'
    Path(file).write_bytes(gzip.compress(text.encode(), 1) if file.endswith("gz") else text.encode())
    result = call("run", "p.py:noted", file, "--window", "2", "--quiet", "--output", "o.jsonl", "--matches", "0")
    assert result.stderr == ""
    found = [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()]
    assert [(row["le"], len(row["note"])) for row in found] == [(150_000, 3_000_000), (150_002, 0)]


def test_a_first_row_of_megabytes() -> None:
    text = f'le,value,room,note,count,on\n1,2,a,"{"y" * 5_000_000}",1,true\n2,1,a,"{"x" * 3_000_000}",1,true\n'
    run("drop", write("big.csv", text), "--output", "o.jsonl", "--matches", "0")
    assert len(json.loads(Path("o.jsonl").read_text())["note"]) == 3_000_000


def test_a_row_of_a_stream_may_be_so_long_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.Stdin, "longest", 1 << 20)
    text = f'le,price,change,note\n1,1,1,"{"y" * 3_000_000}"\n'
    result = CliRunner().invoke(app, ["run", "p.py:every", "-", "--format", "csv"], prog_name="afa", input=text)
    assert result.stderr == "afa: -: expected rows of at most 1 MB but got a longer one\n"
    assert result.exit_code == 1
