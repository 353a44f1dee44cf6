"""`amend`: full(before) + amend == full(after), for changes in every form; what is refused."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Change, ChangeError, insert, retract
from afa.replay import amend
from tests.replay.stored_files import counted, plain, saved


class Trade(NamedTuple):
    price: float | None
    note: str
    n: int


class Seen(NamedTuple):
    n: int = 0
    note: str = ""


spike = Automaton(
    start="0", final={"2"}, event=Trade, register=Seen(),
    arcs=[
        Arc("0", "1", "price is not None and price > 90", "r._replace(n=e.n)"),
        Arc("1", "2", "price is None or price < 50", "r._replace(note=e.note)"),
    ],
)  # fmt: skip
silence = Automaton(
    start="0", final={"2"}, event=Trade, register=Seen(),
    arcs=[
        Arc("0", "1", "price is not None and price > 90", "r._replace(n=e.n)"), Arc.skip("1", "note != 'end'"),
        Arc.timeout("1", "2", "r.n * 0 + 1000 if r.n < 0 else r.n"),
    ],
)  # fmt: skip
NAMES = ("at", "k", *Trade._fields)
NOTES = ["a", "it's", 'say "x"', "\\n\n", "é", "end"]
TYPES = pa.schema([("at", pa.int64()), ("k", pa.string()), ("price", pa.float64()), ("note", pa.string()), ("n", pa.int64())])


def rows_of(seed: int, many: int = 40) -> list[tuple[Any, ...]]:
    random = np.random.default_rng(seed)
    prices = [None, math.nan, -2.5, 40.0, 60.0, 95.0, 99.5]
    rows = []
    for i in range(many):
        price, note = prices[int(random.integers(0, 7))], NOTES[int(random.integers(0, 6))]
        rows.append((2 * i, "pq"[int(random.integers(0, 2))], price, note, 2 * i + int(random.integers(2, 9))))
    return rows


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table([pa.array([row[i] for row in rows], TYPES.field(i).type) for i in range(5)], schema=TYPES)


def late_of(seed: int, rows: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows that come too late, and stored ones that go."""
    random = np.random.default_rng(seed + 100)
    come = [(2 * int(random.integers(0, 40)) + 1, "pqr"[i % 3], [95.0, None, 3.0, math.nan][i], NOTES[i], 50 + i) for i in range(4)]
    return come, [rows[i] for i in random.choice(len(rows), 2, replace=False)]


def nonzero(total: Any) -> dict[Any, int]:
    return {row: many for row, many in total.items() if many}


def difference(found: pa.Table) -> dict[Any, int]:
    total: Counter[Any] = Counter()
    for row in found.to_pylist():
        diff = row.pop("diff")
        total[tuple(map(plain, row.values()))] += diff
    return nonzero(total)


def owed(pattern: Any, before: pa.Table, after: pa.Table, **said: Any) -> dict[Any, int]:
    """What `amend` must tell: the matches of one table without those of another."""
    want = counted(afa.find(pattern, after, **said))
    want.subtract(counted(afa.find(pattern, before, **said)))
    return nonzero(want)


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: row[0])


def check(pattern: Any, path: str, before: Any, after: Any, changes: Any, applied: bool, **said: Any) -> None:
    said = {"time": "at", "window": 9, "key": "k", **said}
    found = amend(pattern, path, changes, applied=applied, **said)
    assert difference(found) == owed(pattern, table_of(in_order(before)), table_of(in_order(after)), **said)
    assert found["le"].to_pylist() == sorted(found["le"].to_pylist())


