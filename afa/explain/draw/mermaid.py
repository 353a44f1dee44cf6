"""Draw an automaton as Mermaid text, which GitHub and notebooks show as a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afa.explain.draw.arc_labels import SIGNS, Drawn, lifetimes, named, shown
from afa.explain.draw.words import fence_of, kind_of
from afa.model.arc import name_of
from afa.model.automaton import Automaton

LINKS = {"consume": "-->", "ignorable": "--o", "skip": "--x", "epsilon": "-.->", "time-out": "==>"}
LONG = 80
"""The most characters of an arc's label; a longer fence is cut."""

SAFE = re.compile(r"[\w .,()\[\]!=+/'-]")
NAMED = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}


def mermaid(automaton: Automaton, labels: str = "code", arcs: Sequence[Drawn] | None = None) -> str:
    """Draw an automaton as a Mermaid flowchart.

    Returns
    -------
    str
        A dot leads to the start state; final states are double circles. Lines are solid where an event is consumed, end in a
        circle where it is ignored, in a cross where all events of an instant are skipped, are dotted for epsilon and
        thick for time-out arcs.

    Notes
    -----
    A flowchart, not a ``stateDiagram-v2``: the latter allows no quotes around a label, hence no ``:`` or newline in a fence.

    Examples
    --------
    >>> from afa.model.arc import Arc
    >>> print(mermaid(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e.x < 1, name="low")])))
    flowchart LR
        dot(( )):::dot --> s0
        s0(["a"])
        s1((("b")))
        s0 -->|"low: e.x #lt; 1"| s1
        classDef dot fill:black,stroke:black
    """
    drawn, states, finals = shown(automaton, arcs)
    ids = {state: f"s{i}" for i, state in enumerate(states)}
    lines = ["flowchart LR", f"    dot(( )):::dot --> {ids[automaton.start]}"]
    for state, name in ids.items():
        left, right = ("(((", ")))") if state in finals else ("([", "])")
        lines.append(f'    {name}{left}"{escape(state)}"{right}')
    for one in drawn:
        label = _label(one, labels)
        text = f'|"{label}"|' if label else ""
        lines.append(f"    {ids[one.arc.src]} {LINKS[kind_of(one.arc)]}{text} {ids[one.arc.dst]}")
    lines.append("    classDef dot fill:black,stroke:black")
    return "\n".join(lines)


def escape(text: str) -> str:
    """Return text as the inside of a quoted Mermaid label: one line, with entities for all signs that could mean something.

    Examples
    --------
    >>> escape('e.tag == "#1" | x')
    'e.tag == #quot;#35;1#quot; #124; x'
    """
    text = " ".join(text.split())
    listed = re.match(r"\d+[.)]|[-+]", text)  # "1." and "-" would begin a list
    marker = listed.end() - 1 if listed else -1
    shown = (sign if SAFE.match(sign) and i != marker else NAMED.get(sign, f"#{ord(sign)};") for i, sign in enumerate(text))
    return "".join(shown)


def _label(drawn: Drawn, labels: str) -> str:
    arc, sign = drawn.arc, SIGNS[kind_of(drawn.arc)]
    parts = [named(arc)] if labels == "names" else [name_of(arc), fence_of(arc)]
    parts = [part if len(part) <= LONG else f"{part[: LONG - 3]}..." for part in parts if part]
    text = ": ".join(escape(part) for part in parts)
    return " ".join(part for part in (escape(sign), text, escape(lifetimes(drawn))) if part)
