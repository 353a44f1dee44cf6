"""Random worlds: an automaton, the options of an operator, and a list of operations on it; all of it data.

Operations::

    ("insert" | "retract", (kind, seq), le, re or None)      an event
    ("copies", (kind, seq), le, re or None, diff)            several copies of it, in or out
    ("arc+" | "arc-", index into the pool, le or None, re)   an arc; le None: the default mode
    ("arc-copy", index, le or None, re)                      retraction by an equal arc that is another object
    ("punctuate", t), ("punctuate_arcs", t)
    ("batch", [operations without batch, save and punctuate_arcs], net)      one push_many of a list
    ("table", [the same], net)                               one push_many of columns, with a column ``kind`` where it is needed
    ("list", [the same], net)                                one push_many of a list of such tables and of single items
    ("save",)                                                snapshot, and go on with the restored operator
"""

from __future__ import annotations

from typing import Any

from afa import Change, Punctuation, insert, retract
from punctuation.time import BEGINNING, FOREVER
from tests import strategies
from tests.model import OK, Model
from tests.strategies import Choices
from tests.text import E, T, arc_of, automaton_of

Op = tuple[Any, ...]


class Family:
    """What worlds of one automaton share: the automaton, its pool of arcs (own arcs first), and what the oracle has said so far."""

    last: tuple[str, Family] | None = None

    def __init__(self, spec: dict[str, Any]) -> None:
        self.automaton = automaton_of(spec["automaton"])
        self.pool = [*self.automaton.arcs, *(arc_of(arc) for arc in spec["extra"])]
        self.known: dict[Any, Any] = {}

    @classmethod
    def of(cls, spec: dict[str, Any]) -> Family:
        """The family of a world; the last one asked for is kept."""
        text = repr((spec["automaton"], spec["extra"], spec["options"]["order_by"]))
        if cls.last is None or cls.last[0] != text:
            cls.last = text, cls(spec)
        return cls.last[1]


