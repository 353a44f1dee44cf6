"""What `match` says when it is called: settings, names, what it will not be able to do; and what workers are sent."""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pyspark.cloudpickle
import pytest

import afa
from afa import AfaError, Arc, Automaton, Keyed
from tests.spark.streams import SECOND, when
from tests.spark.test_stream import Files, read

afa_spark = pytest.importorskip("afa.spark", reason='pyspark is not installed: pip install "afa[spark]"')
from afa.spark.plan import _tell_alone  # noqa: E402
from afa.spark.session import (  # noqa: E402
    PARTITIONS,
    PROVIDER,
    _count,
    _places,
    passed_on,
)
from afa.spark.shipped import Parcel, by_value, shipped  # noqa: E402
from tests.spark.streams import Signal  # noqa: E402


class Held(NamedTuple):
    r: int = 0


def high(**names: Any) -> Automaton:
    return Automaton(
        start="a", final={"b"}, event=Signal, register=Held(), arcs=[Arc("a", "b", "sort > 3", "(sort,)", name="high")], **names
    )


def test_a_session_without_the_settings(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = spark.newSession()
    rows = read(other, Files(tmp_path / "in"), "who long, sort int, at timestamp")
    other.conf.unset(PROVIDER)
    other.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(AfaError, match=f"expected the setting {PROVIDER}=.*RocksDBStateStoreProvider but got .*HDFSBacked.*NEEDED"):
        rows.transform(afa_spark.match(high(), key="who", time="at"))
    for setting in afa_spark.NEEDED.items():
        other.conf.set(*setting)
    other.conf.set(PARTITIONS, 200)
    with caplog.at_level(logging.WARNING, "afa.spark"):
        rows.transform(afa_spark.match(high(), key="who", time="at", buckets=12))
    assert f"{PARTITIONS} is 200, and there are 12 buckets: more partitions only make each batch slower" in caplog.text
    assert f'spark.conf.set("{PARTITIONS}", 12), or fewer' in caplog.text
    other.conf.set(PARTITIONS, 12)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "afa.spark"):
        rows.transform(afa_spark.match(high(), key="who", time="at", buckets=12))
    assert PARTITIONS not in caplog.text


