"""Draw an automaton in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from afa.explain.draw.arc_labels import Drawn, label_of, shown
from afa.explain.draw.words import kind_of
from afa.model.automaton import Automaton

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
