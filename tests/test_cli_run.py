"""`afa run`: what it prints and writes, for every form of input."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import afa
from tests.cli import TICKS, TRAVEL, call, fails, json_lines, run, write
from tests.cli import there as there  # the fixture of all tests here


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
    assert re.search(r"^matches withdrawn +0  net of batches of 10,000 rows, then of 131,072 *$", result.stderr, re.MULTILINE)
    one = call("run", "p.py:two_vees", retraction, "--window", "7", "--batch", "1").stderr
    assert re.search(r"^matches withdrawn +1  net of batches of 1 row *$", one, re.MULTILINE)
    rows_alone = call("run", "p.py:two_vees", retraction, "--window", "7", "--reasons").stderr
    assert re.search(r"^matches withdrawn +1 *$", rows_alone, re.MULTILINE)
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
            ("in.parquet", "--threads", "2"),
        ]
    ):
        output = f"out{i}.{'jsonl' if i % 2 else 'parquet'}"
        assert run("every", file, "--key", "symbol", "--window", "5", "--matches", "0", "--output", output, *more) == []
        assert changes(output) == expected, file


def test_threads_need_a_key() -> None:
    file = write("k.csv", "le,price,change\n1,1,1\n")
    said = "expected a key, as threads share out its values, but got --threads 2 without one"
    assert fails("run", "p.py:every", file, "--threads", "2") == said
    text = write("q.sase", "PATTERN SEQ(Tick a, Tick b) WHERE a.price > b.price WITHIN 5 RETURN a.price")
    assert fails("run", text, file, "--threads", "2") == said


def load(name: str) -> afa.Automaton:
    from afa.cli.load import load as of

    return of(f"p.py:{name}")


def test_timestamps_are_ticks_and_leave_as_timestamps() -> None:
    file = write("t.csv", TRAVEL)
    options = ("--time", "when", "--key", "room")
    assert run("drop", write("d.csv", TRAVEL.replace("room", "room,note,count,on").replace(",a", ",a,,,true")), *options) == [
        "+ [2013-01-01T00:00:01.5, forever) room=a low=0.5 note='' all='(None, True)'"
    ]
    assert "no column 'note'" in fails("run", "p.py:drop", file, *options)
    run("drop", "d.csv", *options, "--window", "2000", "--tick", "ms", "--output", "o.jsonl")
    assert [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()] == [
        {
            "room": "a",
            "low": 0.5,
            "note": "",
            "all": "(None, True)",
            "le": "2013-01-01T00:00:01.5",
            "re": "2013-01-01T00:00:02",
            "diff": 1,
        }
    ]
    for tick, ticks in (("us", 1356998401500000), ("ns", 1356998401500000000)):
        run("drop", "d.csv", *options, "--tick", tick, "--output", "o.parquet")
        found = pyarrow.parquet.read_table("o.parquet")
        assert found["le"].cast(pa.int64()).to_pylist() == [ticks]
        assert (found.schema.field("re").type, found["re"].to_pylist()) == (pa.timestamp(tick), [None])
    assert fails("run", "p.py:drop", "d.csv", *options, "--tick", "s") == (
        "d.csv: row 3, column 'when': expected a whole number of seconds (int64) "
        "but got 2013-01-01 00:00:01.500000; try a finer --tick"
    )


@pytest.mark.parametrize(
    ("times", "ticks", "kind", "shown"),
    [
        (pa.array([0, 1500], pa.int32()), [0, 1500], pa.int64(), "1500"),
        (pa.array([0, 1500], pa.timestamp("ms")), [0, 1500], pa.timestamp("ms"), "1970-01-01T00:00:01.5"),
        (
            pa.array([0, 1500000], pa.timestamp("us", "Europe/Berlin")),
            [0, 1500],
            pa.timestamp("us", "Europe/Berlin"),
            "1970-01-01T01:00:01.5+01:00",
        ),
        (pa.array([0, 1], pa.date32()), [0, 86_400_000], pa.timestamp("ms"), "1970-01-02T00:00:00"),
        (
            pa.array(["1970-01-01T00:00:00Z", "1970-01-01T01:00:01.5+01:00"]),
            [0, 1500],
            pa.timestamp("ms", "UTC"),
            "1970-01-01T00:00:01.5+00:00",
        ),
        (pa.array(["1970-01-01", "1970-01-01 00:00:01.500"]), [0, 1500], pa.timestamp("ms"), "1970-01-01T00:00:01.5"),
    ],
)
def test_forms_of_time(times: pa.Array, ticks: list[int], kind: pa.DataType, shown: str) -> None:
    pyarrow.parquet.write_table(pa.table({"le": times, "price": [1, 2], "change": [1.0, 2.0]}), "in.parquet")
    lines = run("every", "in.parquet", "--output", "o.parquet", "--window", "1")
    le = pyarrow.parquet.read_table("o.parquet")["le"]
    assert le.type == kind
    assert [x // 1000 if kind == pa.timestamp("us", "Europe/Berlin") else x for x in le.cast(pa.int64()).to_pylist()] == ticks
    assert lines[1].startswith(f"+ [{shown}, ")
    run("every", "in.parquet", "--output", "o.jsonl", "--window", "1")
    assert json.loads(Path("o.jsonl").read_text().splitlines()[1])["le"] == (ticks[1] if kind == pa.int64() else shown)


def test_ends_of_lifetimes() -> None:
    file = write("re.csv", "t,until,price,change\n1,5,1,1\n2,,1,1\n")
    assert run("every", file, "--time", "t", "--until", "until", "--window", "3") == [
        "+ [1, 5) balance=0 patterns=0",
        "+ [2, 5) balance=0 patterns=0",
    ]
    assert run("every", file, "--time", "t", "--until", "until")[1] == "+ [2, forever) balance=0 patterns=0"


def test_columns_named_le_re_diff_are_found(there: Path) -> None:
    file = write("c.csv", "le,re,diff,price,change\n1,5,1,1,1\n1,5,-1,1,1\n2,6,1,1,1\n")
    assert run("every", file) == ["+ [2, 6) balance=0 patterns=0"]


def told(result: Any) -> dict[str, str]:
    """The summary, by its lines."""
    return {line[:18].strip(): line[18:].split()[0] for line in result.stderr.splitlines() if line}


def test_what_the_end_promises() -> None:
    """By default nothing before the largest timestamp: what is due by then fires, for all keys, what is open is told."""
    rows = [{"le": 1000 * i, "price": (0, 4, 1)[i], "change": 1, "room": "abc"[i]} for i in range(3)]
    result = call("run", "p.py:patient", json_lines("q.jsonl", rows), "--key", "room")
    assert result.stdout == "+ [1500, forever) room=a balance=0 patterns=0\n"
    assert told(result) | {"state": ""} == {
        "events": "3",
        "late": "0",
        "keys": "3",
        "state": "",
        "matches inserted": "1",
        "matches withdrawn": "0",
        "matches final": "1",
        "time-outs open": "1",
    }
    late = write("w.csv", "le,price,change\n1,1,1\n")
    assert run("quiet", late, "--window", "20") == []
    assert told(call("run", "p.py:quiet", late, "--window", "20"))["time-outs open"] == "1"
    result = call("run", "p.py:quiet", late, "--window", "20", "--end", "forever")
    assert result.stdout == "+ [9, 21)\n"
    assert told(result)["time-outs open"] == "0"
    assert told(result)["matches final"] == "1"


def test_a_match_at_the_largest_timestamp_is_not_final() -> None:
    """An event of the same timestamp may follow."""
    options = ("run", "p.py:every", "ticks.csv", "--window", "7", "--matches", "0")
    for batch in ("1", "3", "100"):
        result = call(*options, "--batch", batch)
        assert (told(result)["matches final"], told(result)["matches not final"]) == ("7", "1")
    assert told(call(*options, "--end", "forever"))["matches final"] == "8"
    assert "matches not final" not in call(*options, "--end", "forever").stderr


def test_retractions_that_wait_at_the_end_are_told() -> None:
    file = write("r.csv", "le,price,change,diff\n1,1,1,1\n2,5,1,-1\n")
    assert told(call("run", "p.py:every", file, "--window", "5"))["retractions open"] == "1"
    assert fails("run", "p.py:every", file, "--window", "5", "--end", "forever") == (
        "expected the insertion of Tick(price=5.0, change=1.0) at le=2 in the input but got its retraction only; "
        "--late drop drops it"
    )


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
    assert re.search(r"^late +1  dropped: behind a promise", result.stderr, re.MULTILINE)


def test_a_late_row_may_be_reported() -> None:
    options = ("--window", "7", "--batch", "1", "--lateness", "1", "--late")
    drop, report = (call("run", "p.py:two_vees", "ticks.csv", *options, policy) for policy in ("drop", "report"))
    assert report.stdout == drop.stdout
    (line,) = [line for line in report.stderr.splitlines() if line.startswith("afa: late: ")]
    assert "Tick(price=" in line
    assert "afa: late:" not in drop.stderr
    assert re.search(r"^late +1 ", report.stderr, re.MULTILINE)


def test_speculation_holds_back_what_is_far_ahead() -> None:
    rows = [f"{row},1" for row in TICKS.split()[1:]]
    late = write("r.csv", "\n".join(["le,price,change,diff", *rows, "6,10,-1,-1", ""]))
    options = ("--window", "7", "--batch", "1", "--lateness", "9")
    assert run("two_vees", late, *options) == ["+ [7, 8) balance=0 patterns=2", "- [7, 8) balance=0 patterns=2"]
    assert run("two_vees", late, *options, "--speculation", "0") == []  # what is withdrawn has never been told
    assert run("two_vees", "ticks.csv", *options, "--speculation", "0") == run("two_vees", "ticks.csv", *options)
    assert "--speculation needs --lateness" in fails("run", "p.py:two_vees", late, "--speculation", "0")
    assert "--speculation can't be combined with --reasons" in fails(
        "run", "p.py:two_vees", late, "--speculation", "0", "--lateness", "9", "--reasons"
    )


def test_old_names_of_options_go_on_working() -> None:
    file = write("old.csv", "at,price,change\n1,1,1\n2,1,1\n")
    new = call("run", "p.py:every", file, "--time", "at", "--order-by", "price", "--quiet")
    old = call("run", "p.py:every", file, "--le=at", "--sequence", "price", "--quiet")
    assert old.stdout == new.stdout
    assert old.stderr.splitlines() == [
        "afa: --le is now --time; the old name goes on working",
        "afa: --sequence is now --order-by; the old name goes on working",
    ]


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
    assert run("two_vees", file, "--order-by", "price", "--window", "7") == []
    assert fails("run", "p.py:two_vees", file, "--order-by", "sign") == (
        "expected a field of Tick(price: float, change: float) but got order_by='sign'"
    )


def test_a_key_called_kind_says_nothing_of_a_row() -> None:
    rows = [{"le": i, "price": 1.0, "change": -1.0, "kind": i % 3} for i in range(6)]
    assert len(run("every", json_lines("k.jsonl", rows), "--key", "kind", "--lateness", "2", "--batch", "3", "--window", "5")) == 6


def test_the_longest_only() -> None:
    pattern = write(
        "any.py",
        "from typing import NamedTuple\n"
        "from afa import Arc, Automaton\n"
        "class Row(NamedTuple):\n    sort: int\n"
        "def pair(n=1):\n"
        "    arcs = [Arc('0', '1', 'sort == 0'), Arc.skip('1', 'True'), Arc('1', '2', f'sort == {n}')]\n"
        "    return Automaton(start='0', final={'2'}, event=Row, arcs=arcs)\n"
        "any_pair = pair()\n",
    )
    rows = write("any.csv", "le,sort\n1,0\n3,0\n5,1\n")
    asked = ("run", f"{pattern}:any_pair", rows, "--window", "10", "--quiet")
    assert call(*asked).stdout == "+ [5, 11)\n+ [5, 13)\n"
    assert call(*asked, "--longest").stdout == "+ [5, 13)\n"
    varied = ("run", f"{pattern}:pair", rows, "--window", "10", "--quiet", "--vary", "n=1,0")
    assert [call(*varied, *more).stdout.split()[3:] for more in ((), ("--longest",))] == [
        ["1", "2", "0", "0", "1", "0"],
        ["1", "1", "0", "0", "1", "0"],
    ]


def test_of_a_query_the_longest_only() -> None:
    rows = write("any.csv", "le,sort,who\n1,0,1\n3,0,1\n5,1,1\n")
    query = write(
        "any.sase",
        "PATTERN SEQ(Row a, Row b) WHERE skip_till_any_match(a, b) { [who] and a.sort == 0 and b.sort == 1 } WITHIN 10 "
        "RETURN b.sort",
    )
    assert call("run", query, rows, "--longest", "--quiet").stdout.startswith("+ [5, 13) ")
    chosen = write(
        "any.sql",
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY who ORDER BY le MEASURES B.sort AS last AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) WITHIN 10 DEFINE A AS sort = 0, B AS sort = 1)",
    )
    assert "longest=True can't be combined with AFTER MATCH SKIP because" in fails("run", chosen, rows, "--longest")
