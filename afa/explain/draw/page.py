"""A page that shows an automaton: one HTML file, which needs nothing else and no network."""

from __future__ import annotations

from collections.abc import Iterable

from afa.explain.draw.svg import svg
from afa.explain.draw.words import fence_of, final_states, function_text, kind_of
from afa.html_tables import escaped
from afa.model.arc import name_of
from afa.model.automaton import Automaton

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 Arial,Helvetica,sans-serif;margin:24px;background:#fff;color:#1f2328}
h1{font-size:20px;margin:0 0 12px}
.picture{overflow-x:auto}
.picture svg.afa{max-width:none}
table{border-collapse:collapse;margin:16px 0}
th,td{text-align:left;vertical-align:baseline;padding:4px 16px 4px 0;border-bottom:1px solid #d1d9e0}
td.code,pre{font:13px/1.45 Menlo,'DejaVu Sans Mono','Liberation Mono',Consolas,monospace}
td.code{overflow-wrap:anywhere}
pre{white-space:pre-wrap}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#3d444d}}
"""


WORDS = (
    "An arc is taken by an event of which its fence is true; its transfer then makes the register, what a partial match carries on "
    "to its next state. A match is a register that has come to a final state."
)


def page(
    automaton: Automaton,
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    text: str = "",
    labels: str = "code",
    query: str = "",
) -> str:
    """Return an HTML page with a title, the text of a query, facts, the drawing, a table of the arcs, and some text.

    >>> from afa.model.arc import Arc
    >>> shown = page(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e < 1)]), "<low>")
    >>> shown.startswith("<!DOCTYPE html>"), "<h1>&lt;low&gt;</h1>" in shown
    (True, True)
    """
    finals = final_states(automaton)
    rows = []
    for arc in automaton.arcs:
        to = f"{arc.dst} (final)" if arc.dst in finals else arc.dst
        cells = [(name_of(arc), ""), (arc.src, ""), (to, ""), (kind_of(arc), "")]
        cells += [(fence_of(arc), "code"), (function_text(arc.transfer), "code")]
        rows.append("".join(f'<td class="{kind}">{escaped(cell)}</td>' for cell, kind in cells))
    head = "".join(f"<th>{name}</th>" for name in ("arc", "from", "to", "kind", "fence", "transfer"))
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>',
        f"<style>{STYLE}</style></head><body><h1>{escaped(title)}</h1>",
        f"<pre>{escaped(query.strip())}</pre>" if query else "",
        f'<div class="picture">{svg(automaton, labels)}</div>',
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>",
        f"<p>{WORDS}</p>",
        "".join(f"<div><b>{escaped(name)}</b> {escaped(fact)}</div>" for name, fact in facts),
        f"<pre>{escaped(text)}</pre>" if text else "",
        "</body></html>",
    ]
    return "\n".join(parts)
