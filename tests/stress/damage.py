"""Snapshots with a right checksum and something wrong in them: ``python -m tests.stress.damage --mutants 200000 --seed 1``.

Each ends in an `AfaError`, or an operator whose ``_check()`` holds, which takes what comes after, and whose next snapshot is good;
within seconds of CPU time, in bounded memory. A worker process that takes longer, or dies, is a finding as any other exception is.
``--first N --mutants 1`` runs that one alone, with its traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from afa import AfaError
from afa.compiled import inforce
from afa.operator import snapshot
from tests.strategies import Seeded
from tests.stress.mutate import mutated, opened, packed, sealed
from tests.stress.specimens import Specimen, specimen

EACH = 100
"""Mutants of one specimen."""
RECORD = struct.Struct("<q16s")


def mutant(seed: str, number: int, found: Specimen) -> tuple[list[bytes], str]:
    """The blobs of a mutant, and what was done."""
    choose = Seeded(f"{seed}/{number}")
    blobs = list(found.blobs)
    at = choose.number(0, len(blobs) - 1)
    blobs[at], said = mutated(choose, blobs[at])
    for i in range(at + 1, len(blobs)):  # those that follow are still what follows
        body = opened(blobs[i])
        if isinstance(body, list) and len(body) > 7:
            body[7] = snapshot._digest(blobs[i - 1])
            blobs[i] = sealed(blobs[i], packed(body))
    return blobs, said


def judge(found: Specimen, blobs: list[bytes], engine: str) -> str:
    """How a mutant ends: "refused" or "taken". Raises what must not be."""
    try:
        made = found.restore(blobs, engine)
    except AfaError:
        return "refused"
    check(made)
    for step in found.more:
        with contextlib.suppress(AfaError):
            step(made)
        check(made)
    try:
        blob = made.snapshot()
    except AfaError:
        return "taken"
    again = found.restore([blob], engine)
    check(again)
    assert again.snapshot() == blob, "restored, it is another"
    return "taken"


def check(made: Any) -> None:
    """Its invariants, where it has any."""
    if hasattr(made, "_check"):
        made._check()


def work(seed: str, low: int, high: int, seconds: float, pipe: int) -> None:
    """Judge mutants in a process of their own, and tell of each how it ended."""
    room = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 30), room[1]))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    found, at = None, None
    for number in range(low, high):
        if number // EACH != at:
            at = number // EACH
            found = specimen(f"{seed}/{at}")
        assert found is not None
        os.write(pipe, RECORD.pack(number, b"begun"))
        blobs, _ = mutant(seed, number, found)
        end = b""
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            end = judge(found, blobs, ENGINES[number % 2]).encode()
        except BaseException as error:
            end = b"wrong"
            print(f"mutant {number} ({found.kind}, {ENGINES[number % 2]}): {told(error)}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.write(pipe, RECORD.pack(number, end))


ENGINES = ("interpreted", "compiled")


def told(error: BaseException) -> str:
    """An exception in one line, with where it came from."""
    frames = [f"{os.path.basename(f.filename)}:{f.lineno}:{f.name}" for f in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {str(error)[:150]!r} in {' > '.join(frames[-4:])}"


def run(seed: str, low: int, high: int, seconds: float) -> Counter[str]:
    """Judge mutants in a worker; a new one after each that was killed."""
    ends: Counter[str] = Counter()
    while low < high:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            work(seed, low, high, seconds, writing)
            os._exit(0)
        os.close(writing)
        last = low
        with os.fdopen(reading, "rb") as records:
            while record := records.read(RECORD.size):
                last, end = RECORD.unpack(record)
                end = end.rstrip(b"\0")
                if end != b"begun":
                    ends[end.decode()] += 1
        _, status = os.waitpid(child, 0)
        low = last + 1
        if os.WIFSIGNALED(status):
            name = "hang" if os.WTERMSIG(status) == signal.SIGPROF else f"crash by signal {os.WTERMSIG(status)}"
            kind = specimen(f"{seed}/{last // EACH}")
            print(f"mutant {last} ({kind.kind}, {ENGINES[last % 2]}): {name}: {mutant(seed, last, kind)[1]}", flush=True)
            ends[name] += 1
        elif status:
            print(f"mutant {last}: worker ended with {status}", flush=True)
            ends["lost"] += 1
    return ends


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants; 1 if any ended wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant; with --mutants 1: just that one")
    parser.add_argument("--seconds", type=float, default=5.0, help="of CPU time that one may take")
    options = parser.parse_args(arguments)
    inforce.WARM = 1 << 60  # a step function for each would be most of the time
    if options.mutants == 1:
        found = specimen(f"{options.seed}/{options.first // EACH}")
        blobs, said = mutant(options.seed, options.first, found)
        print(f"{found.kind}: {said}")
        print(judge(found, blobs, ENGINES[options.first % 2]))
        return 0
    begin = time.perf_counter()
    ends = run(options.seed, options.first, options.first + options.mutants, options.seconds)
    print(f"seed {options.seed}, mutants {options.mutants}: {dict(ends)}, {time.perf_counter() - begin:.0f} s", flush=True)
    return int(set(ends) - {"refused", "taken"} != set())


if __name__ == "__main__":
    sys.exit(main())
