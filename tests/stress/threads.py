"""Threads on one operator.

Some push events one by one, in lists and in tables, one swaps an arc, one asks and saves. Together they leave in force what the
same events in order do, whatever the order in which the threads' calls were served. Of four rounds each is on another operator.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from afa import Change, Keyed, Operator, Punctuation, insert, retract
from speculation import Cleanse
from tests.kinds_of_calls import PLAIN, SWAPPED, Tick
from tests.strategies import Seeded
from tests.worlds.kind import Seen, Worlds

MAKES: dict[str, Callable[[str], Any]] = {
    "operator": lambda engine: Operator(PLAIN, window=20, engine=engine),
    "keyed": lambda engine: Keyed(PLAIN, key="sym", window=20, engine=engine),
    "cleanse before": lambda engine: Cleanse(5).before(Keyed(PLAIN, key="sym", window=20, engine=engine)),
    "cleanse after": lambda engine: Cleanse(5).after(Operator(PLAIN, window=20, engine=engine)),
}
PUSHERS, EVENTS = 4, 120


def events(choose: Seeded, thread: int) -> list[Any]:
    """The events of a thread, which are no other's."""
    return [
        insert(Tick("abcde"[choose.number(0, 4)], choose.number(0, 9), thread * EVENTS + i), choose.number(0, 200))
        for i in range(EVENTS)
    ]


def pushed(operator: Any, items: list[Any], choose: Seeded) -> list[Any]:
    """Push events in pieces, each in one of several ways; what came out."""
    out, low = [], 0
    while low < len(items):
        way, n = choose.one(["one", "list", "table"]), choose.number(1, 12)
        piece = items[low : low + (1 if way == "one" else n)]
        low += len(piece)
        if way == "one":
            out += operator.push(piece[0])
        elif way == "list":
            out += operator.push_many(piece)
        else:
            table = {name: np.array([getattr(item.payload, name) for item in piece]) for name in Tick._fields}
            found = operator.push_many({**table, "le": np.array([item.le for item in piece])})
            keys = found["sym"].tolist() if "sym" in found else [None] * len(found["le"])
            rows = zip(found["n"].tolist(), found["le"].tolist(), found["re"].tolist(), found["diff"].tolist(), keys)
            out += [Change((n,), le, re, diff, key) for n, le, re, diff, key in rows]
    return out


def net(out: list[Any]) -> Counter[Any]:
    """What changes leave in force."""
    left: Counter[Any] = Counter()
    for change in out:
        if isinstance(change, Change):
            left[tuple(change.payload), change.le, change.re, change.key] += change.diff
    return Counter({match: n for match, n in left.items() if n})


def round_of(make: Callable[[str], Any], engine: str, seed: str) -> None:
    """One operator, and threads on it; an `AssertionError` where no calls one after the other would have had the result."""
    operator, outs, errors, going = make(engine), [], list[BaseException](), True
    lists = [events(Seeded(f"{seed}/{i}"), i) for i in range(PUSHERS)]

    def guarded(work: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)

        return run

    def swap() -> None:
        for i in range(30):
            outs.append(operator.push_arc(insert(SWAPPED, 3 * i, 3 * i + 40)))
            outs.append(operator.push_arc(retract(SWAPPED, 3 * i, 3 * i + 40)))

    def ask() -> None:
        while going:
            operator.snapshot()
            assert operator.statistics.changes <= PUSHERS * EVENTS
            operator._check()
            time.sleep(0.001)

    def push(i: int) -> None:
        outs.append(pushed(operator, lists[i], Seeded(f"{seed}/ways/{i}")))

    asking = threading.Thread(target=guarded(ask))
    threads = [threading.Thread(target=guarded(lambda i=i: push(i))) for i in range(PUSHERS)]  # type: ignore[misc]
    threads.append(threading.Thread(target=guarded(swap)))
    for thread in (asking, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    going = False
    asking.join()
    if errors:
        raise errors[0]
    operator._check()
    outs.append(operator.push(Punctuation(1000)))
    assert operator.statistics.changes == PUSHERS * EVENTS
    alone = make(engine)
    wanted = [alone.push_many(sorted((item for items in lists for item in items), key=lambda item: item.le))]
    wanted.append(alone.push(Punctuation(1000)))
    found, expected = net([change for out in outs for change in out]), net([change for out in wanted for change in out])
    assert found == expected, f"missing {expected - found}, too much {found - expected}"


def numbered(seed: str, number: int) -> tuple[str, str]:
    """What kind of operator a round is on, and its seed."""
    return tuple(MAKES)[number % len(MAKES)], f"{seed}/{number // len(MAKES)}"


def run(world: tuple[str, str], engine: str) -> Seen:
    """One round, of threads that take turns often."""
    name, seed = world
    usual = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    try:
        round_of(MAKES[name], engine, seed)
    finally:
        sys.setswitchinterval(usual)
    return Seen(rounds=1)


WORLDS = Worlds("threads", numbered, run)
