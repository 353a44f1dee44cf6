"""A driver of interrupted calls: ``python -m tests.stress.interrupts --calls 10000 --seed 1``.

Random worlds whose calls are interrupted at random lines and at random instants, on both engines, with stages and without: the
state after each is that before it or that after it, and the operator goes on as its twin, which was left alone.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from collections.abc import Callable
from typing import Any

from afa.compiled import inforce
from speculation import Cleanse, Consolidate
from tests import interrupts
from tests.around import Wrap
from tests.strategies import Seeded
from tests.stress.generate import world

WRAPS: tuple[Wrap | None, ...] = (
    None,
    None,
    None,
    lambda operator: Cleanse(3).before(operator),
    lambda operator: Cleanse(3).after(operator),
    lambda operator: Cleanse.auto(max_chattiness=1.2).before(operator),
    lambda operator: Cleanse.auto(max_chattiness=1.2).after(operator),
    lambda operator: Cleanse.auto(max_delay=3).after(operator),
    lambda operator: Consolidate().after(operator),
    lambda operator: Consolidate("call").after(Cleanse(2).before(operator)),
)
TRIES = 8


def run(seed: Any, number: int, engine: str, interrupt: Callable[..., Any]) -> int:
    """Run one world; how many calls were interrupted."""
    choose = Seeded(f"{seed}/{number}/{engine}/{interrupt.__name__}")
    return interrupts.run(world(Seeded(f"{seed}/{number}")), engine, choose, interrupt, TRIES, choose.one(WRAPS))


def main(arguments: list[str] | None = None) -> int:
    """Run worlds until so many calls were interrupted of each kind; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000, help="of each engine, at lines and at instants alike")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--warm", type=int, default=20, help="steps after which a step function is compiled")
    options = parser.parse_args(arguments)
    faulthandler.enable()
    inforce.WARM = options.warm
    for engine in ("interpreted", "compiled"):
        for interrupt in (interrupts.somewhere, interrupts.sometime):
            begin, count, number = time.process_time(), 0, options.first
            while count < options.calls:
                try:
                    count += run(options.seed, number, engine, interrupt)
                except AssertionError as error:
                    print(f"seed {options.seed}, world {number}, {engine}, {interrupt.__name__}: {error}")
                    return 1
                number += 1
            print(
                f"{engine}, {interrupt.__name__}: {count} calls interrupted in {number - options.first} worlds, "
                f"{time.process_time() - begin:.0f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
