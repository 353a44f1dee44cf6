"""The page of a run as one file: its data, its style and its script in it, nothing loaded from elsewhere.

d3 (scales with ticks for times, zoom with mouse, touch and keys) stands in it as one minified file, ``page/d3.min.js``; all else is
drawn on a canvas by ``page/report.js``, as a hundred thousand elements of SVG would be slow, and charts of a library have no axis
of arrival. ``page/LICENSE.d3`` says where it comes from.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any


def page_text(data: dict[str, Any], drawing: str) -> str:
    """Return the page of what `page_data` tells; ``drawing``: the automaton as SVG.

    Examples
    --------
    >>> "</script><b>" in page_text({"title": "</script><b>"}, "<svg></svg>")
    False
    """
    parts = {
        "title": escape(data["title"] or "afa").encode("utf-8", "backslashreplace").decode(),  # a file's name may be any bytes
        "style": _file("report.css"),
        "drawing": drawing,
        "data": embedded(data),
        "library": _file("d3.min.js"),
        "script": _file("report.js"),
    }
    text = _file("report.html")
    head, *rest = text.split("{{")
    found = [head]
    for part in rest:
        name, _, tail = part.partition("}}")
        found += [parts[name], tail]
    return "".join(found)


def embedded(data: Any) -> str:
    """Return data as JSON that ends no script element, whatever a value says.

    Examples
    --------
    >>> embedded(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return (files("afa.explain.tracing") / "page" / name).read_text(encoding="utf-8")
