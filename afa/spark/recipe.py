"""An automaton as plain data beside the state, so that a job whose code has changed goes on from where the old code was.

    {"start": "a", "final": ["c"], "event": "Tick(price: float)", "register": "Falls(total: float) = (0.0,)", "arcs": [..]}

An arc is its JSON (`afa.expression.wire`), or {"python": true, "src", "dst", "name"} where it can't be written as text. A changed
automaton means: the arcs that the code has no more end at the present, the new ones begin there. Other schemas are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from afa.arc import Arc
from afa.automaton import Automaton
from afa.errors import AutomatonError, SnapshotError

Recipe = Mapping[str, Any]


class Difference(NamedTuple):
    """What a changed code asks for: texts of arcs that go, and of arcs that come."""

    gone: list[str]
    new: list[str]


def recipe_of(automaton: Automaton) -> Recipe:
    """The plain data of an automaton."""
    assert automaton.event_schema is not None
    return {
        "start": automaton.start,
        "final": sorted(automaton.final),
        "event": automaton.event_schema.describe(),
        "register": f"{automaton.register_schema.describe()} = {tuple(automaton.register)!r}",
        "arcs": [json.loads(arc_text(arc, automaton)) for arc in automaton.arcs],
    }


def arc_text(arc: Arc, automaton: Automaton) -> str:
    """An arc as text by which it is known again."""
    try:
        found = arc.to_json(automaton)
    except AutomatonError:
        found = {"python": True, "src": arc.src, "dst": arc.dst, "name": arc.name}
    return json.dumps(found, sort_keys=True)


def rebuilt(recipe: Recipe, now: Automaton) -> Automaton:
    """The automaton that a state was made with; arcs that only Python can run are those of today's code.

    Raises
    ------
    SnapshotError
        The schemas are others now, or such an arc is gone.
    """
    there = recipe_of(now)
    for what in ("start", "final", "event", "register"):
        if recipe[what] != there[what]:
            raise SnapshotError(
                f"expected the {what} that the checkpoint was made with, {recipe[what]!r}, but got {there[what]!r}: "
                f"begin anew with another checkpoint, or keep the {what}"
            )
    return Automaton(
        start=now.start,
        final=now.final,
        arcs=[_arc(item, now) for item in recipe["arcs"]],
        register=now.register,
        event=now.event,
    )


def _arc(item: Mapping[str, Any], now: Automaton) -> Arc:
    if not item.get("python"):
        return Arc.from_json(dict(item))
    text = json.dumps(item, sort_keys=True)
    found = [arc for arc in now.arcs if arc_text(arc, now) == text]
    if not found:
        raise SnapshotError(f"expected the arc {item['name']!r}, which only Python can run, in the code but got none: keep it")
    return found[0]


def difference(before: Recipe, now: Automaton) -> Difference:
    """What has changed since the code of ``before``.

    Raises
    ------
    SnapshotError
        A new arc can't be written as text.
    """
    old, new = texts_of(before), [arc_text(arc, now) for arc in now.arcs]
    come = [text for text in new if text not in old]
    for name in (arc["name"] for arc in map(json.loads, come) if arc.get("python")):
        raise SnapshotError(f"expected a new arc that can be written as text but got {name!r}, which only Python can run")
    return Difference([text for text in old if text not in new], come)


def texts_of(recipe: Recipe) -> list[str]:
    """The arcs of an automaton as text."""
    return [json.dumps(item, sort_keys=True) for item in recipe["arcs"]]


def name_of(text: str) -> str:
    """The name by which the arc log knows an arc of the code."""
    name: str | None = json.loads(text).get("name")
    return "code " + hashlib.blake2b(text.encode(), digest_size=6).hexdigest() if name is None else name


def arc_of(text: str, now: Automaton) -> Arc:
    """The arc of a text; one that only Python can run is that of today's code."""
    item = json.loads(text)
    return _arc(item if item.get("python") else {**item, "name": name_of(text)}, now)


def said(found: Difference) -> str:
    """The difference in words."""

    def names(items: Sequence[Any]) -> str:
        return ", ".join(repr(item.get("name") or f"{item['src']} -> {item['dst']}") for item in items) or "none"

    gone, new = list(map(json.loads, found.gone)), list(map(json.loads, found.new))
    return f"arcs that go: {names(gone)}; arcs that come: {names(new)}"
