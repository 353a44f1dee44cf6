"""The arcs of one class against many partial matches at once: first the event part of a fence, then its register part.

b -> b   e.kind == 1 and e.val >= r.last      alone: e.kind == 1      rest: e.val >= r.last, of eight rows at once
         r._replace(last=e.val)               one register of all rows, but for what it takes over: only the best of them counts
"""

from __future__ import annotations

from typing import NamedTuple

from afa.compiled.code.by_event import stands_at
from afa.compiled.code.lanes import served
from afa.compiled.code.step_function import SlotClass
from afa.compiled.code.term import Term

Flag = tuple[str, str, str]
"""Of a part: whether the event may take it, the arc's destination, where its constants stand."""


class ClassPart(NamedTuple):
    """The two parts of one class: that of the event alone (``alone``), then the rest, in vectors if ``eight``; see `_part`."""

    number: int
    slot: SlotClass
    alone: tuple[Term, ...]
    rest: tuple[Term, ...]
    eight: bool

    @property
    def stays(self) -> bool:
        """Whether its rows stay, their registers unseen."""
        return self.slot.ignorable and not (self.slot.skip and self.slot.code.transfer is not None)

    @property
    def best(self) -> bool:
        """Whether all rows that it makes of an event have one register, but for words that it takes over."""
        transfer = self.slot.code.transfer
        if self.stays or self.slot.skip or not self.eight or transfer is None or transfer.op == "if":
            return False
        return all("r" not in item.reads or stands_at(item, place) for item, place in zip(transfer.items, transfer.data))

    @property
    def kept(self) -> list[int]:
        """The words of the register that such rows take over."""
        transfer = self.slot.code.transfer
        assert transfer is not None
        places = [place for item, place in zip(transfer.items, transfer.data) if "r" in item.reads]
        return [word + i for word, width in places for i in range(width)]


def part_of(number: int, slot: SlotClass) -> ClassPart:
    fence = slot.code.fence
    items = () if fence is None else fence.items if fence.op == "all" else (fence,)
    if any(item.asks for item in items):  # in the order in which Python would ask
        return ClassPart(number, slot, (), items, False)
    alone = tuple(item for item in items if "r" not in item.reads)
    rest = tuple(item for item in items if "r" in item.reads)
    return ClassPart(number, slot, alone, rest, all(served(item) for item in rest))


def makes_alike(part: ClassPart, other: ClassPart) -> bool:
    """Return whether two parts make of an event rows of one register."""
    x, y = part.slot.code.transfer, other.slot.code.transfer
    return x is not None and y is not None and x.data == y.data and all(map(_alike, x.items, y.items))


def _alike(x: Term, y: Term) -> bool:
    if x.op == "param" or (x.op, x.kind, len(x.items)) != (y.op, y.kind, len(y.items)) or x.data != y.data:
        return False
    return all(map(_alike, x.items, y.items))
