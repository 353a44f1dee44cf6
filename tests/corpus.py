"""Cases as data: ``cases/*.toml``, each a few arrivals and the changes that each of them must emit, worked out by hand.

A case has a ``title``, an ``automaton`` (a name of `tests.automata`, or a spec as in `tests.text`), ``options`` of the operator,
``arcs`` by name, and ``arrivals``; perhaps a ``stage``, ``{ cleanse = sigma, place = "before" or "after" }``. With the option
``gapless``, a field's name, it is about AFA+O. One arrival is one of::

    { insert = [payload, le, re], out = [...] }          RE may be left out; "FOREVER" and "BEGINNING" are times
    { retract = [payload, le, re], out = [...] }
    { insert_arc = [name, le, re], out = [...] }         without LE: the default mode
    { retract_arc = [name, le, re], out = [...] }
    { punctuate = t, out = [...] }, { punctuate_arcs = t, out = [...] }
    { punctuate = t, where = "e.kind == 0", out = [...] }
    { batch = [all of these but punctuate_arcs], out = [...] }

with ``out = [["+", register, le, re], ["-", register, le, re], ["punctuation", t]]`` (left out: nothing), or in its place
``error = "LateEventError"``.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from afa import Arc, Gapless, Keyed, Operator, Punctuation, insert, retract
from punctuation.time import BEGINNING, FOREVER
from speculation import After, Before, Cleanse
from tests import automata, oracle
from tests.text import arc_of, automaton_of

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

PATHS = sorted(Path(__file__).parent.glob("cases/*.toml"))
PARTS = {"title", "automaton", "options", "arcs", "arrivals", "late", "stage"}
TIMES = {"FOREVER": FOREVER, "BEGINNING": BEGINNING}


class Arrival(NamedTuple):
    """What reaches an operator as one call, and what becomes of it."""

    items: list[Any]
    on_arcs: bool  # whether it is a promise of the arc input; changes of arcs are known by their payloads
    expected: Counter[Any]  # the changes that it must emit, as of `emitted`
    error: str | None  # the exception that it must raise in place of that
    text: str  # as the case has it


def operator_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a case as an operator takes them: numbers without gaps as a `Gapless`."""
    policies = {name: options[name] for name in ("gaps", "repeated") if name in options}
    if not policies:
        return options
    rest = {name: value for name, value in options.items() if name not in policies}
    return {**rest, "gapless": Gapless(options["gapless"], **policies)}


class Case:
    """A case, compiled. ``Case(path)`` reads it anew: each has arcs of its own."""

    def __init__(self, path: Path) -> None:
        spec = tomllib.loads(path.read_text("utf-8"))
        assert set(spec) <= PARTS, f"{path.name}: expected some of {PARTS} but got {set(spec) - PARTS}"
        self.name = path.stem
        named = isinstance(spec["automaton"], str)
        self.automaton = getattr(automata, spec["automaton"]) if named else automaton_of(spec["automaton"])
        self.options: dict[str, Any] = spec.get("options", {})
        self.stage: dict[str, Any] | None = spec.get("stage")
        self.late: int = spec.get("late", 0)
        self.arcs = {arc.name: arc for arc in self.automaton.arcs if arc.name}
        self.arcs |= {name: arc_of({**arc, "name": name}) for name, arc in spec.get("arcs", {}).items()}
        self.arrivals = [self._arrival(arrival) for arrival in spec["arrivals"]]

    def _arrival(self, arrival: dict[str, Any]) -> Arrival:
        items = [self._item(part) for part in arrival.get("batch", [arrival])]
        return Arrival(items, "punctuate_arcs" in arrival, _expected(arrival), arrival.get("error"), str(arrival))

    def _item(self, arrival: dict[str, Any]) -> Any:
        (word,) = set(arrival) - {"out", "error", "where"}
        if word.startswith("punctuate"):
            return Punctuation(TIMES.get(arrival[word], arrival[word]), arrival.get("where"))
        what, *times = arrival[word]
        payload = self.arcs[what] if word.endswith("_arc") else self.automaton.event(*what)
        return (insert if word.startswith("insert") else retract)(payload, *(TIMES.get(t, t) for t in times))

    @property
    def window(self) -> int | None:
        """Ticks that an event lives if it does not say it."""
        return self.options.get("window")

    def operator(self, engine: str, **more: Any) -> Any:
        """The operator that the case is about, with its stage; ``key=`` makes it a keyed one."""
        make: Any = Keyed if "key" in more else Operator
        operator = make(self.automaton, engine=engine, **{**operator_options(self.options), **more})
        if self.stage is None:
            return operator
        return getattr(Cleanse(self.stage["cleanse"]), self.stage["place"])(operator)

    def restored(self, operator: Any, engine: str) -> Any:
        """The operator after a snapshot and a restore."""
        options: dict[str, Any] = {"arcs": self.arcs.values(), "engine": engine}
        if isinstance(operator, (Before, After)):
            return type(operator.operator).restore(self.automaton, operator.snapshot(), **options)
        return type(operator).restore(self.automaton, operator.snapshot(), **options)


read = functools.cache(Case)
"""Each case once: what is collected is asked of it, and nothing is changed."""


def is_arc(item: Any) -> bool:
    """Whether an item is a change of an arc."""
    return not isinstance(item, Punctuation) and isinstance(item.payload, Arc)


def is_event(item: Any) -> bool:
    """Whether an item is a change of an event."""
    return not isinstance(item, Punctuation) and not isinstance(item.payload, Arc)


def _expected(arrival: dict[str, Any]) -> Counter[Any]:
    expected: Counter[Any] = Counter()
    for sign, *what in arrival.get("out", []):
        if sign == "punctuation":
            expected[sign, TIMES.get(what[0], what[0])] += 1
        else:
            register, le, re = what
            expected[sign, oracle.one_nan(tuple(register)), le, TIMES.get(re, re)] += 1
    return expected


def emitted(out: Iterable[Any]) -> Counter[Any]:
    """What was emitted, in the form of `Arrival.expected`."""
    got: Counter[Any] = Counter()
    for item in out:
        if isinstance(item, Punctuation):
            got["punctuation", item.t] += 1
        else:
            got["+" if item.diff > 0 else "-", oracle.one_nan(tuple(item.payload)), item.le, item.re] += abs(item.diff)
    return got
