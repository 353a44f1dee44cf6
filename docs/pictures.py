"""Draw the pictures of automata that docs/ and examples/ show: ``python -m docs.pictures``. Tests hold them current."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import afa
from afa import Arc, Automaton, Operator, insert

ROOT = Path(__file__).parents[1]


class Tick(NamedTuple):
    change: float


class Falls(NamedTuple):
    total: float = 0.0


class Stock(NamedTuple):
    symbol: str
    price: float
    volume: int = 0


class Pay(NamedTuple):
    card: str
    kind: str
    amount: float


class Reading(NamedTuple):
    type: str
    tag: int


FALLS = [
    Arc("start", "falling", "change < 0", "(r.total + e.change,)"),
    Arc("falling", "falling", "change < 0", "(r.total + e.change,)"),
]
FLAT = Arc("falling", "falling", "change == 0")
TURN = Arc("falling", "rebound", "change > 0 and r.total < -2", name="turn")


def automaton(*arcs: Arc) -> Automaton:
    """The automaton of most pages, with these arcs behind the first two."""
    return Automaton(start="start", final={"rebound"}, register=Falls(), event=Tick, arcs=[*FALLS, *arcs])


def pattern() -> str:
    """The pattern of guide/pattern.md."""
    return automaton(TURN).draw()


def live() -> str:
    """The same in an operator, after a swap of its last arc at the timestamp 3: guide/swaps.md."""
    op = Operator(automaton(TURN), window=60)
    op.push_many([insert(Tick(-1.0), 1), insert(Tick(-0.5), 2)])
    op.swap("turn", fence="change > 0 and r.total < -1")
    return op.draw()


def rebound() -> str:
    """The pattern of how-it-works.md, which ignores what does not move."""
    return automaton(FLAT, TURN).draw()


def swapped() -> str:
    """That pattern in an operator, after a swap of its last arc at the timestamp 5."""
    op = Operator(automaton(FLAT, TURN), window=60)
    op.push_many([insert(Tick(-1.5), 1), insert(Tick(-1.5), 2), insert(Tick(2.0), 4)])
    op.swap("turn", fence="change > 0 and r.total < -5")
    return op.draw()


def vee() -> str:
    """The first query of queries.md."""
    text = """
        PATTERN SEQ(Stock a, Stock+ d[], Stock+ u[])
        WHERE partition_contiguity(a, d[], u[]) {
            [symbol] and d[1].price < a.price and d[i].price < d[i-1].price
            and u[1].price > d[d.LEN].price and u[i].price > u[i-1].price
        }
        WITHIN 1 hour
        RETURN d[d.LEN].price AS low, u[u.LEN].price AS top
    """
    return afa.query(text, event=Stock, tick="s").draw()


def theft() -> str:
    """A query with a negation, its arcs in words."""
    text = """
        PATTERN SEQ(Shelf a, ~(Register b), Exit c)
        WHERE skip_till_next_match(a, b, c) { [tag] }
        WITHIN 12 hours
    """
    return afa.query(text, event=Reading, tick="s").draw(labels="names")


def declined() -> str:
    """The query of tutorial/first-query.md."""
    text = """
        PATTERN SEQ(Pay a, Pay b)
        WHERE partition_contiguity(a, b) { [card] and a.kind = 'declined' and b.kind = 'declined' }
        WITHIN 10 minutes
        RETURN a.amount AS first, b.amount AS second
    """
    return afa.query(text, event=Pay, tick="ms").draw()


def changed() -> str:
    """The query of tutorial/change.md in an operator, after its change."""
    text = """
        PATTERN SEQ(Pay a, Pay b)
        WHERE skip_till_next_match(a, b) { [card] and a.amount < 10 and b.amount > 500 }
        WITHIN 100
    """
    before, after = (afa.query(each, event=Pay) for each in (text, text.replace("500", "400")))
    op = before.operator()
    op.push(insert(Pay("anna", "", 5.0), 1))
    op.push_many(before.changes_to(after).arcs)
    return op.draw()


def example(name: str, pattern: str, labels: str) -> Callable[[], str]:
    """Return what draws the automaton, or the query, that an example has under a name, or makes of a threshold."""

    def draw() -> str:
        found = getattr(importlib.import_module(f"examples.{name}"), pattern)
        return str((found if hasattr(found, "draw") else found(1.0)).draw(labels=labels))

    return draw


EXAMPLES = {
    "timeout": ("PATTERN", "code"),
    "worked_example": ("TWO_VEES", "code"),
    "head_and_shoulders": ("PATTERN", "code"),
    "double_top": ("QUERY", "names"),
    "vees_until_recovered": ("PATTERN", "names"),
    "counters": ("PATTERN", "code"),
    "brackets": ("PATTERN", "code"),
    "uncertain_readings": ("PATTERN", "code"),
    "library_steps": ("PATTERN", "code"),
    "chained": ("DEEPER", "code"),
    "why_not": ("PATTERN", "code"),
    "floors": ("PATTERN", "code"),
    "monitor_manage_mine": ("ALERT", "code"),
    "backtest": ("dip", "code"),
    "intrusion_rules": ("PATTERN", "code"),
}
PICTURES = {f"docs/pictures/{draw.__name__}.svg": draw for draw in (pattern, live, rebound, swapped, vee, theft, declined, changed)}
PICTURES |= {f"examples/pictures/{name}.svg": example(name, *how) for name, how in EXAMPLES.items()}


def main() -> None:
    """Write each picture."""
    for name, draw in PICTURES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(draw() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
