"""Count what goes which way: `python -m tests.ways`."""

from __future__ import annotations

from collections import Counter

from tests.corpus import PATHS, Case
from tests.ways import WAYS


def main() -> None:
    """Print how far the cases go each way."""
    cases = [Case(path) for path in PATHS]
    total = sum(len(case.arrivals) for case in cases)
    for way in WAYS:
        reaches = [(way.reach(case), len(case.arrivals)) for case in cases]
        print(f"{way.__name__:<14} {sum(reach.arrivals for reach, _ in reaches):4} of {total} arrivals")
        left: Counter[str] = Counter()
        for reach, n in reaches:
            left[reach.why] += n - reach.arrivals
        for why, n in left.most_common():
            if why:
                print(f"{'':<14} {n:4} {why}")


main()
