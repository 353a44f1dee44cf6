"""`afa serve FOLDER INPUT`: the rules on the page, and a rule that is added, replaced and removed there as text."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afa.rules.rule_log import RuleWriter
from tests.test_serve import Served

LARGE = "PATTERN SEQ(Pay a) WHERE a.amount > 100 WITHIN 9 RETURN a.amount"
DEAR = "PATTERN SEQ(Pay a) WHERE a.amount > 25 WITHIN 9 RETURN a.amount AS dear"
TWO = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { a.amount < b.amount } WITHIN 99 RETURN b.amount"
OPTIONS = ("pays.jsonl", "--time", "at", "--key", "who", "--speed", "max")


def pays(first: int, *amounts: int) -> str:
    return "".join(json.dumps({"who": "x", "amount": n, "at": at}) + "\n" for at, n in enumerate(amounts, first))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/large.sase").write_text(LARGE)
    (tmp_path / "rules/two.sase").write_text(TWO)
    (tmp_path / "pays.jsonl").write_text(pays(1, 10, 30, 200))
    with Served(tmp_path, *OPTIONS, "--follow", "--rules", "log", pattern="rules") as found:
        found.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 3)
        yield found


def rules(told: dict[str, Any]) -> dict[str, Any]:
    return {rule["name"]: rule for rule in told["about"]["rules"]}


def test_rules_are_listed_and_changed(served: Served, tmp_path: Path) -> None:
    told = served.until(lambda told: len(told["about"].get("rules", ())) == 2)
    found = rules(told)
    assert {name: (rule["state"], rule["from"], rule["matches"]) for name, rule in found.items()} == {
        "large": ("in force", "the beginning", 1),
        "two": ("in force", "the beginning", 3),
    }
    assert found["large"]["text"] == LARGE
    assert found["two"]["partial_matches"] > 0
    assert sum(rule["cost"] for rule in found.values()) == pytest.approx(1)
    assert told["about"]["controls"] == ["rules", "speed"]
    assert told["changes"][0]["payload"]["rule"] in ("large", "two")
    status, said = served.change(do="rule", op="add", name="dear", text=DEAR, at="2")
    assert (status, said["said"]) == (200, "added 'dear'; from 2 on")
    told = served.until(lambda told: "dear" in rules(told))
    assert rules(told)["dear"] | {"rate": 0, "cost": 0} == {
        "name": "dear", "state": "in force", "why": None, "from": "2", "until": None, "matches": 2, "rate": 0,
        "partial_matches": rules(told)["dear"]["partial_matches"], "text": DEAR, "cost": 0,
    }  # fmt: skip
    assert (
        served.change(do="rule", op="replace", name="dear", text=DEAR.replace("25", "20"))[1]["said"]
        == "replaced 'dear'; from 4 on"
    )
    assert served.change(do="rule", op="remove", name="large")[1]["said"] == "removed 'large'; from 4 on"
    RuleWriter(tmp_path / "log").add("outside", LARGE)  # another process
    served.until(lambda told: "outside" in rules(told))
    with (tmp_path / "pays.jsonl").open("a") as grown:
        grown.write(pays(4, 300, 23))
    told = served.until(lambda told: told["samples"][-1]["rows"] == 5 and rules(told)["dear"]["matches"] == 4)
    assert (rules(told)["large"]["state"], rules(told)["large"]["matches"]) == ("ended", 1)
    with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/metrics") as page:
        text = page.read().decode()
    assert 'afa_rule_matches{rule="outside"} 1.0' in text
    assert all(f'afa_rule_{name}{{rule="dear"}}' in text for name in ("events_total", "partial_matches", "bytes", "seconds_total"))
    code, said = served.end()
    assert (code, "ended; 5 events" in said, "Traceback" in said) == (0, True, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"op": "add", "name": "x", "text": "PATTERN SEQ(Pay a) WHERE a.amont > 3 WITHIN 9 RETURN a.who"},
            "rule 'x': line 1, column 28",
        ),
        ({"op": "add", "name": "large", "text": LARGE}, "rule 'large': expected no rule 'large' in [4, "),
        (
            {"op": "add", "name": "x", "text": DEAR.replace("a.amount AS dear", "a.who AS a_amount")},
            "expected one type of the column",
        ),
        ({"op": "add", "name": "x", "text": LARGE, "at": "soon"}, "soon"),
        (
            {"op": "add", "name": "x", "text": f"PATTERN SEQ(Pay a) WHERE {'(' * 4000}a.amount > 3{')' * 4000} WITHIN 9"},
            "rule 'x': ",
        ),
        ({"op": "add", "name": " ", "text": LARGE}, "expected the name of a rule but got name=' '"),
        ({"op": "add", "name": "x"}, "expected the text of a rule but got text=None"),
        ({"op": "replace", "name": "x", "text": LARGE}, "expected the name of a rule but got 'x'"),
        ({"op": "remove", "name": "lage"}, "did you mean 'large'?"),
        ({"op": "swap", "name": "large"}, "expected one of add, replace, remove but got op='swap'"),
        ({"do": "insert", "arc": {}}, "expected a change of a set of rules, rule or speed, but got do='insert'"),
    ],
)
def test_what_is_refused_is_told_and_changes_nothing(served_once: Served, change: dict[str, Any], message: str) -> None:
    before = rules(served_once.state())
    status, said = served_once.change(**{"do": "rule", **change})
    assert (status, message in said["error"]) == (422, True), said
    assert {name: rule["state"] for name, rule in rules(served_once.state()).items()} == {
        name: rule["state"] for name, rule in before.items()
    }
    assert any(note["kind"] == "fault" and message in note["text"] for note in served_once.state()["notes"])


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "rules").mkdir()
    (folder / "rules/large.sase").write_text(LARGE)
    (folder / "pays.jsonl").write_text(pays(1, 10, 30, 200))
    with Served(folder, *OPTIONS, pattern="rules") as found:
        found.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 3)
        yield found


def test_a_change_wants_the_token(served_once: Served) -> None:
    served_once.token, token = "wrong", served_once.token
    assert served_once.change(do="rule", op="remove", name="large")[0] == 401
    served_once.token = token
    assert list(rules(served_once.state())) == ["large"]
