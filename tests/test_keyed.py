"""`Keyed` is one `Operator` per key under shared arcs and shared promises: in random worlds, and by hand what is over all keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from afa import Keyed, Punctuation, insert, retract
from tests.automata import pair, skipping_pair
from tests.stress.worlds import WORLDS
from tests.text import E, arc_of


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number, in which each event has a key."""
    spec = WORLDS.generate(seed, number)
    spec["options"]["key"] = "seq"
    return spec


@pytest.mark.parametrize("worlds", [100, pytest.param(600, marks=pytest.mark.stress)])
def test_one_operator_per_key(engine: str, worlds: int) -> None:
    replace(WORLDS, generate=numbered).run("keyed", range(worlds), engine, more_than={"matches": 4 * worlds})


def test_now_is_over_all_keys(engine: str) -> None:
    """Key 1 has seen 9, so an arc that comes now serves key 0 from 10 on."""
    keyed = Keyed(pair, key="seq", window=20, engine=engine)
    keyed.push(insert(E(0, 0), 1))
    keyed.push(insert(E(0, 1), 9))
    keyed.push_arc(insert(arc_of({"src": "b", "dst": "c", "fence": "e.kind == 2", "name": "noise closes"})))
    assert keyed.push(insert(E(2, 0), 5)) == [], "5 is before 10, though key 0 has seen 1 only"
    assert keyed.push(retract(E(2, 0), 5)) == []
    (match,) = keyed.push(insert(E(2, 0), 10))
    assert (match.key, match.le, match.re) == (0, 10, 21)


def test_runs_are_forgotten_with_the_last_steps_that_they_covered(engine: str) -> None:
    keyed = Keyed(skipping_pair, key=lambda e: "a", window=100, engine=engine)
    stream = [insert(E(0), 10), insert(E(2), 12), insert(E(0), 14, 17), insert(E(2), 15)]
    for change in [*stream, retract(E(2), 15), retract(E(0), 14, 17)]:  # the open run from 14 on covers nothing any more
        keyed.push(change)
    for t in (13, 17, 18):
        keyed.push(Punctuation(t))
        keyed._check()


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_a_part_of_a_key_that_is_missing_is_no_empty_text(engine: str, text: pa.DataType) -> None:
    keyed = Keyed(pair, key=("room", "desk"), window=20, engine=engine)
    column = pa.array([None, "", None], text)
    for rooms in (column, pd.Series(column, dtype=pd.ArrowDtype(text))):
        keyed.push_many({"kind": [0, 0, 0], "seq": [0, 0, 0], "room": rooms, "desk": [1, 1, 2], "le": [1, 1, 1]})
    assert sorted(keyed.keys, key=repr) == [("", 1), (None, 1), (None, 2)]
