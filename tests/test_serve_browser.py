"""The live page in a real browser: numbers move, a swap made there changes the matches, what is wrong is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import Browser, browser_there
from tests.test_serve import Served

pytestmark = browser_there
NUMBER = "return Number(document.querySelector('[data-number={}]')?.dataset.value)"
SET = "const f = document.getElementById(arguments[0]); f.value = arguments[1]; f.dispatchEvent(new Event('change')); return true"


def number(page: Browser, name: str) -> float:
    found: float = page.run(NUMBER.format(name))
    return found


def moves(page: Browser, name: str, beyond: float) -> float:
    page.wait(f"{NUMBER.format(name)} > {beyond}", 30)
    return number(page, name)


def write_input(folder: Path) -> None:
    rows = "".join(f"{le},{-1 if le % 3 else 1}\n" for le in range(200_000))
    (folder / "in.csv").write_text(f"le,change\n{rows}")


@pytest.mark.parametrize(("dark", "size"), [(False, (1360, 1000)), (True, (500, 1400))])
def test_the_page_shows_and_steers(dark: bool, size: tuple[int, int], tmp_path: Path) -> None:
    write_input(tmp_path)
    options = ("--window", "5", "--lateness", "2", "--speed", "2000", "--arcs", "rules")
    with Served(tmp_path, "in.csv", *options) as served, Browser(dark, size) as page:
        page.open(served.url)
        rows = moves(page, "rows", 0)
        moves(page, "rows", rows)
        matches = moves(page, "matches", 0)
        matches = moves(page, "matches", matches)
        held = page.run(
            "return Object.fromEntries([...document.querySelectorAll('.state')].map(s => [s.dataset.state, s.dataset.held]))"
        )
        assert set(held) == {"a", "b", "c"}
        assert (held["a"], int(held["b"]) > 0) == ("0", True)
        assert page.run("return document.querySelectorAll('#changes tr.plus').length") > 10
        assert page.run("return document.querySelectorAll('.chart:not([hidden]) canvas').length") >= 5
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")  # nothing beside the page
        paper = page.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) < 200) is dark
        if dark:  # what it steers does not depend on colours
            return

        # a wrong expression is refused in words, and nothing changes
        page.run("document.querySelector('.arc[data-arc=up]').dispatchEvent(new Event('click'))")
        assert page.run("return document.getElementById('fence').value") == "change > 0"
        page.run(SET, "fence", "chang > 0")
        page.click("#swap")
        page.wait("return !document.getElementById('answer').hidden")
        said = page.text("#answer")
        assert "chang is no field of Tick" in said
        assert "did you mean 'change'?" in said

        # a swap made in the page changes the matches, and is written to the log
        page.run(SET, "fence", "change > 100")
        page.click("#swap")
        page.wait("return document.querySelector('.arc[data-arc=up] .label').textContent.includes('100')")
        assert len(list((tmp_path / "rules").glob("[0-9]*.json"))) == 1
        for _ in range(20):  # rows come, and no match
            still, rows = number(page, "matches"), number(page, "rows")
            moves(page, "rows", rows + 1500)
            if number(page, "matches") == still:
                break
        assert number(page, "matches") == still

        # an arc that is added in the page brings them back, in another state
        page.run("document.querySelector('[data-control=insert]').open = true")
        for field, text in {"new-name": "again", "new-src": "b", "new-dst": "c", "new-fence": "change > 0"}.items():
            page.run(SET, field, text)
        page.click("#insert-form button")
        page.wait("return document.querySelector('.arc[data-arc=again]') !== null")
        moves(page, "matches", number(page, "matches"))
        assert page.run("return document.querySelectorAll('#notes li.done').length") == 2

        # it stands still, and goes on
        page.click("#pause")
        page.wait("return document.getElementById('status').textContent === 'paused'")
        page.click("#pause")
        page.wait("return document.getElementById('status').textContent === 'playing'")
        errors = [error for error in page.errors() if "422" not in error]  # the refusal above
        assert errors == []
        assert served.end()[0] == 0
        page.wait("return document.getElementById('status').textContent === 'not reached'")


def test_a_constant_is_tried_and_put_into_the_query(tmp_path: Path) -> None:
    (tmp_path / "deep.sase").write_text(
        "# \U0001f4c9 signs that two words of UTF-16 hold stand before the constants\n"
        "PATTERN SEQ(Event+ fall[], Event up)\n"
        "WHERE strict_contiguity(fall[], up) { fall[i].change < 0 and sum(fall[].change) < -2 and up.change > 0 }\n"
        "WITHIN 20 RETURN sum(fall[].change) AS total\n",
        encoding="utf-8",
    )
    write_input(tmp_path)
    options = ("--speed", "3000", "--lateness", "2")
    with Served(tmp_path, "in.csv", *options, pattern="deep.sase") as served, Browser(size=(1360, 1400)) as page:
        page.open(served.url)
        moves(page, "rows", 3000)
        page.run("document.querySelector('[data-control=try]').open = true")
        named = page.run("return [...document.getElementById('constant').options].map(o => o.textContent)")
        assert named == [
            "0 in fall[i].change < 0",
            "-2 in sum(fall[].change) < -2",
            "0 in up.change > 0",
            "20 in WITHIN 20 RETURN sum(fall[].change) AS total",
        ]
        page.run(SET, "constant", "1")
        assert page.run("return document.getElementById('values').value") == "-4, -3, -2, -1, 0"
        page.click("#try")
        page.wait("return document.querySelectorAll('#tried tr').length === 5")
        cells = page.run("return [...document.querySelectorAll('#tried tr')].map(r => [...r.children].map(c => c.textContent))")
        assert [row[0] for row in cells] == ["-2", "-4", "-3", "-1", "0"]
        counts = {row[0]: int(row[1].replace(",", "")) for row in cells}
        assert counts["-4"] == counts["-3"] == counts["-2"] == 0 < counts["-1"] < counts["0"]
        assert [row[3] for row in cells] == ["as it is", *["Use it"] * 4]
        assert "events, those of all" in page.text("#answer")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        page.click("#tried tr:nth-child(4) button")  # -1
        text = page.run("return document.getElementById('query').value")
        assert text == (tmp_path / "deep.sase").read_text(encoding="utf-8").replace("-2", "-1")
        assert served.state()["about"]["query"] != text  # it is only tried
        page.click("#query-form button")
        page.wait("return document.querySelectorAll('#notes li.done').length === 1")
        assert served.state()["about"]["query"] == text
        page.wait("return document.getElementById('constant').options[1].textContent.startsWith('-1 in')")
        assert page.run("return document.querySelectorAll('#tried tr').length") == 0
        moves(page, "matches", number(page, "matches"))
        assert page.errors() == []


def test_without_the_token_it_only_shows(tmp_path: Path) -> None:
    write_input(tmp_path)
    with Served(tmp_path, "in.csv", "--window", "5", "--speed", "500") as served, Browser() as page:
        page.open(served.url.partition("#")[0])
        moves(page, "rows", 0)
        assert not page.run("return document.getElementById('read-only').hidden")
        assert page.run("return document.getElementById('fields').disabled && document.getElementById('pause').disabled")
        refused = page.run("""
            const answer = new XMLHttpRequest();
            answer.open("POST", "change", false);
            answer.setRequestHeader("Content-Type", "application/json");
            answer.send('{"do": "end", "name": "up"}');
            return [answer.status, JSON.parse(answer.responseText).error];
        """)
        assert refused[0] == 401
        assert "expected the token" in refused[1]
        assert len(served.state()["picture"]["arcs"]) == 2


def test_another_site_can_not_change_anything(tmp_path: Path) -> None:
    """Two servers are two origins: what a page of one sends to the other is refused, even with its token."""
    write_input(tmp_path)
    with (
        Served(tmp_path, "in.csv", "--window", "5") as served,
        Served(tmp_path, "in.csv", "--window", "5") as other,
        Browser() as page,
    ):
        page.open(other.url)
        page.wait("return document.title.includes('fall.py')")
        sent = """
            const answer = new XMLHttpRequest();
            answer.open("POST", arguments[0], false);
            for (const [name, value] of Object.entries(arguments[1])) answer.setRequestHeader(name, value);
            try { answer.send('{"do": "end", "name": "up"}'); return answer.status; } catch (error) { return error.name; }
        """
        there = f"http://127.0.0.1:{served.port}/change"
        simple = {"Content-Type": "text/plain"}
        full = {"Content-Type": "application/json", "Authorization": f"Bearer {served.token}"}
        assert [page.run(sent, there, headers) for headers in (simple, full)] == ["NetworkError"] * 2
        assert len(served.state()["picture"]["arcs"]) == 2


def test_a_rule_is_changed_as_text(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/up.sase").write_text("PATTERN SEQ(Tick a) WHERE a.change > 0 WITHIN 5 RETURN a.change")
    (tmp_path / "in.csv").write_text("le,change\n1,1\n2,-1\n3,2\n")
    cells = "return [...document.querySelectorAll('[data-rule={}] td')].map(cell => cell.textContent)"
    with Served(tmp_path, "in.csv", "--speed", "max", pattern="rules") as served, Browser() as page:
        page.open(served.url)
        page.wait("return document.querySelector('[data-rule=up] td:nth-child(4)')?.textContent === '2'")
        assert page.run(cells.format("up"))[:4] == ["up", "in force", "from the beginning on", "2"]
        assert not page.run("return document.getElementById('automaton').checkVisibility()")
        page.click("[data-rule=up]")
        assert page.run("return document.getElementById('rule-text').value").startswith("PATTERN SEQ(Tick a)")
        page.run(SET, "rule-name", "down")
        page.run(SET, "rule-text", "PATTERN SEQ(Tick a) WHERE a.chang < 0 WITHIN 5 RETURN a.change")
        page.run(SET, "rule-at", "0")
        page.click("#rule-add")
        page.wait("return document.getElementById('answer').textContent.includes(\"rule 'down': \")")
        page.run(SET, "rule-text", "PATTERN SEQ(Tick a) WHERE a.change < 0 WITHIN 5 RETURN a.change")
        page.click("#rule-add")
        page.wait("return document.querySelector('[data-rule=down] td:nth-child(4)')?.textContent === '1'")
        page.click("[data-rule=up]")
        page.run(SET, "rule-at", "")
        page.click("#rule-remove")
        page.wait("return document.querySelector('[data-rule=up]')?.dataset.state === 'ended'")
