"""What stands beside an arc in a picture: lines of text, and all of it to hover over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from afa.explain.draw.font_widths import fitting, width_of
from afa.explain.draw.words import fence_of, final_states, function_text, kind_of, said, transfer_of
from afa.model.arc import Arc, name_of
from afa.model.automaton import Automaton
from punctuation.durations import NANOSECONDS
from punctuation.time import BEGINNING, FOREVER

WITHIN = 700
"""What a break within a term costs, in squares of characters that a line is short of the longest."""
LINE_COST = 400
"""What one line more costs."""


def broken(text: str, room: int) -> list[str]:
    """Return text as lines of at most ``room`` characters, of words that are longer alone. O(words squared).

    >>> broken("e.change > 0 and r.patterns + 1 == 2 and (r.balance == 1)", 36)
    ['e.change > 0 and r.patterns + 1 == 2', 'and (r.balance == 1)']
    >>> broken("/ Vees(r.balance - 1, r.patterns + 1)", 36)
    ['/ Vees(r.balance - 1,', 'r.patterns + 1)']
    >>> broken("", 9)
    ['']
    """
    words = text.split() or [""]
    best: list[tuple[int, int]] = [(0, 0)]  # for the first k words: the cost, and where the last line of them begins
    for end in range(1, len(words) + 1):
        options, width = [], -1
        for begin in range(end - 1, -1, -1):
            width += len(words[begin]) + 1
            if width > room and begin < end - 1:
                break
            options.append((best[begin][0] + _cost(words, begin, end, max(room - width, 0)), begin))
        best.append(min(options))
    lines: list[str] = []
    end = len(words)
    while end:
        begin = best[end][1]
        lines.append(" ".join(words[begin:end]))
        end = begin
    return lines[::-1]


def _cost(words: list[str], begin: int, end: int, short: int) -> int:
    if end == len(words):
        return LINE_COST  # the last line may be short
    good = words[end] in ("and", "or", "else", "if") or re.search(r",$", words[end - 1])
    worst = "=" in (words[end], words[end - 1])
    return LINE_COST + short * short // 4 + (0 if good else 2 * WITHIN if worst else WITHIN)


FONTS = {  # of each style of text: font, size in pixels
    "state": ("bold", 13.0),
    "kind": ("sans", 11.0),
    "name": ("bold", 12.0),
    "words": ("sans", 12.0),
    "fence": ("mono", 11.0),
    "transfer": ("mono", 11.0),
    "life": ("sans", 10.0),
}
LINE = 15.0
"""From one line of text to the next, in pixels."""
WIDEST = 240.0
"""The widest line of a label, in pixels."""
MOST_LINES = 4
"""The most lines of a fence, and of a transfer; the rest is cut, and stands in the title."""
FROM_1990, TO_2100 = 631_152_000, 4_102_444_800
"""Seconds since 1970: between these, ticks are taken for times."""
SIGNS = {"consume": "", "ignorable": "ignores", "skip": "skips", "epsilon": "ε", "time-out": "time-out"}


class Drawn(NamedTuple):
    """An arc to draw: its number, the lifetimes in which it serves (None: always), whether all of them are past, what a tick is."""

    number: int
    arc: Arc
    lives: tuple[tuple[int, int], ...] | None = None
    past: bool = False
    tick: str | None = None


def shown(automaton: Automaton, arcs: Sequence[Drawn] | None) -> tuple[Sequence[Drawn], list[str], frozenset[str]]:
    """Return the arcs of a picture (None: the automaton's), all states that it shows, and which of them are final."""
    drawn = [Drawn(i, arc) for i, arc in enumerate(automaton.arcs)] if arcs is None else arcs
    ends = [state for one in drawn for state in (one.arc.src, one.arc.dst)]
    finals = final_states(automaton).union(one.arc.dst for one in drawn if one.arc.final)
    return drawn, list(dict.fromkeys([*automaton.states, *ends])), finals


class TextPiece(NamedTuple):
    """Text of one style within a line."""

    style: str
    text: str

    @property
    def width(self) -> float:
        return width_of(self.text, *FONTS[self.style])


class ArcLabel(NamedTuple):
    """The lines of a label, each of pieces that stand one space apart, and the text to hover over."""

    lines: tuple[tuple[TextPiece, ...], ...]
    title: str

    @property
    def width(self) -> float:
        return max((line_width(line) for line in self.lines), default=0.0)

    @property
    def height(self) -> float:
        return LINE * len(self.lines)


GAP = 5.0
"""Between two pieces of a line, in pixels."""


def line_width(line: Sequence[TextPiece]) -> float:
    """Return the width of a line, in pixels."""
    return sum(piece.width for piece in line) + GAP * (len(line) - 1)


def label_of(drawn: Drawn, labels: str, register: type | None = None) -> ArcLabel:
    """Return the label of an arc; ``register``: the register's class, for the names of what a transfer sets."""
    arc = drawn.arc
    fence, transfer = fence_of(arc), function_text(arc.transfer)
    sign = SIGNS[kind_of(arc)]
    head = [TextPiece("kind", sign)] if sign else []
    lines: list[tuple[TextPiece, ...]] = []
    if labels == "names":
        lines += _headed(head, _wrapped("words", named(arc)))
    else:
        known = name_of(arc)
        name = [TextPiece("name", fitting(known, *FONTS["name"], WIDEST - 60))] if known else []
        fences = _wrapped("fence", fence)
        lines += [tuple(head + name), *fences] if name else _headed(head, fences)
        lines += _wrapped("transfer", f"/ {transfer_of(arc, register)}") if transfer else []
    life = lifetimes(drawn)
    lines += [(TextPiece("life", fitting(life, *FONTS["life"], WIDEST)),)] if life else []
    title = [f"{arc.src} → {arc.dst} ({kind_of(arc)})", *([arc.name] if arc.name else [])]
    title += [f"fence: {fence}"] * (arc.kind != "timeout" and bool(fence)) + [fence] * (arc.kind == "timeout")
    title += [f"transfer: {transfer}"] * bool(transfer) + [f"in force {life}"] * bool(life)
    return ArcLabel(tuple(lines), "\n".join(title))


def named(arc: Arc) -> str:
    """Return the name of an arc, else its fence in words; of an arc that a query has made its component and the fence.

    >>> [named(Arc("a", "b", "x < 1", name=name)) for name in ("low", None, "fall: a -> b #51fe4dc8")]
    ['low', 'x below 1', 'fall: x below 1']
    """
    name = name_of(arc)
    if name and name == arc.name:
        return name
    return f"{name}: {said(fence_of(arc))}" if name else said(fence_of(arc))


def lifetimes(drawn: Drawn) -> str:
    """Return the lifetimes of an arc as text; empty: it always serves.

    >>> arc = Arc("a", "b", "x < 1")
    >>> lifetimes(Drawn(0, arc, ((BEGINNING, 5), (8, 9), (12, FOREVER))))
    'until 5, [8, 9), from 12'
    """
    if drawn.lives is None or drawn.lives == ((BEGINNING, FOREVER),):
        return ""
    return ", ".join(_life(le, re, drawn.tick) for le, re in drawn.lives)


def _life(le: int, re: int, tick: str | None) -> str:
    if le == BEGINNING:
        return "always" if re == FOREVER else f"until {instant_text(re, tick)}"
    return f"from {instant_text(le, tick)}" if re == FOREVER else f"[{instant_text(le, tick)}, {instant_text(re, tick)})"


def instant_text(value: int, tick: str | None) -> str:
    """Return an instant as text: where a tick is known and it lies in the years 1990 to 2099 as a time (UTC), else as ticks.

    >>> instant_text(1_372_636_800, "s"), instant_text(1_372_636_801_500, "ms"), instant_text(7, "s"), instant_text(7, None)
    ('2013-07-01', '2013-07-01 00:00:01.5', '7', '7')
    """
    seconds = value * NANOSECONDS[tick] / 1e9 if tick else 0.0
    if not FROM_1990 <= seconds < TO_2100:
        return str(value)
    text = str(datetime(1970, 1, 1) + timedelta(seconds=seconds))
    text = text.rstrip("0") if "." in text else text
    return text.removesuffix(" 00:00:00").removesuffix(":00")


def _headed(head: list[TextPiece], lines: list[tuple[TextPiece, ...]]) -> list[tuple[TextPiece, ...]]:
    """Put the word for the arc's kind in front of the first line."""
    return [(*head, *lines[0]), *lines[1:]] if lines else [tuple(head)] if head else []


def _wrapped(style: str, text: str) -> list[tuple[TextPiece, ...]]:
    """Break text into lines that are no wider than `WIDEST`; what is beyond `MOST_LINES` is cut."""
    if not text:
        return []
    font, size = FONTS[style]
    room = max(8, int(WIDEST / width_of("n", font, size)))
    lines = broken(re.sub(r"\s+", " ", text), room)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], " ".join(lines[MOST_LINES - 1 :])]
    return [(TextPiece(style, fitting(line, font, size, WIDEST)),) for line in lines]
