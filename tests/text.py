"""Arcs written as text, so that cases, random worlds and printed reproductions are one thing: data.

An arc is a dict ``{src, dst, kind, fence, transfer, at, name, final, select}``; functions are lambda text over the names in
`NAMES`. The text is put where ``inspect.getsource`` finds it, so that an engine that reads sources reads these as well.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from afa import Arc, Automaton
from afa.expression.arc_functions import expression_of, functions_of

_numbers = count()


class E(NamedTuple):
    """The event of random worlds."""

    kind: int
    seq: int = 0


class T(NamedTuple):
    """The same in a table that says of each row in a column ``kind`` what it is."""

    sort: int
    seq: int = 0


class R1(NamedTuple):
    """A register of one field."""

    x: int = 0


class R2(NamedTuple):
    """A register of two fields."""

    x: int = 0
    y: int = 0


class F(NamedTuple):
    """An event with a float, for NaN."""

    value: float
    kind: int = 0


class RF(NamedTuple):
    """A register with a float, for NaN."""

    value: float = 0.0


NAMES: dict[str, Any] = {"E": E, "T": T, "R1": R1, "R2": R2, "F": F, "RF": RF, "nan": math.nan}


def defined(text: str, **names: Any) -> dict[str, Any]:
    """The names that the code of a text binds, where it sees these; its functions can be read back."""
    filename = f"<defs {next(_numbers)} of the tests>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names


@cache
def function(text: str) -> Callable[..., Any]:
    """The function that a lambda's text means."""
    filename = f"<lambda {next(_numbers)} of the tests>"
    linecache.cache[filename] = (len(text), None, [text + "\n"], filename)
    return eval(compile(text, filename, "eval"), dict(NAMES))  # our own test data


def arc_of(spec: dict[str, Any]) -> Arc:
    """The arc that a spec describes; each call makes a new object."""
    kind, src, dst = spec.get("kind", "consume"), spec["src"], spec["dst"]
    names = {"name": spec.get("name"), "final": spec.get("final", False)}
    head = "lambda e, r: " if kind in ("consume", "skip") else "lambda r: "
    if kind == "timeout":
        return Arc.timeout(src, dst, function(head + spec["at"]), **names)
    fence = function(head + spec.get("fence", "True"))
    transfer = function(head + spec["transfer"]) if spec.get("transfer") else None
    if kind == "skip":
        return Arc.skip(src, fence, transfer, name=spec.get("name"))
    if kind == "consume":
        return Arc(src, dst, fence, transfer, **names, select=spec.get("select"))
    return Arc.epsilon(src, dst, fence, transfer, **names)


def automaton_of(spec: dict[str, Any]) -> Automaton:
    """The automaton that a spec describes: start, final, arcs, register and event as text."""
    register, event = spec.get("register"), spec.get("event")
    return Automaton(
        start=spec["start"],
        final=set(spec["final"]),
        arcs=[arc_of(arc) for arc in spec["arcs"]],
        register=_value(register),
        event=_value(event),
        shown=_value(spec.get("shown")),
    )


def _value(text: str | None) -> Any:
    return None if text is None else function(f"lambda: {text}")()


def same_meaning(a: Arc, b: Arc, automaton: Automaton) -> bool:
    """Whether two arcs do the same by the same expressions; names don't count."""
    schemas = automaton.event_schema, automaton.register_schema
    ends = [(arc.kind, arc.src, arc.dst, arc.final) for arc in (a, b)]
    means = [[(kind, expression_of(function, kind, *schemas)) for kind, function in functions_of(arc)] for arc in (a, b)]
    return ends[0] == ends[1] and means[0] == means[1]
