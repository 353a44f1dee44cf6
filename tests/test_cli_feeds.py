"""`afa run --format debezium` and the other formats; what is written as messages; `afa new` over a feed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.cli import ROOT, call, fails, write
from tests.cli import there as there  # the fixture of all tests here

QUERY = "PATTERN SEQ(placed p, paid q) WHERE skip_till_any_match(p, q) { p.id = q.id } WITHIN 1 day RETURN p.id, q.amount"
FACTS = ("--fact", "placed=created_at", "--fact", "paid=paid_at")
FEED = ("run", "q.sase", "orders.jsonl", "--format", "debezium", "--id", "id", *FACTS)
CREATED, PAID = "2024-03-31T10:00:00Z", "2024-03-31T11:00:00Z"
FOUND = "[2024-03-31T11:00:00+00:00, 2024-04-01T10:00:00+00:00)"


def message(op: str, lsn: int, id: int, amount: float, paid: str | None = None) -> dict[str, Any]:
    row = {"id": id, "amount": amount, "created_at": CREATED, "paid_at": paid}
    return {
        "op": op,
        "before": row if op == "d" else None,
        "after": None if op == "d" else row,
        "source": {"lsn": lsn, "table": "orders"},
    }


MESSAGES = [message("c", 1, 1, 10), message("u", 2, 1, 10.5, PAID), message("c", 3, 2, 7, PAID), message("u", 2, 1, 10.5, PAID)]


def lines(*more: Any) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in (*MESSAGES, *more))


def test_a_feed_of_a_file() -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines("null", message("d", 9, 2, 7)))
    assert call(*FEED).stdout.splitlines() == [f"+ {FOUND} p_id=1 q_amount=10.5"]
    one = call(*FEED, "--batch", "1", "--output", "out.parquet", "-q").stdout.splitlines()
    assert len(one) == 3
    assert pyarrow.parquet.read_table("out.parquet").select(["p_id", "diff"]).to_pylist()[-1] == {"p_id": 2, "diff": -1}


def test_a_feed_of_a_pipe(there: Path) -> None:
    write("q.sase", QUERY)
    command = [sys.executable, "-m", "afa.cli", "run", "q.sase", "-", *FEED[3:], "--output", "-", "-q"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=there, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as job:
        assert job.stdin
        assert job.stdout
        job.stdin.write(lines())
        job.stdin.flush()
        first = [json.loads(job.stdout.readline()) for _ in range(2)]
        out, _ = job.communicate(json.dumps(message("d", 9, 2, 7)) + "\n")
    assert sorted(row["p_id"] for row in first) == [1, 2]
    assert [(row["p_id"], row["diff"]) for row in map(json.loads, out.splitlines())] == [(2, -1)]


def test_malformed_messages_are_told_and_counted() -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines("{", '{"op": "q"}'))
    assert "orders.jsonl: line 5: expected a JSON object a line but got '{'; --late drop leaves it out" in fails(*FEED)
    found = call(*FEED, "--late", "report")
    assert len(found.stdout.splitlines()) == 2
    assert "orders.jsonl: line 6: expected an operation (op) of c, r, u, d, t but got 'q'" in found.stderr
    assert "2 messages that can't be read were left out" in found.stderr
    assert "line 5" not in call(*FEED, "--late", "drop").stderr


def test_formats_that_are_flat() -> None:
    write("q.sase", "PATTERN SEQ(_ p, _ q) WHERE strict_contiguity(p, q) { q.amount > p.amount } WITHIN 9 RETURN q.id")
    rows = [{"id": i, "amount": i, "at": i, "op": "+I"} for i in range(3)] + [{"id": 1, "amount": 1, "at": 1, "op": "-D"}]
    write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert call("run", "q.sase", "rows.jsonl", "--format", "flink", "--time", "at", "-q").stdout.splitlines() == ["+ [2, 9) q_id=2"]
    table = "".join(json.dumps(row | {"_change_type": "insert", "_commit_version": 5, "op": None}) + "\n" for row in rows[:3])
    write("delta.jsonl", table + table)
    found = call("run", "q.sase", "delta.jsonl", "--format", "delta", "--id", "id", "--time", "at", "-q").stdout
    assert found.splitlines() == ["+ [1, 9) q_id=1", "+ [2, 10) q_id=2"]


def test_matches_as_messages() -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines())
    out = call(*FEED, "--output", "-", "--output-format", "debezium", "--output-id", "p_id", "-q").stdout
    assert [(row["op"], row["before"], row["after"]["p_id"]) for row in map(json.loads, out.splitlines())] == [
        ("c", None, 1),
        ("c", None, 2),
    ]
    call(*FEED, "--output", "out.jsonl", "--output-format", "upsert", "--output-id", "p_id", "-q")
    assert [json.loads(line)["diff"] for line in Path("out.jsonl").read_text().splitlines()] == [1, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--diff", "op"), "--diff can't be combined with --format debezium"),
        (("--table", "users"), "orders.jsonl: expected messages of the table users among the first ones but got none"),
        (("--fact", "paid"), "expected --fact NAME=COL but got paid"),
        (("--time", "created_at"), "can't be combined with facts="),
        (("--output-format", "upsert"), "--output-format upsert needs --output FILE"),
        (("--output-id", "p_id"), "expected --output-format debezium or upsert beside --output-id"),
        (("--output", "-", "--output-format", "upsert"), "expected --output-id"),
        (("--output", "-", "--output-format", "upsert", "--output-id", "x"), "no column 'x'"),
        (("--id", "di"), "expected a value of the key 'di' but got none"),
    ],
)
def test_what_is_refused(options: tuple[str, ...], said: str) -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines())
    assert said in fails(*FEED, *options)


def test_rows_of_flink_need_no_key() -> None:
    rows = ({"id": 1, "at": at, "op": op} for at, op in ((5, "+I"), (5, "-U"), (6, "+U")))
    write("rows.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    call("new", "rule.py", "--from", "rows.jsonl", "--time", "at")
    assert "afa run rule.py:pattern rows.jsonl --format flink --time at\n" in Path("rule.py").read_text()


CHANGE = {"kind": "insert", "table": "o", "columnnames": ["id", "at", "x"]}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [{"nextlsn": f"0/{i}", "change": [CHANGE | {"columnvalues": [7, i, 1]}]} for i in (1, 2)],
            "--format wal2json --id id --time at",
        ),
        ([{"row_kind": "+I", "q_id": i, "at": i, "x": 1} for i in (1, 2)], "--format flink --time at"),
        ([{"__op": "c", "__source_lsn": i, "id": i, "at": i, "x": 1} for i in (1, 2)], "--format changelog --id id --time at"),
        ([{"__op": "c", "id": i, "at": i, "x": 1} for i in (1, 2)], "--format changelog --time at"),
    ],
)  # fmt: skip
def test_formats_that_are_recognised(lines: list[Any], said: str) -> None:
    Path("rows.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    call("new", "rule.py", "--from", "rows.jsonl", "--time", "at")
    assert f"afa run rule.py:pattern rows.jsonl {said}\n" in Path("rule.py").read_text()
    assert call("run", "rule.py:pattern", "rows.jsonl", *said.split(), "-q").exit_code == 0


def test_table_and_fact_want_a_format() -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines())
    assert "expected --format of a database's messages" in fails("run", "q.sase", "orders.jsonl", "--table", "orders")


def test_a_first_pattern_over_a_feed() -> None:
    write("orders.jsonl", "".join(json.dumps(each | {"ts_ms": 5}) + "\n" for each in MESSAGES))
    call("new", "first.py", "--from", "orders.jsonl")
    text = Path("first.py").read_text()
    assert "afa run first.py:pattern orders.jsonl --format debezium --id id\n" in text
    assert "amount: float" in text
    call("run", "first.py:pattern", "orders.jsonl", "--format", "debezium", "--id", "id")
    call("new", "second.py", "--from", "orders.jsonl", "--time", "created_at")
    assert "    created_at: afa.Instant\n" in Path("second.py").read_text()
    call("run", "second.py:pattern", "orders.jsonl", "--format", "debezium", "--id", "id")


def test_a_first_pattern_for_the_key_that_is_said() -> None:
    write("orders.jsonl", lines())
    call("new", "rule.py", "--from", "orders.jsonl", "--id", "id")
    assert "orders.jsonl --format debezium --id id\n" in Path("rule.py").read_text()
    write("rows.csv", "id,at\n1,2\n")
    assert "expected messages of a database beside --id" in fails("new", "other.py", "--from", "rows.csv", "--id", "id")


def test_the_order_of_messages_is_said() -> None:
    write("q.sase", QUERY)
    write("orders.jsonl", lines())
    assert call(*FEED, "--version", "source.lsn", "-q").stdout == call(*FEED, "-q").stdout
    assert "no 'source.scn' in the messages" in fails(*FEED, "--version", "source.scn")
    assert "--remember can't be combined with --format debezium" in fails(*FEED, "--remember", "5")
