"""The table of the matches in force: whose it is, what a batch that runs again does, what readers see."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from afa import AfaError
from tests.spark.test_stream import Files, afa_spark, read, watched, when
from tests.strategies import Seeded

pytest.importorskip("pyspark")
from afa.spark import table_folder as tables_of_spark
from afa.spark.table_folder import NOBODY, FolderTable, Tables

BATCHES = 12


class CrashError(Exception):
    """Where the test wants one."""


@pytest.mark.parametrize("seed", range(40))
def test_random_runs_in_one_folder(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that take turns, are killed, go back and do batches again: each goes on with what its own batches say."""
    choose = Seeded(f"current/{seed}")
    folder, keep = tmp_path / "a folder", choose.number(2, 4)
    runs = [f"run-{i}" for i in range(choose.number(1, 3))] if choose.chance(80) else [NOBODY]
    news = {run: [set() if choose.chance(40) else {f"{run}.{batch}"} for batch in range(BATCHES)] for run in runs}
    done, files = dict.fromkeys(runs, 0), iter(range(1000))

    def crash() -> None:
        if choose.chance(10):
            raise CrashError

    def entry(path: Path, real: Any = tables_of_spark._entry) -> str:
        crash()  # the table is there, and not to be read yet
        return str(real(path))

    monkeypatch.setattr(tables_of_spark, "_entry", entry)

    def write(run: str, batch: int) -> None:
        tables, fresh = Tables(folder), news[run][batch]
        turn = tables.turn(run, batch, lambda: bool(fresh))
        if turn is None:
            return
        rows = fresh | (set() if turn.before is None else set(json.loads(turn.before.path.read_text())))
        shutil.rmtree(turn.draft, ignore_errors=True)  # as Spark does
        turn.draft.mkdir(parents=True)
        (turn.draft / f"part-{next(files)}.parquet").write_text(json.dumps(sorted(rows)))
        crash()
        tables.show(turn)
        crash()
        tables.prune(keep, turn.before)

    for _ in range(80):
        if not runs:
            break
        run = choose.one(runs)
        batch = done[run] - int(choose.chance(15) and done[run] > 0)  # no further back than tables are kept
        if batch == BATCHES:
            continue
        links, before = (
            numbers(folder),
            [table for table in Tables(folder).all() if (table.run, table.batch < batch) == (run, True)],
        )
        try:
            write(run, batch)
        except CrashError:
            continue
        except AfaError:
            assert batch
            assert not before, "others have filled the folder, or it never got so far"
            runs.remove(run)
            continue
        done[run] = batch + 1
        expected = set().union(*news[run][: done[run]])
        if numbers(folder) != links or len(runs) == 1:
            assert shown(folder) == expected
            assert content(folder / f"v={max(numbers(folder))}") == expected
            assert set(numbers(folder)) <= {table.number for table in Tables(folder).all()}
        assert len(Tables(folder).all()) <= keep + 2, "and one that a crash has left"
    assert max(done.values()) > 3


STRANGE = (
    *(
        "2024-01-15.parquet",
        "1-1-mine.parquet",
        "2-2-mine.afa.parquet.bak",
        "x-2-mine.afa.parquet",
        "1-1-a b.afa.parquet",
        "data.csv",
    ),
    *(
        "_afa_drafts/notes.txt",
        "_afa_drafts/2024-01-15/part-0.parquet",
        "_drafts/1-1-mine.afa/x",
        "v=1/part-0.parquet",
        "v=2/_SUCCESS",
    ),
    *("v=3/part-0.parquet", "v=3/_SUCCESS", "v=3/notes.txt", "_spark_metadata/0", "_spark_metadata/1.compact", "_spark_metadata/x"),
    *("5-5-x.afa.parquet/part-0.parquet", "v=x/y"),
)
"""Files that others left; some nearly have our shape."""


def test_nothing_is_deleted_that_is_not_ours(tmp_path: Path) -> None:
    """Beside the tables, and in the folders of drafts, lists and links."""
    folder, outside = tmp_path / "now", tmp_path / "outside"
    for name in STRANGE:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not ours")
    sink = "v1\n" + json.dumps({"path": "file:///x/part-00000.parquet"}) + "\n" + json.dumps({"path": "file:///x/1-1-.parquet"})
    (folder / "_spark_metadata" / "2.compact").write_text(sink)
    (outside / "4-4-mine.afa").mkdir(parents=True)
    (outside / "4-4-mine.afa" / "x").write_text("not ours")
    (folder / "_afa_drafts" / "4-4-mine.afa").symlink_to(outside / "4-4-mine.afa")
    (folder / "4-4-mine.afa.parquet").symlink_to(outside / "4-4-mine.afa" / "x")
    made = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    tables = Tables(folder)
    for batch in range(12):
        turn = tables.turn("mine", batch, lambda: True)
        assert turn is not None
        turn.draft.mkdir(parents=True)
        (turn.draft / "part-0.parquet").write_text(json.dumps([str(batch)]))
        tables.show(turn)
        tables.prune(2, turn.before)
        assert shown(folder) == {str(batch)}
    assert {path: path.read_text() for path in made} == made
    assert len([table for table in tables.all() if tables_of_spark._is_ours(table.path)]) == 2
    there = {path for path in folder.rglob("*") if path.is_file()} - set(made)
    assert len(there) == 2 + 2 * 2 + 2, "two tables, their links, two lists"


