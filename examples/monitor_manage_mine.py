"""Monitor, manage, mine: a limit is mined out of the changes written so far, and swapped into the job that runs.

A small payment, then a large one of the card within ten minutes, is an alert; thirty a day can be looked at. The job appends its
changes to a file, and reads an arc log; the loop reads that file, writes that log, and says why. Above a limit the file says what
another one would have told; below it nothing was written: a fifth less. It stops after three good days, or six changes.

It prints:

    day 1: 257 alerts above  50.0: too many; above 336.3 from now on
    day 4:  70 alerts above 336.3: too many; above 773.0 from now on
    day 7:  27 alerts above 773.0; stopped; 13 were withdrawn on the way
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from afa import Arc, ArcLog, Automaton, Change, Keyed, insert

DAY, WANTED, MOST = 86_400, 30, 6


class Pay(NamedTuple):
    card: int = 0
    amount: float = 0.0


LARGE = Arc("tried", "alert", "amount > 50", "(e.card, e.amount)", name="large")
ALERT = Automaton(start="quiet", final={"alert"}, register=Pay(), event=Pay, arcs=[Arc("quiet", "tried", "amount < 5"), LARGE])


def payments(day: int) -> list[Change]:
    """A day of payments, one in ten late; from day 4 on there are more small and more large ones."""
    rng = random.Random(day)
    sizes = [rng.lognormvariate(3, 1.5 if day < 4 else 1.8) for _ in range(0, DAY, 8)]
    found = [(8 * i + rng.randrange(600) * (rng.random() < 0.1), 8 * i, round(size, 2)) for i, size in enumerate(sizes)]
    return [insert(Pay(rng.randrange(100), size), le=day * DAY + second) for _, second, size in sorted(found)]


def alerts(file: Path, day: int) -> list[float]:
    """Monitor: the amounts of a day's alerts that are in force, largest first."""
    net: Counter[tuple[int, ...]] = Counter()
    for *match, diff in map(json.loads, file.read_text().splitlines()):
        net[tuple(match)] += diff
    return sorted((amount for (le, _, amount), n in net.items() if n and le // DAY == day), reverse=True)


def mined(found: list[float], limit: float) -> tuple[float, str]:
    """Mine: the next limit, and why."""
    if abs(len(found) - WANTED) <= WANTED // 3:
        return limit, "good"
    return (round(found[WANTED], 1), "too many") if len(found) > WANTED else (round(0.8 * limit, 1), "too few")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, file = ArcLog(f"{folder}/arcs", ALERT), Path(folder, "changes.jsonl")
        job, limit, good, made, day = Keyed(ALERT, key="card", window=600), 50.0, 0, 0, 0
        while good < 3 and made < MOST:
            day += 1
            changes = job.push_many([*log.poll(job), *payments(day)], net=False)
            with file.open("a") as out:
                out.writelines(f"{json.dumps([c.le, c.key, c.payload.amount, c.diff])}\n" for c in changes)
            new, reason = mined(found := alerts(file, day), limit)
            if new != limit:  # manage: into the running job
                log.swap("large", fence=f"amount > {new}", id=f"day {day}")
                print(f"day {day}: {len(found):3} alerts above {limit:5}: {reason}; above {new} from now on")
            good, made, limit = (good + 1, made, new) if new == limit else (0, made + 1, new)
        print(f"day {day}: {len(found):3} alerts above {limit:5}; stopped; {job.statistics.retractions} were withdrawn on the way")


if __name__ == "__main__":
    main()