def test_a_query_without_an_arc_log_is_told_once_that_none_can_come(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = read(spark, Files(tmp_path / "in"), "who long, sort int, at timestamp")
    _tell_alone.cache_clear()
    log = afa_spark.arc_log(tmp_path / "arcs", high())
    rows.transform(afa_spark.match(high(), key="who", time="at", arcs=log.read(spark)))
    assert "arcs=" not in caplog.text
    for _ in range(2):
        rows.transform(afa_spark.match(high(), key="who", time="at"))
    assert caplog.text.count("a query that begins without arcs= can't have it later") == 1


def test_columns_with_dots_and_a_time_without_a_zone(spark: Any, tmp_path: Path) -> None:
    table = spark.createDataFrame(
        [("x", 5, when(1), 1), ("x", 5, when(2), 1), ("x", 5, when(2), -1), ("y`", 4, when(3), None)],
        "`the.key` string, sort int, `a.t` timestamp, `d``f` int",
    ).selectExpr("*", "cast(`a.t` as timestamp_ntz) as `n.t`", "timestamp'2100-01-01' as `u.t`")
    given: dict[str, Any] = {"key": "the.key", "diff": "d`f", "buckets": 1, "window": "1 minute"}
    found = table.transform(afa_spark.match(high(), time="n.t", until="u.t", **given))
    assert found.columns[:2] == ["the.key", "r"]
    assert sorted((row["kind"], row["the.key"]) for row in found.collect()) == [("fault", "y`"), ("match", "x")]
    with pytest.warns(DeprecationWarning, match="is now") as told:
        dropping = afa_spark.match(automaton=high(), time="n.t", until="u.t", on_fault="drop", late="stop", **given)
    assert {warning.filename for warning in told} == {__file__}
    assert [row["kind"] for row in table.transform(dropping).collect()] == ["match"]
    assert afa_spark.current(found).columns[0] == "the.key"
    Files(tmp_path / "in")
    stream = spark.readStream.schema(table.schema).json(str(tmp_path / "in"))
    plan = stream.transform(afa_spark.match(high(), time="n.t", **given))._jdf.queryExecution().analyzed().toString()
    assert "EventTimeWatermark" in plan


@pytest.mark.parametrize(
    ("columns", "key", "message"),
    [
        ("R long, sort int, at timestamp", "R", "differ in more than upper and lower case but got 'R' and 'r'"),
        ("LE long, sort int, at timestamp", "LE", "differ in more than upper and lower case but got 'LE' and 'le'"),
        ("Sort long, sort int, at timestamp", "Sort", "differ in more than upper and lower case but got 'Sort' and 'sort'"),
        ("who long, sort int, at timestamp, Who int", "who", "differ in more than upper and lower case but got 'who' and 'Who'"),
    ],
)
def test_names_that_spark_takes_for_one(spark: Any, columns: str, key: str, message: str) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    table = spark.createDataFrame([(1, 5, when(1), 2)[: columns.count(",") + 1]], columns)
    try:
        found = table.transform(afa_spark.match(high(), key=key, time="at", buckets=1))
        assert key != "R" or found.collect()[0][key] == 1
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(AfaError, match=message):
        table.transform(afa_spark.match(high(), key=key, time="at", buckets=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"diff": "dif"}, r"expected a column 'dif' of 1 and -1 \(diff=\) but got the columns who, sort, at"),
        ({"order_by": "nope"}, "expected the event's field that orders rows, of sort, but got order_by='nope'"),
        ({"arcs": "arcs"}, r"expected arcs= as a DataFrame but got 'arcs': arc_log\(folder, automaton\).read\(spark\) is one"),
        ({"lateness": "soon"}, "expected a duration such as \"30 minutes\" but got lateness='soon'"),
        ({"time": "sort"}, "expected a timestamp column 'sort' but got int: cast it"),
    ],
)
def test_what_is_mistaken(spark: Any, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    rows = read(spark, Files(tmp_path / "in"), "who long, sort int, at timestamp")
    with pytest.raises(AfaError, match=message):
        rows.transform(afa_spark.match(high(), **{"key": "who", "time": "at", **options}))


def test_tables_that_are_none(spark: Any) -> None:
    rows = spark.createDataFrame([], "who long, sort int, at timestamp")
    with pytest.raises(AfaError, match=r"expected events as a DataFrame but got None: events.transform\(match\(..\)\)"):
        afa_spark.match(high(), key="who", time="at")(None)
    with pytest.raises(AfaError, match="expected lines of an arc log in a column 'value' but got the columns who, sort, at"):
        rows.transform(afa_spark.match(high(), key="who", time="at", arcs=rows))


# -- what workers are sent -------------------------------------------------------------------------------------------------------

OWN = """
from typing import NamedTuple
import helper
class Tick(NamedTuple):
    n: int
def loops(e, r):
    return sum(i for i in range(e.n)) > 2
def helped(e, r):
    return helper.big(e.n) and [True][0]
"""
READER = """
import pickle, sys
sys.path.append({pyspark!r})
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *rest):
        return None if name.partition(".")[0] in {hidden!r} else self.finder.find_spec(name, *rest)
sys.meta_path[:] = map(Without, list(sys.meta_path))
try:
    print(pickle.loads(open({file!r}, "rb").read())(3))
except ImportError as error:
    print(error)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user's module, which imports another."""
    (tmp_path / "ownpattern.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("def big(n):\n    return n > 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("ownpattern")
    for name in ("ownpattern", "helper"):
        sys.modules.pop(name, None)


def pattern(own: Any, fence: Any) -> Automaton:
    return Automaton(start="a", final={"b"}, event=own.Tick, arcs=[Arc("a", "b", fence, name="x")])


def on_a_worker(thing: Any, automaton: Automaton, tmp_path: Path, *hidden: str) -> str:
    """What a process without some modules makes of it."""
    file = tmp_path / "thing"
    with by_value(automaton):
        file.write_bytes(pyspark.cloudpickle.dumps(thing))
    code = READER.format(hidden=hidden, pyspark=str(Path(pyspark.__file__).parents[1]), file=str(file))
    place = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd="/", env=place)
    return done.stdout.strip() or done.stderr


def test_a_worker_needs_no_module_of_the_users(own: Any, tmp_path: Path) -> None:
    automaton = pattern(own, own.loops)

    def work(n: int) -> Any:
        return automaton.event_schema.cls(n).n, automaton.arcs[0].fence(automaton.event_schema.cls(n), None)

    assert on_a_worker(shipped(work, automaton.arcs), automaton, tmp_path, "ownpattern", "tests") == "(3, True)"
    with by_value(automaton):
        later = shipped(work, automaton.arcs)
    nothing = Automaton(start="a", final={"a"}, arcs=[])
    assert on_a_worker(later, nothing, tmp_path, "ownpattern", "tests") == "(3, True)", "Spark Connect pickles when a plan is run"
    assert not pyspark.cloudpickle.list_registry_pickle_by_value()


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        (
            ("afa",),
            "expected the module 'afa' on each worker but .* has none: pip install \"..spark.\" there, in the folder of afa, or",
        ),
        (
            ("helper",),
            "expected the module 'helper' on each worker but .*: ship it, spark.addArtifacts\\(\"helper.py\", pyfile=True",
        ),
    ],
)
def test_a_worker_says_in_a_line_what_it_lacks(own: Any, tmp_path: Path, hidden: tuple[str, ...], message: str) -> None:
    automaton = pattern(own, own.helped)

    def work(n: int) -> Any:
        return automaton.arcs[0].fence(automaton.event_schema.cls(n), None)

    said = on_a_worker(shipped(work, automaton.arcs), automaton, tmp_path, *hidden)
    assert "\n" not in said
    with pytest.raises(ImportError, match=message):
        raise ImportError(said)


