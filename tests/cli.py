"""Calling the command line in tests: patterns, an input, and the ways to call and to fail."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from afa.cli.main import app

ROOT = Path(__file__).parent.parent
PATTERNS = (ROOT / "tests/two_vees.py").read_text("utf-8")
PATTERNS += """

from typing import Any


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
noted = Automaton(
    start="high",
    final={"low"},
    register=NamedTuple("Noted", [("low", float), ("note", str | None)])(0.0, None),
    event=Reading,
    arcs=[
        Arc("high", "armed", lambda e, r: e.value > 1),
        Arc("armed", "low", lambda e, r: e.value <= 1, lambda e, r: r._replace(low=e.value, note=e.note)),
    ],
)
quiet = Automaton(
    start="a", final={"out"}, event=Tick, arcs=[Arc("a", "b", lambda e, r: True), Arc.timeout("b", "out", at=lambda r: 9)]
)
inverse = Automaton(start="a", final={"b"}, event=Reading, arcs=[Arc("a", "b", lambda e, r: 1 / e.value > 0)])
patient = Automaton(
    start="a",
    final={"out"},
    register=Vees(),
    event=Tick,
    arcs=[
        Arc("a", "b", lambda e, r: e.price % 4 == 0, lambda e, r: r._replace(balance=1000 * round(e.price))),
        Arc("b", "b", lambda e, r: e.change < 0),
        Arc.timeout("b", "out", at=lambda r: r.balance + 1500),
    ],
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


def on_a_terminal(*arguments: str) -> tuple[str, str]:
    """What a process writes to standard output, and what a terminal shows of its standard error."""
    ours, its = pty.openpty()
    started = process(*arguments, stderr=its, env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"})
    out, _ = started.communicate()
    os.close(its)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert started.returncode == 0, shown
    return out, shown


def process(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([sys.executable, "-W", "error", "-m", "afa.cli", *arguments], **{**pipes, **options})
