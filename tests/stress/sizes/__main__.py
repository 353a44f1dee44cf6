"""A driver of these worlds: ``python -m tests.stress.sizes --worlds 200000 --seed 1``.

Prints what they have met, and a small reproduction of the first one that fails. They run in processes of their own: one that dies
is told with its number.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import gc
import mmap
import os
import sys

from tests.strategies import Seeded
from tests.stress.sizes.generate import Spec, world
from tests.stress.sizes.run import report, run
from tests.stress.sizes.seen import Seen

PART = 500
"""Worlds of one process."""
COLLECTED = 25
"""So many worlds leave their circles of objects behind before these are collected."""


def spec_of(seed: str, number: int, family: int) -> Spec:
    """The world with a number."""
    return world(Seeded(f"sizes/{seed}/{number}"), Seeded(f"sizes/{seed}/family {number // family}"))


def part(seed: str, low: int, high: int, family: int, place: mmap.mmap, whole: bool) -> tuple[Seen, int]:
    """Run some worlds, and tell which one is at work."""
    seen, failed = Seen(), 0
    gc.collect()
    gc.freeze()  # all that the modules have made: to look through it again and again took a tenth of the time
    gc.disable()
    for number in range(low, high):
        if number % COLLECTED == 0:
            gc.collect()
        place[:8] = number.to_bytes(8, "little")
        spec = spec_of(seed, number, family)
        try:
            seen = seen.plus(run(spec))
        except Exception as error:
            failed += 1
            print(f"seed {seed}, world {number} fails: {error if whole else report(spec)}\n", flush=True)
            break
    gc.enable()
    return seen, failed


def apart(seed: str, low: int, high: int, family: int, whole: bool) -> tuple[Seen, int]:
    """The same in another process."""
    place = mmap.mmap(-1, 8)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        found = part(seed, low, high, family, place, whole)
        with os.fdopen(writing, "wb") as out:
            out.write(repr((dict(found[0]), found[1])).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if status or not text:
        number = int.from_bytes(place[:8], "little")
        print(f"seed {seed}, world {number}: its process ended with status {status}", flush=True)
        return Seen(), 1
    seen, failed = ast.literal_eval(text)
    return Seen(seen), failed


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--family", type=int, default=50, help="so many worlds share an automaton")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--whole", action="store_true", help="a world that fails is not made smaller")
    options = parser.parse_args(arguments)
    faulthandler.enable()
    seen, high = Seen(), options.first
    failed, end = 0, options.first + options.worlds
    for low in range(options.first, end, PART):
        high = min(low + PART, end)
        if options.here:
            found = part(options.seed, low, high, options.family, mmap.mmap(-1, 8), options.whole)
        else:
            found = apart(options.seed, low, high, options.family, options.whole)
        seen, failed = seen.plus(found[0]), failed + found[1]
        if failed:
            break
        if (low // PART) % 20 == 19:
            print(f"{high - options.first} worlds, {seen}", flush=True)
    used = sum(os.times()[:4])
    print(f"seed {options.seed}, worlds up to {high}, failed {failed}, {seen}, {used:.0f} s of CPU")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
