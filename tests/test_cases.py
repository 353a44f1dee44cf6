"""Cases as data: ``cases/*.toml``, each a few arrivals and the changes that each of them must emit, worked out by hand.

A case has a ``title``, an ``automaton`` (a name of `tests.automata`, or a spec as in `tests.text`), ``options`` of the operator,
``arcs`` by name, and ``arrivals``. One arrival is one of::

    { insert = [payload, le, re], out = [...] }          RE may be left out; "FOREVER" and "BEGINNING" are times
    { retract = [payload, le, re], out = [...] }
    { insert_arc = [name, le, re], out = [...] }         without LE: the default mode
    { retract_arc = [name, le, re], out = [...] }
    { punctuate = t, out = [...] }, { punctuate_arcs = t, out = [...] }
    { batch = [insertions, retractions, punctuations], out = [...] }

with ``out = [["+", register, le, re], ["-", register, le, re], ["punctuation", t]]`` (left out: nothing), or in its place
``error = "LateEventError"``.
A case is run on each engine, and its expectations are held against the oracle as well.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import afa
from afa import Operator, Punctuation, insert, retract
from punctuation.time import BEGINNING, FOREVER
from tests import automata, oracle
from tests.model import ERROR, LATE, OK, Model
from tests.text import arc_of, automaton_of

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

CASES = sorted(Path(__file__).parent.glob("cases/*.toml"))
TIMES = {"FOREVER": FOREVER, "BEGINNING": BEGINNING}


class Case:
    """A case, compiled."""

    def __init__(self, path: Path) -> None:
        self.spec = tomllib.loads(path.read_text("utf-8"))
        unknown = set(self.spec) - {"title", "automaton", "options", "arcs", "arrivals", "late"}
        assert not unknown, f"{path.name}: unknown {unknown}"
        spec = self.spec["automaton"]
        self.automaton = getattr(automata, spec) if isinstance(spec, str) else automaton_of(spec)
        self.options = self.spec.get("options", {})
        self.arcs = {arc.name: arc for arc in self.automaton.arcs if arc.name}
        self.arcs |= {name: arc_of({**arc, "name": name}) for name, arc in self.spec.get("arcs", {}).items()}
        self.arrivals = self.spec["arrivals"]

    def item(self, arrival: dict[str, Any]) -> tuple[Any, bool]:
        """The change or punctuation of one arrival, and whether it goes to the arc input."""
        (word,) = set(arrival) - {"out", "error"}
        if word.startswith("punctuate"):
            return Punctuation(TIMES.get(arrival[word], arrival[word])), word == "punctuate_arcs"
        what, *times = arrival[word]
        on_arcs = word.endswith("_arc")
        payload = self.arcs[what] if on_arcs else self.automaton.event(*what)
        times = [TIMES.get(t, t) for t in times]
        return (insert if word.startswith("insert") else retract)(payload, *times), on_arcs

    def items(self, arrival: dict[str, Any]) -> list[tuple[Any, bool]]:
        """All of an arrival."""
        return [self.item(part) for part in arrival.get("batch", [arrival])]


def expected_of(arrival: dict[str, Any]) -> Counter[Any]:
    """The changes that an arrival must emit."""
    expected: Counter[Any] = Counter()
    for sign, *what in arrival.get("out", []):
        if sign == "punctuation":
            expected[sign, TIMES.get(what[0], what[0])] += 1
        else:
            register, le, re = what
            expected[sign, oracle.one_nan(tuple(register)), le, TIMES.get(re, re)] += 1
    return expected


def emitted(out: list[Any]) -> Counter[Any]:
    """What was emitted, in the same form."""
    got: Counter[Any] = Counter()
    for item in out:
        if isinstance(item, Punctuation):
            got["punctuation", item.t] += 1
        else:
            got["+" if item.diff > 0 else "-", oracle.one_nan(tuple(item.payload)), item.le, item.re] += abs(item.diff)
    return got


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_engine(path: Path, engine: str) -> None:
    """The engine emits what the case says, arrival by arrival."""
    case = Case(path)
    operator = Operator(case.automaton, engine=engine, **case.options)
    for number, arrival in enumerate(case.arrivals):
        where = f"{path.name}, arrival {number}: {arrival}"
        items = case.items(arrival)
        if "error" in arrival:
            with pytest.raises(getattr(afa, arrival["error"])):
                push(operator, arrival, items)
        else:
            assert emitted(push(operator, arrival, items)) == expected_of(arrival), where
        operator._check()
    assert operator.statistics.late == case.spec.get("late", 0)


def push(operator: Any, arrival: dict[str, Any], items: list[tuple[Any, bool]]) -> list[Any]:
    """Push one arrival."""
    if "batch" in arrival:
        return list(operator.push_many([item for item, _ in items]))
    ((item, on_arcs),) = items
    return operator.push_arc(item) if on_arcs else operator.push(item)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_oracle(path: Path) -> None:
    """The case's expectations are what the contract's text gives by brute force."""
    case = Case(path)
    model = Model(case.automaton, **case.options)
    held, final = model.matches(), model.effective
    for number, arrival in enumerate(case.arrivals):
        where = f"{path.name}, arrival {number}: {arrival}"
        trial = model.fork()
        outcomes = [trial.push_arc(item) if on_arcs else trial.push(item) for item, on_arcs in case.items(arrival)]
        wanted = {None: OK, "AfaError": ERROR, "LateEventError": LATE}[arrival.get("error")]
        assert max(outcomes, key=(OK, LATE, ERROR).index) == wanted, where
        if wanted != OK:
            continue
        model, before = trial, held
        held = model.matches()
        expected = Counter(("+", *match) for match in held - before) + Counter(("-", *match) for match in before - held)
        if model.effective > final:
            expected["punctuation", final := model.effective] += 1
        assert expected == expected_of(arrival), where
    assert len(model.dropped) == case.spec.get("late", 0)


def test_there_are_cases() -> None:
    """An empty folder would pass everything above."""
    assert len(CASES) >= 16
    assert CASES[0].stem == "01_worked_example"
