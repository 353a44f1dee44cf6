"""`afa run --engine spark`: what it finds in the end is what `afa run` finds."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.cli import TICKS, call, fails, json_lines, process, run, write
from tests.cli import there as there  # the fixture of all tests here


def net(file: str) -> Counter[Any]:
    """The net output of a file."""
    counts: Counter[Any] = Counter()
    for row in pyarrow.parquet.read_table(file).to_pylist():
        diff = row.pop("diff")
        counts[tuple(row.items())] += diff
    return Counter({match: n for match, n in counts.items() if n})


def both(pattern: str, file: str, *options: str) -> Counter[Any]:
    """Run on both engines, to Parquet; the net output, which is the same."""
    run(pattern, file, "--output", "local.parquet", *options)
    run(pattern, file, "--output", "spark.parquet", "--engine", "spark", *options)
    assert net("spark.parquet") == net("local.parquet")
    assert pyarrow.parquet.read_schema("spark.parquet") == pyarrow.parquet.read_schema("local.parquet")
    return net("spark.parquet")


def test_late_and_retracted_rows_by_key(spark: Any) -> None:
    rows = [
        {"le": (i * 7 % 41) - 3, "price": float(i), "change": (-1.0) ** (i % 3), "symbol": "xy"[i % 2], "kind": i % 2, "diff": 1}
        for i in range(41)
    ]
    rows += [{**rows[5], "diff": -1}, {**rows[30], "diff": -1}]
    file = json_lines("in.jsonl", rows)
    found = both("every", file, "--key", "symbol", "--key", "kind", "--window", "5", "--batch", "15", "--sequence", "price")
    assert len(found) > 5


def test_without_a_key_and_a_window_batch_by_batch(spark: Any) -> None:
    lines = [f"{line},1" for line in TICKS.split()[1:]]
    file = write("r.csv", "\n".join(["time,price,change,diff", *lines, "6,10,-1,-1", ""]))
    spoken = run("two_vees", file, "--le", "time", "--window", "7", "--batch", "8", "--engine", "spark")
    assert spoken == ["+ [7, 8) balance=0 patterns=2", "- [7, 8) balance=0 patterns=2"]
    options = ("ticks.csv", "--engine", "spark", "--batch", "7")
    assert fails("run", "p.py:two_vees", *options, "--window", "7", "--lateness", "0").startswith(
        "late: le=6, behind the watermark: "
    )
    assert run("two_vees", *options, "--window", "7", "--lateness", "0", "--late", "drop") == []


def test_timestamps_come_back_in_their_unit(spark: Any) -> None:
    assert run("price", write("n.csv", "le,price,change\n5,1.5,1\n"), "--engine", "spark") == ["+ [5, forever) price=1.5"]
    lines = run("every", write("t.csv", "le,price,change\n2013-01-01T00:00:01Z,1,1\n"), "--engine", "spark", "--tick", "s")
    assert lines == ["+ [2013-01-01T00:00:01, forever) balance=0 patterns=0"]
    options = ("--tick", "us", "--window", "5")
    assert run("every", write("u.csv", "le,price,change\n2013-01-01T00:00:01.000001Z,1,1\n"), "--engine", "spark", *options) == [
        "+ [2013-01-01T00:00:01.000001, 2013-01-01T00:00:01.000006) balance=0 patterns=0"
    ]


@pytest.mark.parametrize(
    ("pattern", "text", "options", "message"),
    [
        (
            "every",
            "le,price,change\n1,1,1\n170000000000000000,1,1\n",
            ("--tick", "ns"),
            "expected times of -157753180799999999 to 157753180800000001 ns with --engine spark but got 170000000000000000",
        ),
        (
            "quiet",
            "le,price,change\n253402300799999999,1,1\n",
            ("--window", "5"),
            "to 253402300799999999 ms with --engine spark but got 253402300799999999, living for 5,",
        ),
        ("any_field", "le,x\n1,2\n", (), "expected an automaton with event= and scalar fields"),
        ("every", "le,price,change\n1,1,\n", (), "row 2, column 'change': expected float (field change of Tick) but got no value"),
    ],
)
def test_what_spark_cannot_do_is_refused(spark: Any, pattern: str, text: str, options: tuple[str, ...], message: str) -> None:
    assert message in fails("run", f"p.py:{pattern}", write("in.csv", text), "--engine", "spark", *options)
    assert not Path("o.parquet").exists()


def test_keys_of_any_type(spark: Any) -> None:
    rows = [{"le": i, "price": i % 2 + 0.5, "change": (-1.0) ** i, "shop": "xyz"[i % 3], "till": i % 5} for i in range(30)]
    file = json_lines("k.jsonl", rows)
    assert len(both("every", file, "--key", "price", "--batch", "8")) == 30
    assert len(both("every", file, "--key", "till", "--key", "price", "--key", "shop", "--batch", "8")) == 30


def test_rows_without_a_key_are_refused(spark: Any) -> None:
    file = json_lines("k.jsonl", [{"le": i, "price": 1, "change": 1, "shop": shop} for i, shop in enumerate((7, None))])
    text = fails("run", "p.py:every", file, "--engine", "spark", "--key", "shop")
    assert text == "expected a key in each row with --engine spark but got none in column 'shop'"


def test_each_row_says_how_long_it_lives(spark: Any) -> None:
    rows = [{"le": i, "end": i + 2 + i % 5 if i % 3 else None, "price": i, "change": (-1.0) ** i} for i in range(30)]
    found = both("every", json_lines("l.jsonl", rows), "--re", "end", "--window", "9", "--batch", "7", "--tick", "ns")
    assert {re - le for match in found for re, le in [(dict(match)["re"], dict(match)["le"])]} == {2, 3, 4, 5, 6, 9}


def test_time_outs_fire_at_the_end_of_the_input_at_the_latest(spark: Any) -> None:
    rows = [{"le": 1000 * i, "price": i, "change": (-1.0) ** i, "room": "ab"[i % 2]} for i in range(20)]
    file = json_lines("q.jsonl", rows)
    assert len(both("patient", file, "--key", "room", "--batch", "6")) == 5
    fewer = json_lines("f.jsonl", rows[:18])  # the last wait is open
    assert len(both("patient", fewer, "--key", "room", "--batch", "6")) == 4
    assert len(both("patient", fewer, "--key", "room", "--batch", "6", "--end", "forever")) == 5
    for engine in ("local", "spark"):
        told = call("run", "p.py:patient", fewer, "--key", "room", "--batch", "6", "--engine", engine).stderr
        assert re.search(r"^time-outs open +1 ", told, re.MULTILINE), engine
    assert both("patient", file, "--key", "room", "--batch", "6", "--lateness", "2000", "--window", "3000")


def test_no_rows(spark: Any) -> None:
    assert run("every", write("e.csv", "le,price,change\n"), "--engine", "spark", "--output", "o.jsonl") == []
    assert Path("o.jsonl").read_text() == ""


def test_a_fault_in_a_function_is_told(spark: Any) -> None:
    told = fails("run", "p.py:divides", write("z.csv", "le,price,change\n1,0,1\n"), "--engine", "spark")
    assert "division" in told


def test_a_fault_is_told_whatever_the_row_says(spark: Any) -> None:
    """The row that closes the input is known by its key, not by its year, which a row of the user's may name."""
    rows = [{"le": i, "value": 0.0, "room": "30000-01-01", "note": None, "count": None, "on": True} for i in range(2)]
    assert "division" in fails("run", "p.py:inverse", json_lines("y.jsonl", rows), "--engine", "spark")


def test_without_spark_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pyspark" else find(name, *rest))
    expected = 'expected PySpark but got none: pip install "afa[spark]", or take --engine local'
    assert fails("run", "p.py:every", "ticks.csv", "--engine", "spark") == expected


@pytest.mark.stress
def test_as_a_process_it_says_no_more_than_without_spark() -> None:
    """With a Spark of its own, whose words go elsewhere."""
    with process("run", "p.py:two_vees", "ticks.csv", "--window", "7", "--engine", "spark") as job:
        out, err = job.communicate()
    assert (job.returncode, out) == (0, "+ [7, 8) balance=0 patterns=2\n"), err
    told = {line[:18].strip(): line[18:].split()[0] for line in err.splitlines() if line}
    assert told == {"events": "8", "late": "0", "matches inserted": "1", "matches withdrawn": "0", "matches final": "1"}
