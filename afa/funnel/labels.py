"""Call arcs by short names: their own, without the digest of those that a query has made; else by their ends."""

from __future__ import annotations

import re

from afa.model.arc import Arc

DIGEST = re.compile(r" #[0-9a-f]{8}$")


def label_of(arc: Arc) -> str:
    """Return what an arc is called.

    Examples
    --------
    >>> label_of(Arc("a", "b", "True")), label_of(Arc("a", "b", "True", name="a: start -> a #77a619ee"))
    ('a -> b', 'a: start -> a')
    """
    return DIGEST.sub("", arc.name) if arc.name else f"{arc.src} -> {arc.dst}"
