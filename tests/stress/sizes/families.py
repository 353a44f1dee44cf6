"""What worlds share: an automaton with arcs to come, events of few or many fields, and what makes the key of an event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa import Arc, Automaton
from tests import strategies, text
from tests.strategies import Choices
from tests.streams import NAMES, NAN, PROGRAMS, SIZES, Quote, Tally, Tick

POISON = 9
"""The kind of an event on which a fence raises, in worlds that have it."""


class Thin(NamedTuple):
    """An event of two words."""

    kind: int
    who: int


class Mid(NamedTuple):
    """An event of three words."""

    kind: int
    seq: int
    who: int


class Wide(NamedTuple):
    """An event with a field of every type."""

    kind: int
    seq: int
    who: int
    size: float
    name: str
    extra: int | None
    flag: bool


text.NAMES.update(Thin=Thin, Mid=Mid, Wide=Wide)
EVENTS: dict[str, Any] = {"Thin": Thin, "Mid": Mid, "Wide": Wide, "Tick": Tick, "Quote": Quote}


class Family:
    """An automaton and its pool of arcs, its own first."""

    last: tuple[str, Family] | None = None

    def __init__(self, spec: dict[str, Any]) -> None:
        event = EVENTS[spec["event"]]
        if "program" in spec:
            own, more = PROGRAMS[spec["program"]]()
            own = own + ([_poison("sort")] if spec["poison"] else [])
            self.automaton = Automaton(start="a", final={"c"}, arcs=own, register=Tally(), event=event)
        else:
            self.automaton = text.automaton_of({**spec["automaton"], "event": spec["event"]})
            more = [text.arc_of(arc) for arc in spec["extra"]]
        self.pool: list[Arc] = [*self.automaton.arcs, *more]
        self.event = event
        self.known: dict[Any, Any] = {}

    @classmethod
    def of(cls, spec: dict[str, Any]) -> Family:
        """The family of a world; the last one asked for is kept."""
        said = repr(spec)
        if cls.last is None or cls.last[0] != said:
            cls.last = said, cls(spec)
        return cls.last[1]


def _poison(field: str) -> Arc:
    return Arc("a", "c", text.function(f"lambda e, r: 6 // (e.{field} - {POISON}) > 99"), name="poison")


def family(choose: Choices) -> dict[str, Any]:
    """The spec of a random family."""
    poison = choose.chance(35)
    if choose.chance(35):
        program = choose.one(list(PROGRAMS))
        event = "Quote" if program == "words" else choose.one(["Tick", "Quote"])
        return {"program": program, "event": event, "poison": poison}
    waits = choose.chance(30)
    chain = choose.chance(50)
    automaton = strategies.chain(choose) if chain else strategies.automaton(choose, waits=waits)
    width = strategies.width_of(automaton)
    extra = [strategies.arc(choose, width, strategies.STATES, f"x{i}", final=choose.chance(20), waits=waits) for i in range(2)]
    if poison:
        fence = f"6 // (e.kind - {POISON}) > 99"
        automaton["arcs"].append({"src": "a", "dst": automaton["final"][0], "fence": fence, "name": "poison"})
    event = choose.one(["Thin", "Mid", "Mid", "Wide"])
    if event == "Thin":
        for arc in [*automaton["arcs"], *extra]:
            arc.update({name: arc[name].replace("e.seq", "e.who") for name in ("fence", "transfer") if name in arc})
    return {"automaton": automaton, "extra": extra, "event": event, "poison": poison}


def payload(choose: Choices, event: str, who: int, le: int, seq: int | None = None, kind: int | None = None) -> tuple[Any, ...]:
    """The fields of a random event of a key."""
    kind = choose.number(0, 2) if kind is None else kind
    seq = choose.number(0, 2) if seq is None else seq
    if event == "Thin":
        return kind, who
    if event == "Mid":
        return kind, seq, who
    if event == "Wide":
        more = choose.one(SIZES), choose.one(NAMES), choose.one([None, 0, 1, 2**62]), choose.chance(50)
        return kind, seq, who, *more
    tick = choose.number(0, 3) if kind < 3 else kind, choose.one(SIZES), who, le + choose.number(0, 5)
    return tick if event == "Tick" else (*tick, choose.one(NAMES), choose.one([None, 0, 1, 2]), choose.chance(50))


# -- keys ------------------------------------------------------------------------------------------------------------------------

FAR = 2**63 - 1


def _text(n: int) -> str:
    return ("", "k", "Übel", "a name of more than a line of the cache, so that it stands for itself ")[n % 4] + str(n)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
COLUMNS: dict[str, tuple[type, Callable[[int], Any]]] = {
    "by": (int, lambda n: n),
    "far": (int, lambda n: (FAR - n // 2) * (-1) ** n),
    "odd": (int, lambda n: n * 2**32 - 7),
    "name_": (str, _text),
    "twelve": (str, lambda n: f"{n:012d}"),
    "part": (float, lambda n: NAN if n == 4 else -0.0 if n == 3 else (n - 3) / 2),
    "maybe": (int, lambda n: None if n == 1 else n),
    "word_": (str, lambda n: None if n == 2 else LETTERS[n % 26] * (1 + n // 26)),
    "flag_": (bool, lambda n: bool(n % 2)),
    "half": (int, lambda n: n // 2),
}
"""Columns that keys are made of, their types, and their values by the number of the key. No fields of events: given beside them."""
KEYS: list[tuple[str, ...]] = [
    ("who",),
    ("by",),
    ("far",),
    ("odd",),
    ("name_",),
    ("twelve",),
    ("part",),
    ("by", "name_"),
    ("maybe", "far"),
    ("word_", "maybe"),
    ("half", "flag_"),
    ("who", "word_", "part"),
]


def part_of_key(name: str, n: int) -> Any:
    """The value of one part of the key with a number."""
    return n if name == "who" else COLUMNS[name][1](n)


def key_of(names: tuple[str, ...], n: int) -> Any:
    """The key with a number, as `Keyed` has it: bare if it is one column."""
    parts = tuple(part_of_key(name, n) for name in names)
    return parts[0] if len(names) == 1 else parts
