"""Matches with confidences as payloads of a class, and as tables of the kind that came in."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.extra.uncertain.confidences import Confidences, Difference
from afa.io.answer import Answer
from afa.io.table_times import TimeType
from afa.model.keys import Keys
from afa.schema import Field, Schema
from punctuation.door import Table

ADDED = {"confidence": float, "first": int, "last": int}
TIMES = ("first", "last", "le", "re")


def match_class(shown: Schema) -> Any:
    """Returns the class of matches with a confidence: what matches show, then ``confidence``, ``first`` and ``last``."""
    hints = typing.get_type_hints(shown.cls, include_extras=True)
    taken = [name for name in ADDED if name in hints]
    if taken:
        raise AfaError(f"expected a register without the field {taken[0]!r}, which matches with a confidence have")
    name = shown.cls.__name__ if hints else "Match"
    return NamedTuple(name, [*hints.items(), *ADDED.items()])


def table_of_matches(difference: Difference, shown: Schema, keys: Keys | None, like: Table, core: Any, found: Confidences) -> Any:
    """Returns what goes and what comes as a table of the kind that came in, in order: what goes first, by LE and RE."""
    names = [*difference.gone.names, *difference.come.names]
    diff = np.repeat([-1, 1], [len(difference.gone.names), len(difference.come.names)])
    confidence = np.concatenate([found.shares(difference.gone), found.shares(difference.come)])
    _, first, last, le, re = (np.concatenate(pair) for pair in zip(difference.gone.told, difference.come.told))
    payloads = list(zip(*(name[1] for name in names))) or [() for _ in shown.fields[: -len(ADDED)]]
    payloads = payloads[: len(shown.fields) - len(ADDED)]
    of_key = [] if keys is None else list(zip(*(name[0] for name in names))) or [() for _ in keys.names]
    order = np.lexsort((*map(_ranks, (*payloads, *of_key)), re, le, diff))
    columns: list[Any] = [[column[i] for i in order.tolist()] for column in (*of_key, *payloads)]
    columns += [each[order] for each in (confidence, first, last, le, re, diff)]
    fields = [*(Field(name, None, True) for name in (() if keys is None else keys.names)), *shown.fields]
    fields += [Field(name, int, False) for name in ("le", "re", "diff")]
    given = {name: like.column(name) for name in (() if keys is None else keys.names)}
    times = TimeType.of(like, core.tick)
    return Answer(columns, fields, given, {} if times is None else dict.fromkeys(TIMES, times)).to(like)


def _ranks(column: Sequence[Any]) -> Any:
    """Returns numbers by which a column is sorted, the same however it came."""
    kinds = set(map(type, column))
    if kinds <= {int, bool} or kinds == {float}:
        return np.array(column)
    ranks = {name: rank for rank, name in enumerate(sorted(set(map(repr, column))))}
    return np.array([ranks[repr(item)] for item in column])
