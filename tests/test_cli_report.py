"""``afa run --report``: the page has the numbers of the summary; nothing else changes that is not asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli import call, fails
from tests.cli import there as there  # the fixture of all tests here
from tests.test_cli_reasons import PATTERN, WITHDRAWN, pays  # noqa: F401


def data_of(file: str) -> dict:  # type: ignore[type-arg]
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', Path(file).read_text("utf-8"), re.S)
    found: dict = json.loads(text)  # type: ignore[type-arg]
    return found


def test_rows_are_taken_one_by_one(pays: str) -> None:  # noqa: F811
    done = call("run", "p.py:pattern", pays, "--report", "out.html")
    assert [line[0] for line in done.stdout.splitlines()] == ["+", "-"]
    assert "out.html shows the run" in done.stderr
    assert "because" not in done.stdout
    data = data_of("out.html")
    assert (data["counts"]["announced"], data["counts"]["withdrawn"], data["counts"]["events"]) == (1, 1, 3)
    assert data["matches"][0]["whyGone"]["text"] == WITHDRAWN
    assert data["matches"][0]["text"] == "first=14:00:00"
    assert data["time"]["zone"] == "UTC"
    assert data["title"] == f"p.py:pattern {pays}"


def test_in_batches_and_with_reasons(pays: str) -> None:  # noqa: F811
    call("run", "p.py:pattern", pays, "--report", "out.html", "--batch", "3", "--reasons", "--output", "o.parquet")
    assert data_of("out.html")["counts"]["announced"] == 0
    done = call("run", "p.py:pattern", pays, "--report", "out.html", "--reasons", "--quiet")
    assert done.stdout.count("Withdrawn: ") == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--report", "no/where.html"), "can't write no/where.html: there is no folder no"),
        (("--report", "out.html", "--having", "count(a) > 0"), "--report can't be combined with --having because"),
        (("--report", "out.html", "--vary", "n=1:2:1"), "--vary can't be combined with --report because"),
    ],
)
def test_what_is_refused(pays: str, options: tuple[str, ...], text: str) -> None:  # noqa: F811
    pattern = "p.py:declined" if "--vary" in options else "p.py:pattern"
    wrong = call("run", pattern, pays, "--report", "out.txt", status=2).stderr
    assert "expected a name that ends in .html but got 'out.txt'" in wrong
    assert text in " ".join(fails("run", pattern, pays, *options).split())