class World:
    """What the specs of a world stand for: its automaton, its pool of arcs, and its model."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec, self.options = spec, spec["options"]
        family = Family.of(spec)
        self.automaton, self.pool = family.automaton, family.pool
        self.specs = [*spec["automaton"]["arcs"], *spec["extra"]]
        self.event = T if spec["automaton"]["event"] == "T" else E
        names = ("window", "order_by", "arc_punctuation", "late", "key")
        self.longest = self.options.get("longest", False)
        options = {name: self.options[name] for name in names}
        self.model = Model(self.automaton, **options, known=family.known, longest=self.longest)

    def item(self, op: Op) -> Any:
        """The change or punctuation that an operation means."""
        kind, what, *rest = op
        if kind in ("punctuate", "punctuate_arcs"):
            return Punctuation(what)
        if kind in ("insert", "retract"):
            return (insert if kind == "insert" else retract)(self.event(*what), *rest)
        if kind == "copies":
            return Change(self.event(*what), *rest)
        arc = arc_of(self.specs[what]) if kind == "arc-copy" else self.pool[what]
        return (insert if kind == "arc+" else retract)(arc, *rest)

    def items(self, op: Op) -> list[tuple[Any, bool]]:
        """The items of an operation, of a batch its own, each with whether it goes to the arc input."""
        return [(self.item(each), on_arcs(each)) for each in parts(op)]

    def tried(self, op: Op) -> tuple[list[tuple[Any, bool]], Model, str]:
        """The items of an operation, a model behind them, and how that ends: `OK`, or as the first of them that is refused."""
        trial, items = self.model.fork(), self.items(op)
        ends = (push(trial, each, item) for each, (item, _) in zip(parts(op), items))
        return items, trial, next((end for end in ends if end != OK), OK)


def as_longest(choose: Choices, spec: dict[str, Any]) -> dict[str, Any]:
    """The world with ``longest=True``; of a register of two fields a match may show the first only."""
    if spec["automaton"]["register"] == "R2(0, 1)" and choose.chance(50):
        spec["automaton"]["shown"] = "R1"
    spec["options"]["longest"] = True
    return spec


def parts(op: Op) -> list[Op]:
    """The operations of a batch; otherwise the operation itself."""
    return op[1] if op[0] in BATCHES else [op]


def on_arcs(op: Op) -> bool:
    """Whether an operation goes to the arc input."""
    return op[0] in ("arc+", "arc-", "arc-copy", "punctuate_arcs")


def push(model: Model, op: Op, item: Any) -> str:
    """Apply an operation to a model."""
    return model.push_arc(item) if on_arcs(op) else model.push(item)


BATCHES = ("batch", "table", "list")
ON_EVENTS = ("insert", "retract", "copies")

MANY = (2**40, -(10**12), 2**62, -(2**62), FOREVER, -FOREVER)
"""Copies of which few fit in an int64."""

BALANCED = {
    "insert": 42,
    "duplicate": 5,
    "copies": 2,
    "retract": 14,
    "early": 3,  # a retraction before its insertion
    "awaited": 8,  # and its insertion
    "late": 2,
    "arc": 18,
    "punctuate": 6,
    "punctuate_arcs": 5,
}
"""How often each kind of operation comes."""

WEIGHTS: dict[str, dict[str, int]] = {
    "balanced": {},
    "arcs": {"arc": 50, "insert": 50},
    "waits": {"arc": 20, "punctuate": 14, "retract": 18},
    "progress": {"punctuate": 20, "punctuate_arcs": 20, "arc": 25},
    "revisions": {"retract": 30, "duplicate": 12, "early": 8, "awaited": 20},
    "events": {"arc": 0, "punctuate": 2, "punctuate_arcs": 0, "insert": 60},
}
"""What a world is mostly about, and what comes more or less often there."""

REVISED = {"insert": 52, "retract": 38, "duplicate": 2, "copies": 1, "early": 2, "awaited": 4, "late": 1}
MIXES: dict[str, dict[str, int]] = {
    "mix": {**REVISED, "arc": 0, "punctuate": 0, "punctuate_arcs": 0},
    "mix with arcs": {**REVISED, "arc": 12, "punctuate": 0, "punctuate_arcs": 0},
    "mix with promises": {**REVISED, "arc": 0, "punctuate": 3, "punctuate_arcs": 0},
    "mix with all": {**REVISED, "arc": 12, "punctuate": 2, "punctuate_arcs": 2},
}
"""The same of long mixes (`tests.stress.mixes`): what comes beside changes of events."""


def world(choose: Choices, steps: int | None = None, about: str = "") -> dict[str, Any]:
    """The spec of a random world, mostly about one of `WEIGHTS`."""
    about = choose.one([about] if about else list(WEIGHTS))
    waits = about == "waits"
    automaton = strategies.waiter(choose) if waits and choose.chance(60) else strategies.automaton(choose, waits)
    width = strategies.width_of(automaton)
    states = sorted({state for arc in automaton["arcs"] for state in (arc["src"], arc["dst"])} | {"a", "z"})
    extra = [
        strategies.arc(choose, width, states, f"x{i}", final=choose.chance(30), waits=waits) for i in range(choose.number(0, 3))
    ]
    if choose.chance(15):
        extra = strategies.arcs_to_come(choose, automaton) + extra
    spec: dict[str, Any] = {"automaton": automaton, "extra": extra, "options": {**options(choose), "about": about}, "ops": []}
    if automaton["event"] and choose.chance(40):
        in_tables(spec)
    here = World(spec)
    length = choose.number(8, 20) if steps is None else steps
    while len(spec["ops"]) < length:
        follow(here, operations(choose, here))
    if steps != 0 and choose.chance(25):
        spec["ops"].append(("punctuate", FOREVER))
    return spec


def follow(here: World, ops: list[Op]) -> None:
    """Put operations at the end of a world; its model is what they leave."""
    for op in ops:
        inner = op[1] if op[0] in BATCHES else [] if op[0] == "save" else [op]
        trial = here.model.fork()
        if all(push(trial, each, here.item(each)) == OK for each in inner):
            here.model = trial
        here.spec["ops"].append(op)


def in_tables(spec: dict[str, Any]) -> None:
    """Let a world's events have no field ``kind``, so that a table's column of that name can say what each row is."""
    spec["automaton"]["event"] = "T"
    for arc in [*spec["automaton"]["arcs"], *spec["extra"]]:
        arc.update({name: arc[name].replace("e.kind", "e.sort") for name in ("fence", "transfer") if name in arc})


def options(choose: Choices) -> dict[str, Any]:
    """The options of an operator, and how its changes come: of 100 operations so many are batches, of up to so many changes, or
    saves."""
    return {
        "window": choose.one([None, 3, 5, 9]),
        "order_by": choose.one([None, None, None, "seq"]),
        "arc_punctuation": choose.chance(30),
        "late": choose.one(["raise", "raise", "drop", "callback"]),
        "key": choose.one([None, None, None, "seq"]),
        "horizon": choose.one([5, 8, 8, 16]),
        "style": choose.one(["window", "mixed"]),
        "alone": False,
        "batches": 9,
        "sizes": 3,
        "saves": 3,
    }


def operations(choose: Choices, here: World) -> list[Op]:
    """A random operation that makes sense after what came before; two for a revision."""
    kind, batches = choose.number(0, 99), here.options["batches"]
    if kind < batches:
        several = [pieces(choose, here) for _ in range(choose.number(1, here.options["sizes"]))]
        inner = [piece for found in several for piece in found if piece[0] != "punctuate_arcs"]
        if choose.chance(20):  # late, or not there: the whole batch is refused
            low = max(here.model.event_promise, 0)
            awaited = [event for event, n in here.model.copies.items() if n < 0]
            if awaited and choose.chance(50):  # and with it what has met a retraction that waited
                inner += [op_of("insert", choose.one(awaited), here), ("punctuate", low + 1)]
            inner.append(("insert", strategies.payload(choose), low - 1, None) if choose.chance(50) else ("arc-", 0, None, None))
        net = choose.chance(50)
        if here.automaton.event and choose.chance(60) and fits_table(inner, here):
            return [("list" if choose.chance(30) else "table", inner, net)]
        return [("batch", inner, net)]  # a batch can't say of a punctuation that it is the arcs'
    if kind < batches + here.options["saves"] and here.automaton.event:  # without a schema a NamedTuple can't be saved
        return [("save",)]
    return pieces(choose, here)


def fits_table(ops: list[Op], here: World) -> bool:
    """Whether a table can say these operations: with E it holds events only; in an arc's row BEGINNING means the default mode."""
    return all(op[0] in ON_EVENTS or (here.event is T and not (on_arcs(op) and op[2] == BEGINNING)) for op in ops)


