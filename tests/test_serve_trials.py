"""Constants tried on the live page: what another value would find in the rows so far, beside the input, within bounds."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Punctuation
from afa.extra.live import trials as tried
from afa.extra.live.site import Site
from afa.extra.live.trials import Trials
from afa.io import seen_rows
from afa.io.seen_rows import PARTS, SeenRows
from afa.operator.options import Options
from tests.test_serve import TEXT, Net, Served, Tick, ask, live, rows

SQL = """SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY le MEASURES SUM(fall.change) AS total AFTER MATCH SKIP PAST LAST ROW
    PATTERN (fall+ up) WITHIN 30 DEFINE fall AS change < 0, up AS change > 0 AND SUM(fall.change) < -2
)"""
ANY = "PATTERN SEQ(Tick+ a[], Tick b) WHERE skip_till_any_match(a[], b) { b.change > 7 } WITHIN 100000 RETURN count(a[]) AS total"
TRY = {"do": "try", "constant": 1, "written": "-2", "values": "-5:-1"}


def query_of(text: str) -> Any:
    return afa.sql(text, event=Tick) if "MATCH_RECOGNIZE" in text else afa.query(text, event=Tick)


def page_of(folder: Path, text: str = TEXT, trials: Trials | None = None) -> Any:
    query = query_of(text)
    found = live(query.operator(late="drop"), folder, Net(), query, trials=Trials(Options()) if trials is None else trials)
    found._steering.text = text
    return found


def inputs(seed: int, promises: bool = True, ties: bool = True) -> Iterator[list[Any]]:
    """Tables, late rows and retractions among them, and promises; without ``ties`` two rows of a key have two times."""
    rng, latest, there = random.Random(seed), 0, dict[Any, int]()

    def alone(key: str, change: int, le: int, diff: int) -> bool:
        free = (key, le) not in there
        if diff > 0 and free:
            there[key, le] = change
        return free if diff > 0 else there.get((key, le)) == change and there.pop((key, le)) == change

    for table in rows(seed, 300):
        latest = max(latest, *table["le"])
        kept = [ties or alone(*row) for row in zip(*table.values())]
        yield [pa.table(table).filter(pa.array(kept)), *([Punctuation(latest - 4)] if promises and rng.random() < 0.5 else [])]


def place_of(text: str, written: str) -> int:
    return [each.written for each in tried.constants_of(text)].index(written)


@pytest.mark.parametrize("promises", [True, False])
@pytest.mark.parametrize("text", [TEXT, SQL])
def test_a_trial_finds_what_an_operator_of_the_changed_text_has_found(text: str, promises: bool, tmp_path: Path) -> None:
    page, values = page_of(tmp_path, text), [-2, -5, -4, -3, -1, 0.5]
    others = [(query_of(text.replace("-2", str(value))).operator(late="drop"), Net()) for value in values]
    told, late = set(), False
    for i, items in enumerate(inputs(7, promises, text is TEXT)):
        page.push(items, 5)
        for operator, net in others:
            for part in operator.push_many(items):
                if not isinstance(part, Punctuation):
                    net.take(part)
        if i % 20 == 19:
            found = page.change({**TRY, "constant": place_of(text, "-2"), "values": ", ".join(map(str, values[1:]))})
            assert [each["written"] for each in found["tried"]] == [str(value) for value in values]
            assert [each["matches"] for each in found["tried"]] == [sum(net.left.values()) for _, net in others]
            told.add(tuple(each["matches"] for each in found["tried"]))
            late = late or "those of all" in found["said"]
    assert len(told) == 3
    assert late
    assert (others[0][0].statistics.late > 5) is promises
    assert page.board.since(0)["notes"] == []
    assert page.about()["query"] == text


def test_the_page_offers_the_constants_of_the_query_as_it_is(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert "try" in page.about()["controls"]
    assert [each["written"] for each in page.about()["constants"]] == ["0", "-2", "0", "30"]
    page.push([pa.table(next(rows(1, 5)))], 5)
    page.change({"do": "query", "text": TEXT.replace("-2", "-5")})
    assert page.about()["constants"][1]["written"] == "-5"
    with pytest.raises(AfaError, match=r"expected a constant of the query as it is now but got constant=1, written='-2'"):
        page.change(TRY)
    assert page.change({**TRY, "written": "-5"})["tried"][0]["written"] == "-5"
    without = live(query_of(TEXT).operator(), tmp_path / "other", Net(), query_of(TEXT))
    assert ("try" in without.about()["controls"], without.about()["constants"]) == (False, [])
    with pytest.raises(AfaError, match="expected a job whose query is text, to try its constants"):
        without.change(TRY)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no constant": ({"constant": 9}, "expected a constant of the query"),
    "a name": ({"constant": "1"}, "expected a constant of the query"),
    "behind the first": ({"constant": -3}, "expected a constant of the query"),
    "true": ({"constant": True}, "expected a constant of the query"),
    "no values": ({"values": " "}, "expected low:high:step or a,b,c"),
    "a number": ({"values": 3}, "expected low:high:step or a,b,c"),
    "too long": ({"values": "9" * 201}, "in at most 200 characters"),
    "a gap": ({"values": "1,,2"}, "expected values between the commas but got values='1,,2'"),
    "a step the wrong way": ({"values": "1:3:-1"}, "expected a step that leads from low to high"),
    "too many": ({"values": "1:26"}, "expected at most 25 values but got 26"),
    "far too many": ({"values": "1:999999999:0.0001"}, "expected at most 10,000 variants"),
    "text": ({"values": "1,'); DROP"}, "expected numbers but got"),
    "a truth": ({"values": "true"}, "expected numbers but got True"),
    "no end": ({"values": "inf"}, "expected numbers but got inf"),
    "none": ({"values": "1,nan"}, "expected numbers but got nan"),
    "beyond int64": ({"values": "9" * 30}, "int64"),
    "no window": ({"constant": 3, "written": "30", "values": "-3"}, "expected"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_in_words(case: str, tmp_path: Path) -> None:
    given, said = REFUSED[case]
    page = page_of(tmp_path)
    with pytest.raises(AfaError, match="expected some rows to try a constant over but got none yet"):
        page.change(TRY)
    page.push([pa.table(next(rows(1, 5)))], 5)
    with pytest.raises(AfaError, match=re.escape(said)):
        page.change({**TRY, **given})
    assert len(page.change(TRY)["tried"]) == 5  # the next one is carried out


def test_what_lanes_leave_or_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(tmp_path, ANY)
    page._operator = query_of(TEXT).operator()  # which takes as many rows in no time
    many = 3000
    page.push([pa.table({"key": ["a"] * many, "change": [1] * many, "le": np.arange(many), "diff": [1] * many})], many)
    ask_any = {"do": "try", "constant": 0, "written": "7", "values": "6"}
    with pytest.raises(AfaError, match=r"expected a query that can be tried beside the input but .* lanes have left 1 keys"):
        page.change(ask_any)
    monkeypatch.setattr(tried, "SECONDS", 0)
    with pytest.raises(AfaError, match="it takes more than 0 s"):
        page.change(ask_any)


def test_one_at_a_time_while_the_input_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, begun, go_on, found = page_of(tmp_path), threading.Event(), threading.Event(), []
    tables = [pa.table(table) for table in rows(3, 40)]
    page.push([tables[0]], 5)
    real = tried.swept

    def slow(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return real(*args)

    monkeypatch.setattr(tried, "swept", slow)
    first = threading.Thread(target=lambda: found.append(page.change(TRY)))
    first.start()
    assert begun.wait(20)
    for table in tables[1:]:
        page.push([table], 5)
    assert page.rows == 40
    with pytest.raises(AfaError, match="expected one trial at a time but got another one"):
        page.change(TRY)
    go_on.set()
    first.join(20)
    assert "those of all 5 rows so far" in found[0]["said"]
    assert "those of all 40 rows so far" in page.change(TRY)["said"]


def test_rows_are_sorted_once_until_others_come(tmp_path: Path) -> None:
    trials = Trials(Options())
    page = page_of(tmp_path, trials=trials)
    held = []
    for table in rows(3, 15):
        page.push([pa.table(table)], 5)
        for _ in range(2):
            page.change(TRY)
            assert trials._held is not None
            held.append(trials._held[1])
    assert [held[i] is held[i + 1] for i in range(5)] == [True, False, True, False, True]


def test_a_trial_wants_the_token(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    page.push([pa.table(next(rows(1, 5)))], 5)
    with Site(page) as site:
        assert ask(site, "POST", "/change", TRY)[0] == 401
        told = {"Authorization": f"Bearer {site.token}"}
        assert ask(site, "POST", "/change", TRY, **told, Origin="https://evil.example")[0] == 403
        status, found = ask(site, "POST", "/change", TRY, **told)
        assert (status, [each["written"] for each in found["tried"]]) == (200, ["-2", "-5", "-4", "-3", "-1"])
        status, found = ask(site, "POST", "/change", {**TRY, "values": "x"}, **told)
        assert (status, "expected numbers" in found["error"]) == (422, True)


@pytest.mark.parametrize("text", [False, True])
def test_the_last_rows_are_held_in_the_room_that_there_is(text: bool) -> None:
    most, seen = 40_000, SeenRows(40_000, lambda columns: 10 * columns)
    for i in range(3 * PARTS):
        part = {"le": np.arange(5 * i, 5 * i + 5), "word": ["x" * (50 if text else 1)] * 5}
        seen.take([pa.table(part)])
        now = seen.now()
        assert now.came == 5 * (i + 1)
        assert max(20 * now.kept, sum(each.nbytes for each in now.parts)) <= most
        assert len(now.parts) < 2 * PARTS
        table = now.net()
        assert table["le"].to_pylist() == list(range(now.came - now.kept, now.came))
    assert now.kept > (300 if text else 1000)


def test_a_trial_says_over_which_rows_it_speaks(tmp_path: Path) -> None:
    trials = Trials(Options())
    trials.seen = SeenRows(4_000, lambda columns: 18 * columns + 64)
    page = page_of(tmp_path, trials=trials)
    for table in rows(3, 100):
        page.push([pa.table(table)], 5)
    found = page.change(TRY)["said"]
    counts = re.fullmatch(r"\d+ matches as it is, in (\d+) events, those of the last (\d+) of 100 rows; .* s", found)
    assert counts is not None
    assert 0 < int(counts[1]) <= int(counts[2]) <= 4_000 // (18 * 4 + 64)


def test_rows_that_make_no_table_end_trials_and_not_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_rows, "PARTS", 2)
    page = page_of(tmp_path)
    first = pa.table(next(rows(1, 5)))
    page.push([first], 5)
    page.push([first.append_column("more", pa.array([1] * 5))], 5)
    page.push([first], 5)
    assert page.rows == 15
    assert page.board.since(0)["notes"][-1]["text"].startswith("Constants can't be tried from here on: ")
    assert "try" not in page.about()["controls"]


def test_copies_of_an_event_are_bounded() -> None:
    seen = SeenRows(10_000, lambda columns: 10 * columns)
    seen.take([pa.table({"le": [1, 2], "diff": [3, 10**12]})])
    with pytest.raises(AfaError, match="expected at most 500 events but got 1,000,000,000,003"):
        seen.now().net()
    seen.take([pa.table({"le": [2, 7], "diff": [-(10**12), -1]})])
    assert seen.now().net()["le"].to_pylist() == [1, 1, 1]


def test_afa_serve_tries_constants_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "deep.sase").write_text(
        "PATTERN SEQ(Event a, Event b) WHERE skip_till_next_match(a, b) { a.change < 0 and b.change > 0 } WITHIN 5"
    )
    (tmp_path / "in.csv").write_text("le,change\n" + "".join(f"{le},{(-1) ** le * (le % 7)}\n" for le in range(1, 60)))
    with Served(tmp_path, "in.csv", "--speed", "max", "--lateness", "2", pattern="deep.sase") as served:
        found = served.until(lambda told: told["status"] == "ended")
        assert [each["written"] for each in found["about"]["constants"]] == ["0", "0", "5"]
        status, said = served.change(do="try", constant=1, written="0", values="1:3")
        assert status == 200, said
        counts = [each["matches"] for each in said["tried"]]
        found = served.until(lambda told: told["samples"][-1]["rows"] == 59)
        assert counts[0] == found["samples"][-1]["matches"] - found["samples"][-1]["withdrawn"]
        assert counts == sorted(counts, reverse=True)
        assert counts[-1] < counts[0]
        assert "59 events, those of all 59 rows so far" in said["said"]
