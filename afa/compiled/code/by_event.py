"""Decisions about an arc by the event alone, whatever the register: ``not (e.kind == 2 and e.price > r.low)`` holds of kind 3.

    decide   go by a truth: to ``yes``, to ``no``, or to ``unsure`` where the register may tell
    keeps    go by whether a transfer leaves the register as it is: to ``yes``, or to ``unsure``

Terms that the event decides come first, unless a term that may ask stands before them: where Python would raise, nothing is
decided.
"""

from __future__ import annotations

from collections.abc import Callable

from afa.compiled.code.emit import Emitter
from afa.compiled.code.term import Term


def may_be(t: Term, truth: bool) -> bool:
    """Return whether `decide` may find that a term has this truth."""
    if "r" not in t.reads:
        return True
    if t.op == "not":
        return may_be(t.items[0], not truth)
    if t.op == "if":
        return "r" not in t.items[0].reads and any(may_be(end, truth) for end in t.items[1:])
    if t.op not in ("all", "any"):
        return False
    alone, others, whole = in_turn(t)
    if truth is (t.op == "all"):
        return whole and all(may_be(item, truth) for item in others)
    return bool(alone) or (whole and any(may_be(item, truth) for item in others))


def decide(e: Emitter, t: Term, yes: str, no: str, unsure: str) -> None:
    """Go on to one of three blocks. What is known afterwards holds in none of them."""
    if "r" not in t.reads:
        e.jump(t, yes, no)
    elif t.op == "not":
        decide(e, t.items[0], no, yes, unsure)
    elif t.op == "if" and "r" not in t.items[0].reads:
        labels = e.name(), e.name()
        for label, known, end in zip(labels, e.jump(t.items[0], *labels), t.items[1:]):
            e.place(label)
            e.known = dict(known)
            decide(e, end, yes, no, unsure)
    elif t.op in ("all", "any"):
        _decide_along(e, t, yes, no, unsure)
    else:
        e.goto(unsure)


def _decide_along(e: Emitter, t: Term, yes: str, no: str, unsure: str) -> None:
    further = t.op == "all"
    alone, others, whole = in_turn(t)
    for item in alone:
        on = e.name()
        here, there = e.jump(item, *((on, no) if further else (yes, on)))
        e.place(on)
        e.known = dict(here if further else there)
    for item in others if whole else ():
        on, known = e.name(), dict(e.known)
        decide(e, item, *((on, no) if further else (yes, on)), unsure)
        e.place(on)
        e.known = known
    e.goto((yes if further else no) if whole else unsure)


def in_turn(t: Term) -> tuple[list[Term], list[Term], bool]:
    """Return the items that the event decides, the others, and whether these are all: the rest is behind one that may ask."""
    alone: list[Term] = []
    others: list[Term] = []
    for item in t.items:
        if "r" not in item.reads:
            alone.append(item)
        elif item.asks:
            return alone, others, False
        else:
            others.append(item)
    return alone, others, True


def may_keep(t: Term) -> bool:
    """Return whether `keeps` may find that a transfer leaves the register as it is."""
    if t.op == "if":
        return any(may_be(t.items[0], truth) and may_keep(end) for truth, end in zip((True, False), t.items[1:]))
    return all(_may_keep_field(item, place) for item, place in zip(t.items, t.data))


def keeps(e: Emitter, t: Term, yes: str, unsure: str) -> None:
    """Go on to one of two blocks. *Requires* a transfer."""
    known = dict(e.known)
    if t.op == "if":
        _by_test(e, t, yes, unsure, keeps)
        return
    for item, place in zip(t.items, t.data):
        on = e.name()
        _keeps_field(e, item, place, on, unsure)
        e.place(on)
        e.known = dict(known)
    e.goto(yes)


def _by_test(e: Emitter, t: Term, yes: str, unsure: str, way: Callable[[Emitter, Term, str, str], None]) -> None:
    known, labels = dict(e.known), (e.name(), e.name())
    decide(e, t.items[0], *labels, unsure)
    for label, end in zip(labels, t.items[1:]):
        e.place(label)
        e.known = dict(known)
        way(e, end, yes, unsure)


def _may_keep_field(t: Term, place: tuple[int, int]) -> bool:
    t = _plain(t)
    if t.op == "if":
        return any(may_be(t.items[0], truth) and _may_keep_field(end, place) for truth, end in zip((True, False), t.items[1:]))
    return stands_at(t, place)


def _keeps_field(e: Emitter, t: Term, place: tuple[int, int], yes: str, unsure: str) -> None:
    t = _plain(t)
    if t.op == "if":
        _by_test(e, t, yes, unsure, lambda e, end, yes, unsure: _keeps_field(e, end, place, yes, unsure))
    else:
        e.goto(yes if stands_at(t, place) else unsure)


def _plain(t: Term) -> Term:
    return t.items[0] if t.op == "canon" else t


def stands_at(t: Term, place: tuple[int, int]) -> bool:
    """Return whether a term is the field of the register that has this place."""
    t = _plain(t)
    return t.op == "field" and t.data == ("r", *place)
