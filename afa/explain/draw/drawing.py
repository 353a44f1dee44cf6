"""The method `draw` of an automaton: a picture of it in one of three forms, two of which are text that other programs draw."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afa.errors import AfaError
from afa.explain.draw.arc_labels import SIGNS, Drawn, label_of, lifetimes, named, shown
from afa.explain.draw.svg import svg
from afa.explain.draw.words import fence_of, kind_of
from afa.model.arc import name_of
from afa.model.automaton import Automaton


def draw(self: Automaton, form: str = "svg", *, labels: str = "code") -> str:
    """Draw the automaton: states, final states, the start, and each arc with the text of its fence and transfer.

    Parameters
    ----------
    form : "svg", "mermaid" or "dot"
        SVG holds all that it needs, in colours for light and dark pages; a notebook shows it by itself.
    labels : "code" or "names"
        Whether an arc is labelled with its code, or with its name alone (where it has none: its fence).

    Returns
    -------
    str

    Raises
    ------
    AfaError
        There is no such form, or no such kind of labels.

    Examples
    --------
    >>> from afa import Arc
    >>> two = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e > 1, name="high")])
    >>> print(two.draw("mermaid"))
    flowchart LR
        dot(( )):::dot --> s0
        s0(["a"])
        s1((("b")))
        s0 -->|"high: e #gt; 1"| s1
        classDef dot fill:black,stroke:black
    """
    return picture_of(self, form, labels)


def picture_of(automaton: Automaton, form: str, labels: str, arcs: Sequence[Drawn] | None = None) -> str:
    """Draw an automaton, or the arcs given, as text in one of the `FORMS`; see `draw`."""
    if form not in FORMS:
        raise AfaError(f"expected form= 'svg', 'mermaid' or 'dot' but got form={form!r}")
    if labels not in ("code", "names"):
        raise AfaError(f"expected labels= 'code' or 'names' but got labels={labels!r}")
    return FORMS[form](automaton, labels, arcs)


STYLES = {
    "consume": "",
    "ignorable": ", color=gray50, arrowhead=odot",
    "skip": ", color=gray50, style=dashed",
    "epsilon": ", style=dotted",
    "time-out": ", penwidth=2.5",
}


def dot(automaton: Automaton, labels: str = "code", arcs: Sequence[Drawn] | None = None) -> str:
    """Draw an automaton as a digraph in DOT.

    Returns
    -------
    str
        A point leads to the start state; final states have two borders. Lines are solid where an event is consumed, end in a
        circle where it is ignored, are dashed where all events of an instant are skipped, dotted for epsilon and thick for
        time-out arcs.

    Examples
    --------
    >>> from afa.model.arc import Arc
    >>> print(dot(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e.x == "<", name="low")])))
    digraph {
        node [shape=box, style=rounded]
        begin [shape=point]
        begin -> s0
        s0 [label="a"]
        s1 [label="b", peripheries=2]
        s0 -> s1 [label="low\\le.x == '<'\\l"]
    }
    """
    drawn, states, finals = shown(automaton, arcs)
    ids = {state: f"s{i}" for i, state in enumerate(states)}
    lines = ["digraph {", "    node [shape=box, style=rounded]", "    begin [shape=point]", f"    begin -> {ids[automaton.start]}"]
    lines += [f'    {name} [label="{quoted(state)}"{", peripheries=2" if state in finals else ""}]' for state, name in ids.items()]
    for one in drawn:
        rows = [" ".join(piece.text for piece in line) for line in label_of(one, labels, type(automaton.register)).lines]
        text = "".join(f"{quoted(row)}\\l" for row in rows)
        lines.append(f'    {ids[one.arc.src]} -> {ids[one.arc.dst]} [label="{text}"{STYLES[kind_of(one.arc)]}]')
    return "\n".join([*lines, "}"])


def quoted(text: str) -> str:
    r"""Return text as the inside of a quoted string of DOT, in which each sign stands for itself.

    Examples
    --------
    >>> print(quoted('"a\\n"'))
    \"a\\n\"
    """
    text = "".join(" " if ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 else sign for sign in text)
    return text.replace("\\", "\\\\").replace('"', '\\"')


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


FORMS = {"svg": svg, "mermaid": mermaid, "dot": dot}