def changes_of(come: Any, gone: Any, diff: bool = True) -> pa.Table:
    """Changes as a table of the source's columns and ``diff``."""
    table = table_of([*come, *gone])
    return table.append_column("diff", pa.array([1] * len(come) + [-1] * len(gone))) if diff else table


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("pattern", [spike, silence])
@pytest.mark.parametrize("end", ["latest", "forever"])
def test_rows_in_every_form(tmp_path: Path, applied: bool, pattern: Automaton, end: str) -> None:
    for seed in range(3):
        rows = rows_of(seed)
        come, gone = late_of(seed, rows)
        after = [row for row in rows if row not in gone] + come
        path = saved(table_of(sorted(after) if applied else rows), tmp_path / f"{seed}.parquet")
        table = changes_of(come, gone)
        changes = [
            make(Trade(*row[2:]), row[0], key=row[1]) for make, several in ((insert, come), (retract, gone)) for row in several
        ]
        columns = {name: table[name].to_pylist() for name in table.column_names}
        forms = [table, changes, columns, table.rename_columns(["le", *table.column_names[1:]])]
        for form in forms if seed == 0 else forms[:2]:
            check(pattern, path, rows, after, form, applied, end=end)


def test_rows_of_pandas(tmp_path: Path) -> None:
    rows = rows_of(3)
    come = [(11, "p", 95.0, "a", 3), (13, "p", None, "b", 3), (15, "p", -2.5, "b", 3)]  # as pandas has None: NaN
    path = saved(table_of(rows), tmp_path / "a.parquet")
    check(spike, path, rows, [*rows, *come], changes_of(come, []).to_pandas(), False)
    check(spike, path, rows, [*rows, *come], table_of(come).to_pandas(), False)


def test_nan_of_pandas_where_no_value_is_missing(tmp_path: Path) -> None:
    class Price(NamedTuple):
        price: float

    odd = Automaton(start="0", final={"1"}, event=Price, arcs=[Arc("0", "1", "price != price")])
    path = saved(pa.table({"price": [1.0], "at": [1]}), tmp_path / "a.parquet")
    late = pa.table({"price": [math.nan], "at": [2]}).to_pandas()
    assert amend(odd, path, late, time="at", window=5, applied=False).to_pylist() == [{"le": 2, "re": 7, "diff": 1}]


def as_spark(come: Any, gone: Any, key: bool = True) -> pa.Table:
    """What `afa.spark.match` writes: matches and a note, late rows among them, each with its event's text."""
    pytest.importorskip("pyspark")
    from afa.spark.packed_rows import _late

    class Job(NamedTuple):
        keys: tuple[str, ...] = ("k",)

    changes = [Change(Trade(*row[2:]), row[0], row[0] + 9, 1, row[1]) for row in come]
    changes += [Change(Trade(*row[2:]), row[0], row[0] + 9, -1, row[1]) for row in gone]
    found = [_late(Job(), change) for change in changes]  # type: ignore[arg-type]
    found += [{"k": "p", "le": 5, "re": 9, "diff": 1, "kind": "match", "reason": None}, {"kind": "note", "reason": "behind"}]
    schema = [
        ("k", pa.string()),
        *((name, pa.int64()) for name in ("le", "re", "diff")),
        ("kind", pa.string()),
        ("reason", pa.string()),
    ]
    return pa.Table.from_pylist(found, pa.schema(schema))


@pytest.mark.parametrize("applied", [False, True])
def test_late_rows_as_spark_writes_them(tmp_path: Path, applied: bool) -> None:
    for seed in range(4):
        rows = rows_of(seed)
        come, gone = late_of(seed, rows)
        after = [row for row in rows if row not in gone] + come
        path = saved(table_of(in_order(after) if applied else rows), tmp_path / f"{seed}.parquet")
        check(spike, path, rows, after, as_spark(come, gone), applied)
        check(spike, path, rows, after, as_spark(come, gone).slice(0, 6).to_pandas(), applied)


