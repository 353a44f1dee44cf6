"""Matches of SQL that show the same: as many rows, through all that takes matches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa import Arc, Automaton, Chain, Change, Operator, insert, retract
from afa.compiled import store
from afa.compiled.kernel.layout import LogRow
from afa.explain.tracing.recorder import Trace
from afa.language.builder_printer import builder_text
from afa.language.sase_printer import sase_text
from afa.replay import amend
from speculation import Cleanse, Consolidate
from tests.cli import call
from tests.cli import there as there  # the fixture of the tests of `afa run`


class Reading(NamedTuple):
    key: str
    v: int
    at: afa.Instant | None = None


class Peak(NamedTuple):
    top: int


TEXT = """SELECT * FROM readings MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES b.v AS top {} PER MATCH
    AFTER MATCH SKIP TO NEXT ROW PATTERN (a+ b) DEFINE a AS v < 5, b AS v >= 5)"""
RISES, ALL_ROWS = (afa.sql(TEXT.format(rows), event=Reading) for rows in ("ONE ROW", "ALL ROWS"))


def reading(v: int, le: int, key: str = "k") -> Change:
    return insert(Reading(key, v), le)


THREE = [reading(0, 1), reading(0, 2), reading(5, 3)]
FRAME = {"key": ["k"] * 3, "v": [0, 0, 5], "le": [1, 2, 3]}


def diffs(out: Any) -> list[int]:
    return [change.diff for change in out if isinstance(change, Change)]


@pytest.mark.parametrize("query", [RISES, ALL_ROWS], ids=["one row", "all rows"])
@pytest.mark.parametrize("threads", [1, 2])
def test_each_way_in_tells_as_many(query: Any, threads: int, engine: str) -> None:
    """Change by change, in one call, as a table, from a snapshot; of two keys, and of few entries of a call and of many."""
    changes = [reading(v, le, key) for le, v in enumerate([0] * 9 + [5, 0, 0, 5], 1) for key in "ab"]
    table = pa.Table.from_pylist([{"key": c.payload.key, "v": c.payload.v, "le": c.le} for c in changes])  # type: ignore[union-attr]

    def net(out: Any) -> Counter[Any]:
        found = Counter[Any]()
        for change in out:
            found[change.key, tuple(change.payload), change.le, change.re] += change.diff
        return found

    def of(given: Any) -> list[Change]:
        columns = given.to_pydict()
        cls, times = query.shown.cls, zip(columns["le"], columns["re"], columns["diff"], columns["key"])
        payloads = zip(*(columns[name] for name in cls._fields))
        return [Change(cls(*payload), *time) for payload, time in zip(payloads, times)]

    def made() -> Any:
        return query.operator(engine=engine, threads=threads if engine == "compiled" else 1)

    first = made()
    once = first.push_many(changes)
    wanted = net(once)
    assert {change.le: change.diff for change in once if change.key == "a"}[10] == 9
    assert len(once) == len(wanted)
    assert all(n > 0 for n in wanted.values())
    op = made()
    assert net([told for change in changes for told in op.push(change)]) == wanted
    assert net(made().push_many(changes, net=False)) == wanted
    assert net(of(made().push_many(table))) == wanted
    assert net(of(made().push_many(table, net=False))) == wanted
    assert first.statistics.outputs == first.statistics.matches == sum(wanted.values())
    again = query.restore(first.snapshot(), engine=engine)
    for each in (first, again):
        each._check()
        assert -net(each.push_many([retract(change.payload, change.le) for change in changes])) == wanted  # type: ignore[arg-type]
    assert first.statistics.retractions == sum(wanted.values())


def test_frames_repeat_the_row(engine: str) -> None:
    found = afa.find(RISES, FRAME, time="le", engine=engine)
    assert (found["top"].tolist(), found["le"].tolist()) == ([5, 5], [3, 3])
    frame = pd.DataFrame({**FRAME, "diff": 1})
    frame = pd.concat([frame, frame[:1].assign(diff=-1)])
    assert afa.find(RISES, frame, time="le", diff="diff", engine=engine)["top"].tolist() == [5]
    rows = afa.find(ALL_ROWS, pa.table(FRAME), time="le", engine=engine)
    assert rows["le"].to_pylist() == [1, 2, 2, 3, 3]
    late = {name: [values[i] for i in (0, 2, 1)] for name, values in FRAME.items()}
    for query, matches in ((RISES, 2), (ALL_ROWS, 5)):
        tested = afa.backtest({"one": query}, late, time="le", engine=engine)
        assert (tested.table["matches"].tolist(), tested.table["withdrawn"].tolist()) == ([matches], [0])
    again = {name: [*late[name], values[2]] for name, values in FRAME.items()}
    counted = afa.backtest({"one": RISES}, {**again, "diff": [1, 1, 1, -1]}, time="le", diff="diff", engine=engine)
    assert (counted.table["matches"].tolist(), counted.table["withdrawn"].tolist()) == ([0], [2])


def test_history(tmp_path: Path) -> None:
    pq.write_table(pa.table(FRAME), tmp_path / "rows.parquet")
    gone = pa.table({"key": ["k"], "v": [5], "le": [3], "diff": [-1]})
    for query, wanted in ((RISES, [-2]), (ALL_ROWS, [-1, -2, -2])):
        assert amend(query, tmp_path / "rows.parquet", gone, time="le", applied=False)["diff"].to_pylist() == wanted
        assert afa.find(query, tmp_path / "rows.parquet", time="le").num_rows == -sum(wanted)


def test_operators_and_stages_behind(engine: str) -> None:
    """A chain takes copies; `Consolidate` and `Cleanse` sum them up."""
    high = Automaton(start="0", final={"1"}, event=Peak, arcs=[Arc("0", "1", "top > 4")])
    chain = Chain(RISES.operator(engine=engine), Operator(high, key="key", window=9, engine=engine))
    assert diffs(chain.push_many(THREE)) == [1], "a match needs one copy"
    assert chain.links[1].statistics.events == 2
    assert diffs(chain.push(retract(Reading("k", 0), 1))) == []
    assert diffs(chain.push(retract(Reading("k", 0), 2))) == [-1]
    chain._check()
    for stage in (Consolidate(per="punctuation"), Cleanse(3)):
        op = stage.after(RISES.operator(engine=engine))
        told = op.push_many([*THREE, reading(0, 0)]) + op.push(retract(Reading("k", 0), 1)) + op.push(afa.Punctuation(afa.FOREVER))
        assert diffs(told) == [2]
    early = Cleanse(0).before(RISES.operator(engine=engine))
    assert diffs(early.push_many([*THREE[::-1], afa.Punctuation(9)])) == [2]


def test_what_is_told_of_them(engine: str) -> None:
    """Members are of all that show the same; of a net call one reason is told, with the whole diff; a trace has each."""
    op = RISES.operator(engine=engine, members="le", tell="lineage")
    told = [(c.diff, c.members) for change in (*THREE, reading(0, 0)) for c in op.push(change)]
    assert told == [(2, {"a": (1, 2), "b": (3,)}), (1, {"a": (0, 1, 2), "b": (3,)})]
    gone = op.push(retract(Reading("k", 0), 1))
    assert [(c.diff, c.members) for c in gone] == [(-1, None), (0, {"a": (0, 2), "b": (3,)})]
    reasons = afa.Reasons(RISES.operator(engine=engine))
    (both,) = reasons.push_many([THREE[0], THREE[2], THREE[1]])
    assert (both.diff, both.because.text) == (2, "Announced: '0, 2' arrived late and is one of its events.")
    swapped = reasons.push_many([retract(Reading("k", 0), 1), reading(0, 0), retract(Reading("k", 0), 2)])
    assert [(c.diff, c.because.change.le) for c in swapped] == [(-1, 2)]
    trace = Trace(RISES.operator(engine=engine))
    trace.push_many(THREE)
    trace.push(retract(Reading("k", 0), 1))
    assert (trace.announced, trace.withdrawn) == (2, 1)
    assert [each.gone_at for each in trace.announcements].count(None) == 1


def test_a_command_writes_them_and_reads_them_again(there: Path) -> None:
    (there / "q.sql").write_text(TEXT.format("ONE ROW"))
    (there / "rows.csv").write_text("key,v,at,le\n" + "".join(f"k,{v},{le},{le}\n" for v, le in zip(FRAME["v"], FRAME["le"])))
    result = call("run", "q.sql", "rows.csv", "--output", "out.csv", "--end", "forever", "--batch", "3")
    assert "matches inserted" in result.stderr
    found = pd.read_csv(there / "out.csv")
    assert found["diff"].tolist() == [2]
    (there / "high.sase").write_text("PATTERN SEQ(Peak p) WHERE skip_till_next_match(p) { p.top > 4 } WITHIN 9 RETURN p.top AS top")
    call("run", "high.sase", "out.csv", "--output", "again.csv", "--end", "forever")
    assert pd.read_csv(there / "again.csv")["diff"].tolist() == [1]


def test_text_and_the_builder_return_sets(engine: str) -> None:
    """Two choices that show the same are one match there; and a query in SQL is printed as neither."""
    where = "skip_till_any_match(a[], b) { a[i].v < 5 and b.v >= 5 }"
    text = f"PATTERN SEQ(Reading+ a[], Reading b) WHERE {where} WITHIN 99 RETURN b.v AS top"
    op = afa.query(text, event=Reading).operator(engine=engine)
    assert set(diffs(op.push_many(THREE))) == {1}
    for say in (sase_text, builder_text):
        with pytest.raises(afa.AfaError, match="can say but got"):
            say(RISES.tree)


def test_order_of_output() -> None:
    """Retractions first, whatever their copies, each by LE."""
    from afa.change import put_in_order

    changes = [Change("x", le, 9, diff) for le, diff in ((3, 1), (2, -1), (1, 2), (1, -3), (1, 0))]
    put_in_order(changes)
    assert [(c.le, c.diff) for c in changes] == [(1, -3), (2, -1), (1, 0), (1, 2), (3, 1)]


@pytest.mark.parametrize("seed", range(200))
def test_many_entries_of_a_log_are_summed_up_as_few_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By columns as one by one: equal entries of a change are one, its sign says how many more there are, or fewer."""
    draw = np.random.default_rng(seed)
    n, of_changes = int(draw.integers(1, 80)), seed % 3 == 0
    rows = draw.integers(0, 3, (n, LogRow.register + seed % 4))
    rows[:, LogRow.sign] = draw.choice([-1, 1, 2], n)
    changes = draw.integers(0, 2, n) if of_changes else np.zeros(n, np.int64)
    expected = Counter[Any]()
    for change, (key, sign, *words) in zip(changes.tolist(), rows.tolist()):
        expected[(change, key, *words)] += sign
    columns = [changes, rows[:, LogRow.t], rows[:, LogRow.key]]
    for few in (0, 100):
        monkeypatch.setattr(store, "FEW", few)
        told = rows.copy()
        equal = store._summed(told, np.lexsort(columns[::-1]), columns[not of_changes :], changes if of_changes else None)
        assert equal == (len(expected) < n)
        left = [((change, key, *words), sign) for change, (key, sign, *words) in zip(changes.tolist(), told.tolist()) if sign]
        assert sorted(left) == sorted(each for each in expected.items() if each[1])
