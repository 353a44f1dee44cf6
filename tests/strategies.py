"""Random automata, events and lifetimes, for Hypothesis and for seeded runs alike: one generator over a source of choices.

Everything generated is data (see `tests.text`), so that a failure prints as what it is. Registers count modulo a small number, so
that closures over epsilon arcs end; domains are tiny, so that equal timestamps, equal registers and equal matches happen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from punctuation.time import FOREVER

T = TypeVar("T")
KINDS = 3
HORIZON = 8
STATES = ("a", "b", "c", "d")
SKIPS = 30
"""How many percent of the ignorable arcs are skips: all events of a step are asked, none is consumed."""
NOTES = 0
"""How many percent of the skips take note of what they pass, by a transfer."""


class Choices(Protocol):
    """Where choices come from."""

    def number(self, low: int, high: int) -> int: ...

    def one(self, options: Sequence[T]) -> T: ...

    def chance(self, percent: int) -> bool: ...


class Seeded:
    """Choices of a seeded ``random.Random``."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return low + int(self._random.random() * (high - low + 1))

    def one(self, options: Sequence[T]) -> T:
        return options[int(self._random.random() * len(options))]

    def chance(self, percent: int) -> bool:
        return self._random.random() * 100 < percent


class Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def one(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(list(options)))

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent


def fence(choose: Choices, width: int) -> str:
    """A fence of a consuming arc over a register of ``width`` fields."""
    texts = ["True", "e.kind == 0", "e.kind != 1", "e.kind == 2", "e.kind > 0", "e.seq < 2"]
    if width:
        texts += ["(e.kind + r.x) % 2 == 0", "r.x < 2", "e.kind == r.x", "e.kind != r.x or r.x == 0"]
    if width == 2:
        texts += ["r.x != r.y", "e.kind >= r.y"]
    return choose.one(texts)


def transfer(choose: Choices, width: int) -> str | None:
    """A transfer of a consuming arc, or none; several of them may leave the register equal."""
    if choose.chance(25):
        return None
    if width == 0:
        return choose.one(["r", None])
    if width == 1:
        return choose.one(["R1((r.x + 1) % 3)", "R1((r.x + e.kind) % 3)", "R1(e.kind)", "R1(r.x)", "R1(max(r.x, e.kind))", "R1(0)"])
    texts = ["R2((r.x + 1) % 3, r.y)", "R2((r.x + e.kind) % 2, e.seq % 2)", "R2(r.y, r.x)", "r._replace(y=e.kind)", "R2(r.x, r.y)"]
    return choose.one(texts)


def still_fence(choose: Choices, width: int, loop: bool) -> str:
    """A fence of an epsilon arc; one of a loop is never always true."""
    if width == 0:
        return "True"
    return choose.one(["r.x == 1", "r.x < 2", "r.x != 0"] if loop else ["True", "r.x == 0", "r.x > 0", "r.x != 2"])


def still_transfer(choose: Choices, width: int, loop: bool) -> str | None:
    """A transfer of an epsilon arc."""
    if width == 0:
        return None
    texts = ["R1((r.x + 1) % 3)", "R1(2)"] if width == 1 else ["R2((r.x + 1) % 3, r.y)", "R2(r.x, (r.y + 1) % 2)"]
    return choose.one(texts if loop else [None, None, *texts])