def test_tables_of_an_older_version_go_too(tmp_path: Path) -> None:
    mine = "8f2f0e3c-1111-4000-8000-0123456789ab"
    for name in (f"0-0-{mine}.parquet", "1-1-.parquet", f"2-2-{mine}.parquet"):
        (tmp_path / name).write_text("[]")
    tables = Tables(tmp_path)
    turn = tables.turn(mine, 3, lambda: True)
    assert turn is not None
    assert turn.before == FolderTable(2, 2, mine, tmp_path / f"2-2-{mine}.parquet")
    tables.prune(1, None)
    assert [path.name for path in tmp_path.iterdir()] == [f"2-2-{mine}.parquet"]


def numbers(folder: Path) -> list[int]:
    return [int(path.name[2:]) for path in folder.glob("v=*")]


def content(path: Path) -> set[str]:
    [file] = path.glob("*.parquet")
    return set(json.loads(file.read_text()))


def shown(folder: Path) -> set[str]:
    """The file of the last list."""
    latest = max((folder / "_spark_metadata").glob("[0-9]*"), key=lambda path: int(path.stem))
    version, entry = latest.read_text().splitlines()
    assert version == "v1"
    uri = json.loads(entry)["path"]
    assert uri.startswith("file:///")
    return set(json.loads(Path(uri.removeprefix("file://").replace("%20", " ")).read_text()))


def test_a_query_without_its_table_is_refused(tmp_path: Path) -> None:
    tables = Tables(tmp_path)
    with pytest.raises(
        AfaError, match=r"expected the table before batch 7 of the query mine in .* but got none: a query keeps its"
    ):
        tables.turn("mine", 7, lambda: True)
    old = tmp_path / "v=3"
    old.mkdir()
    (old / "part-0.parquet").touch()
    assert tables.turn(NOBODY, 7, lambda: True) == (None, FolderTable(7, 7, NOBODY, tmp_path / "7-7-.afa.parquet"))
    (old / "_SUCCESS").touch()  # of an older version of the library
    before = FolderTable(3, 3, NOBODY, old)
    assert tables.turn("mine", 7, lambda: True) == (before, FolderTable(7, 7, "mine", tmp_path / "7-7-mine.afa.parquet"))
    assert tables.turn("mine", 7, lambda: False) is None
    assert tables.turn("mine", 0, lambda: False) == (None, FolderTable(4, 0, "mine", tmp_path / "4-0-mine.afa.parquet"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"path": "s3://bucket/now"},
            "expected a folder of a mounted file system but got path='s3://bucket/now'; elsewhere, MERGE",
        ),
        ({"path": "dbfs:/now"}, "expected a folder of a mounted file system"),
        ({"keep": 1}, "expected 2 tables to keep at least, as a batch run again needs the one before it, but got keep=1"),
        ({"keep": "3"}, "expected 2 tables to keep at least"),
        ({"run": "../x"}, r"expected a name of letters, digits, '.', '_' and '-' but got run='../x'"),
    ],
)
def test_a_place_that_is_none(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        afa_spark.keep_current(**{"path": "now", **options})


def test_a_reader_sees_one_table_while_the_next_are_written(spark: Any, tmp_path: Path) -> None:
    """Each batch withdraws all that the one before it has found. Folders may have names that are to be quoted."""
    folder, seen, stop = tmp_path / "a b 5%", [], threading.Event()

    def changes(batch: int) -> Any:
        rows = [(n, f"{b}.{n}", 1 if b == batch else -1) for b in (batch - 1, batch) if b >= 0 for n in range(50)]
        frame = spark.createDataFrame(rows, "who long, id string, diff int").selectExpr("*", "'match' AS kind", "'' AS reason")
        return frame.withColumn("le", frame.who.cast("timestamp")).repartition(2)

    def look() -> None:
        while not stop.is_set():
            seen.append([row["id"] for row in spark.read.parquet(str(folder)).select("id").collect()])

    keep = afa_spark.keep_current(folder, keep=3)
    keep(changes(0), 0)
    assert spark.read.parquet(str(folder)).columns == ["who", "id", "le"]
    reader = threading.Thread(target=look)
    reader.start()
    try:
        for batch in range(1, 5):
            keep(changes(batch), batch)
    finally:
        stop.set()
        reader.join()
    assert len(seen) > 1
    for ids in seen:
        assert len(ids) == 50
        assert len({name.split(".")[0] for name in ids}) == 1
    assert sorted(numbers(folder)) == [2, 3, 4]
    keep(spark.createDataFrame([], changes(0).schema), 0)  # a run that begins
    assert spark.read.parquet(str(folder)).count() == 0


def test_two_queries_in_one_folder(spark: Any, tmp_path: Path) -> None:
    """A query goes on with its own table, by the id in its checkpoint."""
    now = tmp_path / "now"

    def run(name: str, *keys: int) -> list[tuple[int, int]]:
        files = again[name] if name in again else again.setdefault(name, Files(tmp_path / name))
        pairs = [{"who": who, "sort": sort, "at": when(2 + sort).isoformat()} for who in keys for sort in (0, 1)]
        files.put(list(map(json.dumps, pairs)))
        pattern = afa_spark.match(watched(), key="who", time="at", window="1 hour", lateness="1 hour", buckets=2)
        changes = read(spark, files, "who long, sort int, at timestamp").transform(pattern)
        writer = changes.writeStream.foreachBatch(afa_spark.keep_current(now))
        writer.option("checkpointLocation", str(tmp_path / f"{name}-checkpoint")).trigger(
            availableNow=True
        ).start().awaitTermination()
        table = spark.read.parquet(str(now))
        return sorted((row["who"], row["le"].second) for row in table.collect())

    again: dict[str, Files] = {}
    assert run("a", 1, 2) == [(1, 3), (2, 3)]
    assert run("b", 3) == [(3, 3)]
    assert run("a", 4) == [(1, 3), (2, 3), (4, 3)]
    assert len({table.run for table in Tables(now).all()}) == 2
