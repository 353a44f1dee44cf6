"""The code of `afa.compiled.kernel.longest_best` for one automaton: how its arcs are asked where only the best rows count.

b -> b   e.kind == 1 and e.val >= r.last      alone: e.kind == 1      rest: e.val >= r.last, a range of the rows of b by r.last
         r._replace(last=e.val)               one register of all rows, but for what it takes over: only the best of them counts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from afa.compiled.code.arc_code import ends
from afa.compiled.code.by_event import stands_at
from afa.compiled.code.emit import Emitter
from afa.compiled.code.step_function import HEAD, SlotClass, text_of
from afa.compiled.code.term import FLOAT, INT, Term
from afa.compiled.kernel import longest_best
from afa.compiled.kernel.layout import NOWHERE, STATES
from afa.compiled.kernel.longest_best import ALL, BEGINS, BEST, RANGE, SKIPS, STAYS
from afa.compiled.linked import HoleCode, Linked, pointers

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class BestSlot(NamedTuple):
    """How one class is asked: what the event alone says (``alone``), then the rest, which ``asks`` or never does."""

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

    @property
    def order(self) -> int:
        """The order of rows by which those that the rest of the fence holds of come first, see `Program.orders`; NOWHERE: none."""
        if not self.best or len(self.rest) != 1 or self.rest[0].op not in MIRRORED:
            return NOWHERE
        op, (field, bound) = self.rest[0].op, self.rest[0].items
        if field.op != "field" or field.data[0] != "r":
            op, field, bound = MIRRORED[op], bound, field
        plain = field.op == "field" and field.data[0] == "r" and "r" not in bound.reads
        if not plain or field.kind not in (INT, FLOAT) or bound.kind != field.kind:
            return NOWHERE
        return int(field.data[1]) << 2 | (field.kind == FLOAT) << 1 | (op in ("gt", "ge"))


class BestRows(NamedTuple):
    """The address of the code, and what kernels have to know besides.

    ``orders``: states, and of each its order. ``kept``: the words of a register, as bits, in which a row is unusual that has not
    the initial one; -1: any. ``keeping``: in which states, as bits.
    """

    address: int
    orders: tuple[tuple[int, int], ...]
    kept: int
    keeping: int


def best_rows(classes: Sequence[SlotClass], width: int, start: int = 0) -> BestRows | None:
    """Return the code for classes in the order of the slots; computations begin in state ``start``. None: best rows never suffice.

    Nor where every event asks of a register whether it stays: skip till next, whose events would be refused again and again.
    """
    found = [_best_slot(slot) for slot in classes]
    asked_always = any(of.stays and of.rest and not of.alone for of in found)
    beyond = len(found) > STATES or any(of.slot.state >= STATES for of in found)
    if asked_always or beyond or not any(of.best for of in found):
        return None
    taking = [of for of in found if of.best and of.kept]
    words = {word for of in taking for word in of.kept}
    kept = -1 if any(word >= STATES for word in words) else sum(1 << word for word in words)
    keeping = sum(1 << state for state in {of.slot.state for of in taking})
    orders = {of.slot.state: of.order for of in reversed(found) if of.order != NOWHERE}
    asked = tuple((number, of.slot.state, _form(of, orders, start)) for number, of in enumerate(found))
    makers = tuple((*row, max(of.order >> 2, 0)) for row, of in zip(asked, found) if row[2] & (BEST | BEGINS))
    constants = {"SLOTS": asked, "MAKERS": makers, "ROW_WORDS": HEAD + width}

    def holes() -> dict[str, HoleCode]:
        return {
            "may_take": _by_slot(found, lambda e, of: _all(e, of.alone)),
            "takes": _by_slot(found, lambda e, of: _all(e, of.rest), "reg"),
            "transfer": _by_slot(found, lambda e, of: _transfer(e, of, width), "reg", "out"),
        }

    linked = Linked(longest_best.best_step, f"{start} {width} {text_of(classes)}", constants, holes)
    return BestRows(linked.address(), tuple(sorted(orders.items())), kept, keeping)


def may_grow(classes: Sequence[SlotClass]) -> bool:
    """Return whether lists of the best rows may grow: the event alone lets rows stay, of which another one asks the registers."""
    found = [_best_slot(slot) for slot in classes]
    grow = {of.slot.state for of in found if of.stays and not of.rest}
    return any(of.rest and of.slot.state in grow for of in found)


def _best_slot(slot: SlotClass) -> BestSlot:
    fence = slot.code.fence
    items = () if fence is None else fence.items if fence.op == "all" else (fence,)
    if any(item.asks for item in items):  # in the order in which Python would ask
        return BestSlot(slot, (), items, True)
    return BestSlot(slot, tuple(i for i in items if "r" not in i.reads), tuple(i for i in items if "r" in i.reads), False)


def _form(of: BestSlot, orders: Mapping[int, int], start: int) -> int:
    """Return how the kernel asks a slot; rows of a state have one order, the first that an arc of it has."""
    begins = BEGINS if of.slot.state == start and not of.slot.skip else 0
    if of.best:
        return begins | BEST | (ALL if not of.rest else RANGE if of.order == orders.get(of.slot.state) else 0)
    return begins | (STAYS | SKIPS * of.slot.skip if of.stays and not of.rest else 0)


def _by_slot(found: Sequence[BestSlot], put: Callable[[Emitter, BestSlot], None], *more: str) -> HoleCode:
    """Return a function that does one thing for each slot. It returns 1, or 0 from ``no``, or -1 from ``ask``."""
    e, names = Emitter({}), ("ev", "params", *more)
    pointers(e, *names)
    e.line(f"switch i64 %slot, label %no [{' '.join(f'i64 {n}, label %slot{n}' for n in range(len(found)))}]")
    for number, of in enumerate(found):
        e.place(f"slot{number}")
        e.words, e.known = of.slot.code.words, {}
        put(e, of)
        e.line("ret i64 1")
    ends(e, no=0, ask=-1)
    return HoleCode(e, "i64 %slot, " + ", ".join(f"i64 %{name}.word" for name in names))


def _all(e: Emitter, items: Sequence[Term]) -> None:
    for item in items:
        further = e.name()
        e.jump(item, further, "no")
        e.place(further)


def _transfer(e: Emitter, of: BestSlot, width: int) -> None:
    if of.slot.code.transfer is None:
        e.copy("%reg", "%out", width)
    else:
        e.register(of.slot.code.transfer, "%out")
