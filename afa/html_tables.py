"""Small tables in HTML, for notebooks. All text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from punctuation.time import BEGINNING, FOREVER

_CELL = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top;font-family:monospace"'
_NAME = 'style="text-align:left;padding:1px 12px 1px 0;vertical-align:top;font-weight:600"'
LONG = 300
"""The most characters of a cell; what is beyond is cut."""
MOST_BITS = 2_000
"""Numbers of more bits are told by their size; Python refuses to write those of more than 4,300 digits."""


def escaped(text: str) -> str:
    """Return text that stands for itself within an element or an attribute; characters that XML has not become U+FFFD.

    >>> escaped('</svg><script x="1">') == '&lt;/svg&gt;&lt;script x=&quot;1&quot;&gt;'
    True
    >>> escaped(chr(0) + chr(0xD800)) == 2 * chr(0xFFFD)
    True
    """
    import re
    from html import escape

    text = escape(re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text), quote=True)
    return re.sub("[\t\n\r]", lambda found: f"&#{ord(found[0])};", text)  # within an attribute they would become spaces


def titled(title: str, *parts: str) -> str:
    """Return parts below a title."""
    head = f'<div style="font-weight:600;padding:4px 0">{escaped(title)}</div>'
    return f'<div class="afa-shown" style="font:13px Arial,Helvetica,sans-serif">{head}{"".join(parts)}</div>'


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """Return a table of names and values."""
    lines = (f"<tr><th {_NAME}>{escaped(name)}</th><td {_CELL}>{escaped(shown(value))}</td></tr>" for name, value in rows)
    return f'<table class="afa-table" style="font:inherit">{"".join(lines)}</table>'


def grid(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with a head."""
    head = "".join(f"<th {_NAME}>{escaped(name)}</th>" for name in columns)
    lines = ("".join(f"<td {_CELL}>{escaped(shown(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table class="afa-table" style="font:inherit"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def fields(payload: Any) -> list[tuple[str, Any]]:
    """Return names and values of a payload: of a NamedTuple its fields, else itself.

    >>> fields(7)
    [('payload', 7)]
    """
    names = getattr(payload, "_fields", None)
    return list(zip(names, payload)) if names else [("payload", payload)]


def shown(value: Any) -> str:
    """Return a value as text; the ends of time by their names, a number of thousands of digits by its size.

    >>> shown(2**63 - 1), shown("a"), shown(1.5), shown(10**5000)
    ('FOREVER', 'a', '1.5', 'about 10^5000')
    """
    if type(value) is int and value in (BEGINNING, FOREVER):
        return "FOREVER" if value == FOREVER else "BEGINNING"
    if type(value) is int and value.bit_length() > MOST_BITS:
        return f"{'-' * (value < 0)}about 10^{(value.bit_length() - 1) * 0.30103:.0f}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONG else text[: LONG - 1] + "…"
