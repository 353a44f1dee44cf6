"""Tables with timestamps and dates, of every kind, unit and zone, mean what those with ints mean, and come back as they came."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import afa
from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert, retract
from punctuation import BoundedDisorder, ObservedLateness, Union
from punctuation.timestamps import in_ticks, is_time, ticks_in, ticks_of_time, times_of
from speculation import Choose, Cleanse, Consolidate, LastBefore

UTC, BERLIN = dt.timezone.utc, ZoneInfo("Europe/Berlin")
EPOCH = dt.datetime(1970, 1, 1)
ZONES = [
    None,
    UTC,
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Asia/Kolkata"),
    dt.timezone(dt.timedelta(hours=-3, minutes=-30)),
]
CHANGES_OF_CLOCKS = [
    dt.datetime(2024, 3, 31, 0, 30),
    dt.datetime(2024, 10, 27, 0),
    dt.datetime(1969, 12, 31, 23),
    dt.datetime(2024, 11, 3, 5),
]


class Pay(NamedTuple):
    kind: str
    due: int | None
    at: afa.Instant | None = None


class Seen(NamedTuple):
    since: int = 0
    due: int | None = None


PAIR = Automaton(
    start="0",
    final={"2", "late"},
    event=Pay,
    register=Seen(),
    arcs=[
        Arc("0", "1", "kind == 'a'", "(e.at, e.due)"),
        Arc.skip("1", "kind == 'x'", name="skip"),
        Arc("1", "2", "kind == 'b' and r.due is not None and e.at <= r.due", "(r.since, e.due)"),
        Arc.timeout("1", "late", "r.since + 3600"),
    ],
)
SINGLE = Automaton(start="0", final={"1"}, event=Pay, arcs=[Arc("0", "1", "kind == 'a'")])


class World(NamedTuple):
    """Rows whose times are whole seconds; ``re`` and ``due`` may be missing."""

    kind: list[str]
    due: list[dt.datetime | None]
    le: list[dt.datetime]
    re: list[dt.datetime | None]
    diff: list[int]


def world(rng: random.Random, n: int = 12) -> World:
    base = rng.choice(CHANGES_OF_CLOCKS)
    le = [base + dt.timedelta(seconds=rng.randrange(0, 4 * 3600, rng.choice([1, 900]))) for _ in range(n)]
    later = [[None if rng.random() < 0.3 else at + dt.timedelta(seconds=rng.randint(1, 7200)) for at in le] for _ in range(2)]
    rows = [(rng.choice("abx"), due, at, re, 1) for due, at, re in zip(later[0], le, later[1])]
    rows += [(*row[:4], -1) for row in rng.sample(rows, 3)]
    return World(*map(list, zip(*rows)))


def ints(times: list[dt.datetime | None]) -> list[int | None]:
    return [None if at is None else round((at - EPOCH).total_seconds()) for at in times]


def in_zone(times: list[Any], zone: Any) -> list[Any]:
    return times if zone is None else [None if at is None else at.replace(tzinfo=UTC).astimezone(zone) for at in times]


def table_of_ints(w: World) -> pa.Table:
    columns = {"due": ints(w.due), "le": ints(w.le), "re": ints(w.re), "diff": w.diff}
    return pa.table({"kind": w.kind, **{name: pa.array(column, pa.int64()) for name, column in columns.items()}})


def stamped(w: World, unit: str, zone: Any) -> pa.Table:
    """The rows as an Arrow table."""
    kind = pa.timestamp(unit, None if zone is None else str(zone) if isinstance(zone, ZoneInfo) else "UTC")
    columns = {name: pa.array(ints(getattr(w, name)), pa.int64()).cast(pa.timestamp("s")) for name in ("due", "le", "re")}
    made = {
        name: pa.array(column.cast(pa.timestamp(unit)).cast(pa.int64()), pa.int64()).cast(kind) for name, column in columns.items()
    }
    return pa.table({"kind": w.kind, **made, "diff": w.diff})


def listed(w: World, zone: Any) -> dict[str, list[Any]]:
    return {"kind": w.kind, "due": in_zone(w.due, zone), "le": in_zone(w.le, zone), "re": in_zone(w.re, zone), "diff": w.diff}


def of_duckdb(table: pa.Table) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(table)


FORMS: dict[str, Any] = {
    "arrow": stamped,
    "chunks": lambda w, unit, zone: pa.concat_tables([stamped(w, unit, zone).slice(0, 5), stamped(w, unit, zone).slice(5)]),
    "coded": lambda w, unit, zone: stamped(w, unit, zone).set_column(2, "le", stamped(w, unit, zone)["le"].dictionary_encode()),
    "pandas": lambda w, unit, zone: stamped(w, unit, zone).to_pandas(),
    "pandas of arrow": lambda w, unit, zone: stamped(w, unit, zone).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda w, unit, zone: pl.from_arrow(stamped(w, "ms" if unit == "s" else unit, zone)),
    "duckdb": lambda w, unit, zone: of_duckdb(stamped(w, unit, zone)),
    "reader": lambda w, unit, zone: stamped(w, unit, zone).to_reader(4),
    "dict of series": lambda w, unit, zone: dict(stamped(w, unit, zone).to_pandas()),
    "dict of polars": lambda w, unit, zone: {c.name: c for c in pl.from_arrow(stamped(w, "us", zone))},
    "dict of lists": lambda w, unit, zone: listed(w, zone),
    "dict of numpy": lambda w, unit, zone: (
        listed(w, zone) | {name: np.array(getattr(w, name), f"M8[{unit}]") for name in ("due", "le", "re")}
    ),
    "objects": lambda w, unit, zone: pd.DataFrame(
        {name: pd.Series(column, dtype=object) for name, column in listed(w, zone).items()}
    ),
    "stamps": lambda w, unit, zone: listed(w, zone) | {"le": [pd.Timestamp(at) for at in in_zone(w.le, zone)]},
    "changes": lambda w, unit, zone: [
        Change({"kind": kind, "due": due}, le, re, diff) for kind, due, le, re, diff in zip(*listed(w, zone).values())
    ],
    "rows": lambda w, unit, zone: [dict(zip(World._fields, row)) for row in zip(*listed(w, zone).values())],
}

MAKERS: dict[str, Any] = {
    "operator": lambda **more: Operator(PAIR, window=5400, **more),
    "interpreted": lambda **more: Operator(PAIR, window=5400, engine="interpreted", **more),
    "forever": lambda **more: Operator(PAIR, **more),
    "keyed": lambda **more: Keyed(PAIR, key=lambda e: "odd" if e.at % 2 else "even", window=5400, **more),
    "before": lambda **more: Cleanse(600).before(Operator(PAIR, window=5400, **more)),
    "after": lambda **more: Cleanse(600).after(Operator(PAIR, window=5400, **more)),
    "consolidate": lambda **more: Consolidate(per="call").after(Operator(PAIR, window=5400, **more)),
    "choose": lambda **more: Choose(window=5400).after(Operator(PAIR, window=5400, **more)),
}


def as_ints(found: Any) -> list[Any]:
    """Output of any kind as rows with ints, in one order."""
    if isinstance(found, list):
        return [as_ints(part) if not isinstance(part, (Change, Punctuation)) else part for part in found]
    table = found.to_arrow() if isinstance(found, pl.DataFrame) else found
    columns = {}
    for name in table.columns if isinstance(table, pd.DataFrame) else table.column_names if isinstance(table, pa.Table) else table:
        column = table[name]
        items = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        columns[name] = [_int(item) for item in items]
    return sorted(zip(*columns.values()), key=repr)


def _int(item: Any) -> Any:
    if item is None or item is pd.NaT or item is pd.NA or (isinstance(item, float) and item != item):
        return None
    if isinstance(item, np.datetime64):
        item = None if np.isnat(item) else item.astype("M8[us]").item()
    if isinstance(item, dt.datetime):
        item = item if item.tzinfo else item.replace(tzinfo=UTC)
        return round(item.timestamp())
    return item if isinstance(item, str) else None if item is None else int(item)


def ends(rows: list[Any]) -> list[Any]:
    """Rows in which no end stands for FOREVER, as in columns of times."""
    return sorted([tuple(None if item == FOREVER else item for item in row) for row in rows], key=repr)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("maker", MAKERS)
def test_times_are_ints_of_their_tick(form: str, maker: str) -> None:
    rng = random.Random(f"{form} {maker}")
    for _ in range(2):
        w, unit, zone = world(rng), rng.choice(["s", "ms", "us", "ns"]), rng.choice(ZONES)
        tick = Punctuation(ints([max(w.le)])[0] or 0)
        table = FORMS[form](w, unit, zone)
        batch = table if isinstance(table, list) else [table]
        plain, timed = MAKERS[maker](), MAKERS[maker](tick="s")
        expected = plain.push_many([table_of_ints(w), tick, Punctuation(FOREVER)])
        found = timed.push_many([*batch, tick, Punctuation(FOREVER)])
        if isinstance(table, list):
            rows = sorted([(*((c.key,) * (maker == "keyed")), *c.payload, *c[1:4]) for c in found[:-1]], key=repr)
            assert rows == as_ints(expected[0]), (w, unit, zone)
        else:
            assert as_ints(found[0]) == ends(as_ints(expected[0])), (w, unit, zone)
        assert found[-1] == expected[-1]
        for op in (plain, timed):
            op._check()


def type_of(column: Any) -> Any:
    return column.type if hasattr(column, "type") else column.dtype


@pytest.mark.parametrize("zone", ZONES[:3])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("form", ["arrow", "pandas", "pandas of arrow", "polars", "duckdb", "dict of series", "dict of numpy"])
def test_they_leave_in_the_type_in_which_le_came(form: str, unit: str, zone: Any) -> None:
    w = world(random.Random(1))
    if form == "duckdb" and unit != "us" and zone is not None:
        return  # it has no such type
    came = FORMS[form](w, unit, zone)
    of_le = came.to_arrow_table() if form == "duckdb" else came
    out = Operator(PAIR, window=5400, tick="s").push_many([came, Punctuation(FOREVER)])[0]
    assert type_of(out["le"]) == type_of(out["re"]) == type_of(of_le["le"])
    assert len(out["le"])
    assert type(out) is (pa.Table if form == "duckdb" else type(came))


def test_datetimes_leave_as_datetimes_in_the_zone_of_the_first() -> None:
    day = dt.date(2024, 10, 26)
    noon = dt.datetime(2024, 10, 26, 12, tzinfo=BERLIN)
    for first, after in (
        (day, dt.date(2024, 10, 28)),
        (noon, dt.datetime(2024, 10, 28, 11, tzinfo=BERLIN)),  # two days on: the clocks go back on the second
        (noon.replace(tzinfo=None), dt.datetime(2024, 10, 28, 12)),
        (pd.Timestamp(noon), pd.Timestamp("2024-10-28 11:00", tz="Europe/Berlin")),
        (np.datetime64("2024-10-26T12"), np.datetime64("2024-10-28T12")),
        (np.datetime64("2024-10"), np.datetime64("2024-10-03")),
    ):
        out = Operator(SINGLE, window="2 days", tick="h").push_many({"kind": ["a"], "due": [None], "le": [first]})
        assert out["re"].tolist() == [after] or out["re"][0] == after
        assert isinstance(out["re"][0], type(after))
        assert str(getattr(out["re"][0], "tzinfo", None)) == str(getattr(after, "tzinfo", None))
        forever = Operator(SINGLE, tick="h").push_many({"kind": ["a"], "due": [None], "le": [first]})["re"][0]
        assert forever is None or np.isnat(forever)


def test_a_mixed_table_says_the_ends_of_time_by_what_is_missing() -> None:
    stamps = pa.array([None, 10, 20, None], pa.timestamp("s"))
    came = pa.table({"kind": [1, 0, 0, 2], "arc": [0, 0, 0, 0], "price": [0, 1, 2, 0], "le": stamps})

    class Price(NamedTuple):
        price: int

    arcs = [Arc("0", "1", "price == 1", name="a")]
    make = lambda: Operator(Automaton(start="0", final={"1"}, event=Price, arcs=[]), window=60, tick="s")  # noqa: E731
    out = make().push_many(came, arcs=arcs)
    assert out.schema.field("le").type == pa.timestamp("s")
    assert out["le"].cast(pa.int64()).to_pylist() == [10, None]
    assert out["kind"].to_pylist() == [0, 2]
    plain = make().push_many(
        {"kind": [1, 0, 0, 2], "arc": [0] * 4, "price": [0, 1, 2, 0], "le": [BEGINNING, 10, 20, FOREVER]}, arcs=arcs
    )
    assert plain["le"].tolist() == [10, FOREVER]
    with pytest.raises(ChangeError, match=r"expected int ticks in column 'le' but got None in row 1"):
        make().push_many(came.set_column(3, "le", pa.array([None, None, 20, None], pa.timestamp("s"))), arcs=arcs)


def test_a_column_by_another_name_and_the_one_of_the_instant() -> None:
    class Price(NamedTuple):
        price: int
        at: afa.Instant

    one = Automaton(start="0", final={"1"}, event=Price, arcs=[Arc("0", "1", "price == 1 and at == 60000")])
    stamps = [dt.datetime(1970, 1, 1, 0, 1), dt.datetime(1970, 1, 1, 0, 2)]
    frame = pd.DataFrame({"price": [1, 1], "at": stamps})
    for op in (Operator(one, tick="ms"), Cleanse(0).before(Operator(one, tick="ms"))):
        out = op.push_many([frame, Punctuation(FOREVER)])[0]
        assert out["le"].tolist() == [pd.Timestamp(stamps[0])]
    renamed = frame.rename(columns={"at": "when"})
    assert Operator(one, tick="ms").push_many(renamed, time="when")["le"].tolist() == [pd.Timestamp(stamps[0])]
    assert Operator(one).push_many({"price": [1], "when": [60000]}, time="when")["le"].tolist() == [60000]
    with pytest.raises(ChangeError, match=r"expected a column 'le' but got the columns price, when"):
        Operator(one).push_many({"price": [1], "when": [60000]})


def test_datetimes_in_changes_promises_and_arcs(engine: str) -> None:
    at = [dt.datetime(2024, 1, 1, 12, minute, tzinfo=BERLIN) for minute in range(10)]
    ticks = [ticks_of_time(t, "s", "le") for t in at]
    for make in (MAKERS["operator"], MAKERS["keyed"], MAKERS["before"], MAKERS["after"]):
        plain, timed = make(), make(tick="s")
        for x, y in zip(
            [
                insert(Pay("a", ticks[5]), ticks[0]),
                insert(Pay("b", None), ticks[2], ticks[8]),
                Punctuation(ticks[2]),
                Punctuation(ticks[9]),
            ],
            [insert(Pay("a", at[5]), at[0]), insert(Pay("b", None, at[2]), at[2], at[8]), Punctuation(at[2]), Punctuation(at[9])],  # type: ignore[arg-type]
        ):
            assert timed.push(y) == plain.push(x)
        arc = Arc("0", "2", "kind == 'a'", name="short")
        assert timed.push_arc(insert(arc, at[9], at[9] + dt.timedelta(hours=1))) == plain.push_arc(
            insert(arc, ticks[9], ticks[9] + 3600)
        )
        again = (
            [insert(Pay("a", None), ticks[9]), insert(Pay("a", None), ticks[9] + 1)],
            [insert(Pay("a", None), at[9]), retract(Pay("x", None), at[9])],
        )
        assert timed.push_many(again[1][:1]) == plain.push_many(again[0][:1])
        assert plain.statistics == timed.statistics


def test_what_no_tick_says_is_refused_in_words() -> None:
    op = Operator(PAIR, window=60)
    hint = r'; for times say what one int of LE counts, with tick="ms", say'
    stamps = np.array(["2024-01-01"], "M8[s]")
    for batch, text in (
        (
            {"kind": ["a"], "due": [1], "le": stamps},
            r"expected int ticks in column 'le' but got a column of datetime64\[s\]" + hint,
        ),
        (
            {"kind": ["a"], "due": [1], "le": list(stamps)},
            r"expected int ticks in column 'le' but got .* in row 0 \(column of datetime64\)" + hint,
        ),
        ({"kind": ["a"], "due": stamps, "le": [1]}, r"expected due: int \| None but got due=.* in Pay" + hint),
        (
            {"kind": ["a"], "due": [1], "le": [1], "re": pa.array(stamps)},
            r"expected int ticks in column 're' but got .* in row 0 \(column of .*\)" + hint,
        ),
        ([insert(Pay("a", 1), EPOCH)], r"expected an int \(ticks\) but got le=datetime.datetime\(1970, 1, 1, 0, 0\)" + hint),
        ([insert(Pay("a", 1), 1, EPOCH)], r"expected an int \(ticks\) but got re=datetime.datetime\(1970, 1, 1, 0, 0\)" + hint),
        ([insert(Pay("a", EPOCH), 1)], r"expected due: int \| None but got due=datetime.* in Pay" + hint),  # type: ignore[arg-type]
        ([Punctuation(EPOCH)], r"expected an int \(ticks\) but got t=datetime.*" + hint),  # type: ignore[arg-type]
    ):
        with pytest.raises(ChangeError, match=text):
            op.push_many(batch)
    with pytest.raises(ChangeError, match=r"expected an int \(ticks\) but got le=datetime.*" + hint):
        op.push(insert(Pay("a", 1), EPOCH))
    with pytest.raises(ChangeError, match=r"expected an int \(ticks\) but got le=datetime.*" + hint):
        op.push_arc(insert(Arc("0", "1", "kind == 'c'"), EPOCH))
    source = BoundedDisorder(5)
    for batch, text in (
        ({"le": stamps}, r"expected int ticks in column 'le' but got a column of datetime64\[s\], shape \(1,\)" + hint),
        ({"le": [EPOCH]}, r"expected an int \(ticks\) but got le=datetime.* in row 0 of column 'le'" + hint),
        ([insert(Pay("a", 1), EPOCH)], r"expected an int \(ticks\) but got le=datetime.*" + hint),
    ):
        with pytest.raises(AfaError, match=text):
            source.push_many(batch)
    assert op.statistics.changes == 0


def test_nothing_is_rounded() -> None:
    half = np.array(["2024-01-01T00:00", "2024-01-01T00:00:00.5"], "M8[ms]")
    text = r"expected a whole number of ticks \(tick='s'\), an int64, but got le=.* in row 1; a finer tick= may hold it"
    for le in (half, pa.array(half), pd.Series(half), half.tolist(), pd.Series(half).dt.tz_localize("UTC"), pl.Series(half)):
        op = Operator(PAIR, window=60, tick="s")
        with pytest.raises(ChangeError, match=text):
            op.push_many({"kind": ["a", "b"], "due": [1, 1], "le": le})
        with pytest.raises(AfaError, match=text):
            BoundedDisorder(5, tick="s").push_many({"le": le})
        assert op.statistics.changes == 0
    for wide in (["9999-01-01"], ["1500-01-01"]):
        with pytest.raises(ChangeError, match=r"expected a whole number of ticks \(tick='ns'\), an int64, but got le=(9999|1500)"):
            Operator(PAIR, tick="ns").push_many({"kind": ["a"], "due": [1], "le": np.array(wide, "M8[s]")})
    with pytest.raises(ChangeError, match=r"expected a datetime or a date but got le=5 in row 1"):
        Operator(PAIR, tick="s").push_many({"kind": ["a", "a"], "due": [1, 1], "le": [EPOCH, 5]})
    with pytest.raises(ChangeError, match=r"expected at=3600, the event's LE, or None but got at=0 in Pay"):
        Operator(PAIR, tick="s").push(insert(Pay("a", None, EPOCH), EPOCH + dt.timedelta(hours=1)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "le",
    [
        [dt.date(2024, 1, 1)],
        np.array(["2024-01-01"], "M8[D]"),
        pa.array([dt.date(2024, 1, 1)]),
        pd.Series(pd.array([19723], "int32")),
    ],
)
def test_what_the_type_of_le_does_not_hold_is_refused(le: Any) -> None:
    le = pa.array(le).cast(pa.date32()) if isinstance(le, pd.Series) else le
    op = Operator(SINGLE, window="36 h", tick="h")
    with pytest.raises(
        ChangeError, match=r"expected times that .* holds, as le came, but got re=473388 \(tick='h'\); cast le to times"
    ):
        op.push_many({"kind": ["a"], "due": [None], "le": le})
    assert op.statistics.changes == 0
    far = Operator(SINGLE, window="3000000000 days", tick="d")
    if not isinstance(le, np.ndarray):
        with pytest.raises(ChangeError, match=r"expected times that .* holds, as le came, but got re="):
            far.push_many({"kind": ["a"], "due": [None], "le": list(le) if isinstance(le, list) else le})


def test_a_zone_of_pandas_that_holds_no_such_time() -> None:
    le = pd.Series(pd.to_datetime(["2024-01-01"])).dt.tz_localize("Europe/Berlin")
    op = Operator(SINGLE, window="300000 days", tick="s")
    with pytest.raises(ChangeError, match=r"expected times that datetime64\[ns, Europe/Berlin\] holds, as le came, but got re="):
        op.push_many(pd.DataFrame({"kind": ["a"], "due": [1], "le": le}))


def test_sources_read_times(engine: str) -> None:
    rng = random.Random(3)
    for form in ("arrow", "pandas", "polars", "dict of lists", "dict of numpy", "changes", "rows"):
        w = world(rng)
        batch = FORMS[form](w, "us", None if form == "dict of numpy" else BERLIN)
        plain, timed = BoundedDisorder(600), BoundedDisorder("10 min", tick="s")
        expected = plain.push_many(table_of_ints(w))
        found = timed.push_many(batch)
        assert found[-1] == expected[-1]
        assert timed.snapshot() == plain.snapshot()
        assert (found[:-1] if isinstance(batch, list) else found[0]) is batch or found[:-1] == batch
        observed = [
            source.push_many(x)[1:]
            for source, x in (
                (ObservedLateness(0.5, "1 min", minimum=1, tick="s"), batch),
                (ObservedLateness(0.5, 60, minimum=1), table_of_ints(w)),
            )
        ]
        assert [p for p in observed[0] if isinstance(p, Punctuation)] == observed[1]
        members = Union({"a": BoundedDisorder("10 min", tick="s")})
        assert members.push_many("a", batch)[-1] == expected[-1]
        op, of_ints = (
            Operator(PAIR, window=5400, tick="s", engine=engine, late="drop"),
            Operator(PAIR, window=5400, engine=engine, late="drop"),
        )  # type: ignore[arg-type]
        a, b = op.push_many(found), of_ints.push_many(expected)
        assert isinstance(batch, list) or as_ints(a[0]) == as_ints(b[0])
        assert a[-1] == b[-1]
    one = BoundedDisorder("10 min", tick="s")
    assert one.push(insert("x", EPOCH + dt.timedelta(hours=1)))[1:] == [Punctuation(3000)]
    assert one.push(Punctuation(EPOCH + dt.timedelta(hours=2)))[-1] == Punctuation(7200)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r"expected tick=, what one int of LE counts, beside lateness='10 min' but got none"):
        BoundedDisorder("10 min")
    with pytest.raises(AfaError, match=r"expected a time in column 'le' but got none in row 1"):
        one.push_many(pa.table({"le": pa.array([1, None], pa.timestamp("s"))}))


@pytest.mark.parametrize("form", ["arrow", "pandas", "polars", "dict of numpy"])
def test_consolidate_takes_what_an_operator_gives(form: str) -> None:
    rng = random.Random(form)
    for zone in (None, BERLIN):
        w = world(rng)
        out = Operator(PAIR, tick="s").push_many(FORMS[form](w, "us", zone))
        joined = pa.concat_tables([pa.table(dict(out)) if isinstance(out, dict) else pa.table(out)] * 2)
        twice = {"arrow": joined, "pandas": joined.to_pandas(), "polars": pl.from_arrow(joined)}.get(form, joined)
        left = Consolidate(per="call").push_many(twice)
        assert type_of(left["le"]) == type_of(twice["le"])
        assert sum(row[-1] for row in as_ints(left)) == 2 * sum(row[-1] for row in as_ints(out))
    with pytest.raises(ChangeError, match=r"expected one column 'le' of ints but got"):
        Consolidate(per="call").push_many({"x": [1], "le": ["a"], "diff": [1]})


def test_last_before_takes_times() -> None:
    class Tick(NamedTuple):
        kind: str
        due: int

    stage = LastBefore(Tick, {"alarm": "kind == 'a'"}, window=100)
    calm = Automaton(
        start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "kind == 'b' and alarm is None and due == 60")]
    )
    op = stage.before(Operator(calm, window=10, tick="s"))
    stamps = pa.array([0, 50, 500], pa.timestamp("s", "Europe/Berlin"))
    out = op.push_many(pa.table({"kind": ["a", "b", "b"], "due": pa.array([60] * 3, pa.timestamp("s")), "le": stamps}))
    assert (out["le"].cast(pa.int64()).to_pylist(), out.schema.field("re").type) == ([500], stamps.type)
    found = op.push(insert({"kind": "a", "due": EPOCH + dt.timedelta(minutes=1)}, EPOCH + dt.timedelta(seconds=450)))
    assert [(c.le, c.diff) for c in found] == [(500, -1)]


def test_a_state_goes_on_with_times() -> None:
    rng = random.Random(11)
    for _ in range(5):
        w, rest = world(rng), world(rng)
        plain, timed = MAKERS["before"](), MAKERS["before"](tick="s")
        plain.push_many(table_of_ints(w))
        timed.push_many(stamped(w, "ms", BERLIN))
        again = Operator.restore(PAIR, timed.snapshot())
        expected = plain.push_many([table_of_ints(rest), Punctuation(FOREVER)])
        assert as_ints(again.push_many([stamped(rest, "ns", None), Punctuation(FOREVER)])[0]) == ends(as_ints(expected[0]))


def test_single_times() -> None:
    assert all(map(is_time, (EPOCH, EPOCH.date(), np.datetime64("2024"), pd.Timestamp(0))))
    assert not any(map(is_time, (np.datetime64("NaT"), pd.NaT, 5, "2024", None)))
    assert ticks_of_time(pd.Timestamp(1, unit="ns"), "ns", "le") == 1
    assert ticks_of_time(np.datetime64("1970-02"), "d", "le") == 31
    assert ticks_of_time(np.datetime64(3000, "ps"), "ns", "le") == 3
    fold = dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    assert ticks_of_time(fold.replace(fold=1), "min", "le") - ticks_of_time(fold, "min", "le") == 60
    assert ticks_of_time(dt.datetime.max, "us", "le") == 253402300799999999
    assert times_of(np.array(["NaT"], "M8")) is None
    assert ticks_in(pa.array([], pa.timestamp("s")), times_of(pa.array([], pa.timestamp("s"))), "s", "le").tolist() == []  # type: ignore[arg-type]
    assert times_of([]) is times_of([None]) is times_of(pd.Series([], dtype=object)) is None
    from punctuation.door import table_of

    plain = table_of({"le": [1]})
    assert plain is not None
    assert in_ticks(plain, "s", ["le"]) is plain
