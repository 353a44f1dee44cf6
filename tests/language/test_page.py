"""The table of patterns in docs/queries.md: what stands in one row is one tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import afa
from tests.automata import Number
from tests.language.test_builder_printer import built
from tests.pages import ROOT


class Tick(NamedTuple):
    type: str
    symbol: str


def rows(heading: str) -> list[tuple[list[str], list[str]]]:
    """The code of text and of the builder in each row of the table below a heading."""
    text = (ROOT / "docs/queries.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.replace(r"\|", "&") for line in text.splitlines() if line.startswith("| `")]
    cells = [[re.findall("`([^`]+)`", cell.replace("&", "|")) for cell in line.split(" | ")[:2]] for line in lines]
    return [(said, spoken) for said, spoken in cells if "SEQ(" in said[0] or re.search(r" [ab]\b", said[0])]


def test_the_table_of_patterns(tmp_path: Path) -> None:
    found = rows("Patterns")
    assert len(found) == 7
    for number, (said, spoken) in enumerate(found):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts = [text if "SEQ(" in text else f"SEQ({text})" for text in said]
        trees = [afa.query(f"PATTERN {text}", event=Tick).tree for text in texts]
        for i, other in enumerate(built(spoken, folder)):
            assert other.of(Tick).tree() == trees[min(i, len(trees) - 1)], (said, spoken)


@pytest.mark.parametrize(
    ("condition", "builder"),
    [
        ("b.symbol == a.symbol", 'one("a").followed_by(one("b", lambda e, m: e.symbol == m.a.symbol))'),
        ("a.symbol == 'x'", 'one("a", lambda e: e.symbol == "x").followed_by(one("b"))'),
    ],
)
def test_conditions_of_two_components(condition: str, builder: str, tmp_path: Path) -> None:
    (other,) = built([builder], tmp_path)
    text = f"PATTERN SEQ(Tick a, Tick b) WHERE skip_till_next_match(a, b) {{ {condition} }}"
    assert other.of(Tick).tree() == afa.query(text, event=Tick).tree


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("a[1].n > 1", "first=lambda e: e.n > 1"),
        ("a[i].n > 1", "where=lambda e: e.n > 1"),
        ("a[i].n > a[i-1].n", "where=lambda e, m: e.n > m.a.last.n"),
        ("a[i].n > a[i-2].n", "where=lambda e, m: e.n > m.a.prev(2).n"),
        ("a[i].n > avg(a[..i-1].n)", "where=lambda e, m: e.n > m.a.avg.n"),
        ("a[i].n <= avg(a[..i].n)", "where=lambda e, m: e.n <= m.a.now.avg.n"),
        ("a[a.LEN].n > 2", "done=lambda m: m.a.last.n > 2"),
        ("max(a[].n) > 2", "done=lambda m: m.a.max.n > 2"),
        ("a.LEN > 2", "done=lambda m: m.a.count > 2"),
    ],
)
def test_conditions_of_a_component_that_repeats(condition: str, predicate: str, tmp_path: Path) -> None:
    (other,) = built([f'many("a", {predicate})'], tmp_path)
    text = f"PATTERN SEQ(Number+ a[]) WHERE skip_till_next_match(a[]) {{ {condition} }}"
    assert other.of(Number).tree() == afa.query(text, event=Number).tree
