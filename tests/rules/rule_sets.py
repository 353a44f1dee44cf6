"""Random sets of rules, as texts, and streams: late, retracted, promised."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import afa

TYPES = "ABCDE"


class Payment(NamedTuple):
    type: str
    key: int
    x: float
    n: int
    who: str
    y: float | None = None


def drawn_type(r: random.Random) -> str:
    """A type, of Zipf's frequencies."""
    return r.choices(TYPES, [1 / (i + 1) for i in range(len(TYPES))])[0]


def condition(r: random.Random, name: str) -> str:
    """A condition on one event, or none."""
    low = round(r.uniform(0, 1), 1)
    return r.choice(
        (
            "",
            f" and {name}.x > {low}",
            f" and {name}.x <= {low} and {name}.n > {r.randrange(3)}",
            f" and {name}.x >= {low} and {name}.x < {low + 0.4}",
            f" and {name}.who == '{r.choice('mno')}'",
            f" and {name}.y > {low}",
            f" and {name}.n != {r.randrange(3)}",
            f" and {name}.x + {name}.x > {2 * low}",
            f" and ({name}.n == {r.randrange(3)} or {name}.x > {low})",
        )
    )


def text(r: random.Random) -> str:
    """A rule as SASE+ text."""
    a, b, c = (drawn_type(r) for _ in range(3))
    strategy = r.choice(("next", "next", "any"))
    kind = r.choice(("two", "three", "not", "many", "ratio"))
    window = r.choice((4, 9, 20))
    key = r.choice(("[key] and ", "[key] and ", "[key] and ", ""))
    factor = round(r.uniform(0.5, 2), 1)
    if kind == "two":
        pattern, names, asked, shown = f"{a} a, {b} b", "a, b", ("a", "b"), "a.x AS ax, b.n AS bn"
    elif kind == "three":
        pattern, names, asked, shown = f"{a} a, {b} b, {c} c", "a, b, c", ("a", "b", "c"), "a.x AS ax, c.y AS cy"
    elif kind == "not":
        pattern, names, asked, shown = f"{a} a, ~({c} n), {b} b", "a, b", ("a", "b", "n"), "a.x AS ax, b.who AS w"
    elif kind == "many":
        pattern, names, asked, shown = f"{a} a, {b}+ b[], {c} c", "a, b[], c", ("a", "c"), "a.x AS ax, b.LEN AS times"
        strategy = "next"
    else:
        pattern, names, asked, shown = f"{a} a, {b} b", "a, b", ("a", "b"), "a.x AS ax, b.x AS bx"
    where = key + "a.n >= 0" + "".join(condition(r, name) for name in asked)
    where += f" and b.x > a.x * {factor}" if kind == "ratio" else ""
    where += " and b[i].x > b[i-1].x" if kind == "many" and r.random() < 0.5 else ""
    taken = f"skip_till_{strategy}_match({names})"
    return f"PATTERN SEQ({pattern}) WHERE {taken} {{ {where} }} WITHIN {window} RETURN {shown}"


def rules(r: random.Random, n: int) -> dict[str, str]:
    return {f"rule {i}": text(r) for i in range(n)}


def event(r: random.Random, keys: int) -> Payment:
    y = None if r.random() < 0.3 else round(r.random(), 1)
    return Payment(drawn_type(r), r.randrange(keys), round(r.random(), 1), r.randrange(4), r.choice("mno"), y)


def calls(r: random.Random, steps: int, most: int = 6, keys: int = 2) -> list[tuple[list[afa.Change], int | None]]:
    """Calls of some changes each, perhaps with a promise behind them; none is late behind a promise."""
    held: list[Any] = []
    found, now, promised = [], 0, 0
    for _ in range(steps):
        batch = []
        for _ in range(r.randrange(1, most + 1)):
            live = [change for change in held if change[1] >= promised]
            if live and r.random() < 0.2:
                one = r.choice(live)
                held.remove(one)
                batch.append((*one, -1))
                continue
            le = max(promised, now - r.randrange(8)) if r.random() < 0.3 else now
            now += r.randrange(3)
            one = (event(r, keys), le)
            if r.random() < 0.05:  # its retraction comes first
                batch.append((*one, -1))
            else:
                held.append(one)
            batch.append((*one, 1))
        promise = max(promised, now - r.randrange(15)) if r.random() < 0.2 else None
        promised = promised if promise is None else promise
        found.append((batch, promise))
    return found
