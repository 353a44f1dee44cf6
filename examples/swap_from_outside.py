"""An arc is swapped from another process, or from a shell, while the job runs: an arc log in a folder.

The job asks before each batch of payments what the folder has brought. Another process lowers the limit by a command; a third one
misspells a name, and is told; nothing is written then. The job is saved and restored in the middle: what it has read of the folder
is in its snapshot.

It prints:

    4 payments above 500
    $ afa arcs rules swap "above 500" --fence "amount > 300" --pattern examples/swap_from_outside.py:LARGE
    swapped 'above 500' from when the job reads it on
    6 payments above 300
    $ afa arcs rules swap "above 5OO" --fence "amount > 100" --pattern examples/swap_from_outside.py:LARGE
    expected the name of an arc but got 'above 5OO'; did you mean 'above 500'?; there are: 'above 500'
    6 payments above 300, in a job that was restored
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from afa import Arc, ArcLog, Automaton, Operator


class Pay(NamedTuple):
    amount: int


LARGE = Automaton(start="any", final={"large"}, event=Pay, arcs=[Arc("any", "large", "amount > 500", name="above 500")])


def command(folder: Path, name: str, fence: str) -> str:
    """What another process says; the folder of the job is given as `rules`."""
    words = ["arcs", "rules", "swap", name, "--fence", fence, "--pattern", "examples/swap_from_outside.py:LARGE"]
    quoted = " ".join(f'"{word}"' if " " in word else word for word in words)
    print(f"$ afa {quoted}")
    words[1], words[-1] = str(folder), f"{Path(__file__)}:LARGE"
    done = subprocess.run([sys.executable, "-m", "afa.cli", *words], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).removeprefix("afa: ").strip()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, job = ArcLog(folder, LARGE), Operator(LARGE)

        def batch(first: int) -> int:
            """Take what the folder has brought, then ten payments: of 0, 100, 200, .. 800 and 900."""
            log.poll(job)
            return len(job.push_many({"amount": range(0, 1000, 100), "le": range(first, first + 10)})["le"])

        print(batch(0), "payments above 500")
        print(command(Path(folder), "above 500", "amount > 300"))
        print(batch(10), "payments above 300")
        print(command(Path(folder), "above 5OO", "amount > 100"))
        job = Operator.restore(LARGE, job.snapshot())
        print(batch(20), "payments above 300, in a job that was restored")


if __name__ == "__main__":
    main()
