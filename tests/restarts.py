"""Jobs with a state that are killed, and what they must come to: the output of one that was left alone."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tests.forks import Ended, Forks

RISE = (
    "PATTERN SEQ(Trade a, Trade b) WHERE partition_contiguity(a, b) { [symbol] and b.cents > a.cents + 5 } "
    "WITHIN 60 RETURN a.cents AS low, b.cents AS high"
)
OPTIONS = ("--tick", "s", "--lateness", "9", "--late", "drop", "--matches", "0", "-q")


def trades(rows: int, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    found = [(f"S{draw.randrange(50)}", draw.randrange(100), n // 5 - draw.randrange(9) + 20) for n in range(rows)]
    return pa.table(dict(zip(("symbol", "cents", "le"), map(list, zip(*found)))))


def write(table: pa.Table, path: str) -> str:
    """Write rows by a file's ending; it is there as a whole."""
    draft = Path(path).with_name(f".{Path(path).name}")
    if path.endswith(".csv"):
        pyarrow.csv.write_csv(table, draft)
    elif path.endswith(".parquet"):
        pyarrow.parquet.write_table(table, draft, row_group_size=300)
    elif path.endswith(".gz"):
        draft.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode()))
    else:
        draft.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    draft.rename(path)
    return path


def written(output: str) -> Any:
    """All that an output says: the bytes of a file, the rows of a folder's parts, of which each is whole."""
    if not os.path.isdir(output):
        return Path(output).read_bytes()
    assert all(name.startswith("part-") for name in os.listdir(output)), os.listdir(output)
    return [row for name in sorted(os.listdir(output)) for row in pyarrow.parquet.read_table(f"{output}/{name}").to_pylist()]


def head_of(state: str) -> Any:
    """The line of JSON in a state."""
    return json.loads(Path(state).read_bytes()[9:].partition(b"\n")[0])


class Job:
    """A job over INPUT. ``left_alone`` is what it writes where nothing disturbs it."""

    def __init__(self, forks: Forks, file: str, output: str, *options: str, pattern: str = "rise.sase") -> None:
        if pattern == "rise.sase":
            Path(pattern).write_text(RISE)
        self.forks, self.output, self.file = forks, output, file
        self._arguments = ("run", pattern, file, *options)
        alone = Path("alone") / output
        alone.parent.mkdir()
        began = time.monotonic()
        ended = forks.run(*self._arguments, "--state", "alone/state", "--output", str(alone), at=10**9)
        assert ended.status == 0, ended.told
        self.seconds = time.monotonic() - began
        self.left_alone, self.calls = written(str(alone)), ended.calls

    def run(self, *more: str, **how: Any) -> Ended:
        return self.forks.run(*self._arguments, "--state", "state", "--output", self.output, *more, **how)

    def goes_on(self) -> None:
        """Let it run to its end: then there is neither more nor less than if it had been left alone."""
        ended = self.run()
        assert ended.status == 0, ended.told
        assert written(self.output) == self.left_alone
        assert os.listdir("state") == ["state"]

    def is_as_committed(self) -> bool:
        """Whether neither folder nor output has more than the last commit says; without one there is no state."""
        if not os.path.exists("state"):
            return True
        if os.listdir("state") != ["state"]:
            return False
        output = head_of("state/state")["output"]
        place = output.get("end", output["place"])
        if "parts" in place:
            return [name[:11] for name in sorted(os.listdir(self.output))] == [f"part-{n:06}" for n in range(place["parts"])]
        return os.stat(self.output).st_size == int(place["bytes"])

    def begin_anew(self) -> None:
        shutil.rmtree("state", ignore_errors=True)
        if os.path.isdir(self.output):
            shutil.rmtree(self.output)
        Path(self.output).unlink(missing_ok=True)


def kills(job: Job, seed: int, most: float = 1.1) -> Iterator[Ended]:
    """Kill a job at random instants until it has come to its end; yield how each run ended."""
    draw = random.Random(seed + 1)
    for _ in range(100):
        ended = job.run(kill=draw.uniform(0.0, most * job.seconds))
        yield ended
        if ended.status == 0:
            return
    raise AssertionError("it never ends")
