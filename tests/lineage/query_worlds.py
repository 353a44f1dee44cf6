"""A driver of random queries x streams for lineages: ``python -m tests.lineage.query_worlds --worlds 10000 --seed 1``.

Worlds are those of `tests.language.worlds`: all strategies, repetitions, negations, names at several places, AFTER MATCH SKIP,
keys, ties, disorder, retractions, promises, batches, snapshots. After *every* step the paths of each match in force must be the
choices that the oracle of queries picks for it; of one that began before the promise they must be refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from afa import AfaError, Change
from afa.compiled import inforce
from punctuation.time import FOREVER
from tests.language.oracle import Event, Found, choices, chosen, payload
from tests.language.worlds import ENGINES, KINDS, RefusedError, Side, World, numbered, smaller
from tests.lineage.brute_force import MOST, Behind, TooManyError
from tests.lineage.checks import check_lineage, either_way, refusal
from tests.lineage.worlds import Seen
from tests.oracle import Event as Held


def behind(side: Side) -> dict[tuple[Any, Any, int, int], Behind]:
    """What stands behind each match ``(key, payload, le, re)``."""
    tree, window = side.query.tree, side.query.window
    found: dict[tuple[Any, Any, int, int], Behind] = {}
    events = [event for event, n in side.copies.items() if n > 0]
    for each in chosen(tree, not_too_many(choices(tree, events, side.promised))):
        match = each.key, payload(tree, each), each.le, each.re
        path = tuple((component, told(event, window)) for component, event in each.picks)
        one = found.setdefault(match, Behind(set(), FOREVER))
        found[match] = Behind(one.paths | {path}, min(one.first, each.picks[0][1].le))
    return found


def not_too_many(found: Iterable[Found]) -> Iterator[Found]:
    """The same choices, while there are no more than brute force can do."""
    for number, each in enumerate(found):
        if number == MOST:
            raise TooManyError(f"more than {MOST} choices")
        yield each


def told(event: Event, window: int | None) -> Held:
    """An event with its RE."""
    end = FOREVER if window is None else min(event.le + window, FOREVER)
    return Held(event.payload, event.le, end if event.re is None else event.re)


def check(side: Side) -> Seen:
    """Ask for every lineage."""
    seen, order = Seen(1), side.query.tree.order
    for (key, values, le, re), (paths, first) in behind(side).items():
        match = Change(side.query.shown.cls(*values), le, re, 1, key)
        if min(le, first) < side.promised and side.waits:  # what it needs itself is held longer, and may answer
            try:
                found = side.operator.lineage(match)
            except AfaError as error:
                if "promise" not in str(error):
                    raise
            else:
                check_lineage(found, paths, key, order)
        elif min(le, first) < side.promised:
            assert "promise" in refusal(side.operator, match, AfaError)
            seen = seen.plus(Seen(refused=1))
        else:
            check_lineage(side.operator.lineage(match), paths, key, order)
            seen = seen.plus(Seen(0, 1, len(paths)))
    return seen


def run(here: World, engine: str, check: Callable[[Side], Seen] = check) -> Seen:
    """Run a world; an AssertionError tells the first step at which a lineage is wrong."""
    try:
        side = Side(here.tree, engine)
    except AfaError as error:
        raise RefusedError(str(error)) from None
    seen = Seen()
    for number, op in enumerate(here.ops):
        try:
            if op[0] == "save":
                side.operator = side.query.restore(side.operator.snapshot(), engine=engine)  # type: ignore[arg-type]
            else:
                for each in op[1] if op[0] == "batch" else [op]:
                    side.note(each)
                side.push(op)
            with either_way(number):
                seen = seen.plus(check(side))
        except TooManyError:
            return seen.plus(Seen(given_up=1))
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}; step {number}, {op} ({engine})") from error
    return seen


def failure(here: World, engine: str) -> str | None:
    """Why a world fails; None if it does not, or is refused."""
    try:
        run(here, engine)
    except AssertionError as error:
        return str(error)
    except Exception:  # a tree that the shrinker broke
        return None
    return None


def report(here: World, engine: str) -> str:
    """The smallest world found that fails, as text to paste."""
    kind = str(failure(here, engine)).partition(":")[0]
    small = smaller(here, lambda candidate: str(failure(candidate, engine)).partition(":")[0] == kind)
    return f"{failure(small, engine)}\n\nrun({small!r}, {engine!r})"


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all", help="which queries: see `tests.language.worlds`")
    parser.add_argument("--warm", type=int, default=inforce.WARM, help="steps arc by arc before machine code of all arcs is made")
    options = parser.parse_args(arguments)
    inforce.WARM = options.warm
    seen, failed, declined, begin, number = Seen(), 0, 0, time.perf_counter(), options.first
    for number in range(options.first, options.first + options.worlds):
        here = numbered(options.seed, number, kind=options.kind)
        for engine in ENGINES:
            try:
                seen = seen.plus(run(here, engine))
            except RefusedError:
                declined += 1
            except AssertionError:
                failed += 1
                print(f"seed {options.seed}, world {number} fails: {report(here, engine)}\n", flush=True)
                break
        if failed >= options.failures:
            break
    took = time.perf_counter() - begin
    print(f"seed {options.seed}, worlds {number + 1 - options.first}, failed {failed}, declined {declined}, {seen}, {took:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
