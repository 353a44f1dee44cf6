"""`afa show`, `afa` itself, and both as processes: status, streams, a reader that goes away."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli import call, fails, process, write
from tests.cli import there as there  # the fixture of all tests here


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


def test_show_draws_into_files() -> None:
    shown = call("show", "p.py:two_vees", "--svg", "a.svg", "--html", "a.html", "--dot", "a.dot", "--labels", "names")
    assert shown.stdout == ""
    assert shown.stderr == "wrote a.svg\nwrote a.html\nwrote a.dot\n"
    drawn, page, dot = (Path(name).read_text("utf-8") for name in ("a.svg", "a.html", "a.dot"))
    assert drawn.startswith('<svg class="afa"')
    assert drawn.strip() in page
    assert 's0 -> s1 [label="change below -0.25\\l"]' in dot
    for text in (drawn, page):
        assert not re.search(r"""(?:src|href)=|url\(|@import|<script""", text.replace("data-src=", ""))
    names = call("show", "p.py:two_vees", "--mermaid", "--labels", "names").stdout
    assert '    s0 -->|"change below -0.25"| s1' in names


def test_show_draws_into_no_folder_that_is_not_there() -> None:
    assert fails("show", "p.py:two_vees", "--svg", "none/a.svg") == "none/a.svg: No such file or directory"


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
