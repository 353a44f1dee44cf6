"""Sources of promises for tests: streams, tables, and what a source promises by its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from afa import BEGINNING, Arc, Automaton, Change, Operator, Punctuation, insert
from punctuation import BoundedDisorder, ObservedLateness, Source

MEMORY, MINIMUM, FLOOR = 7, 3, 2


class Tick(NamedTuple):
    n: int = 0


TICKS = Automaton(start="0", final={"1"}, event=Tick, arcs=[Arc("0", "1", lambda e, r: e.n >= 0)])
KINDS: dict[str, Callable[[], Source]] = {
    "bounded": lambda: BoundedDisorder(4),
    "observed": lambda: ObservedLateness(0.7, FLOOR, MEMORY, minimum=MINIMUM),
}
TABLES: dict[str, Callable[[list[int]], Any]] = {
    "arrow": lambda le: pa.table({"n": pa.array([0] * len(le), pa.int64()), "le": pa.array(le, pa.int64())}),
    "record batch": lambda le: pa.record_batch({"n": pa.array([0] * len(le), pa.int64()), "le": pa.array(le, pa.int64())}),
    "pandas": lambda le: pd.DataFrame({"n": [0] * len(le), "le": pd.Series(le, dtype="int64")}),
    "columns": lambda le: {"n": [0] * len(le), "le": le},
    "arrays": lambda le: {"n": np.zeros(len(le), np.int64), "le": np.array(le, np.int32)},
    "list": lambda le: [tick(t) for t in le],
}
les = st.lists(st.integers(0, 40), max_size=30)
items = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 45).map(Punctuation)), max_size=40)


def tick(le: int) -> Change:
    return insert(Tick(), le=le)


def as_item(item: int | Punctuation) -> Change | Punctuation:
    return item if isinstance(item, Punctuation) else tick(item)


def operator(late: Any = "raise", window: int = 5) -> Operator:
    return Operator(TICKS, window=window, late=late, engine="interpreted")


def promises(out: list[Any]) -> list[int]:
    return [item.t for item in out if isinstance(item, Punctuation)]


def slow(source: Source, seen: list[int]) -> int:
    """What a source promises of its own after some LE, from the definition."""
    if isinstance(source, BoundedDisorder):
        return max(seen) - source.lateness if seen else BEGINNING
    assert isinstance(source, ObservedLateness)
    memory = sorted([max([0, *(t - le for t in seen[:i])]) for i, le in enumerate(seen)][-source.memory :])
    if len(memory) < source.minimum:
        return BEGINNING
    of = next(i for i in range(1, len(memory) + 1) if i >= source.percentile * len(memory) - 1e-9)
    return max(seen) - max(source.floor, memory[of - 1])


def cut(stream: list[Any], sizes: list[int]) -> list[list[Any]]:
    """A stream in batches."""
    batches, at = [], 0
    for size in sizes:
        batches.append(stream[at : at + size])
        at += size
    return [*batches, stream[at:]]
