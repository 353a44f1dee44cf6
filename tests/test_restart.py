"""A job with a state is killed anywhere: neither more nor less is told than by one that was left alone."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from punctuation.sealed import seal
from tests.cli import call, fails
from tests.cli import there as there  # the fixture of all tests here
from tests.forks import Forks
from tests.lanes import sample
from tests.restarts import OPTIONS, RISE, Job, head_of, kills, trades, write, written

EVERY = (*OPTIONS, "--batch", "500", "--state-every", "500")


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("warm")
    (folder / "rise.sase").write_text(RISE)
    here = os.getcwd()
    os.chdir(folder)
    found = Forks()
    for name, out in (("in.csv", "o.csv"), ("in.jsonl", "o.jsonl"), ("in.parquet", "o")):
        found.run("run", "rise.sase", write(trades(3000), name), *EVERY, "--state", f"s{out}", "--output", out, here=True)
    os.chdir(here)
    yield found
    found.close()


def some(cases: Sequence[tuple[Any, ...]], *places: int) -> list[Any]:
    """Cases of which those at some places always run, the others under ``-m stress``."""
    return [pytest.param(*case, marks=() if n in places else pytest.mark.stress) for n, case in enumerate(cases)]


FORMS = [("in.jsonl", "out.jsonl"), ("in.csv", "out.csv"), ("in.parquet", "out")]


@sample(1, 30)
@pytest.mark.parametrize(("file", "output"), some([*FORMS, ("in.jsonl.gz", "out.csv")], 0, 2))
def test_killed_at_random_instants(forks: Forks, file: str, output: str, numbers: range) -> None:
    job = Job(forks, write(trades(8_000), file), output, *EVERY)
    killed = 0
    for seed in numbers:
        job.begin_anew()
        killed += sum(ended.status == -signal.SIGKILL for ended in kills(job, seed))
        assert written(output) == job.left_alone, seed
        assert os.listdir("state") == ["state"]
    assert killed or len(numbers) == 1


@sample(2, 500)
@pytest.mark.parametrize(("what", "file", "output"), some([(what, *form) for what in ("die", "half") for form in FORMS], 0, 5))
def test_stopped_after_each_call_of_the_system(forks: Forks, what: str, file: str, output: str, numbers: range) -> None:
    job = Job(forks, write(trades(1_200), file), output, *EVERY)
    assert 30 < job.calls < 500
    places = sorted({1 + n * job.calls // len(numbers) for n in numbers})
    for at in places:
        job.begin_anew()
        assert job.run(at=at, what=what).status == -signal.SIGKILL, at
        job.goes_on()


@sample(2, 500)
@pytest.mark.parametrize(("file", "output"), some(FORMS, 1))
def test_a_full_disk_ends_the_run_with_the_state_of_before(forks: Forks, file: str, output: str, numbers: range) -> None:
    job = Job(forks, write(trades(1_200), file), output, *EVERY)
    for at in sorted({1 + n * job.calls // len(numbers) for n in numbers}):
        job.begin_anew()
        ended = job.run(at=at, what="ENOSPC")
        told = ended.told.startswith("afa: can't ") and ended.told.endswith(": No space left on device\n")
        assert ended.status == 0 or (ended.status == 1 and told), (at, ended)  # 0: the call was a close, or its error does no harm
        assert job.is_as_committed(), (at, ended)
        job.goes_on()


# -- files that grow, folders --------------------------------------------------------------------------------------------------


@sample(1, 20)
def test_a_folder_that_grows(forks: Forks, numbers: range) -> None:
    rows = trades(6_000)
    os.mkdir("in")
    for n in range(12):
        write(rows.slice(500 * n, 500), f"in/{n:02}.jsonl")
    job = Job(forks, "in", "out.jsonl", *EVERY)
    for seed in numbers:
        job.begin_anew()
        shutil.rmtree("in")
        os.mkdir("in")

        def grow() -> None:
            for n in range(12):
                write(rows.slice(500 * n, 500), f"in/{n:02}.jsonl")
                time.sleep(job.seconds / 6)

        writer = threading.Thread(target=grow)
        writer.start()
        draw = random.Random(seed)
        killed = 0
        while writer.is_alive():
            killed += job.run("--follow", kill=draw.uniform(0.2, 1.5) * job.seconds).status == -signal.SIGKILL
        writer.join()
        assert killed
        job.goes_on()


def test_files_of_a_folder_that_are_done_may_go(forks: Forks) -> None:
    os.mkdir("in")
    for n in range(3):
        write(trades(1_500).slice(500 * n, 500), f"in/{n}.csv")
    job = Job(forks, "in", "out.csv", *EVERY)
    for name in ("1.csv", "2.csv"):
        os.rename(f"in/{name}", name)
    assert job.run().status == 0
    os.remove("in/0.csv")
    for name in ("1.csv", "2.csv"):
        os.rename(name, f"in/{name}")
    job.goes_on()
    assert "finished before: all 1,500 rows of in are read" in job.run().told
    with open("in/1.csv", "a") as file:
        file.write("S1,5,300\n")
    assert "in/1.csv: expected " in job.run().told


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_a_file_that_has_grown_is_as_one_that_was_whole_from_the_beginning(forks: Forks, follow: tuple[str, ...]) -> None:
    whole = Path(write(trades(1_100), "in.jsonl")).read_bytes()
    lines = whole.splitlines(keepends=True)
    job = Job(forks, "in.jsonl", "out.jsonl", *OPTIONS, "--batch", "100")
    Path("in.jsonl").write_bytes(b"".join(lines[:300]) + lines[300][:-1])  # the last line is a row, and no newline ends it yet
    assert job.run().status == 0
    before = Path("out.jsonl").read_bytes()
    assert "finished before: all 300 rows" in job.run().told
    assert Path("out.jsonl").read_bytes() == before
    Path("in.jsonl").write_bytes(b"".join(lines[:500]))
    ended = job.run(*follow, kill=2 * job.seconds, signal=signal.SIGINT)
    assert ended.status == 0
    assert ("stopped behind row 500" in ended.told) == bool(follow)
    Path("in.jsonl").write_bytes(whole)
    job.goes_on()


def test_ctrl_c_commits_and_the_same_command_goes_on(forks: Forks) -> None:
    job = Job(forks, write(trades(20_000), "in.jsonl"), "out.jsonl", *OPTIONS, "--batch", "500")
    ended = job.run(kill=0.6 * job.seconds, signal=signal.SIGINT)
    assert ended.status in (130, 0)
    assert ended.status == 0 or ("stopped behind row " in ended.told and job.is_as_committed())
    job.goes_on()


@pytest.mark.stress
def test_a_hundred_kills_over_a_long_file(forks: Forks) -> None:
    job = Job(forks, write(trades(1_500_000), "in.csv"), "out.jsonl", *OPTIONS, "--state-every", "200ms")
    killed = seed = 0
    while killed < 100:
        job.begin_anew()
        killed += sum(ended.status == -signal.SIGKILL for ended in kills(job, seed, 0.5))
        assert written("out.jsonl") == job.left_alone, seed
        seed += 1
    print(f"{killed} kills in {seed} jobs of {job.seconds:.1f} s")


# -- patterns and options ------------------------------------------------------------------------------------------------------

PATTERNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "automaton": ("p.py:two_vees", ("--time", "le", "--key", "symbol", "--window", "40")),
    "threads": ("p.py:two_vees", ("--time", "le", "--key", "symbol", "--window", "40", "--threads", "2")),
    "longest": ("p.py:every", ("--longest", "--window", "40")),
    "members": ("p.py:every", ("--key", "symbol", "--window", "40", "--members", "price")),
    "collapse": ("p.py:every", ("--key", "symbol", "--window", "40", "--collapse", "price")),
    "timeouts": ("p.py:quiet", ("--key", "symbol", "--window", "40", "--end", "forever")),
    "speculation": ("p.py:price", ("--key", "symbol", "--window", "40", "--lateness", "9", "--late", "drop", "--speculation", "3")),
    "any": ("p.py:any_field", ("--window", "40")),
    "sql": ("q.sql", ("--time", "at")),
    "sql over sql": ("stacked.sql", ("--time", "at")),
    "situations": ("situations.py:patient", ("--lateness", "9")),
    "aggregates": ("sum.sase", ("--time", "at")),
}
SQL = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES A.price AS low, LAST(B.price) AS high "
    "ONE ROW PER MATCH PATTERN (A B+) DEFINE B AS B.price > PREV(B.price))"
)
STACKED = (
    f"SELECT * FROM ({SQL}) MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY until MEASURES A.high AS first, B.high AS next "
    "ONE ROW PER MATCH PATTERN (A B) DEFINE B AS B.high >= A.high)"
).replace("MEASURES A.price", "MEASURES LAST(B.at) AS until, A.price")
SITUATIONS = """
from typing import NamedTuple
from afa.situations import Situation, TemporalPattern