def pieces(choose: Choices, here: World) -> list[Op]:
    """One change or punctuation; two for a revision."""
    model = here.model
    low = max(model.event_promise, 0)
    held = [event for event, n in model.copies.items() if n > 0 and event[1] >= low]
    awaited = [event for event, n in model.copies.items() if n < 0]
    weights = {**BALANCED, **(WEIGHTS | MIXES)[here.options["about"]]}
    promises = model.arc_punctuation or choose.chance(10)
    possible = {"retract": held, "duplicate": held, "awaited": awaited, "punctuate_arcs": promises}
    kind = choose.one([kind for kind, weight in weights.items() for _ in range(weight) if possible.get(kind, True)])
    if kind == "insert" and held and here.options["alone"] and len(free(here, low)) < 2:
        kind = "retract"
    if kind == "retract":
        old = op_of("retract", choose.one(held), here)
        re = lifetime(choose, here, low)[1] if choose.chance(20) else old[3]
        new = ("insert", strategies.payload(choose), old[2], None if re is None else max(re, old[2] + 1))
        return [old, new] if choose.chance(33) else [old]
    if kind in ("awaited", "duplicate"):
        return [op_of("insert", choose.one(awaited if kind == "awaited" else held), here)]
    if kind == "arc":
        return [arc_operation(choose, here)]
    if kind == "punctuate":
        return [("punctuate", low + choose.number(0, 3))]
    if kind == "punctuate_arcs":
        return [("punctuate_arcs", max(model.arc_promise, 0) + choose.number(0, 4))]
    if kind == "copies":
        n = choose.one([2, 3, -2, 2, 3, -2, *MANY])
        if held and choose.chance(30):
            return [("copies", *op_of("retract", choose.one(held), here)[1:], n)]
        return [("copies", strategies.payload(choose), *lifetime(choose, here, low), n)]
    word = "retract" if kind == "early" or (kind == "late" and choose.chance(50)) else "insert"
    return [(word, strategies.payload(choose), *lifetime(choose, here, -2 if kind == "late" else low))]


def lifetime(choose: Choices, here: World, low: int) -> tuple[int, int | None]:
    """A lifetime that is mostly not late; where events are ``alone``, mostly at an instant that has none."""
    le, re = strategies.lifetime(choose, here.options["style"], low, here.options["horizon"])
    if here.options["alone"] and choose.chance(95):
        to = choose.one(free(here, low) or [le])
        le, re = to, re if re in (None, FOREVER) else re - le + to
    return le, re


def free(here: World, low: int) -> list[int]:
    """The instants that have no event."""
    taken = {event[1] for event, n in here.model.copies.items() if n}
    return [t for t in range(low, max(low + 3, here.options["horizon"]) + 1) if t not in taken]


def op_of(kind: str, event: tuple[Any, int, int], here: World) -> Op:
    """An operation about an event that the model knows; RE is left out where the operator would give the same."""
    payload, le, re = event
    window = here.options["window"]
    implied = re == (FOREVER if window is None else le + window)
    return (kind, tuple(payload), le, None if implied and le % 2 else re)


def arc_operation(choose: Choices, here: World) -> Op:
    """A change of an arc: default mode or explicit; a retraction mostly of one in force."""
    model = here.model
    index = choose.number(0, len(here.pool) - 1)
    if model.waiting and choose.chance(30):
        entry = choose.one(model.waiting)
        return ("arc+", index_of(entry.arc, here), entry.le, entry.re)
    low = 0 if model.promise_of_arcs == BEGINNING or choose.chance(4) else model.promise_of_arcs
    if choose.chance(50):
        return ("arc+", index, None, None) if choose.chance(40) else ("arc+", index, *strategies.arc_lifetime(choose, low))
    kind = choose.one(["arc-", "arc-", "arc-copy"])
    if choose.chance(40):
        return (kind, index, None, None)
    held = [entry for entry in model.arcs if entry.le >= low or (entry.le == BEGINNING == model.promise_of_arcs)]
    if not held or choose.chance(10):
        return (kind, index, *strategies.arc_lifetime(choose, low))
    entry = choose.one(held)
    return (kind, index_of(entry.arc, here), entry.le, entry.re)


def index_of(arc: Any, here: World) -> int:
    """The place of an arc, or of one equal to it, in the pool."""
    return next(i for i, known in enumerate(here.pool) if known == arc)
