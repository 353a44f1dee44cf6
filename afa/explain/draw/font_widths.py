"""How wide text is in a picture: the advance widths of the fonts that it names, so that no browser has to be asked."""

from __future__ import annotations

import unicodedata

# Advance widths in 1/1000 em of the characters 32 to 126: Helvetica's, which Arial, Liberation Sans and Arimo share.
_PLAIN = """278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584
584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667
611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500
722 500 500 500 334 260 334 584"""
_BOLD = """278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584
584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667
611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556
778 556 556 500 389 280 389 584"""
_MONO = 602  # Menlo, DejaVu Sans Mono, Liberation Mono: 600 to 602; Consolas, with 550, is narrower
_OTHER = 620  # of what stands in no table: most letters of Latin, Greek and Cyrillic are narrower
_WIDE = 1000  # a character of East Asian width, and what one font draws wide, as the dots of a cut

TABLES = {"sans": [int(w) for w in _PLAIN.split()], "bold": [int(w) for w in _BOLD.split()], "mono": [_MONO] * 95}


def width_of(text: str, font: str, size: float) -> float:
    """Return the width of one line of text, in pixels, in a font ("sans", "bold" or "mono") of that size.

    >>> width_of("iii", "sans", 10) < width_of("mmm", "sans", 10)
    True
    >>> width_of("", "mono", 10)
    0.0
    """
    table = TABLES[font]
    return sum(table[ord(c) - 32] if " " <= c <= "~" else _rare(c, font) for c in text) * size / 1000


def _rare(char: str, font: str) -> int:
    if unicodedata.combining(char):
        return 0
    if unicodedata.east_asian_width(char) in "WF" or ord(char) > 0xFFFF:
        return _WIDE + 204 * (font == "mono")  # two columns of a fixed-width font
    return _MONO if font == "mono" else _WIDE if char in "…—∞" else _OTHER


def fitting(text: str, font: str, size: float, width: float) -> str:
    """Return the text, cut with an ellipsis where it is wider than ``width`` pixels.

    >>> fitting("a state with a very long name", "sans", 10, 60)
    'a state wit…'
    """
    if width_of(text, font, size) <= width:
        return text
    dots = width_of("…", font, size)
    low, high = 0, len(text)
    while low < high:  # the longest beginning that leaves room for the dots
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(text[:middle], font, size) + dots <= width else (low, middle - 1)
    return text[:low].rstrip() + "…"
