"""`--log json`: each line on standard error is an object, however a run ends; `--log text` is as it was."""

from __future__ import annotations

import json
import logging
import signal
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from afa.cli import run as run_module
from afa.cli import screen
from afa.cli.log import LINES, as_json
from tests.cli import TICKS, call, fails, process, write
from tests.cli import there as there  # the fixture of all tests here


def told(text: str) -> list[dict[str, Any]]:
    """The lines, each an object with a time, a level, an event and a text."""
    found = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    for line in found:
        assert datetime.fromisoformat(line["time"]).tzinfo is not None
        assert line["level"] in ("info", "warning", "error")
        assert list(line)[:4] == ["time", "level", "event", "text"]
    return found


def logged(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    found = told(call(*arguments, "--log", "json", status=status).stderr)
    assert not as_json()  # the next command's business
    return found


def events(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["level"], line["event"]) for line in lines]


def test_a_run_that_ends(there: Path) -> None:
    found = logged("run", "p.py:price", "ticks.csv", "--output", "out.csv", "--report", "run.html")
    assert events(found) == [("info", "summary"), ("info", "report")]
    expected = {"events": 8, "late": 0, "matches_inserted": 8, "matches_withdrawn": 0, "matches_final": 7, "output": "out.csv"}
    assert {name: found[0][name] for name in expected} == expected
    assert (found[0]["text"], found[1]["file"]) == ("8 events, 8 changes", "run.html")
    assert logged("run", "p.py:price", "ticks.csv", "-q") == []


def test_changes_stay_on_standard_output(there: Path) -> None:
    said = call("run", "p.py:price", "ticks.csv", "--log", "json").stdout
    assert said == call("run", "p.py:price", "ticks.csv").stdout == call("run", "p.py:price", "ticks.csv", "--log", "text").stdout
    assert said.startswith("+ [1, forever) price=10.0\n")


def test_late_rows_are_told_with_their_fields(there: Path) -> None:
    write("in.csv", "le,price,change\n9,1.0,0\n1,2.0,1\n2,inf,2\n")
    options = ("--lateness", "0", "--late", "report", "--batch", "1", "--key", "change", "--window", "5")
    late = [line for line in logged("run", "p.py:price", "in.csv", *options) if line["event"] == "late"]
    assert [(line["key"], line["le"], line["re"], line["diff"], line["row"]["price"]) for line in late] == [
        (1.0, 1, 6, 1, 2.0), (2.0, 2, 7, 1, "inf"),
    ]  # fmt: skip
    assert late[0]["text"].startswith("late: Change(")


def test_progress_is_a_line_now_and_then(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "progress" not in {line["event"] for line in logged("run", "p.py:price", "ticks.csv", "--batch", "3")}
    monkeypatch.setattr(screen, "EVERY", 0.0)
    found = [line for line in logged("run", "p.py:price", "ticks.csv", "--batch", "3") if line["event"] == "progress"]
    assert [(line["events"], line["matches_inserted"]) for line in found] == [(3, 3), (6, 6), (8, 8)]
    assert logged("run", "p.py:price", "ticks.csv", "--batch", "3", "-q") == []
    assert "progress" not in call("run", "p.py:price", "ticks.csv", "--batch", "3").stderr


def test_what_is_wrong(there: Path) -> None:
    write("odd.csv", "le,price,change\n1,1,x\n")
    for arguments in (("p.py:price", "none.csv"), ("p.py:price", "odd.csv"), ("p.py:every", "ticks.csv", "--vary", "x=1,2")):
        (line,) = logged("run", *arguments, status=1)
        assert (line["level"], line["event"], line["text"]) == ("error", "fault", fails("run", *arguments))
    write("zero.csv", "le,price,change\n1,0,1\n")
    (line,) = logged("run", "p.py:divides", "zero.csv", status=1)
    assert "ZeroDivisionError" in line["text"]


def test_what_nobody_thought_of_has_a_traceback(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_oddly(*_: Any) -> None:
        raise LookupError("odd")

    monkeypatch.setattr(run_module, "check_threads", fails_oddly)
    (line,) = logged("run", "p.py:price", "ticks.csv", status=1)
    assert (line["event"], line["text"], "in fails_oddly" in line["traceback"]) == ("fault", "LookupError: odd", True)


def test_warnings_and_loggers(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(made: Any) -> None:
        warnings.warn("look out", UserWarning, stacklevel=1)
        logging.getLogger("afa.arclog").warning("lines %d", 7)
        logging.getLogger("afa.arclog").info("no more")
        try:
            raise ValueError("x")
        except ValueError:
            logging.getLogger("other").exception("it failed")

    monkeypatch.setattr(run_module, "check_threads", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        found = logged("run", "p.py:price", "ticks.csv", "-q")
    assert events(found) == [("warning", "log"), ("warning", "log"), ("error", "log")]
    assert "UserWarning: look out" in found[0]["text"]
    assert [line["logger"] for line in found] == ["py.warnings", "afa.arclog", "other"]
    assert (found[1]["text"], "ValueError: x" in found[2]["traceback"]) == ("lines 7", True)
    assert LINES not in logging.getLogger().handlers


def test_old_names_sweeps_and_statements(there: Path) -> None:
    found = logged("run", "p.py:price", "ticks.csv", "--le", "le", "-q")
    assert (events(found), found[0]["text"]) == ([("warning", "renamed")], "--le is now --time; the old name goes on working")
    Path("p.py").write_text(Path("p.py").read_text() + "\ndef made(x: float) -> Automaton:\n    return price\n")
    found = logged("run", "p.py:made", "ticks.csv", "--vary", "x=1,2")
    assert (events(found), found[0]["variants"], found[0]["rows"]) == ([("info", "summary")], 2, 8)
    pytest.importorskip("duckdb", reason='the extra `duckdb` is not installed: pip install "afa[duckdb]"')
    write("count.sql", "SELECT count(*) AS n FROM ticks")
    (line,) = logged("run", "count.sql", "--input", "ticks=ticks.csv")
    assert (line["event"], line["rows"]) == ("summary", 1)


def test_nothing_found_and_arcs_that_are_followed(there: Path) -> None:
    write("none.csv", "le,price,change\n1,1,1\n2,3,1\n")
    found = logged("run", "p.py:two_vees", "none.csv", "--window", "5", "--arcs", "rules")
    assert events(found) == [("info", "arcs"), ("info", "summary"), ("info", "no match")]


def test_a_process_that_is_interrupted(there: Path) -> None:
    started = process("run", "p.py:price", "-", "--format", "csv", "--log", "json", stdin=-1)
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write(TICKS)
    started.stdin.flush()
    assert started.stdout.readline().startswith("+ [1, ")
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=20)
    assert (events(told(said)), started.returncode) == ([("warning", "interrupted")], 130)


def test_what_a_state_tells(there: Path) -> None:
    options = ("--lateness", "1", "--late", "drop", "--window", "10", "--state", "s", "--output", "o.jsonl")
    found = logged("run", "p.py:price", "ticks.csv", *options)
    kept = [line for line in found if line["event"] == "snapshot"]
    assert len(kept) == 2
    assert all(line["bytes"] > 100 and line["seconds"] > 0 for line in kept)
    assert kept[-1]["rows"] == found[-1]["events"]
    assert found[-1]["event"] == "summary"
    assert [line["event"] for line in told(call("run", "p.py:price", "ticks.csv", *options, "--log", "json").stderr)] == [
        "finished"
    ]
