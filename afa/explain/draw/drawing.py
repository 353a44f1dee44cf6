"""The method `draw` of an automaton: a picture of it in one of three forms."""

from __future__ import annotations

from collections.abc import Sequence

from afa.errors import AfaError
from afa.explain.draw.arc_labels import Drawn
from afa.explain.draw.dot import dot
from afa.explain.draw.mermaid import mermaid
from afa.explain.draw.svg import svg
from afa.model.automaton import Automaton

FORMS = {"svg": svg, "mermaid": mermaid, "dot": dot}


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