def test_times_are_of_the_column_that_order_by_names(spark: Any) -> None:
    table = spark.createDataFrame([("a", 1, when(1), when(2))], "who string, sort int, at timestamp, seen timestamp")
    text = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sort ORDER BY seen MEASURES COUNT(*) AS n PATTERN (a) WITHIN 9)"
    query = afa.sql(text, event=Signal, tick="us")
    assert table.transform(afa_spark.match(query, time="seen")).columns
    for door in (afa_spark.match, afa_spark.replay):
        with pytest.raises(AfaError, match="expected time='seen', the column of ORDER BY, but got time='at'"):
            table.transform(door(query, time="at"))


def test_that_an_arc_runs_in_python_is_told_once_and_not_on_workers(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = Arc("a", "b", lambda e, r: any(i > 2 for i in range(e.sort)), name="odd")
    automaton = Automaton(start="a", final={"b"}, event=Signal, arcs=[odd])
    rows = read(spark, Files(tmp_path / "in"), "who long, sort int, at timestamp")
    for _ in range(2):
        rows.transform(afa_spark.match(automaton, key="who", time="at"))
    assert caplog.text.count("runs in Python, once for each partial match") == 1
    caplog.clear()
    again = pickle.loads(pyspark.cloudpickle.dumps(Parcel(automaton, automaton.arcs)))
    assert again.arcs[0] is not odd
    Keyed(again, key="who", window=SECOND)
    assert "runs in Python" not in caplog.text


def test_what_cannot_be_pickled_leaves_no_module_to_go_by_value() -> None:
    known = pyspark.cloudpickle.list_registry_pickle_by_value()
    module = sys.modules[Signal.__module__]
    pyspark.cloudpickle.register_pickle_by_value(module)
    try:
        parcel = Parcel(threading.Lock())
    finally:
        pyspark.cloudpickle.unregister_pickle_by_value(module)
    with pytest.raises(TypeError, match="cannot pickle"):
        pyspark.cloudpickle.dumps(parcel)
    assert pyspark.cloudpickle.list_registry_pickle_by_value() == known


def test_workers_of_a_local_session_find_what_lies_beside_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path])
    assert _places()[:2] == [str(tmp_path), os.getcwd()]
    assert not [place for place in _places() if "site-packages" in place or place.endswith(".zip")]


def test_cores_of_a_local_session() -> None:
    assert [_count(cores) for cores in (3, "3", "2,20", 0)] == [3, 3, 2, 1]
    assert 1 <= _count("*") <= (os.cpu_count() or 1)


def test_the_console_has_no_words_that_nobody_needs() -> None:
    ours, theirs = os.pipe()
    place = passed_on(theirs)
    os.close(theirs)
    lines = [b"one", b"Starting Streaming TransformWithStateInPandas Python worker.", b"", b"two", b"", b"three"]
    lines += [b"26/11/22 20:30:15 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform..."]
    text = (
        b"".join(line + b"\n" for line in lines) + b"Streaming TransformWithStateInPandas Python worker Completed.\n\n[Stage 1:> (0"
    )
    for at in range(0, len(text), 7):
        os.write(place, text[at : at + 7])
    os.close(place)
    with open(ours, "rb") as found:
        assert found.read() == b"one\ntwo\n\nthree\n[Stage 1:> (0"


def test_bare_numbers_that_stand_for_time() -> None:
    from afa.language import one
    from afa.uncertain import Worlds

    class Item(NamedTuple):
        who: str
        n: int
        at: afa.Instant = None  # type: ignore[assignment]

    def text(within: str, tick: str | None = "us") -> Any:
        said = f"PATTERN SEQ(Item a, Item b) WHERE skip_till_any_match(a, b) {{ [who] and a.n < b.n }} {within} RETURN b.n AS n"
        return afa.query(said, event=Item, tick=tick)

    def sql(within: str, tick: str | None = "us") -> Any:
        said = "SELECT n FROM t MATCH_RECOGNIZE (PARTITION BY who ORDER BY at MEASURES b.n AS n PATTERN (a b) "
        said += f"{within} DEFINE a AS n = 1)"
        return afa.sql(said, event=Item, tick=tick)

    def built(within: Any, **of: Any) -> Any:
        return one("a", lambda e: e.n == 1).followed_by(one("b")).by("who").within(within).returns(n=lambda m: m.b.n).of(Item, **of)

    for bare in (text("WITHIN 60", None), sql("WITHIN 60", None), built(60), Worlds(text("WITHIN 60", None), lower="l", upper="u")):
        with pytest.raises(
            AfaError, match=r"expected durations with units, as times are timestamps .* but got WITHIN 60; write WITHIN"
        ):
            afa_spark.match(bare, time="at")
    for good in (text("WITHIN 60 s"), text("WITHIN 60"), sql("WITHIN INTERVAL '1' MINUTE"), built("60 s"), built(60, tick="us")):
        afa_spark.match(good, time="at")
    with pytest.raises(AfaError, match=r"but got b.at - a.at < 30; write span\('30 seconds'\) .*, or say tick=.us."):
        afa_spark.match(afa.query("PATTERN SEQ(Item a, Item b) WHERE { [who] and b.at - a.at < 30 }", event=Item), time="at")
