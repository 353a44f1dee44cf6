"""Draw the pictures of automata that the pages show, into docs/pictures: ``python -m docs.pictures``. Tests hold them current."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import afa
from afa import Arc, Automaton, Operator, insert

FOLDER = Path(__file__).parent / "pictures"


class Tick(NamedTuple):
    change: float


class Falls(NamedTuple):
    total: float = 0.0


class Stock(NamedTuple):
    symbol: str
    price: float
    volume: int = 0


class Reading(NamedTuple):
    type: str
    tag: int


def rebound() -> str:
    """The pattern of how-it-works.md."""
    return Automaton(
        start="start",
        final={"rebound"},
        register=Falls(),
        event=Tick,
        arcs=[
            Arc("start", "falling", "change < 0", "(r.total + e.change,)"),
            Arc("falling", "falling", "change < 0", "(r.total + e.change,)"),
            Arc("falling", "falling", "change == 0"),
            Arc("falling", "rebound", "change > 0 and r.total < -2", name="turn"),
        ],
    ).draw()


def swapped() -> str:
    """The same pattern in an operator, after a swap of its last arc at the timestamp 5."""
    arcs = [
        Arc("start", "falling", "change < 0", "(r.total + e.change,)"),
        Arc("falling", "falling", "change < 0", "(r.total + e.change,)"),
        Arc("falling", "falling", "change == 0"),
        Arc("falling", "rebound", "change > 0 and r.total < -2", name="turn"),
    ]
    op = Operator(Automaton(start="start", final={"rebound"}, register=Falls(), event=Tick, arcs=arcs), window=60)
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


PICTURES = {"rebound": rebound, "swapped": swapped, "vee": vee, "theft": theft}


def main() -> None:
    """Write each picture, as a file of its name."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
