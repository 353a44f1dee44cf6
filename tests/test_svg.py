"""Drawings as SVG: their elements, not their bytes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

import pytest

from afa import AfaError, Arc, Automaton

NS = "{http://www.w3.org/2000/svg}"


class Tick(NamedTuple):
    x: int


FIVE = Automaton(
    start="a",
    final={"c"},
    event=Tick,
    arcs=[
        Arc("a", "b", "x < 1", name="low"),
        Arc("b", "b", "x == 1"),
        Arc.skip("b", "x == 2", name="</svg><script>"),
        Arc.epsilon("b", "c", name="eps"),
        Arc.timeout("b", "c", lambda r: 7),
    ],
)


def test_every_state_and_arc_is_an_element_with_its_data() -> None:
    root = ET.fromstring(FIVE.draw())
    states = {g.get("data-state"): g.get("class") for g in root.iter(f"{NS}g") if g.get("data-state")}
    assert states == {"a": "state start", "b": "state", "c": "state final"}
    arcs = [tuple(g.get(f"data-{k}") for k in ("arc", "src", "dst", "kind")) for g in root.iter(f"{NS}g") if g.get("data-arc")]
    assert arcs == [
        ("low", "a", "b", "consume"),
        ("1", "b", "b", "ignorable"),
        ("</svg><script>", "b", "b", "skip"),
        ("eps", "b", "c", "epsilon"),
        ("4", "b", "c", "time-out"),
    ]


def test_names_are_escaped() -> None:
    assert "<script" not in FIVE.draw()
    assert FIVE._repr_svg_() == FIVE.draw("svg", labels="code")


def test_forms_and_labels_that_are_none() -> None:
    with pytest.raises(AfaError, match="expected form= 'svg', 'mermaid' or 'dot' but got form='png'"):
        FIVE.draw("png")
    with pytest.raises(AfaError, match="expected labels= 'code' or 'names' but got labels='words'"):
        FIVE.draw(labels="words")