class Reading(NamedTuple):
    symbol: str
    price: int
    x: int

patient = TemporalPattern(
    event=Reading, key="symbol", within=30, high=Situation("price > 3", at_least=2), odd=Situation("x > 1"),
    where="high overlaps|during|contains odd", returns={"top": "max(high.price)"},
)
"""
SUM = (
    "PATTERN SEQ(Tick a, Tick+ b[]) WHERE skip_till_any_match(a, b[]) { [symbol] and sum(b[..].price) > 10 } WITHIN 8 seconds "
    "RETURN a.price AS low, sum(b[..].price) AS sum"
)


@pytest.mark.parametrize(("pattern", "options"), some(list(PATTERNS.values()), 9))
def test_each_kind_of_pattern_goes_on(forks: Forks, pattern: str, options: tuple[str, ...]) -> None:
    for name, text in {"q.sql": SQL, "stacked.sql": STACKED, "situations.py": SITUATIONS, "sum.sase": SUM}.items():
        Path(name).write_text(text)
    draw = random.Random(3)
    with open("in.csv", "w") as file:
        file.write("symbol,price,change,x,le,at\n")
        for n in range(900):
            time_text = f"2024-01-01 00:{n // 60:02}:{n % 60:02}"
            file.write(f"S{n % 3},{draw.randrange(9)},{draw.choice([-1, 1, 1.5])},{n % 4},{n},{time_text}\n")
    options = (*options, "--batch", "100", "--matches", "0", "-q")
    job = Job(forks, "in.csv", "out.jsonl", *options, "--state-every", "100", pattern=pattern)
    assert job.left_alone
    assert job.run(at=job.calls // 2).status == -signal.SIGKILL
    job.goes_on()
    plain = forks.run("run", pattern, "in.csv", *options, "--output", "plain.jsonl")
    assert plain.status == 0, plain.told
    assert sorted(Path("plain.jsonl").read_bytes().splitlines()) == sorted(job.left_alone.splitlines())


@pytest.mark.parametrize(("form", "output"), [("debezium", "out.jsonl"), ("upsert", "out.csv"), ("debezium", "out")])
def test_what_is_written_has_the_form_that_is_asked_for(forks: Forks, form: str, output: str) -> None:
    ids = ("symbol", "le", "re", "low", "high") if form == "upsert" else ()
    form_of = ("--output-format", form, *(word for name in ids for word in ("--output-id", name)))
    options = (*EVERY, *form_of)
    job = Job(forks, write(trades(3000), "in.jsonl"), output, *options)
    assert job.run(at=job.calls // 2).status == -signal.SIGKILL
    job.goes_on()
    assert job.left_alone
    if output == "out.jsonl":
        plain = forks.run("run", "rise.sase", "in.jsonl", *OPTIONS, "--batch", "500", *form_of, "--output", "plain.jsonl")
        assert plain.status == 0, plain.told
        assert sorted(Path("plain.jsonl").read_bytes().splitlines()) == sorted(job.left_alone.splitlines())


# -- what is refused -----------------------------------------------------------------------------------------------------------

BASE = ("run", "rise.sase", "in.jsonl", *OPTIONS, "--batch", "100")
JOB = (*BASE, "--state", "state", "--output", "out.jsonl")


@pytest.fixture
def begun() -> bytes:
    """A job that has ended, in this process; its output."""
    Path("rise.sase").write_text(RISE)
    write(trades(300), "in.jsonl")
    call(*JOB)
    return Path("out.jsonl").read_bytes()


def left(*arguments: str) -> str:
    """The one line of a run that is refused, and leaves state and output as they were."""
    before = {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    told = fails(*arguments)
    assert {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return told


def test_another_job_is_refused(begun: bytes) -> None:
    assert begun
    assert "expected the state of a job with lateness=8 but got that of one with lateness=9" in left(*JOB, "--lateness", "8")
    assert "with no late" not in call(*JOB, "--late", "report", "--threads", "1").stderr
    Path("rise.sase").write_text(RISE.replace("+ 5", "+ 6"))
    assert "expected the state of a job with pattern='rise.sase (" in left(*JOB)
    Path("rise.sase").write_text(RISE)
    write(trades(300, seed=2), "in.jsonl")
    assert left(*JOB).startswith("in.jsonl: expected the file of which the state has read ")
    write(trades(300).rename_columns(["symbol", "amount", "le"]), "in.jsonl")
    assert left(*JOB).startswith("in.jsonl: expected the file of which the state has read ")
    os.remove("in.jsonl")
    assert left(*JOB) == "in.jsonl: No such file or directory"


def test_another_output_is_refused(begun: bytes) -> None:
    write(trades(400), "in.jsonl")
    Path("out.jsonl").write_bytes(begun + b"what was written behind the last commit")
    call(*JOB)
    assert b"behind" not in Path("out.jsonl").read_bytes()
    write(trades(500), "in.jsonl")
    Path("out.jsonl").write_bytes(b"y" + begun[1:])
    state = Path("state/state").read_bytes()
    assert "out.jsonl: expected the output of the state" in fails(*JOB)
    assert Path("out.jsonl").read_bytes() == b"y" + begun[1:]
    os.remove("out.jsonl")
    assert "out.jsonl: expected the output of the state" in fails(*JOB)
    assert "o.jsonl: expected the output of the state" in fails(*BASE, "--state", "state", "--output", "o.jsonl")
    assert len(Path("state/state").read_bytes()) <= len(state)


def test_what_is_there_is_not_written_over(begun: bytes) -> None:
    assert left(*BASE, "--state", "other", "--output", "out.jsonl").startswith(
        "out.jsonl: expected no file yet, where a state begins"
    )
    assert left(*BASE, "--state", "other", "--output", "in.jsonl") == "can't write in.jsonl: it is in.jsonl, which is read"
    os.mkdir("folder")
    Path("folder/part-000000-00000000.parquet").write_text("x")
    assert left(*BASE, "--state", "other", "--output", "folder").startswith("folder: expected no folder yet, or an empty one")
    assert "out.parquet: expected a folder, in which Parquet comes part by part" in left(
        *BASE, "--state", "s", "--output", "out.parquet"
    )
    assert not os.path.exists("other")
    assert not os.path.exists("s")
    assert "expected a folder for the state alone but got one with part-" in left(*BASE, "--state", "folder", "--output", "o.csv")
    os.mkdir("in")
    write(trades(10), "in/a.csv")
    files = ("run", "rise.sase", "in", *OPTIONS, "--state", "s", "--output")
    assert left(*files, "in/out.csv") == "can't write in/out.csv: it is in in, which is read"
    assert left(*files, "in") == "can't write in: it is in in, which is read"


def test_only_own_parts_are_removed(forks: Forks) -> None:
    job = Job(forks, write(trades(2_000), "in.parquet"), "out", *EVERY)
    assert job.run(at=job.calls // 2).status == -signal.SIGKILL
    Path("out/part-000099-deadbeef.parquet").write_text("x")
    own = head_of("state/state")["output"]["place"]["job"]
    Path(f"out/part-000099-{own}.parquet").write_text("x")
    assert job.run().status == 0
    assert Path("out/part-000099-deadbeef.parquet").read_text() == "x"
    os.remove("out/part-000099-deadbeef.parquet")
    assert written("out") == job.left_alone
    os.remove(f"out/part-000000-{own}.parquet")
    write(trades(2_001), "in.parquet")
    assert "in.parquet: expected the file of which the state has read" in job.run().told


def test_what_can_not_go_together(begun: bytes) -> None:
    assert begun
    os.mkfifo("pipe.jsonl")
    base = ("run", "rise.sase", "pipe.jsonl", "--state", "s", "--output", "o.jsonl")
    assert fails(*base).startswith("--state can't be combined with pipe.jsonl, a pipe, whose rows come once; let them go to a file")
    assert "-, a pipe" in fails(*base[:2], "-", "--format", "jsonl", *base[3:])
    assert "--state can't be combined with --output - because" in fails(*base[:5], "--output", "-")
    assert fails(*base[:5]) == "--state needs --output because what is printed can't be taken back"
    assert fails(*BASE, "--follow").startswith("--follow needs --state because")
    assert fails(*BASE, "--state-every", "9").startswith("--state-every needs --state because")
    for more in (("--arcs", "rules"), ("--report", "r.html"), ("--reasons",), ("--force",), ("--vary", "x=1")):
        told = fails(*JOB[:3], *JOB[-4:], *more)
        assert "--state" in told
        assert f"{more[0]} can't" in told or f"with {more[0]} " in told
    told = fails(*JOB[:3], "--format", "debezium", "--id", "id", *JOB[-4:])
    assert told == "--state can't be combined with --format debezium because it does not hold its rows in force"
    for state, output in (("t", "t"), ("t", "t/out.jsonl"), (".", "o.jsonl")):
        told = fails(*JOB[:2], ".", *OPTIONS, "--state", state, "--output", output)
        assert told == f"expected a folder of its own as --state but got {state}"
    told = fails("run", "q.sql", "--input", "t=in.jsonl", "--state", "s", "--output", "o.jsonl")
    assert told.startswith("--state can't be combined with --input")
    assert "expected a name that ends in" in call(*BASE, "--output", "folder", status=2).stderr
    assert "in.jsonl.gz: expected CSV or JSON lines, not compressed, to follow" in fails(
        *JOB[:2], "in.jsonl.gz", *JOB[3:], "--follow"
    )


WRONG: list[tuple[tuple[str, ...], object]] = [
    (("input",), 5),
    (("input",), {}),
    (("input", "place"), []),
    (("input", "place", "row"), -1),
    (("input", "place", "at"), "x"),
    (("input", "place", "file"), "../in.jsonl"),
    (("input", "place", "mark"), None),
    (("input", "place", "done"), {"a": -1}),
    (("input", "latest"), 1.5),
    (("input", "latest"), 10**400),
    (("input", "place", "at"), 10**30),
    (("input", "counts"), [1, 2]),
    (("input", "counts"), [1, 2, 3, "x"]),
    (("input", "promises"), "xyz"),
    (("input", "promises"), "00"),
    (("input", "promises"), None),
    (("input", "shape"), ["jsonl", "00", []]),
    (("input", "shape"), ["xml", "", []]),
    (("input", "first"), "00ff"),
    (("input", "times"), "00"),
    (("output",), 5),
    (("output",), {"place": 1}),
    (("output",), "place"),
    (("output",), None),
    (("output", "place"), {"parts": 1, "job": "00000000"}),
    (("output", "place", "bytes"), -5),
    (("output", "place", "bytes"), 10**30),
    (("output", "place", "mark"), 5),
]


def test_a_state_with_something_else_in_it_is_refused(begun: bytes) -> None:
    write(trades(350), "in.jsonl")
    blob = Path("state/state").read_bytes()
    for place, value in WRONG:
        head = inner = json.loads(blob[9:].partition(b"\n")[0])
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = value
        Path("state/state").write_bytes(seal(b"AFAJ", 1, json.dumps(head).encode() + b"\n" + blob[9:].partition(b"\n")[2]))
        assert fails(*JOB), (place, value)
        assert Path("out.jsonl").read_bytes() == begun
    Path("state/state").write_bytes(blob)
    call(*JOB)


def test_the_cost_of_each_snapshot_is_told(begun: bytes) -> None:
    assert begun
    write(trades(400), "in.jsonl")
    told = call(*(each for each in JOB if each != "-q"), "--state-every", "100").stderr
    assert re.search(r"afa: state: row 400, a snapshot of [\d,]+ bytes in \d+\.\d+ s", told)
    assert re.search(r"snapshots +2 +[\d,]+ bytes the last; \d+\.\d+ s in all, \d+\.\d+ s at most", told)
    assert re.search(r"events +400", told)


def test_how_late_rows_are_taken_is_as_it_is_said_now(begun: bytes) -> None:
    """Also where it is said no more: by default a late row is refused."""
    lines = Path("in.jsonl").read_bytes()
    Path("in.jsonl").write_bytes(lines + b'{"symbol": "S1", "cents": 1, "le": 0}\n')
    words = [word for word in JOB if word not in ("--late", "drop")]
    assert "le=0" in fails(*words)
    call(*JOB)
