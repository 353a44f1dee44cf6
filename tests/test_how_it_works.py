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
        ("What a watermark lets go", [*IGNORED, Punctuation(4)]),
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


def test_the_picture_of_the_arrays() -> None:
    """Rows of numbers as the page has them: the order of steps, what each points to, nodes and matches."""
    from afa.compiled.block import KeyBlock
    from afa.compiled.kernel import layout

    operator = Operator(REBOUND, window=60, engine="compiled")
    for change in LATE:
        operator.push(change)
    engine: Any = operator._core.engine
    block = KeyBlock(engine.store, 0)
    section = PAGE[PAGE.index("\n## The same over arrays") :]
    told = [re.findall(r"-?\d+(?:\.\d+)?|alone|-(?= |$)", line) for line in section.splitlines() if line.startswith("    ")]
    order, steps, nodes, matches = told[0][:3], told[2:5], told[6:10], told[11:12]
    assert [int(step) for step in order] == block.steps
    for step, le, *slices in steps:
        columns = [
            block.word(column, int(step)) for column in (layout.Block.events_of, layout.Block.nodes_of, layout.Block.matches_of)
        ]
        held = [part for word in columns for part in ([word >> 24, word & layout.COUNT] if word & layout.COUNT else ["-"])]
        assert [le, *slices] == [str(part) for part in [block.word(layout.Block.le, int(step)), *held]]
    rows = block.rows(block.head(layout.Block.node_top), layout.Block.nodes, engine.store.memory.row)
    read = engine.store.registers.record
    plain = [
        [i, start, m, state, "alone" if end == layout.ALONE else end, read(words).total]
        for i, (start, m, state, end, *words) in enumerate(rows)
    ]
    assert [row[:6] for row in nodes] == [[str(cell) for cell in row] for row in plain]
    found = block.matches(1)
    assert [row[:4] for row in matches] == [
        [str(cell) for cell in (i, t, m, read(words).total)] for i, (t, m, *words) in enumerate(found)
    ]