HOSTILE = [
    "Trade(price=__import__('os').getcwd(), note='a', n=1)", "Trade(price=[1 for _ in range(9)], note='a', n=1)", "open('x', 'w')",
    "Trade(price=1.0, note='a', n=1); print()", "Trade(price=1.0, note='a')", "Trade(price=1.0, note='a', n=1, m=2)",
    "Trade(1.0, 'a', 1)", "Trade(price=1.0, note=f'{1}', n=1)", "Trade(price=1.0, note='a', n=n)", "Trade(**{'price': 1.0})", "",
    "Trade(price=(1.0).real, note='a', n=1)", "Trade(price=9**9**9, note='a', n=1)", "(" * 500, "Trade(price=-'a', note='a', n=1)",
    "Trade(price=1.0, note=b'a', n=1)", "Trade(price=1j, note='a', n=1)", "Trade(price=..., note='a', n=1)", "\x00",
    "Trade(price=1.0, note='a', n=" + "-" * 3000 + "1)", "Trade(price=1.0, note='a', n=1, n=2)",
    "Trade(price=-None, note='a', n=1)",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_that_is_no_event_is_refused_and_never_evaluated(tmp_path: Path, text: str) -> None:
    path = saved(table_of(rows_of(1)), tmp_path / "a.parquet")
    late = as_spark([(5, "p", 1.0, "a", 1)], [])
    late = late.set_column(5, "reason", pa.array([f"behind the watermark: {text}", None, None]))
    with pytest.raises(ChangeError, match="expected the text of a Trade"):
        amend(spike, path, late, time="at", window=9, key="k", applied=False)


def test_a_reason_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = saved(table_of(rows_of(1)), tmp_path / "a.parquet")
    for text in (None, "late", "behind the watermark: " + "x" * 70_000):
        late = as_spark([(5, "p", 1.0, "a", 1)], []).set_column(5, "reason", pa.array([text, None, None]))
        with pytest.raises(ChangeError, match="expected the reason of a late row"):
            amend(spike, path, late, time="at", window=9, key="k", applied=False)


def test_a_late_text_that_does_not_fit_its_column_is_refused(tmp_path: Path) -> None:
    path = saved(table_of(rows_of(1)), tmp_path / "a.parquet")
    for text in ("Trade(price='a', note='a', n=1)", "Trade(price=1.0, note=3, n=1)", f"Trade(price=1.0, note='a', n={2**70})"):
        late = as_spark([(5, "p", 1.0, "a", 1)], []).set_column(
            5, "reason", pa.array([f"behind the watermark: {text}", None, None])
        )
        with pytest.raises(AfaError, match="expected"):
            amend(spike, path, late, time="at", window=9, key="k", applied=False)


# -- arcs ------------------------------------------------------------------------------------------------------------------------


def by_operator(rows: list[tuple[Any, ...]], arcs: list[Change], window: int = 9) -> Counter[Any]:
    op = afa.Keyed(spike, key="k", window=window, engine="interpreted")
    total: Counter[Any] = Counter()
    found = [change for arc in arcs for change in op.push_arc(arc)]
    table = table_of(rows).rename_columns(["le", *NAMES[1:]])
    columns = op.push_many({name: table[name].to_pylist() for name in table.column_names})
    end = op.push(afa.Punctuation(max(row[0] for row in rows)))
    for i in range(len(columns["le"])):
        row = tuple(plain(columns[name][i]) for name in ("k", "n", "note", "le", "re"))
        total[tuple(each.item() if hasattr(each, "item") else each for each in row)] += int(columns["diff"][i])
    for change in [*found, *end]:
        if isinstance(change, Change):
            total[(change.key, *map(plain, change.payload), change.le, change.re)] += change.diff
    return total


ARCS = [
    insert(Arc("0", "1", "price == 60", "r._replace(n=-1)", name="more"), 10, 50),
    insert(Arc("1", "2", "note == 'é'", name="other"), BEGINNING, 40),
    insert(Arc.timeout("1", "2", "r.n", name="wait"), 20, FOREVER),
    insert(Arc("1", "3", "price == 60", name="ends", final=True), 0, 60),
    insert(Arc.epsilon("0", "2", "False", name="never"), 5, 10),
    retract(spike.arcs[1], BEGINNING, FOREVER),
]


@pytest.mark.parametrize("arc", ARCS, ids=lambda change: repr(change.payload))
def test_arcs_with_a_lifetime_in_the_past(tmp_path: Path, arc: Change) -> None:
    for seed in range(3):
        rows = rows_of(seed)
        path = saved(table_of(rows), tmp_path / f"{seed}.parquet")
        try:
            want = by_operator(rows, [arc])
        except AfaError as refused:
            with pytest.raises(AfaError, match=str(refused)[:30].replace("(", r"\(")):
                amend(spike, path, [arc], key="k", time="at", window=9)
            continue
        want.subtract(by_operator(rows, []))
        assert difference(amend(spike, path, [arc], key="k", time="at", window=9)) == nonzero(want)


# -- the end ---------------------------------------------------------------------------------------------------------------------


def test_a_late_row_that_is_the_latest_of_all_lets_others_time_out(tmp_path: Path) -> None:
    rows = [(0, "p", 60.0, "a", 1), (3, "p", 95.0, "a", 8), (4, "q", 95.0, "a", 9), (5, "r", 95.0, "a", 30)]
    for late in ((7, "q", 60.0, "a", 1), (8, "s", 60.0, "a", 1), (9, "p", 60.0, "end", 1), (40, "p", 60.0, "a", 1)):
        for applied in (False, True):
            path = saved(table_of([*rows, late] if applied else rows), tmp_path / "a.parquet")
            check(silence, path, rows, [*rows, late], changes_of([late], []), applied, window=30)
            gone = saved(table_of(rows if applied else [*rows, late]), tmp_path / "b.parquet")
            check(silence, gone, [*rows, late], rows, changes_of([], [late]), applied, window=30)


def test_several_copies_of_the_latest_row(tmp_path: Path) -> None:
    rows, late = [(3, "p", 95.0, "a", 8), (4, "q", 95.0, "a", 9)], (20, "q", 60.0, "a", 1)
    changes = changes_of([late], []).set_column(5, "diff", pa.array([2]))
    path = saved(table_of([*rows, late, late]), tmp_path / "a.parquet")
    check(silence, path, rows, [*rows, late, late], changes, True, window=30)
    check(silence, saved(table_of(rows), tmp_path / "b.parquet"), rows, [*rows, late, late], changes, False, window=30)


def test_a_table_of_no_row(tmp_path: Path) -> None:
    path = saved(table_of([]), tmp_path / "a.parquet")
    come = [(3, "p", 95.0, "a", 8), (4, "p", 40.0, "a", 9)]
    for pattern in (spike, silence):
        check(pattern, path, [], come, changes_of(come, []), False)
        check(pattern, saved(table_of(come), tmp_path / "b.parquet"), come, [], changes_of([], come), False)
        check(pattern, path, come, [], changes_of([], come), True)
        check(pattern, path, [], [], changes_of([], []), True)


# -- times -----------------------------------------------------------------------------------------------------------------------


def test_ends_of_lifetimes(tmp_path: Path) -> None:
    rows = rows_of(2)
    lasting = table_of(rows).append_column(
        "to", pa.array([None if i % 5 == 0 else row[0] + 1 + i % 11 for i, row in enumerate(rows)])
    )
    late = table_of([(11, "p", 95.0, "a", 3), (12 + 1, "p", 20.0, "b", 3)]).append_column("to", pa.array([60, None]))
    said: dict[str, Any] = {"time": "at", "until": "to", "key": "k"}
    for window in (9, None):
        after = pa.concat_tables([lasting, late.cast(lasting.schema)]).sort_by("at")
        for applied in (False, True):
            path = saved(after if applied else lasting, tmp_path / "a.parquet")
            found = amend(spike, path, late, window=window, applied=applied, **said)
            assert difference(found) == owed(spike, lasting, after, window=window, **said)


def test_a_lifetime_longer_than_int64_counts(tmp_path: Path) -> None:
    rows = table_of([(-9, "p", 60.0, "a", 1), (5, "p", 40.0, "a", 1)]).append_column("to", pa.array([0, 9]))
    late = table_of([(-8, "p", 95.0, "a", 3)]).append_column("to", pa.array([None], pa.int64()))
    said: dict[str, Any] = {"time": "at", "until": "to", "key": "k", "window": None}
    found = amend(spike, saved(rows, tmp_path / "a.parquet"), late, applied=False, **said)
    assert difference(found) == dict(counted(afa.find(spike, pa.concat_tables([rows, late]).sort_by("at"), **said)))
    assert found.num_rows == 1


@pytest.mark.parametrize("unit", ["ms", "ns"])
def test_timestamps(tmp_path: Path, unit: str) -> None:
    rows = rows_of(3)
    come, gone = late_of(3, rows)
    said: dict[str, Any] = {"time": "at", "window": 9, "key": "k"}

    def stamped(table: pa.Table) -> pa.Table:
        return table.set_column(0, "at", table["at"].cast(pa.timestamp(unit, "UTC")))

    before, after = stamped(table_of(rows)), stamped(table_of(in_order([row for row in rows if row not in gone] + come)))
    for applied in (False, True):
        path = saved(after if applied else before, tmp_path / "a.parquet")
        found = amend(spike, path, stamped(changes_of(come, gone)), applied=applied, **said)
        assert difference(found) == owed(spike, before, after, **said)
        assert found.schema.field("le").type == pa.timestamp(unit, "UTC")
    changes = [
        insert(Trade(*row[2:]), dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=row[0]), key=row[1])
        for row in come
    ]
    if unit == "ms":
        found = amend(spike, saved(before, tmp_path / "b.parquet"), changes, applied=False, **said)
        assert difference(found) == owed(spike, before, stamped(table_of(in_order(rows + come))), **said)


