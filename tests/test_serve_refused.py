"""Changes of the live page that fail half-way: the operator and the log are as they were, and the page says why."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import AfaError, ArcLog, Keyed
from afa.extra.live.site import Site
from tests.test_serve import FALLS, NONE, SWAP, TEXT, Net, Tick, ask, live, rows

RAISES = {"do": "swap", "name": "turn", "fence": "change // (change - change) > 0", "at": "0"}
LATE = {"do": "swap", "name": "turn", "fence": "change > 0", "at": "5"}


def written(folder: Path) -> list[Path]:
    """The files of lines; not what the job says of itself."""
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def begun(folder: Path) -> Any:
    op = Keyed(FALLS, key="key", window=30, late="drop")
    page = live(op, folder, Net())
    for table in rows(1, 40):
        page.push([table], 5)
    page.push([afa.Punctuation(20)])
    return op, page


@pytest.mark.parametrize(("data", "said"), [({**RAISES, "at": "20"}, "integer division"), (LATE, "expected at >= the promise")])
def test_what_the_operator_refuses_is_not_in_the_log(data: dict[str, Any], said: str, tmp_path: Path) -> None:
    op, page = begun(tmp_path)
    before = op.snapshot()
    with pytest.raises((ArithmeticError, AfaError), match=said):
        page.change(data)
    assert (op.snapshot(), written(tmp_path)) == (before, [])
    page.poll()
    page.push([next(rows(2, 5))], 5)
    assert page.change({**SWAP, "at": None}).startswith("swapped")
    assert len(written(tmp_path)) == 1


def test_what_raises_is_answered_in_words(tmp_path: Path) -> None:
    _, page = begun(tmp_path)
    with Site(page) as site:
        status, found = ask(site, "POST", "/change", {**RAISES, "at": "20"}, Authorization=f"Bearer {site.token}")
        assert (status, found["error"].split(":")[0]) == (422, "ZeroDivisionError")
        assert "ZeroDivisionError" in ask(site)[1]["notes"][-1]["text"]


def test_a_log_that_can_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    op, page = begun(tmp_path)
    before = op.snapshot()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(AfaError, match=r"expected the folder of an arc log, to write a line, but .*: No space left"):
            page.change(SWAP)
    assert (op.snapshot(), written(tmp_path)) == (before, [])
    page.change(SWAP)


def test_a_line_is_taken_back_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ArcLog(tmp_path, FALLS)
    log.swap("turn", fence="change > 5")
    log.swap("turn", fence="change > 6")
    log.take_back()
    log.take_back()
    assert [("> 5" in file.read_text()) for file in tmp_path.iterdir()] == [True]

    def kept(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    log.swap("turn", fence="change > 7")
    monkeypatch.setattr(Path, "unlink", kept)
    with pytest.raises(AfaError, match=r"expected to take a line back but .* can't be removed: Permission denied"):
        log.take_back()


@pytest.mark.parametrize(
    ("at", "said"), [(None, "expected no arc that comes into force later"), ("50", "expected one arc named"), ("100", None)]
)
def test_a_query_is_not_swapped_beside_an_arc_that_is_to_come(at: str | None, said: str | None, tmp_path: Path) -> None:
    query = afa.query(TEXT, event=Tick)
    page = live(query.operator(), tmp_path, Net(), query)
    page.push([next(rows(1, 5))], 5)
    page.change({"do": "swap", "name": page.picture().arcs[-1]["name"], "fence": "e.change > 7", "at": "100"})
    change = {"do": "query", "text": TEXT.replace("-2", "-5"), "at": at}
    if said is None:
        page.change(change)
        assert not any("> 7" in arc["fence"] for arc in page.picture().arcs)
        return
    drawn = page.picture()
    with pytest.raises(AfaError, match=said):
        page.change(change)
    assert (page.picture(), page.about()["query"]) == (drawn, TEXT)


def test_output_that_can_not_be_shown_is_taken_all_the_same(tmp_path: Path) -> None:
    page = live(Keyed(FALLS, key="key", window=30), tmp_path, Net())

    def texts(part: Any) -> Any:
        raise ValueError("year 10000 is out of range")

    page._texts = texts
    page.push([{**NONE, "key": ["a"] * 2, "change": [-3, 1], "le": [10, 11], "diff": [1, 1]}], 2)
    assert (page.rows, page.matches) == (2, 1)
    assert "year 10000" in page.board.since(0)["notes"][-1]["text"]


def test_the_length_is_what_is_sent(tmp_path: Path) -> None:
    with Site(live(Keyed(FALLS, key="key", window=30), tmp_path, Net())) as site:
        told = {"Authorization": f"Bearer {site.token}", "Transfer_Encoding": "chunked"}
        assert ask(site, "POST", "/change", b"0\r\n\r\n", **told)[0] == 413
        assert ask(site, path="/page.js", Host=f"127.0.0.1:{site.port}/other?")[0] == 200


def test_lifetimes_are_told_as_times(tmp_path: Path) -> None:
    page = live(Keyed(FALLS, key="key", window=30, tick="ms"), tmp_path, Net(), tick="ms")
    page.change({**SWAP, "at": "1372636800000"})
    drawn = page.picture()
    assert [arc["life"] for arc in drawn.arcs if arc["name"] == "turn"] == ["until 2013-07-01", "from 2013-07-01"]
    assert re.search("until 2013-07-01", drawn.svg)