def arc(
    choose: Choices, width: int, states: Sequence[str], name: str | None, final: bool = False, waits: bool = False
) -> dict[str, Any]:
    """The spec of one arc of any kind; with ``waits`` a third of them are time-outs."""
    src, dst = choose.one(states), choose.one(states)
    loop = src == dst
    kind = choose.one(["consume"] * (3 if waits else 7) + ["timeout", "timeout"][: 1 + waits] + ["epsilon"])
    if kind == "epsilon" and loop and not width:
        kind = "consume"  # an epsilon loop without a register never ends, and is refused
    spec: dict[str, Any] = {"src": src, "dst": dst, "kind": kind, "name": name, "final": final}
    if kind == "timeout":
        at = [str(choose.number(0, HORIZON)), str(HORIZON // 2)] + (["r.x + 3", "4 * r.x + 2", "r.x", "9 - r.x"] if width else [])
        spec["at"] = choose.one(at)
    elif kind == "epsilon":
        spec |= {"fence": still_fence(choose, width, loop), "transfer": still_transfer(choose, width, loop)}
    else:
        ignorable = loop and choose.chance(50)
        spec |= {"fence": fence(choose, width), "transfer": None if ignorable else transfer(choose, width)}
    return as_skip(choose, thin(spec), width)


def automaton(choose: Choices, waits: bool = False) -> dict[str, Any]:
    """The spec of an automaton with 1-4 states and 1-6 arcs; at least one arc leaves the start, and a final state is reached."""
    width = choose.one([0, 1, 1, 2])
    states = STATES[: choose.number(1, 4)]
    arcs = [arc(choose, width, states, f"own{i}", final=choose.chance(8), waits=waits) for i in range(choose.number(1, 6))]
    reached = ["a"]
    for i, spec in enumerate(arcs):  # each arc leaves a state that an earlier one reaches, so that no automaton is dead
        if spec["src"] not in reached:
            spec["src"] = choose.one(reached)
            if spec["src"] == spec["dst"] and spec.get("kind") == "epsilon":
                arcs[i] = {"src": spec["src"], "dst": spec["dst"], "name": f"own{i}", "fence": fence(choose, width)}
        reached.append(spec["dst"])
    final = sorted({choose.one(reached[1:]) for _ in range(choose.one([1, 1, 2]))})
    register = [None, "R1(0)", "R2(0, 1)"][width]
    return {"start": "a", "final": final, "arcs": arcs, "register": register, "event": "E" if choose.chance(80) else None}


def arcs_to_come(choose: Choices, spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Take arcs out of an automaton's spec, half of the time all of them; they come later, if they come."""
    keep = (lambda _: False) if choose.chance(50) else (lambda _: choose.chance(50))
    kept = [arc for arc in spec["arcs"] if keep(arc)]
    taken = [arc for arc in spec["arcs"] if arc not in kept]
    spec["arcs"] = kept
    return taken


def chain(choose: Choices) -> dict[str, Any]:
    """The spec of an automaton that waits along ignorable arcs: states in a row, none to three of these arcs at each of them.

    Their fences overlap with those of the arcs that lead on, or do not; the start and final states have some as well; epsilon arcs
    and time-outs may wait behind them.
    """
    width = choose.one([0, 0, 0, 1, 1, 2])
    states = STATES[: choose.one([2, 3, 3, 4, 4, 4])]
    arcs: list[dict[str, Any]] = []
    skips = choose.chance(75)  # all that does not lead on is passed over
    for src, dst in pairwise(states):
        kind = choose.number(0, KINDS - 1)
        on = f"e.kind == {kind}" if skips else letter(choose, width)
        arcs.append({"src": src, "dst": dst, "fence": on, "transfer": transfer(choose, width)})
        if skips and src != "a":
            arcs.append({"src": src, "dst": src, "fence": f"e.kind != {kind}" if choose.chance(85) else "True"})
    for state in states:
        loops = choose.one([0, 0, 0, 0, 1] if skips else [0, 1, 1, 1, 2, 3])
        arcs += [{"src": state, "dst": state, "fence": letter(choose, width)} for _ in range(loops)]
    others = choose.one([0, 0, 0, 0, 1] if skips else [0, 0, 1, 2])
    arcs += [arc(choose, width, states, None, final=choose.chance(20)) for _ in range(others)]
    if choose.chance(25):
        arcs.append(waiting(choose, width, states))
        if choose.chance(60):
            arcs.append({"src": arcs[-1]["src"], "dst": arcs[-1]["src"], "kind": "skip", "fence": letter(choose, width)})
    for i, spec in enumerate(arcs):
        spec["name"] = f"own{i}"
    register = [None, "R1(0)", "R2(0, 1)"][width]
    final = sorted({states[-1], choose.one([states[-1], states[-1], choose.one(states)])})
    arcs = [as_skip(choose, thin(spec), width) for spec in arcs]
    return {"start": "a", "final": final, "arcs": arcs, "register": register, "event": "E"}


def waiter(choose: Choices) -> dict[str, Any]:
    """The spec of an automaton that waits beside skips: what is passed, and taken note of, before time-outs fire and behind them.

    An instant of a time-out may lie before the event that leads to it, or behind what is skipped; ignorable arcs, which consume, and
    epsilon arcs into waits stand beside the skips.
    """
    width = choose.one([0, 1, 1, 2])
    states = STATES[: choose.one([2, 3, 3, 4])]
    final = sorted({states[-1], choose.one(states[1:])})
    arcs: list[dict[str, Any]] = [{"src": "a", "dst": "b", "fence": letter(choose, width), "transfer": transfer(choose, width)}]
    for state in states[1:]:
        dst = choose.one([other for other in states[1:] if other != state] or ["a"])
        if choose.chance(85):
            at = [str(choose.number(0, HORIZON)), str(choose.number(0, HORIZON // 2)), "r.x + 3", "4 * r.x", "2 * r.x + 3"]
            arcs.append({"src": state, "dst": dst, "kind": "timeout", "at": choose.one(at if width else at[:2])})
        if choose.chance(75):
            skip = {"src": state, "dst": state, "kind": "skip", "fence": choose.one(["True", "e.kind != 1", "e.kind == 2"])}
            arcs.append(skip | ({"transfer": note(choose, width)} if width and choose.chance(30) else {}))
        if choose.chance(25):
            arcs.append({"src": state, "dst": choose.one([state, dst]), "fence": letter(choose, width)})
        if choose.chance(25):
            still = {"fence": still_fence(choose, width, False), "transfer": still_transfer(choose, width, False)}
            arcs.append({"src": state, "dst": dst, "kind": "epsilon", **(still if width else {"fence": "e.kind > 0", "kind": None})})
    arcs = [{**thin(spec), "name": f"own{i}"} for i, spec in enumerate(arcs)]
    register = [None, "R1(0)", "R2(0, 1)"][width]
    return {"start": "a", "final": final, "arcs": arcs, "register": register, "event": "E"}


def as_skip(choose: Choices, spec: dict[str, Any], width: int = 0) -> dict[str, Any]:
    """The spec of an ignorable arc, perhaps as one of a skip; that of another arc as it is."""
    ignorable = spec["src"] == spec["dst"] and not spec.keys() & {"kind", "transfer", "final"}
    if not (SKIPS and ignorable and choose.chance(SKIPS)):
        return spec
    notes = NOTES and width and "r." not in spec["fence"] and choose.chance(NOTES)  # in any order it must come to the same
    return {**spec, "kind": "skip", **({"transfer": note(choose, width)} if notes else {})}


def note(choose: Choices, width: int) -> str:
    """The transfer of a skip."""
    if width == 1:
        texts = ["R1(max(r.x, e.kind))", "R1(min(r.x, e.seq))", "R1(r.x if e.kind != 2 else 2)", "R1((r.x + e.kind) % 3)"]
    else:
        texts = ["R2(max(r.x, e.kind), min(r.y, e.seq))", "r._replace(y=max(r.y, e.kind) if e.kind > 0 else r.y)"]
    return choose.one(texts)


def waiting(choose: Choices, width: int, states: Sequence[str]) -> dict[str, Any]:
    """The spec of an epsilon arc or a time-out between two states."""
    src = choose.one(states)
    dst = choose.one([state for state in states if state != src])
    ends = {"src": src, "dst": dst}
    if choose.chance(50):
        return {**ends, "kind": "epsilon", "fence": still_fence(choose, width, False)}
    return {**ends, "kind": "timeout", "at": "r.x + 3" if width and choose.chance(50) else str(choose.number(0, HORIZON))}


def letter(choose: Choices, width: int) -> str:
    """A fence that mostly is about the kind of the event alone."""
    kind = choose.number(0, KINDS - 1)
    texts = [f"e.kind == {kind}", f"e.kind != {kind}"]
    return choose.one(texts) if choose.chance(75) else fence(choose, width)


def thin(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of an arc without what need not be said."""
    return {key: value for key, value in spec.items() if value not in (None, False, "consume", "True")}


def width_of(spec: dict[str, Any]) -> int:
    """How many fields the register of an automaton's spec has."""
    return {None: 0, "R1(0)": 1, "R2(0, 1)": 2}[spec["register"]]


def payload(choose: Choices) -> tuple[int, int]:
    """The fields of an event."""
    return choose.number(0, KINDS - 1), choose.number(0, 2)


def lifetime(choose: Choices, style: str, low: int = 0, horizon: int = HORIZON) -> tuple[int, int | None]:
    """LE and RE of an event: "window" leaves RE to the operator, "mixed" mostly gives it."""
    le = choose.number(low, max(low + 3, horizon))
    if style == "window" or choose.chance(20):
        return le, None
    return le, choose.one([le + 1, le + 2, le + 3, le + 5, le + 20, FOREVER])


def arc_lifetime(choose: Choices, low: int = 0) -> tuple[int, int | None]:
    """An explicit lifetime of an arc event: past, present or future, long or short."""
    le = low if choose.chance(25) else choose.number(low, max(low + 3, HORIZON + 2))
    return le, choose.one([None, le + 1, le + 2, le + 4])


@st.composite
def automata(draw: Callable[..., Any]) -> dict[str, Any]:
    """Specs of automata, for Hypothesis."""
    return automaton(Drawn(draw))
