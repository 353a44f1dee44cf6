"""What a fence asks of registers, followed back through transfers to the events that set them.

    r.peak >= 60, where peak is only ever copied from e.delay  ->  some event before has delay >= 60

A *demand* says in which range a field of the register lies. In front of an arc whose transfer chooses the field's value among
others (a copy, ``min``, ``max``, a conditional), it is one of several demands, or is met: by the event, by a constant. What is
calculated meets every demand, as far as anybody knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.arc_functions import expression_of
from afa.expression.intervals import EVERYTHING, VALUE, ValueRange, ranges
from afa.expression.kinds import FunctionKind, Unreadable
from afa.expression.nodes import And, Call, Const, Expr, FieldRead, If, Make, Or, renamed, sides
from afa.model.arc import TIMEOUT, Arc
from afa.replay.witness.boxes import Box, fence_of, safe_clauses
from afa.schema import Schema
from punctuation.door import EXACT

MOST = 16
"""The most ways in which the demands behind an arc are followed; with more of them they are let go."""

Demands = frozenset[tuple[str, ValueRange]]
"""At most one range for each field of the register."""
NOTHING: Demands = frozenset()
NUMBER = ValueRange(nan=False, none=False)


class Way(NamedTuple):
    """One way in which the demands behind an arc are met: by the arc's event, and by what is demanded in front of it."""

    event: Box
    before: Demands


def demanded(arc: Arc, event: Schema | None, register: Schema) -> Demands | None:
    """Return the demands of an arc's fence on the register alone; None: no register satisfies it."""
    expr = None if arc.kind == TIMEOUT else fence_of(arc, event, register)
    if expr is None or not register.scalar:
        return NOTHING
    met: dict[str, ValueRange] = {}
    for clause, _ in safe_clauses(expr, event if arc.reads_event else None, register):
        if sides(clause) == frozenset("r"):
            found = ranges(renamed(clause, lambda field: FieldRead("e", field.name)), register)
            for name, one in found.items():
                met[name] = met.get(name, EVERYTHING).meet(one)
    return _demands(met)


def ways_back(arc: Arc, behind: Demands, event: Schema | None, register: Schema) -> Iterator[Way]:
    """Yield the ways in which an arc leads to a register that meets the demands behind it."""
    if not behind or arc.transfer is None:
        yield Way(Box(), behind)
        return
    made = _transfer(arc, event, register)
    if made is None:
        yield Way(Box(), NOTHING)
        return
    names = [field.name for field in register.fields]
    choices = []
    for name, wanted in behind:
        leaves = list(_leaves(made.items[names.index(name)]))
        choices.append([one for leaf in leaves for one in _met(leaf, wanted, register.fields[names.index(name)].type, event)])
    many = 1
    for choice in choices:
        many *= len(choice)
    if many > MOST:
        yield Way(Box(), NOTHING)
        return
    for picks in itertools.product(*choices):
        box: Box | None = Box()
        before: dict[str, ValueRange] = {}
        for side, name, wanted in picks:
            if side == "e" and box is not None:
                box = box.meet(Box(((name, wanted),)))
            elif side == "r":
                before[name] = before.get(name, EVERYTHING).meet(wanted)
        demands = _demands(before)
        if box is not None and demands is not None:
            yield Way(box, demands)


def both(one: Demands, other: Demands) -> Demands | None:
    """Return demands that ask for both; None: no register meets them."""
    met = dict(one)
    for name, wanted in other:
        met[name] = met.get(name, EVERYTHING).meet(wanted)
    return _demands(met)


def meets(values: Any, demands: Demands) -> bool:
    """Return whether a register meets demands."""
    return all(wanted.contains(getattr(values, name)) for name, wanted in demands)


def _demands(met: dict[str, ValueRange]) -> Demands | None:
    if any(one.empty for one in met.values()):
        return None
    return frozenset((name, one) for name, one in met.items() if one not in (EVERYTHING, VALUE, NUMBER))


def _transfer(arc: Arc, event: Schema | None, register: Schema) -> Make | None:
    try:
        found = expression_of(arc.transfer, FunctionKind("transfer", arc.reads_event), event if arc.reads_event else None, register)
    except (Unreadable, AutomatonError):
        return None
    return found if isinstance(found, Make) else None


def _leaves(expr: Expr) -> Iterator[Expr]:
    """Yield the expressions that a value may come from."""
    match expr:
        case If(_, then, other):
            yield from _leaves(then)
            yield from _leaves(other)
        case Call("min" | "max", items) | And(items) | Or(items):
            for item in items:
                yield from _leaves(item)
        case _:
            yield expr


def _met(leaf: Expr, wanted: ValueRange, kind: type | None, event: Schema | None) -> Iterator[tuple[str, str, ValueRange]]:
    """Yield how this leaf's value lies in a range: ("e" | "r", field, range), or ("", ..): it does; nothing: it does not."""
    match leaf:
        case Const(value):
            if wanted.contains(value):
                yield "", "", EVERYTHING
        case FieldRead("r", name):
            yield "r", name, wanted
        case FieldRead("e", name) if event is not None and event.scalar and not _rounded(name, wanted, kind, event):
            yield "e", name, wanted
        case _:
            yield "", "", EVERYTHING


def _rounded(name: str, wanted: ValueRange, kind: type | None, event: Schema) -> bool:
    """Return whether an int could round into a range when it becomes a float."""
    of = next((field.type for field in event.fields if field.name == name), None)
    bounds = [*(bound for bound in (wanted.low, wanted.high) if abs(bound) != float("inf")), *(wanted.values or ())]
    return kind is not of and any(isinstance(bound, (int, float)) and abs(bound) >= EXACT for bound in bounds)
