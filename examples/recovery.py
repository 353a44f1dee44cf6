"""A job that is killed in the middle and goes on where it was: offset, snapshot and length of the output are saved together.

Every hundred lines the job commits what it would need, in one step (`afa.Checkpoint`). When it begins it looks at the last commit,
cuts its output to the length that belongs to it, and goes on with the line at the offset: each line counts once, whatever was
written between the last commit and the end. `afa run --state` does the same for files.

It prints:

    run 1: from line 0, killed in line 450
    run 2: from line 400, killed in line 777
    run 3: from line 700, to the end
    run 4: from line 0, to the end
    the same with kills and without: True, 1106 changes
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import afa
from afa import insert

EVERY = 100


class Trade(NamedTuple):
    symbol: str
    cents: int


RISE = "PATTERN SEQ(Trade a, Trade b) WHERE partition_contiguity(a, b) { [symbol] and b.cents > a.cents } WITHIN 60"
QUERY = afa.query(RISE + " RETURN a.cents AS low, b.cents AS high", event=Trade, tick="s")


def work(folder: Path, stop: int = -1) -> None:
    """Go on from what was committed; be killed at a line, if there is one to stop at."""
    with afa.Checkpoint(folder / "state", {"query": RISE}) as state, (folder / "changes.jsonl").open("a") as out:
        last = state.last
        op = QUERY.operator() if last is None else QUERY.restore(last.snapshot)
        begin, length = (0, 0) if last is None else (last.input, last.output)
        print("from line", begin, end="", flush=True)
        out.truncate(length)
        for number, line in enumerate((folder / "trades.jsonl").read_text().splitlines()[begin:], begin + 1):
            row = json.loads(line)
            for change in op.push(insert(Trade(row["symbol"], row["cents"]), row["at"])):
                out.write(json.dumps([change.diff, change.le, change.key, *change.payload]) + "\n")
            if number == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            if number % EVERY == 0:
                out.flush()
                os.fsync(out.fileno())
                state.commit(op.snapshot(), input=number, output=out.tell())


def main() -> None:
    rows = [{"symbol": "ABC"[n % 3], "cents": 100 + n * 7 % 31, "at": n - n % 5 * 2 + 10} for n in range(1000)]  # out of order
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for folder in (one, other):
            Path(folder, "trades.jsonl").write_text("\n".join(map(json.dumps, rows)))
        for run, (folder, stop) in enumerate([(one, 450), (one, 777), (one, -1), (other, -1)], 1):
            done = subprocess.run([sys.executable, __file__, folder, str(stop)], stdout=subprocess.PIPE, text=True)
            end = f"killed in line {stop}" if done.returncode == -signal.SIGKILL else "to the end"
            print(f"run {run}: {done.stdout}, {end}")
        told = [Path(folder, "changes.jsonl").read_text() for folder in (one, other)]
        print(f"the same with kills and without: {told[0] == told[1]}, {len(told[0].splitlines())} changes")


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else main()
