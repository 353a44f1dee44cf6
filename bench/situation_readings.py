"""Readings whose conditions hold at random, and patterns over them, as a thesis on temporal patterns has them (Marburg 2021)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.situations import Situation, TemporalPattern

Column = np.ndarray[Any, Any]
ON, OFF = (10, 100), (10, 50)
"""How many ticks a situation lasts, and how many lie between two: uniform, both ends included."""

SIMPLE = "a meets|overlaps b and b overlaps|meets c and a before c"
AGGRESSIVE = "a meets|overlaps|starts|during b and b contains|finished_by|overlaps|meets c and a before c"
DISCONNECTED = "a starts b and b before c and c overlaps d"
Q1 = "a overlaps b and a overlaps c and b starts c"
Q2 = "a overlaps b and a before c and b overlaps c"
Q3 = "a before b and b before c"


def holds(n: int, on: tuple[int, int] = ON, off: tuple[int, int] = OFF, seed: int = 1) -> Column:
    """Whether a condition holds at each of n ticks."""
    rng = np.random.default_rng(seed)
    many = int(n / (np.mean(on) + np.mean(off)) * 1.4) + 50
    spans = np.stack([rng.integers(off[0], off[1] + 1, many), rng.integers(on[0], on[1] + 1, many)], axis=1)
    turns = np.cumsum(spans.ravel())
    turned = np.zeros(n, bool)
    turned[turns[turns < n]] = True
    return np.logical_xor.accumulate(turned)


def names(definitions: int) -> str:
    """Names of so many definitions."""
    return "abcdghijkl"[:definitions]  # conditions call an event e


def readings(n: int, definitions: int) -> dict[str, Column]:
    """A reading at each tick, a column of booleans for each definition."""
    return {name: holds(n, seed=i + 1) for i, name in enumerate(names(definitions))} | {"le": np.arange(n)}


def of_keys(keys: int, ticks: int, definitions: int) -> dict[str, Column]:
    """A reading of each key at each tick, keys in turn."""
    found = {
        name: np.ascontiguousarray(holds(keys * ticks, seed=i + 1).reshape(keys, ticks).T).ravel()
        for i, name in enumerate(names(definitions))
    }
    return {**found, "key": np.tile(np.arange(keys), ticks), "le": np.repeat(np.arange(ticks), keys)}


def pattern(
    where: str,
    within: int,
    definitions: int,
    *,
    kind: type = bool,
    text: str = "{}",
    key: str | None = None,
    returns: dict[str, str] | None = None,
) -> TemporalPattern:
    """A pattern over columns of one kind, of which ``text`` makes conditions; ``returns``: of the column ``value``, floats."""
    fields = [(name, kind) for name in names(definitions)] + ([(key, int)] if key else []) + ([("value", float)] if returns else [])
    event = NamedTuple("Reading", fields)  # type: ignore[misc]  # fields are made here
    asked: dict[str, Any] = {name: Situation(text.format(name)) for name in names(definitions)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TemporalPattern(event=event, within=within, where=where, key=key, returns=returns or {}, **asked)


def cut(table: dict[str, Column], size: int) -> list[dict[str, Column]]:
    """Batches of so many readings."""
    return [{name: column[at : at + size] for name, column in table.items()} for at in range(0, len(table["le"]), size)]


def shaped(shape: str, relations: Sequence[str], definitions: int) -> str:
    """Constraints in a chain, in a star around the first definition, or one half each; a relation for each constraint."""
    of = names(definitions)
    half = {"chain": definitions, "star": 0, "combined": definitions // 2}[shape]
    pairs = [(of[i - 1] if i < half else of[0], of[i]) for i in range(1, definitions)]
    return " and ".join(f"{a} {relation} {b}" for (a, b), relation in zip(pairs, relations))


__all__ = [
    "AGGRESSIVE", "DISCONNECTED", "OFF", "ON", "Q1", "Q2", "Q3", "SIMPLE",
    "cut", "holds", "names", "of_keys", "pattern", "readings", "shaped",
]  # fmt: skip
