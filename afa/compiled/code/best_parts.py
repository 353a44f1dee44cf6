"""How arcs are asked where only the best row counts: what the event alone says, then the rest, best of a range of rows.

b -> b   e.kind == 1 and e.val >= r.last      alone: e.kind == 1      rest: e.val >= r.last, a range of the rows of b by r.last
         r._replace(last=e.val)               one register of all rows, but for what it takes over: only the best of them counts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from afa.compiled.code.by_event import stands_at
from afa.compiled.code.step_function import SlotClass
from afa.compiled.code.term import FLOAT, INT, Term
from afa.compiled.kernel.layout import STATES

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class ClassPart(NamedTuple):
    """How one class is asked: what the event alone says (``alone``), then the rest, which ``asks`` or never does."""

    number: int
    slot: SlotClass
    alone: tuple[Term, ...]
    rest: tuple[Term, ...]
    asks: bool

    @property
    def stays(self) -> bool:
        """Whether its rows stay, their registers unseen."""
        return self.slot.ignorable and not (self.slot.skip and self.slot.code.transfer is not None)

    @property
    def best(self) -> bool:
        """Whether all rows that it makes of an event have one register, but for what it takes over; no fence unasked raises."""
        transfer = self.slot.code.transfer
        if self.stays or self.slot.skip or self.asks or transfer is None or transfer.op == "if":
            return False
        return all("r" not in item.reads or stands_at(item, place) for item, place in zip(transfer.items, transfer.data))

    @property
    def kept(self) -> list[int]:
        """The words of the register that such rows take over."""
        transfer = self.slot.code.transfer
        assert transfer is not None
        places = [place for item, place in zip(transfer.items, transfer.data) if "r" in item.reads]
        return [word + i for word, width in places for i in range(width)]


class RowOrder(NamedTuple):
    """The order of the rows of a state: by a word of the register, an int or a float; ``falls``: large values first."""

    word: int
    floats: bool
    falls: bool


class RowRange(NamedTuple):
    """The rows whose field is at or before a value of the event in an order; ``strict``: before it."""

    order: RowOrder
    bound: Term
    strict: bool


class Asked(NamedTuple):
    """What kernels have to know where the best rows suffice.

    ``orders``: states, and of each ``word << 2 | floats << 1 | falls``. ``kept``: the words of a register, as bits, in which a row
    is unusual that has not the initial one; -1: any. ``keeping``: in which states, as bits.
    """

    orders: tuple[tuple[int, int], ...]
    kept: int
    keeping: int


def parts_of(classes: Sequence[SlotClass]) -> list[ClassPart]:
    """Return how each class is asked, in the order of the slots."""
    return [_part(number, slot) for number, slot in enumerate(classes)]


def _part(number: int, slot: SlotClass) -> ClassPart:
    fence = slot.code.fence
    items = () if fence is None else fence.items if fence.op == "all" else (fence,)
    if any(item.asks for item in items):  # in the order in which Python would ask
        return ClassPart(number, slot, (), items, True)
    alone = tuple(item for item in items if "r" not in item.reads)
    rest = tuple(item for item in items if "r" in item.reads)
    return ClassPart(number, slot, alone, rest, False)


def range_of(part: ClassPart) -> RowRange | None:
    """Return the range of rows of which the rest of a part's fence holds, if it compares one field of theirs with the event."""
    if not part.best or len(part.rest) != 1 or part.rest[0].op not in MIRRORED:
        return None
    op, (field, bound) = part.rest[0].op, part.rest[0].items
    if field.op != "field" or field.data[0] != "r":
        op, field, bound = MIRRORED[op], bound, field
    plain = field.op == "field" and field.data[0] == "r" and "r" not in bound.reads
    if not plain or field.kind not in (INT, FLOAT) or bound.kind != field.kind:
        return None
    return RowRange(RowOrder(field.data[1], field.kind == FLOAT, op in ("gt", "ge")), bound, op in ("lt", "gt"))


def orders_of(parts: Sequence[ClassPart]) -> dict[int, RowOrder]:
    """Return the order of the rows of each state that has one."""
    found: dict[int, RowOrder] = {}
    for part in parts:
        asked = range_of(part)
        if asked is not None:
            found.setdefault(part.slot.state, asked.order)
    return found


def asked_of(classes: Sequence[SlotClass]) -> Asked | None:
    """Return what kernels have to know where the best rows suffice; None: they do for no event.

    Nor where every event asks of a register whether it stays: skip till next, whose events would be refused again and again.
    """
    parts = parts_of(classes)
    asked_always = any(part.stays and part.rest and not part.alone for part in parts)
    if asked_always or any(part.slot.state >= STATES for part in parts) or not any(part.best for part in parts):
        return None
    taking = [part for part in parts if part.best and part.kept]
    words = {word for part in taking for word in part.kept}
    kept = -1 if any(word >= STATES for word in words) else sum(1 << word for word in words)
    keeping = sum(1 << state for state in {part.slot.state for part in taking})
    found = tuple((state, o.word << 2 | o.floats << 1 | o.falls) for state, o in sorted(orders_of(parts).items()))
    return Asked(found, kept, keeping)
