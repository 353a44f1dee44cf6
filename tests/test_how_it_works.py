"""The pictures of docs/how-it-works.md show what the readable engine really holds."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, Operator, Punctuation, insert
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")


class Tick(NamedTuple):
    change: float


class Falls(NamedTuple):
    total: float = 0.0


REBOUND = Automaton(
    start="start",
    final={"rebound"},
    register=Falls(),
    event=Tick,
    arcs=[
        Arc("start", "falling", "change < 0", "(r.total + e.change,)"),
        Arc("falling", "falling", "change < 0", "(r.total + e.change,)"),
        Arc("falling", "falling", "change == 0"),
        Arc("falling", "rebound", "change > 0 and r.total < -2"),
    ],
)
FIRST = [insert(Tick(-1.5), 1), insert(Tick(2.0), 4)]
LATE = [*FIRST, insert(Tick(-1.5), 2)]
IGNORED = [*LATE, insert(Tick(0.0), 3)]


def picture(heading: str) -> str:
    """The first block of a section that has steps in it."""
    section = PAGE[PAGE.index(f"\n## {heading}") :]
    return next(block for block in re.findall(r"((?:^    .*\n|^\n)+)", section, re.MULTILINE) if "    step  " in block)


@pytest.mark.parametrize(
    ("heading", "stream"),
    [
        ("What is kept", FIRST),
        ("A late event", LATE),
        ("Ignorable runs", IGNORED),
        ("What a punctuation lets go", [*IGNORED, Punctuation(4)]),
    ],
)
def test_a_picture(heading: str, stream: list[Any]) -> None:
    operator = Operator(REBOUND, window=60, engine="interpreted")
    operator.push_many(stream)
    (state,) = operator._core.engine.states.values()
    told = re.findall(r"\(\d[^)]*,[^)]*\)", picture(heading))
    held = [p for step in state.index.values() for p in step.nodes] + [run.data for run in state.runs]
    assert {f"({p.start}, {p.re}, {p.state}, {p.register.total})" for p in held} == set(told)
    steps = re.findall(r"\d+", re.sub(r"cover\(\d+\)", "", picture(heading).strip().splitlines()[0]))
    assert [int(step) for step in steps] == list(state.index)
