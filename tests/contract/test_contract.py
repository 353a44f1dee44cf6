"""The checks, each over every kind of operator (`tests.contract.operators`)."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from afa import AfaError, ChangeError, LateEventError, Punctuation
from afa.operator.contract import OperatorLike
from tests.contract.operators import KINDS, ROWS, START, Kind, change, columns
from tests.interrupts import at_line

LIBRARIES = ("dict", "pandas", "polars", "arrow", "duckdb")
TIMES = ("ints", "times")
ANSWERS = {"dict": "builtins", "pandas": "pandas", "polars": "polars", "arrow": "pyarrow", "duckdb": "pyarrow"}
"""By the library that came in whose table answers."""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def net(out: Any, held: Counter[Any] | None = None) -> Counter[Any]:
    """Fold changes: (payload, le, re, key) -> net multiplicity."""
    held = Counter() if held is None else held
    for each in out:
        if not isinstance(each, Punctuation):
            held[tuple(each.payload), each.le, each.re, each.key] += each.diff
    return +held


def one_by_one(kind: Kind) -> tuple[Any, Counter[Any]]:
    """An operator that has taken all rows one by one, and the matches in force."""
    op, held = kind.make(), Counter[Any]()
    for at, row in enumerate(ROWS):
        held = net(op.push(change(row, at, kind)), held)
    return op, net(op.push(Punctuation(START + 100)), held)


def table(library: str, given: dict[str, Any]) -> Any:
    """A dict of columns as a table of a library."""
    if library == "dict":
        return given
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    if library == "pandas":
        return pd.DataFrame(given)
    if library == "polars":
        return pl.DataFrame({name: pl.Series(column) for name, column in given.items()})
    arrow = pa.table(given)
    if library == "arrow":
        return arrow
    import duckdb

    return duckdb.from_arrow(arrow)


def listed(out: Any) -> dict[str, list[Any]]:
    """The columns of a table of any kind as lists."""
    if hasattr(out, "to_pydict"):
        return out.to_pydict()
    return {name: list(out[name]) for name in (out if isinstance(out, dict) else out.columns)}


def all_changes(kind: Kind, rows: slice = slice(None)) -> list[Any]:
    """Rows as changes."""
    return [change(row, at, kind) for at, row in list(enumerate(ROWS))[rows]]


def as_times(les: list[int]) -> Any:
    return np.array(les, "M8[s]").astype("M8[ns]")


def as_ints(les: list[int]) -> Any:
    return np.array(les, np.int64)


SHARED = [name for name in vars(OperatorLike) if not name.startswith("_")]


def test_it_has_what_all_have(kind: Kind) -> None:
    """With as many arguments as `OperatorLike` says."""
    op = kind.make()
    for name in SHARED:
        wanted, there = vars(OperatorLike)[name], inspect.getattr_static(type(op), name)
        assert isinstance(there, property) == isinstance(wanted, property)
        if not isinstance(wanted, property):
            inspect.signature(there).bind(*inspect.signature(wanted).parameters)


def test_all_have_no_more() -> None:
    """What all have is in `OperatorLike`."""
    there = [{name for name in dir(kind.make()) if not name.startswith("_")} for kind in KINDS.values()]
    assert set.intersection(*there) == set(SHARED)


def test_it_finds_something(kind: Kind) -> None:
    assert one_by_one(kind)[1]


def test_a_list_is_its_items(kind: Kind) -> None:
    op = kind.make()
    held = net(op.push_many(all_changes(kind)))
    assert net(op.push(Punctuation(START + 100)), held) == one_by_one(kind)[1]


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_is_its_rows(kind: Kind, library: str, times: str) -> None:
    """Of any library, with ints or timestamps: the same matches, told by a table of the same kind, in the times that came."""
    op, twin = kind.make(), kind.make()
    out = op.push_many(table(library, columns(kind, as_ints if times == "ints" else as_times)))
    assert type(out).__module__.partition(".")[0] == ANSWERS[library]
    found = listed(out)
    assert set(found.get("kind", ())) <= {"a", "b", "x"}, "a column of its own"
    rows = [each for each in twin.push_many(all_changes(kind)) if not isinstance(each, Punctuation)]
    assert Counter(map(seconds, found["le"])) == Counter(each.le for each in rows)
    assert Counter(found["diff"]) == Counter(each.diff for each in rows)
    if times == "times" and found["le"]:
        assert not isinstance(found["le"][0], (int, np.integer)), "times leave as they came"
    assert net(op.push(Punctuation(START + 100))) == net(twin.push(Punctuation(START + 100)))


def seconds(time: Any) -> int:
    """A time of any library as seconds since 1970."""
    if isinstance(time, (int, np.integer)):
        return int(time)
    zone = getattr(time, "tzinfo", None)
    return int(np.datetime64(time, "s").astype(np.int64) if zone is None else time.timestamp())


def test_a_copy_is_independent(kind: Kind) -> None:
    for made in (copy.copy, copy.deepcopy):
        op = kind.make()
        op.push(change(ROWS[0], 0, kind))
        before = op.snapshot()
        other = made(op)
        assert type(other) is type(op)
        later = all_changes(kind, slice(1, None))
        found = net(other.push_many(later))
        assert op.snapshot() == before, f"{made.__name__} shares its state"
        assert net(op.push_many(later)) == found


def test_it_is_pickled_or_says_why_not(kind: Kind) -> None:
    op = kind.make()
    op.push(change(ROWS[0], 0, kind))
    if not kind.pickled:
        with pytest.raises(AfaError, match="expected an Operator or a Keyed to be pickled but got"):
            pickle.dumps(op)
        return
    other = pickle.loads(pickle.dumps(op))
    later = all_changes(kind, slice(1, None))
    assert net(other.push_many(later)) == net(op.push_many(later))


def test_a_snapshot_goes_on(kind: Kind) -> None:
    op = kind.make()
    op.push_many(all_changes(kind, slice(2)))
    other = kind.restored(op.snapshot())
    later = all_changes(kind, slice(2, None))
    assert net(other.push_many(later)) == net(op.push_many(later))
    end = Punctuation(START + 100)
    assert net(other.push(end)) == net(op.push(end))


@pytest.mark.parametrize("wrong", [7, "a", None, ("a", 1), {"kind": "a", "m": 1.5}, object()])
def test_a_refused_call_leaves_no_trace(kind: Kind, wrong: Any) -> None:
    op = kind.make()
    op.push(change(ROWS[0], 0, kind))
    before = op.snapshot()
    with pytest.raises(AfaError):
        op.push(wrong)
    with pytest.raises((AfaError, TypeError)):
        op.push_many([change(ROWS[1], 1, kind), wrong])
    assert op.snapshot() == before


def test_times_without_a_tick_are_refused() -> None:
    """Where nothing says what one int is, a timestamp is no int."""
    import pandas as pd

    from afa.uncertain import Sequence
    from tests.contract.operators import SEQUENCE

    op = Sequence(["a", "b"], **{**SEQUENCE, "tick": None, "window": 10})
    with pytest.raises(ChangeError, match=r"expected ints \(ticks\) in column 'lower' but got datetime64\[ns\]; for times say"):
        op.push_many(pd.DataFrame(columns(KINDS["Sequence"], as_times)))


def test_an_event_has_a_kind_as_any_other_field(kind: Kind) -> None:
    """Also with a retraction, which takes the table row by row, and with the column of ends."""
    if kind.ends:
        pytest.skip("its tables have no retractions beside intervals of their own")
    op, given = kind.make(), columns(kind, as_ints)
    given["diff"] = [1] * len(ROWS)
    out = op.push_many(given)
    assert len(out["le"]) or net(op.push(Punctuation(START + 100)))


def test_statistics_have_the_same_names(kind: Kind) -> None:
    op, _ = one_by_one(kind)
    found = [op.statistics] if hasattr(op.statistics, "events") else op.statistics  # of a chain those of each
    for each in found:
        assert {"events", "matches", "outputs", "retractions", "late"} <= set(each._fields)
        assert each.outputs > each.retractions
        assert each.late == 0


# -- what comes late, and what is taken back -------------------------------------------------------------------------------------


def test_what_is_late_is_refused_and_leaves_no_trace(kind: Kind) -> None:
    """However it comes: below what was promised."""
    op = kind.make()
    op.push_many(all_changes(kind))
    op.push(Punctuation(START + 3))
    before = op.snapshot()
    row = {name: column[1:2] for name, column in columns(kind, as_ints).items()}
    for come in (
        lambda: op.push(change(ROWS[0], 1, kind)),
        lambda: op.push_many(all_changes(kind, slice(1))),
        lambda: op.push_many(row),
    ):
        with pytest.raises(LateEventError):
            come()
        assert op.snapshot() == before


@pytest.mark.parametrize("order", ["as they came", "backwards"])
def test_nothing_is_in_force_once_all_is_taken_back(kind: Kind, order: str) -> None:
    op, held = kind.make(), Counter[Any]()
    taken = all_changes(kind)
    for each in [*taken, *(each._replace(diff=-1) for each in (taken if order == "as they came" else taken[::-1]))]:
        for out in op.push(each):
            if not isinstance(out, Punctuation):
                held[tuple(out.payload), out.le, out.re, out.key] += out.diff
    assert not any(held.values())
    assert not net(op.push(Punctuation(START + 100)))


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "arrow"])
def test_a_table_that_takes_back_all_that_it_brings_tells_nothing(kind: Kind, library: str) -> None:
    op, given = kind.make(), columns(kind, as_ints)
    twice = {name: [*column, *column] for name, column in given.items()} | {"diff": [1] * len(ROWS) + [-1] * len(ROWS)}
    assert not listed(op.push_many(table(library, twice)))["diff"]
    assert not net(op.push(Punctuation(START + 100)))


def test_a_retraction_may_come_before_what_it_retracts(kind: Kind) -> None:
    op = kind.make()
    taken = all_changes(kind)
    for each in taken:
        assert not op.push(each._replace(diff=-1))
    assert not net(op.push_many(taken))
    assert not net(op.push(Punctuation(START + 100)))


@pytest.mark.parametrize("come", ["a row", "a list", "a table"])
def test_an_interrupted_call_is_done_whole_or_not_at_all(kind: Kind, come: str) -> None:
    """At some of its lines: the snapshot is that before it, or that behind it."""
    given = {name: column[2:] for name, column in columns(kind, as_ints).items()}
    begun = kind.make()
    begun.push_many(all_changes(kind, slice(2)))
    works = {
        "a row": lambda op: op.push(change(ROWS[2], 2, kind)),
        "a list": lambda op: op.push_many(all_changes(kind, slice(2, None))),
        "a table": lambda op: op.push_many(given),
    }
    work, before, whole = works[come], begun.snapshot(), copy.deepcopy(begun)
    lines = at_line(lambda: work(whole), None).lines
    for stop in range(1, lines, max(1, lines // 12)):
        op = copy.deepcopy(begun)
        ended = at_line(lambda op=op: work(op), stop)
        assert op.snapshot() in (before, whole.snapshot()), f"line {stop} of {lines}"
        assert ended.interrupted or op.snapshot() == whole.snapshot()
