"""The trace of a run and its page: the numbers are the operator's; in a browser, what is drawn, chosen and told."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from afa.explain.tracing.recorder import Trace
from afa.language import one
from tests.browser import Browser, browser_there


class Pay(NamedTuple):
    card: str
    kind: str


HOSTILE = "</script><script>document.title='taken'</script>\u2028<!--&quot;'\""
DECLINED = afa.query(
    one("a", lambda e: e.kind == "declined").next(one("b", lambda e: e.kind == "declined")).by("card").within(20),
    event=Pay,
)
LATE = [("c1", "declined", 1), ("c1", "declined", 9), ("c2", "declined", 4), ("c1", "approved", 5), ("c1", "declined", 7)]


def rows(items: Any) -> list[Any]:
    return [insert(Pay(card, kind), le) for card, kind, le in items]


def data_of(page: str) -> Any:
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(text)


def drawn(seed: int, n: int) -> list[Any]:
    """Events of three cards over few instants, some late, some retracted; a promise now and then."""
    choose = random.Random(seed)
    items: list[Any] = []
    there: list[Change] = []
    promised = 0
    for i in range(n):
        if there and choose.random() < 0.2:
            items.append(there.pop(choose.randrange(len(there)))._replace(diff=-1))
            continue
        le = max(promised, i // 2 - choose.choice([0, 0, 0, 1, 5]))
        items.append(insert(Pay(choose.choice(["c1", "c2", "c3"]), choose.choice(["declined", "approved"])), le))
        there.append(items[-1])
        if choose.random() < 0.1:
            promised = max(promised, le - 8)
            items.append(Punctuation(promised))
            there = [event for event in there if event.le >= promised]
    return items


@pytest.mark.parametrize("seed", range(4))
def test_the_page_has_the_numbers_of_the_operator(seed: int) -> None:
    items = drawn(seed, 120)
    run = afa.trace(DECLINED, items)
    plain = DECLINED.operator()
    out = [change for change in plain.push_many(items, net=False) if isinstance(change, Change)]
    data = data_of(run.html(title="declined"))
    counts, statistics = data["counts"], plain.statistics
    assert (
        (counts["announced"], counts["withdrawn"]) == (statistics.outputs, statistics.retractions) == (run.announced, run.withdrawn)
    )
    assert counts["events"] == counts["shown"] == sum(isinstance(item, Change) for item in items)
    base = int(data["time"]["base"])
    told = Counter((data["events"]["keys"][m["key"]], m["le"] + base, m["re"] + base) for m in data["matches"])
    assert told == Counter((c.key, c.le, c.re) for c in out if c.diff > 0)
    left = [m for m in data["matches"] if m["gone"] is None]
    assert len(left) == counts["announced"] - counts["withdrawn"]
    assert counts["final"] == sum(m["le"] + base < plain._core.progress.final for m in left)
    events = data["events"]
    for match in data["matches"]:
        assert match["path"]
        assert all(events["key"][e] == match["key"] for _, e in match["path"])
        assert match["states"][0] == "start"
        assert len(match["states"]) == len(match["path"]) + 1
        if match["gone"] is not None:
            by = match["whyGone"]["event"]
            assert events["arrival"][by] == match["gone"]
            assert match["whyGone"]["text"].startswith("Withdrawn: ")
    assert len(data["promises"]) == sum(isinstance(item, Punctuation) for item in items)
    for promise in data["promises"]:
        if promise["cover"] is not None:
            assert events["le"][promise["cover"]] < promise["t"]


def test_spans_are_the_partial_matches_that_are_held() -> None:
    automaton = Automaton(
        start="0",
        final={"2"},
        event=Pay,
        arcs=[Arc("0", "1", "kind == 'a'"), Arc("1", "1", "kind == 'x'"), Arc("1", "2", "kind == 'b'")],
    )
    run = afa.trace(automaton, [insert(Pay("c", kind), le) for kind, le in [("a", 1), ("x", 3), ("b", 6), ("a", 8)]], window=50)
    data = data_of(run.html())
    states = data["threads"]["states"]
    spans = [(s[1], states[s[2]], s[3], s[4], s[5]) for s in data["threads"]["spans"]]
    assert spans == [(0, "1", 0, 2, 0), (0, "2", 5, 5, 0), (7, "1", 7, 7, 1)]
    assert data["matches"][0]["states"] == ["0", "1", "2"]


def test_what_is_kept_is_bounded_and_told() -> None:
    items = drawn(1, 120)
    run = Trace(DECLINED.operator(lineage=True), most=10, matches=2)
    run.push_many(items, net=False)
    data = data_of(run.html())
    assert (data["counts"]["shown"], data["counts"]["kept"], len(data["matches"])) == (10, 2, 2)
    assert data["counts"]["announced"] == run.announced > 2
    assert data["events"]["kept"] == 10


def test_what_comes_is_refused() -> None:
    with pytest.raises(AfaError, match="expected a query, an automaton or an operator but got 3"):
        afa.trace(3, [])
    with pytest.raises(AfaError, match="expected the pattern's own key='card' but got key='kind'"):
        afa.trace(DECLINED, [], key="kind")
    with pytest.raises(AfaError, match="expected options of a pattern only but got window beside an operator"):
        afa.trace(DECLINED.operator(), [], window=3)
    with pytest.raises(AfaError, match="expected a number, at least 0, but got most=-1"):
        afa.trace(DECLINED, [], most=-1)


def test_all_forms() -> None:
    automaton = Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", lambda e, r: e == "a")])
    assert data_of(afa.trace(automaton, [insert("a", 2**62), retract("a", 2**62)]).html())["counts"]["withdrawn"] == 1
    waits = Automaton(start="0", final={"2"}, event=Pay, arcs=[Arc("0", "1", "kind == 'a'"), Arc.timeout("1", "2", at=lambda r: 5)])
    silent = data_of(afa.trace(waits, [insert(Pay("c", "a"), 1), Punctuation(9)], window=20).html())
    assert silent["matches"][0]["states"] == ["0", "1", "2"]
    assert silent["matches"][0]["why"]["kind"] == "promise"
    for operator in (Operator(DECLINED.automaton, window=20), Keyed(DECLINED.automaton, key="card", window=20)):
        assert afa.trace(operator, rows(LATE)).announced > 0
    empty = data_of(afa.trace(DECLINED, []).html())
    assert (empty["matches"], empty["events"]["le"]) == ([], [])
    assert "iframe" in afa.trace(DECLINED, [])._repr_html_()
    run = afa.trace(DECLINED, rows(LATE), net=True)
    assert run.withdrawn == 0


def test_values_of_the_input_end_no_script() -> None:
    page = afa.trace(DECLINED, rows([(HOSTILE, "declined", 1), (HOSTILE, "declined", 2), (HOSTILE, HOSTILE, 3)])).html(
        title=HOSTILE
    )
    assert page.count("<script") == page.count("</script>") == 3
    assert data_of(page)["events"]["keys"][0].startswith("</script>")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)


# -- in a browser ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with Browser() as found:
        yield found


def shown(window: Browser, run: Trace, where: Path, title: str = "declined") -> Any:
    run.html(where / "run.html", title=title)
    window.open("about:blank")
    window.open(where / "run.html")
    window.wait("return document.body.dataset.ready === 'true'")
    assert window.errors() == []
    return window


@browser_there
def test_a_click_on_a_withdrawn_match_tells_why(window: Browser, tmp_path: Path) -> None:
    run = afa.trace(DECLINED, rows(LATE))
    assert [each.gone_because is not None for each in run.announcements] == [True, False]
    page = shown(window, run, tmp_path)
    counts = page.text("#counts")
    assert (
        " ".join(counts.split()) == "5 events 3 out of order 2 matches announced 1 withdrawn 1 in force at the end 0 of them final"
    )
    page.run("document.querySelector('#filters [data-filter=all]').click()")
    page.click("#matches button:not(.withdrawn)")
    assert "In force" in page.text("#details")
    page.click("#matches button.withdrawn")
    told = page.text("#details")
    assert "Withdrawn: 'approved, 5' arrived late and lies between two of its events, 'declined, 1' and 'declined, 9'." in told
    assert "In state 'a' no arc takes it: the partial match ends there." in told
    assert page.run("return location.hash") == "#match-0"
    framed = page.run("return [...document.querySelectorAll('.drawing .state.passed')].map((s) => s.dataset.state)")
    assert framed == ["start", "a", "F"]
    assert page.run("return document.querySelector('#arrivals').dataset.events") != "0"


@browser_there
def test_keys_and_filters(window: Browser, tmp_path: Path) -> None:
    run = afa.trace(DECLINED, drawn(2, 120))
    page = shown(window, run, tmp_path)
    page.click("#filters [data-filter=all]")
    listed = page.run("return document.querySelectorAll('#matches button').length")
    assert listed == len(run.announcements)
    assert page.run("return +document.querySelector('#arrivals').dataset.matches") == len(run.announcements)
    assert page.run("return +document.querySelector('#arrivals').dataset.events") == run.changes
    of_key = sum(each.change.key == "c1" for each in run.announcements)
    page.run(
        "const s = document.querySelector('#key'); s.value = [...s.options].findIndex((o) => o.text === 'c1') - 1;"
        "s.dispatchEvent(new Event('change'))"
    )
    assert page.run("return document.querySelectorAll('#matches button').length") == of_key
    before = page.text("#details")
    page.run("document.querySelector('#matches button').focus()")
    page.type("#matches button", "\ue015")  # arrow down
    assert page.text("#details") != before
    page.type("#arrivals", "+++")
    page.wait(f"return +document.querySelector('#arrivals').dataset.events < {run.changes}")
    page.run("const s = document.querySelector('#down'); s.value = 'late'; s.dispatchEvent(new Event('change'))")
    page.wait("return document.querySelector('#axes').textContent.includes('how far behind')")
    assert page.errors() == []


@browser_there
def test_hostile_values_and_large_times(window: Browser, tmp_path: Path) -> None:
    items = [(HOSTILE, "declined", 2**62 + 1), (HOSTILE, "declined", 2**62 + 3), (HOSTILE, HOSTILE, 2**62 + 2)]
    page = shown(window, afa.trace(DECLINED, rows(items)), tmp_path, title=HOSTILE)
    assert page.run("return document.title") != "taken"
    assert str(2**62 + 3) in page.text("#details")
    assert "<script>" in page.text("#details")


@browser_there
@pytest.mark.parametrize(("dark", "width"), [(False, 1360), (True, 900)])
def test_labels_lie_apart(tmp_path: Path, dark: bool, width: int) -> None:
    run = afa.trace(DECLINED, drawn(2, 34))
    with Browser(dark=dark, size=(width, 900)) as window:
        page = shown(window, run, tmp_path)
        labels = json.loads(page.run("return document.querySelector('#arrivals').dataset.labels"))
        right = page.run("return document.querySelector('#arrivals').getBoundingClientRect().width")
        paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(13, 17, 23)") is dark
    assert len(labels) > 5
    for i, (_, x0, y0, x1, y1) in enumerate(labels):
        assert 0 <= x0 < x1 <= right
        assert all(x1 <= a + 1 or c <= x0 + 1 or y1 <= b + 1 or d <= y0 + 1 for _, a, b, c, d in labels[i + 1 :])


@browser_there
def test_arcs_that_come_and_go(window: Browser, tmp_path: Path) -> None:
    pair = Automaton(
        start="0", final={"2"}, event=Pay, arcs=[Arc("0", "1", "kind == 'a'"), Arc("1", "2", "kind == 'b'", name="second")]
    )
    run = afa.trace(pair, [insert(Pay("c", "a"), 1), insert(Pay("c", "b"), 3)], window=9)
    (gone,) = run.swap("second", fence="kind == 'c'", at=2)
    assert gone.because.kind == "arc"
    page = shown(window, run, tmp_path)
    assert "Withdrawn: the arc 'second' was swapped from 2 on." in page.text("#details")
    assert "an arc was put in or taken out" in page.text("#legend")


@browser_there
def test_times_of_a_zone(window: Browser, tmp_path: Path) -> None:
    from datetime import datetime, timezone

    query = afa.query(
        one("a", lambda e: e.kind == "declined").next(one("b", lambda e: e.kind == "declined")).by("card").within("20 hours"),
        event=Pay,
        tick="ns",
    )
    run = Trace(query.operator(lineage=True), zone="Europe/Berlin")
    hours = [(30, 23, "declined"), (31, 2, "declined"), (31, 0, "approved")]  # at 1 o'clock UTC of the 31st summer time began
    run.push_many(
        [insert(Pay("c", kind), datetime(2024, 3, day, hour, tzinfo=timezone.utc)) for day, hour, kind in hours], net=False
    )
    page = shown(window, run, tmp_path)
    told = page.text("#details")
    assert (
        "'approved, 01:00:00' arrived late and lies between two of its events, 'declined, 00:00:00' and 'declined, 04:00:00'"
        in told
    )
    assert "from 2024-03-31 04:00:00 to 2024-03-31 21:00:00" in told
    assert [row.split()[-2] for row in told.splitlines() if row.endswith(("#1", "#2"))] == ["00:00:00", "04:00:00"]
    assert "(Europe/Berlin)" in page.text("#axes")


@browser_there
def test_many_events_are_drawn_quickly(window: Browser, tmp_path: Path) -> None:
    n = 12_000
    choose = random.Random(3)
    table = {
        "card": [f"c{choose.randrange(300)}" for _ in range(n)],
        "kind": [choose.choice(["declined", "approved", "approved"]) for _ in range(n)],
        "le": [i // 10 - choose.choice([0, 0, 0, 4]) for i in range(n)],
    }
    run = afa.trace(DECLINED, table)
    page = shown(window, run, tmp_path)
    assert f"{n:,} of {n:,} events shown, as density" in page.text("#shown")
    assert page.run("return +document.querySelector('#arrivals').dataset.milliseconds") < 1500
    page.click("#matches button")
    page.wait("return document.querySelector('#arrivals').dataset.single === 'true'")
    assert page.errors() == []


def test_a_title_that_is_no_text(tmp_path: Path) -> None:
    """Names of files may hold bytes that are no UTF-8."""
    run = Trace(DECLINED.operator(lineage=True))
    assert "<h1>pay\\udcff.jsonl</h1>" in run.html(tmp_path / "run.html", title="pay\udcff.jsonl")


def test_keys_and_fields_that_are_very_long() -> None:
    """The page tells the first letters of each, and stays small."""
    run = afa.trace(DECLINED, rows([("c" * 100_000, "declined", 1), ("c" * 100_000, "declined", 3)]))
    data = data_of(run.html())
    assert data["events"]["keys"] == ["c" * 78 + " .."]
    assert run.announced == 1
    assert len(json.dumps(data)) < 5_000


def test_a_copy_of_a_trace_has_its_history_and_goes_on_alone() -> None:
    run = afa.trace(DECLINED, rows(LATE[:3]))
    page = run.html()
    twin = copy.deepcopy(run)
    assert twin.html() == page
    twin.push_many(rows(LATE[3:]))
    assert (run.withdrawn, twin.withdrawn, run.html()) == (0, 1, page)
    run.push_many(rows(LATE[3:]))
    assert run.html() == twin.html()
