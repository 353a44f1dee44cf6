"""A driver of random worlds: ``python -m tests.stress.worlds --worlds 20000 --seed 1``.

After *every* step the net output must equal the oracle, the emitted difference must be minimal, a rejected change must leave no
trace, and ``operator._check()`` must hold. Prints what it has met, and a minimal reproduction of the first world that fails.
"""

from __future__ import annotations

import argparse
import sys
import time

from afa import Operator
from afa.compiled import inforce, memory
from tests import strategies
from tests.strategies import Seeded
from tests.stress import generate
from tests.stress.generate import as_longest, world
from tests.stress.mixes import mix
from tests.stress.run import Seen, report, run


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--steps", type=int, default=None, help="operations of a world (default: 8 to 20; of a mix 8 to 120)")
    parser.add_argument("--about", choices=list(generate.WEIGHTS), help="worlds of this kind only; waits: skips beside time-outs")
    parser.add_argument("--mixes", action="store_true", help="long mixes over few instants, of ignorable arcs")
    parser.add_argument("--longest", action="store_true", help="worlds of operators with longest=True")
    parser.add_argument("--family", type=int, default=8, help="so many mixes share an automaton")
    parser.add_argument("--skips", type=int, default=strategies.SKIPS, help="percent of the ignorable arcs that are skips")
    parser.add_argument("--check-every", type=int, default=1, help="operator._check() after so many steps, and after the last")
    parser.add_argument("--engine", default="interpreted", help="compiled; both: each save changes over; each: both side by side")
    parser.add_argument("--warm", type=int, default=inforce.WARM, help="steps after which a step function is compiled")
    parser.add_argument("--parts", type=int, default=memory.PARTS, help="how many rows a list has that is taken in parts")
    parser.add_argument("--soon", type=int, default=memory.SOON, help="steps behind a late one before columns (--longest)")
    parser.add_argument("--sample", type=int, default=memory.SAMPLE, help="steps from which it is seen whether runs pay")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--outputs-only", action="store_true", help="leave out operator._check()")
    options = parser.parse_args(arguments)
    inforce.WARM = options.warm
    if options.about:
        generate.WEIGHTS = {options.about: generate.WEIGHTS[options.about]}
    strategies.SKIPS = options.skips
    memory.SAMPLE, memory.SOON = options.sample, options.soon
    memory.PARTS = options.parts
    if options.outputs_only:
        Operator._check = lambda self: None
    seen, failed, begin, number = Seen(), 0, time.perf_counter(), options.first
    for number in range(options.first, options.first + options.worlds):
        choose, family = Seeded(f"{options.seed}/{number}"), Seeded(f"{options.seed}/family {number // options.family}")
        spec = mix(choose, options.steps, family) if options.mixes else world(choose, options.steps)
        spec = as_longest(family, spec) if options.longest else spec
        try:
            seen = seen.plus(run(spec, options.engine, every=options.check_every))
            continue
        except AssertionError:
            failed += 1
        print(f"seed {options.seed}, world {number} fails: {report(spec, options.engine)}\n", flush=True)
        if failed >= options.failures:
            break
    print(
        f"seed {options.seed}, worlds {number - options.first + 1}, failed {failed}, steps {seen.steps}, matches {seen.matches}, "
        f"retractions {seen.retractions}, rejected {seen.rejected}, {time.perf_counter() - begin:.0f} s"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