# -- what is chosen --------------------------------------------------------------------------------------------------------------


class Tick(NamedTuple):
    x: int
    n: int
    at: afa.Instant


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW", "TO LAST b"])
def test_what_is_chosen_of_overlapping_matches_may_change_far_behind_a_change(tmp_path: Path, skip: str) -> None:
    query = afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES a.n AS first, LAST(b.n) AS last AFTER MATCH SKIP {skip}
            PATTERN (a b+) WITHIN 12 DEFINE a AS x > 3, b AS x > 2)""",
        event=Tick,
    )

    def table(rows: list[tuple[int, int]]) -> pa.Table:
        return pa.table({"at": [at for at, _ in rows], "x": [x for _, x in rows], "n": [at for at, _ in rows]})

    far = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        rows = [(2 * i, int(random.choice([1, 4, 5, 9, 9, 9, 9, 9]))) for i in range(40)]
        late = [(2 * int(random.integers(0, 40)) + 1, int(random.choice([1, 9])))]
        wanted = owed(query, table(rows), table(sorted(rows + late)), time="at")
        far += any(row[-2] - late[0][0] > 12 for row in wanted)
        path = saved(table(rows), tmp_path / "a.parquet")
        assert difference(amend(query, path, table(late), time="at", applied=False)) == wanted
    assert (far > 0) is (skip != "TO NEXT ROW")


def test_a_query_that_looks_at_what_was_before(tmp_path: Path) -> None:
    class Log(NamedTuple):
        type: str
        user: str
        id: int

    text = "PATTERN SEQ(~(F f), B a, ~(P p)) WHERE skip_till_next_match(a) {[user]} WITHIN 6 RETURN a.id"
    query = afa.query(text, event=Log)
    for seed in range(6):
        random = np.random.default_rng(seed)
        rows = [(2 * i, str(random.choice(list("FBPVV"))), "ab"[int(random.integers(0, 2))], i) for i in range(25)]
        late = [(int(random.integers(0, 30)) * 2 + 1, str(random.choice(list("FBP"))), "a", 99)]

        def table(rows: list[Any]) -> pa.Table:
            return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("at", "type", "user", "id"))})

        found = amend(query, saved(table(rows), tmp_path / "a.parquet"), table(late), time="at", applied=False)
        assert difference(found) == owed(query, table(rows), table(sorted(rows + late)), time="at")


# -- what is refused -------------------------------------------------------------------------------------------------------------


def test_changes_that_the_source_contradicts_are_named(tmp_path: Path) -> None:
    rows = rows_of(1)
    path = saved(table_of(rows), tmp_path / "a.parquet")
    said: dict[str, Any] = {"time": "at", "window": 9, "key": "k"}
    come, gone = [(5, "p", 77.0, "it's", 4)], [rows[3]]
    with pytest.raises(ChangeError, match=r"inserted, but the source.*no such row: k='p', price=77\.0, note=\"it's\", n=4, le=5"):
        amend(spike, path, changes_of(come, []), **said)
    with pytest.raises(ChangeError, match=r"retracted, but the source.*after the changes, still has such a row: k="):
        amend(spike, path, changes_of([], gone), **said)
    with pytest.raises(ChangeError, match=r"retracted, but the source.*before the changes, has no such row"):
        amend(spike, path, changes_of([], come), applied=False, **said)
    twice = changes_of([], gone).set_column(5, "diff", pa.array([-2]))
    with pytest.raises(ChangeError, match=r"retracted, but the source.*has such a row"):
        amend(spike, path, twice, applied=False, **said)
    with pytest.raises(ChangeError, match=r"inserted, but the source.*has such a row"):
        amend(spike, path, changes_of(gone, []).set_column(5, "diff", pa.array([2])), **said)
    nan = [(row, i) for i, row in enumerate(rows) if row[2] is not None and row[2] != row[2]]
    (row, _), *_ = nan
    amend(spike, path, changes_of([row], []), **said)  # NaN is met
    other_key = (row[0], "p" if row[1] == "q" else "q", *row[2:])
    with pytest.raises(ChangeError, match="no such row"):
        amend(spike, path, changes_of([other_key], []), **said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (5, "expected a frame"),
        ("late.parquet", "expected a frame"),
        ([insert(Trade(1.0, "a", 1), None)], "changes with times"),
        ([5], "changes with times"),
        ([insert(("x",), 3, key="p")], "expected"),
        ([insert(Arc("0", "1", "price > 3", name="x"))], "expected an arc with a lifetime"),
        ([insert(Arc("0", "1", "prize > 3", name="x"), 0, 5)], "prize"),
        ({"at": [1], "k": ["p"], "price": [1.0], "note": ["a"]}, "expected a column 'n'"),
        ({"at": [1], "k": ["p"], "price": [1.0], "note": ["a"], "n": [1], "diff": [0]}, "got diff=0 in row 0"),
        ({"at": [None], "k": ["p"], "price": [1.0], "note": ["a"], "n": [1]}, "expected"),
        ({"at": [1], "k": ["p"], "price": [1.0], "note": [None], "n": [1]}, "note"),
        ({"at": [1], "k": ["p"], "price": ["a"], "note": ["a"], "n": [1]}, "price"),
        ({"at": [1], "k": ["p"], "price": [1.0], "note": ["a"], "n": [1], "re": [5]}, "expected re=10"),
        ([insert(Trade(1.0, "a", 1), 1, 5, key="p")], "expected re=10"),
    ],
    ids=range(14),
)  # fmt: skip
def test_changes_that_are_none(tmp_path: Path, changes: Any, said: str) -> None:
    path = saved(table_of(rows_of(1)), tmp_path / "a.parquet")
    with pytest.raises(AfaError, match=said):
        amend(spike, path, changes, time="at", window=9, key="k", applied=False)


@pytest.mark.parametrize("column", [False, True])
def test_a_change_ends_where_the_window_says(tmp_path: Path, column: bool) -> None:
    """Also where the source has a column ``re`` that tells something else, or the window is without an end."""
    table = table_of(rows_of(1))
    path = saved(table.append_column("re", table["at"]) if column else table, tmp_path / "a.parquet")
    late = insert(Trade(95.0, "a", 1), 1, key="p")
    for window, re in ((9, 10), (None, FOREVER)):
        said: dict[str, Any] = {"time": "at", "window": window, "key": "k", "applied": False}
        assert amend(spike, path, [late._replace(re=re)], **said).equals(amend(spike, path, [late], **said))
        with pytest.raises(ChangeError, match=f"expected re={re}, le . window, .* but got re=5 in row 1"):
            amend(spike, path, [late, late._replace(re=5)], **said)
