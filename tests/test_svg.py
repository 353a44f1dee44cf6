"""Drawings as SVG: what their elements show, not their bytes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from afa import AfaError, Arc, Automaton, Keyed, Operator, insert
from afa.explain.draw.font_widths import fitting, width_of
from afa.explain.draw.layered import backward
from afa.language.query import Query
from tests.corpus import PATHS, Case
from tests.drawn import drawing, faults
from tests.random_pictures import Seen, Tick, random_automaton
from tests.test_examples import EXAMPLES, FOLDER, load

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


def check(automaton: Automaton, labels: str = "code") -> None:
    """Assert that a drawing shows each state and each arc, once, where it belongs, and that nothing overlaps."""
    found = drawing(automaton.draw(labels=labels))
    assert faults(found) == []
    assert set(found.states) == set(automaton.states)
    finals = automaton.final.union(arc.dst for arc in automaton.arcs if arc.final)
    assert {name for name, state in found.states.items() if "final" in state.classes} == finals
    assert [name for name, state in found.states.items() if "start" in state.classes] == [automaton.start]
    assert [(arc.data["src"], arc.data["dst"]) for arc in found.arcs] == [(arc.src, arc.dst) for arc in automaton.arcs]
    assert [arc.data["arc"] for arc in found.arcs] == [arc.name or str(i) for i, arc in enumerate(automaton.arcs)]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 25, 50])
def test_nothing_overlaps_in_drawings_of_random_automata(count: int) -> None:
    rng = random.Random(count)
    for _ in range(max(2, 60 // count)):
        check(random_automaton(rng, count), rng.choice(["code", "names"]))


@pytest.mark.stress
def test_nothing_overlaps_in_drawings_of_many_random_automata() -> None:
    over = 0  # an arc that runs over a label, as no attempt has avoided it: the label has a halo, and stays legible
    for seed in range(1500):
        rng = random.Random(seed)
        found = faults(drawing(random_automaton(rng, rng.randint(1, 50)).draw()))
        assert [fault for fault in found if " over a label of " not in fault] == [], seed
        over += bool(found)
    assert over < 30


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_drawings_of_the_cases(path: Path) -> None:
    check(Case(path).automaton)
    check(Case(path).automaton, "names")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "spark" not in (FOLDER / f"{name}.py").read_text("utf-8")])
def test_drawings_of_the_examples(name: str) -> None:
    for value in vars(load(name)).values():
        if isinstance(value, Automaton | Query):
            check(value if isinstance(value, Automaton) else value.automaton)


def test_every_state_and_arc_is_an_element_with_its_data() -> None:
    found = drawing(FIVE.draw())
    assert {name: state.classes for name, state in found.states.items()} == {
        "a": {"state", "start"}, "b": {"state"}, "c": {"state", "final"},
    }  # fmt: skip
    assert [tuple(arc.data[name] for name in ("arc", "index", "src", "dst", "kind")) for arc in found.arcs] == [
        ("low", "0", "a", "b", "consume"),
        ("1", "1", "b", "b", "ignorable"),
        ("</svg><script>", "2", "b", "b", "skip"),
        ("eps", "3", "b", "c", "epsilon"),
        ("4", "4", "b", "c", "time-out"),
    ]
    assert all(arc.data["kind"] in arc.classes for arc in found.arcs)


def test_labels_say_fence_transfer_and_kind() -> None:
    arcs = [Arc("a", "b", "x < 1", "r._replace(total=x)", name="low"), Arc.timeout("b", "c", "r.until + 5")]
    automaton = Automaton(start="a", final={"c"}, register=Seen(), event=Tick, arcs=arcs)
    found = drawing(automaton.draw())
    assert [arc.words for arc in found.arcs] == [["low", "x < 1", "/ total = x"], ["time-out", "at r.until + 5"]]
    assert found.arcs[0].title == "a → b (consume)\nlow\nfence: x < 1\ntransfer: r._replace(total=x)"
    assert [arc.words for arc in drawing(automaton.draw(labels="names")).arcs] == [["low"], ["time-out", "at until so far + 5"]]


def test_a_long_fence_is_cut_and_whole_in_the_title() -> None:
    fence = " or ".join(f"x == {i}" for i in range(100))
    (arc,) = drawing(Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", fence)]).draw()).arcs
    assert len(arc.words) == 4
    assert arc.words[-1].endswith("…")
    assert fence in arc.title


HOSTILE = [
    "</svg><script>alert(1)</script>",
    '" onload="alert(1)', "]]>", "a\nb\tc\r", "a\x00b\x1b", "\ud800", "'&amp;<!--", "{color:red}</style>",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_text(name: str) -> None:
    automaton = Automaton(start=name, final={"b"}, event=Tick, arcs=[Arc(name, "b", f"symbol == {name!r}", name=name)])
    text = automaton.draw()
    text.encode()
    found = drawing(text)  # well-formed, and of these elements only
    assert len(found.states) == 2
    assert "\x00" in name or "\ud800" in name or found.arcs[0].data["src"] == found.arcs[0].data["arc"] == name
    assert len(found.arcs) == 1
    assert "<script" not in text
    assert text.count("<style>") == text.count("</style>") == 1
    for shown in (automaton.draw("dot"), automaton.draw("mermaid"), automaton.draw("mermaid", labels="names")):
        assert "<script" not in shown.replace('label="', "") or "digraph" in shown


def test_a_drawing_is_the_same_in_every_process() -> None:
    code = "import random; from tests.random_pictures import random_automaton; print(random_automaton(random.Random(5), 20).draw())"
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert runs == {(random_automaton(random.Random(5), 20).draw() + "\n").encode()}


def test_arcs_in_force_with_their_lifetimes() -> None:
    op = Operator(Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "x < 1", name="low")]), window=10)
    assert op.draw().count('<g class="arc') == 1
    op.push(insert(Tick(5), le=3))
    op.swap("low", fence="x < 2")
    op.push_arc(insert(Arc("b", "c", "x < 3", final=True), le=5, re=8))
    found = drawing(op.draw())
    assert faults(found) == []
    assert [(arc.data["arc"], arc.data.get("life"), "past" in arc.classes) for arc in found.arcs] == [
        ("low", "until 4", True), ("low", "from 4", False), ("2", "[5, 8)", False),
    ]  # fmt: skip
    assert found.states["c"].classes == {"state", "final"}
    assert "until 4" in op.draw("dot")
    assert "from 4" in op.draw("mermaid", labels="names")
    keyed = Keyed(op.automaton, key="symbol")
    assert drawing(keyed.draw()).arcs[0].data.get("life") is None


def test_lifetimes_as_times() -> None:
    op = Operator(Automaton(start="a", final={"b"}, event=Tick, arcs=[Arc("a", "b", "x < 1", name="low")]), window="1 h", tick="ms")
    op.swap("low", fence="x < 2", at="2013-07-01T12:30:00")
    assert [arc.data["life"] for arc in drawing(op.draw()).arcs] == ["until 2013-07-01 12:30", "from 2013-07-01 12:30"]


@pytest.mark.parametrize("count", [3, 4, 12, 13, 100])
def test_many_arcs_between_two_states(count: int) -> None:
    rules = [Arc("a", "b", f"x == {i} and symbol != 'A'", "r._replace(total=x)", name=f"rule {i}") for i in range(count)]
    loops = [Arc("b", "b", f"x == {i}", "r._replace(total=x)") for i in range(count)]
    automaton = Automaton(
        start="a", final={"c"}, register=Seen(), event=Tick, arcs=[*rules, *loops, Arc.epsilon("a", "b"), Arc("b", "c", "x < 0")]
    )
    check(automaton)
    found = drawing(automaton.draw())
    assert len({tuple(arc.points) for arc in found.arcs[:count]}) == (count if count < 4 else 1)
    assert found.arcs[2 * count].points != found.arcs[0].points  # an epsilon arc has a line of its own
    assert found.arcs[0].words == ["rule 0", "x == 0 and symbol != 'A'", "/ total = x"][: 1 if count > 12 else 3]
    assert "fence: x == 0 and symbol != 'A'\ntransfer: r._replace(total=x)" in found.arcs[0].title
    assert found.frame.width < 1500


def test_backward_arcs_point_up() -> None:
    arcs = [Arc("a", "b", "x < 1"), Arc("b", "c", "x < 1"), Arc("c", "a", "x < 1"), Arc("c", "d", "x < 1"), Arc("d", "b", "x < 1")]
    found = drawing(Automaton(start="a", final={"d"}, event=Tick, arcs=arcs).draw())
    assert backward("abcd", "a", [(arc.src, arc.dst) for arc in arcs]) == {2, 4}
    assert [arc.points[0][1] > arc.points[-1][1] for arc in found.arcs] == [False, False, True, False, True]


def test_large_drawings_are_made_in_haste() -> None:
    rng = random.Random(1)
    on = [Arc(f"s{i}", f"s{i + 1}", "x < 1") for i in range(99)]
    across = [Arc(f"s{rng.randrange(100)}", f"s{rng.randrange(100)}", "x == 1") for _ in range(100)]
    begun = time.process_time()
    found = drawing(Automaton(start="s0", final={"s99"}, event=Tick, arcs=[*on, *across]).draw())
    assert time.process_time() - begun < 10  # a second; by the attempts that smaller ones get more than twenty
    assert [fault for fault in faults(found) if " over a label of " not in fault] == []


def test_widths_of_text() -> None:
    assert width_of("上", "sans", 10) == width_of("上", "bold", 10) == 10
    assert width_of("e\u0301", "sans", 10) == width_of("e", "sans", 10)
    assert fitting("abc", "mono", 10, 100) == "abc"
    assert fitting("abc", "mono", 10, 0) == "…"


def test_forms_and_labels_that_are_none() -> None:
    with pytest.raises(AfaError, match="expected form= 'svg', 'mermaid' or 'dot' but got form='png'"):
        FIVE.draw("png")
    with pytest.raises(AfaError, match="expected labels= 'code' or 'names' but got labels='words'"):
        FIVE.draw(labels="words")
