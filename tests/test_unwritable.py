"""Output that can't be written in the shape of the input: the call is refused in words, and leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert
from punctuation import SideOutput
from speculation import Cleanse, Consolidate, Ordered
from tests.cli import call, write
from tests.cli import there as there  # a fixture

LONE = "\ud800"
"""Half of a pair: text for Python, none for Arrow."""
WORDS = r"expected values that Arrow holds in the output's column 'name' of string but got .*surrogates not allowed"


class E(NamedTuple):
    kind: int
    name: str
    seq: int


class R(NamedTuple):
    name: str = ""


arcs = [Arc("a", "b", "kind == 1", "R(name)"), Arc("b", "c", "kind == 2")]
automaton = Automaton(start="a", final={"c"}, event=E, register=R(), arcs=arcs)
waits = Automaton(start="a", final={"c"}, event=E, register=R(), arcs=[arcs[0], Arc.timeout("b", "c", at="9")])

Make = Callable[..., Any]
PLACES: dict[str, Make] = {
    "operator": lambda program, **options: Operator(program, window=20, **options),
    "keyed": lambda program, **options: Keyed(program, key="who", window=20, **options),
    "numbered": lambda program, **options: Ordered(program, number="seq", window=20, **options),
    "before": lambda program, **options: Cleanse().before(Operator(program, window=20, **options)),
    "before, in order": lambda program, **options: Cleanse(0).before(Operator(program, window=20, **options)),
    "before a keyed": lambda program, **options: Cleanse(0).before(Keyed(program, key="who", window=20, **options)),
    "after": lambda program, **options: Cleanse().after(Operator(program, window=20, **options)),
    "after, in order": lambda program, **options: Cleanse(0).after(Keyed(program, key="who", window=20, **options)),
    "consolidated": lambda program, **options: Consolidate(per="call").after(Operator(program, window=20, **options)),
    "twice": lambda program, **options: Consolidate().after(Cleanse(0).after(Operator(program, window=20, **options))),
    "around": lambda program, **options: Cleanse(0).after(Cleanse(0).before(Operator(program, window=20, **options))),
}


def table(kinds: list[int], les: list[int], seq: int = 2, **more: Any) -> Any:
    n = len(kinds)
    columns = {"kind": kinds, "name": ["x"] * n, "seq": list(range(seq, seq + n)), "le": les, "who": ["k"] * n, **more}
    return pa.table(columns)


def begin(place: str, engine: str, program: Automaton = automaton, **options: Any) -> Any:
    """An operator that holds an event with text that Arrow does not take."""
    op = PLACES[place](program, engine=engine, **options)
    op.push_many([insert(E(1, LONE, 1), 3)]) if op._core.keys is None else op.push(insert(E(1, LONE, 1), 3), key="k")
    return op


def state(op: Any) -> Any:
    """All that can be told of an operator without a snapshot, which takes no such text."""
    stages, inner = [], op
    while hasattr(inner, "operator"):
        stages.append((inner.stage.statistics, inner.stage.waiting(), inner.stage.numbers()))
        inner = inner.operator
    return op.statistics, inner._core.progress.marks(), stages


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", ["table", "list", "one by one"])
def test_a_table_whose_answer_cannot_be_written(engine: str, place: str, form: str) -> None:
    op = begin(place, engine)
    before = state(op)
    batch = {"table": table([2], [4]), "list": [table([2], [4]), Punctuation(40)], "one by one": [table([2], [4]), Punctuation(40)]}
    if form == "table" and place not in ("operator", "keyed", "numbered", "before", "after", "consolidated"):
        return  # nothing comes out yet
    options = {} if place == "numbered" else {"net": form != "one by one"}
    for _ in range(2):
        with pytest.raises(ChangeError, match=WORDS):
            op.push_many(batch[form], **options)
        assert state(op) == before
        op._check()
    out = (
        op.push_many([*[insert(E(2, "x", 2), 4)], Punctuation(40)])
        if "keyed" not in place and place != "after, in order"
        else [
            *op.push(insert(E(2, "x", 2), 4), key="k"),
            *op.push(Punctuation(40)),
        ]
    )
    assert [change[:4] for change in out if isinstance(change, Change)] == [(R(LONE), 4, 23, 1)]
    assert op.statistics.state_size == 0


@pytest.mark.parametrize("place", ["operator", "keyed", "numbered", "before", "after", "around"])
def test_nobody_is_told_of_what_was_refused(engine: str, place: str) -> None:
    side = SideOutput()
    op = begin(place, engine, late=side)
    op.push(Punctuation(2))
    before = state(op)
    with pytest.raises(ChangeError, match=WORDS):
        op.push_many([table([2, 5], [4, 1]), Punctuation(40)])
    assert (state(op), side.changes) == (before, [])


@pytest.mark.parametrize("place", ["operator", "keyed", "before", "after", "around"])
def test_a_promise_whose_answer_cannot_be_written(engine: str, place: str) -> None:
    op = begin(place, engine, waits)
    before = state(op)
    with pytest.raises(ChangeError, match=WORDS):
        op.push_many([table([], [], who=pa.array([], pa.string()), name=pa.array([], pa.string())), Punctuation(40)])
    assert state(op) == before
    assert [change.le for change in op.push(Punctuation(40)) if isinstance(change, Change)] == [9]


def test_keys_that_arrow_does_not_take(engine: str) -> None:
    plain = Automaton(start="a", final={"c"}, event=E, arcs=[Arc("a", "b", "kind == 1"), Arc.timeout("b", "c", at="9")])
    keyed = Keyed(plain, key="who", window=20, engine=engine)
    keyed.push(insert(E(1, "x", 1), 3), key=LONE)
    before = keyed.snapshot if False else keyed.statistics
    with pytest.raises(ChangeError, match=r"expected values that Arrow holds in the output's column 'who' of string but got"):
        keyed.push_many([table([5], [4]), Punctuation(12)])
    assert keyed.statistics == before
    assert [change[:4] for change in keyed.push(Punctuation(12))[:-1]] == [((), 9, 23, 1)]


def test_shapes_that_hold_any_text_take_it(engine: str) -> None:
    for shape in (dict, pd.DataFrame):
        op = begin("operator", engine)
        out = op.push_many(shape({"kind": [2], "name": ["x"], "seq": [2], "le": [4]}))
        assert list(out["name"]) == [LONE]
    numbers = {"kind": [1, 2], "name": ["x", "x"], "seq": [1, 2], "le": [3, 4], "who": np.full(2, 2**63, np.uint64)}
    out = Keyed(automaton, key="who", window=20, engine=engine).push_many(numbers)
    assert out["who"].tolist() == [2**63]
    assert Keyed(automaton, key="who", window=20, engine=engine).push_many(pa.table(numbers))["who"].to_pylist() == [str(2**63)]


def test_the_command_line_says_it_in_one_line(there: Path) -> None:
    write(
        "p.py",
        """
from typing import NamedTuple
from afa import Arc, Automaton
class E(NamedTuple):
    kind: int
class R(NamedTuple):
    name: str = ""
a = Automaton(start="a", final={"b"}, event=E, register=R(), arcs=[Arc("a", "b", "kind == 1", lambda e, r: R(chr(0xD800)))])
""",
    )
    write("e.csv", "kind,le\n1,1\n")
    for more in ([], ["--output", "out.parquet"], ["--output", "out.jsonl"]):
        result = call("run", "p.py:a", "e.csv", *more, status=1)
        assert "Traceback" not in result.stderr
        assert json.dumps(result.stderr).count("surrogates not allowed") == 1
    assert not Path("out.parquet").exists()
