"""`afa why`: the funnel of a pattern over a file, as tables and as JSON, of all rows or of a part that is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from afa.cli.request import CommandRequest
from afa.cli.why import KeptRows, hashes
from tests.cli import call, fails, write
from tests.test_cli_no_match import there as there  # the fixture of all tests here


def said(pattern: str, *options: str, file: str = "pay.csv", key: str = "card") -> str:
    result = call("why", f"p.py:{pattern}", file, "--time", "at", "--key", key, *options)
    assert result.exit_code == 0, result.output
    return result.stdout


def counted(pattern: str, *options: str, file: str = "pay.csv", key: str = "card") -> dict[str, Any]:
    return json.loads(said(pattern, *options, "--json", file=file, key=key))


def test_the_sentence_comes_first_then_the_counts() -> None:
    lines = said("right", "--window", "3600", "--tick", "ms").splitlines()
    assert lines[0].startswith(
        "`second` was never asked: 1,186 of 1,200 partial matches in `one` ended by the window (3,600 ticks of "
    )
    assert lines[1] == "1,800 events of 20 keys; window 3,600 ticks of 1 ms = 3.6 s"
    assert lines[3].split() == ["arc", "asked", "true", "last", "true", "stopped", "most", "by", "times"]
    assert lines[4].split() == ["first:", "start", "->", "one", "1,800", "1,200", "5340019", "e.status", "==", "'declined'", "600"]
    assert lines[5].split() == ["second:", "one", "->", "two", "0", "0"]
    assert [line.split() for line in lines[8:10]] == [["start", *"000000"], ["one", "1,200", "0", "0", "1,186", "0", "14"]]


@pytest.mark.parametrize(
    ("pattern", "options", "cause"),
    [
        ("right", ["--window", "1h", "--tick", "ms"], "matched"),
        ("right", ["--window", "10m", "--tick", "s"], "window"),
        ("waits", ["--end", "forever"], "matched"),
        ("waits", [], "waits"),
        ("noted", ["--window", "3600000"], "never"),
    ],
)
def test_causes(pattern: str, options: list[str], cause: str) -> None:
    assert counted(pattern, *options)["cause"] == cause


def test_a_fence_that_raises_is_counted() -> None:
    """What `afa run` refuses at the first row."""
    text = Path("pay.csv").read_text().splitlines()
    write(
        "gaps.csv",
        "\n".join(f"{a},{b},,{d}" if i else line for i, line in enumerate(text) for a, b, _, d in [line.split(",")]) + "\n",
    )
    call("run", "p.py:over_none", "gaps.csv", "--time", "at", "--key", "card", status=1)
    found = counted("over_none", file="gaps.csv")
    assert found["cause"] == "none"
    assert found["why"].endswith("amount is None in all 1,800 events; say `.. is not None and ..` first")


def test_late_rows_are_left_out_and_counted() -> None:
    rows = Path("pay.csv").read_text().splitlines()
    write("back.csv", "\n".join([rows[0], *reversed(rows[1:]), ""]))
    found = counted("right", "--window", "3600000", "--lateness", "1", "--batch", "1", file="back.csv")
    assert (found["cause"], found["late"], found["events"]) == ("late", 1_798, 2)
    assert found["why"].startswith("1,798 of 1,800 changes came behind the promise and were dropped as late")
    assert counted("right", "--window", "3600000", "--lateness", "100h", "--tick", "ms", file="back.csv")["cause"] == "matched"


def test_retractions_and_ids() -> None:
    write("taken.csv", "at,card,amount,status,diff\n1,a,60,declined,1\n2,a,60,declined,1\n2,a,60,declined,-1\n")
    assert counted("right", file="taken.csv")["events"] == 1


def test_of_too_many_events_those_of_some_keys() -> None:
    whole, part = counted("cents", "--window", "3600000"), counted("cents", "--window", "3600000", "--most", "500")
    assert part["share"] in (4, 8)
    assert 0 < part["events"] <= 500
    assert part["cause"] == whole["cause"] == "limit"
    assert f"one key of {part['share']}: there was too much to keep" in said("cents", "--window", "3600000", "--most", "500")
    result = call("why", "p.py:cents", "pay.csv", "--time", "at", "--window", "3600000", "--most", "500", "--json")
    assert json.loads(result.stdout)["cut"] is True
    assert json.loads(result.stdout)["events"] == 500


def test_a_query_that_looks_back() -> None:
    """A stage before its operator fills a field in."""
    write(
        "q.sase",
        "PATTERN SEQ(~(Pay x), Pay a, Pay b) WHERE skip_till_next_match(a, b) "
        "{ [card] and x.status = 'approved' and a.status = 'declined' and b.amount > 9000 } WITHIN 10 minutes",
    )
    found = json.loads(call("why", "q.sase", "pay.csv", "--time", "at", "--json").stdout)
    assert found["events"] == 1_800
    assert found["cause"] in ("limit", "never", "value", "window", "register", "stopped")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.py:nothing", "pay.csv"], "p.py has no 'nothing'"),
        (["p.py:right", "none.csv"], "none.csv"),
        (["p.py:right", "pay.csv", "--time", "nope"], "nope"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str) -> None:
    result = call("why", *arguments, status=1)
    assert result.exit_code != 0
    assert message in result.stderr


def test_help_names_it() -> None:
    assert "Say why a pattern finds nothing" in call("why", "--help").stdout


def test_shares_are_of_keys_and_the_same_in_any_order() -> None:
    table = pa.table({"card": [f"c{i % 50}" for i in range(1_000)], "n": [i % 7 for i in range(1_000)], "le": list(range(1_000))})
    job = CommandRequest("p", "f", keys=("card",))
    forward = KeptRows(job, 300).take([table.slice(i, 100) for i in range(0, 1_000, 100)])
    backward = KeptRows(job, 300).take([table.slice(i, 100) for i in range(900, -1, -100)])
    kept = [sorted({card for part in found.tables for card in part["card"].to_pylist()}) for found in (forward, backward)]
    assert kept[0] == kept[1]
    assert forward.share == backward.share > 1
    assert sum(len(part) for part in forward.tables) == 20 * len(kept[0])
    assert len(set(hashes(table, ["card", "n"]).tolist())) == 350
    assert len(set(hashes(table.set_column(0, "card", table["card"].dictionary_encode()), ["card"]).tolist())) == 50


def test_a_negation_of_a_query_is_named_and_the_report_says_it_too() -> None:
    write("q.sase", "PATTERN SEQ(declined d, ~(verified v), large a) WHERE skip_till_next_match(d, a) { [card] } WITHIN 1 hour")
    rows = [("declined", 0), ("verified", 20), ("large", 40)]
    lines = [{"type": name, "card": "c4", "id": 7 + at, "ts": f"2026-03-01T05:12:{at:02}"} for name, at in rows]
    write("cards.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    sentence = (
        "`~(verified v)`: Event(type='verified', card='c4', id=27, ts=2026-03-01 05:12:20) at 2026-03-01 05:12:20 came between "
        "(key 'c4'); `~(verified v)` ended the one partial match in `d`, without it there would be 1 match"
    )
    found = call("why", "q.sase", "cards.jsonl", "--time", "ts").stdout.splitlines()
    assert found[0] == sentence
    assert all("=177" not in line for line in found), "times are told as times"
    result = call("run", "q.sase", "cards.jsonl", "--time", "ts", "--report", "r.html")
    assert f"afa: no match: {sentence}; `afa why` with" in result.stderr
    page = Path("r.html").read_text(encoding="utf-8")
    data = json.loads(page.split('id="data"', 1)[1].split(">", 1)[1].split("</script>", 1)[0])
    assert data["why"].startswith(sentence)
    call("run", "q.sase", "cards.jsonl", "--time", "ts", "--report", "q.html", "-q")
    assert "without it there would be 1 match" in Path("q.html").read_text(encoding="utf-8")


def test_of_one_key_as_of_an_instant() -> None:
    """Rows of a value of a column, and of a window up to an instant; the same as of a file of these rows alone."""
    header, *lines = Path("pay.csv").read_text().splitlines()
    card, at = header.split(",").index("card"), header.split(",").index("at")
    some = next(line.split(",") for line in lines[900:] if line)
    until = int(some[at])
    window = 600_000
    mine = [line for line in lines if line.split(",")[card] == some[card] and until - window < int(line.split(",")[at]) <= until]
    assert 0 < len(mine) < len(lines) / 10
    write("mine.csv", "\n".join([header, *mine]) + "\n")
    options = ("--window", str(window), "--tick", "ms")
    found = counted("right", *options, "--of", f"card={some[card]}", "--at", str(until))
    alone = counted("right", *options, file="mine.csv")
    assert found == alone
    assert counted("right", *options, "--of", f"card={some[card]}")["events"] > alone["events"] == len(mine)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--of", "card"], "expected --of COLUMN=VALUE but got 'card'"),
        (["--of", "crd=c1"], "expected --of COLUMN=VALUE with a column of .*card.* but got 'crd'"),
        (["--of", "card=none", "--at", "5"], "expected rows of card=none, --at but got none"),
        (["--at", "noon"], "expected an instant .*but got --at='noon'"),
    ],
)
def test_a_choice_of_rows_that_says_nothing_is_refused(options: list[str], said: str) -> None:
    assert re.match(said, fails("why", "p.py:right", "pay.csv", "--time", "at", "--key", "card", *options))
