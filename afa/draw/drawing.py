"""Draw an automaton in one of three forms: what `Automaton.draw` calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.draw.arc_labels import Drawn
from afa.draw.dot import dot
from afa.draw.mermaid import mermaid
from afa.draw.svg import svg
from afa.errors import AfaError
from afa.model.automaton import Automaton

FORMS = {"svg": svg, "mermaid": mermaid, "dot": dot}


def draw(automaton: Automaton, form: Any = "svg", labels: Any = "code", arcs: Sequence[Drawn] | None = None) -> str:
    """Draw an automaton, or the arcs given, as text in one of the `FORMS`.

    Raises
    ------
    AfaError
        There is no such form, or no such kind of labels.
    """
    if form not in FORMS:
        raise AfaError(f"expected form= 'svg', 'mermaid' or 'dot' but got form={form!r}")
    if labels not in ("code", "names"):
        raise AfaError(f"expected labels= 'code' or 'names' but got labels={labels!r}")
    return FORMS[form](automaton, labels, arcs)
