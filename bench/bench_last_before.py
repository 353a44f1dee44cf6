"""What does it cost to look back? A query with a negation at the start beside the same automaton over events that know already.

Trades of a hundred symbols in turn, one in fifty an alarm; the query is a fall without an alarm before, in order and with a tenth
of the rows 1 to 1000 places late. Beside it stands the operator alone with the query's automaton, over the same stream with the
time of the last alarm filled in as it will be: nothing is worked out there, and nothing revised.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import afa
from afa import Keyed
from bench.drive import batched, run
from bench.measure import Options, Row, interleaved, rates, ratio, spread
from bench.workloads import Stream, punctuated, shifted

SYMBOLS, UP, WINDOW = 100, 0.6, 2000
BATCHES = (1000, 20_000)


class Trade(NamedTuple):
    """A trade, or an alarm."""

    symbol: int
    alarm: int
    price: int


def trades(n: int, late: float, seed: int = 1) -> Stream:
    """Trades of many symbols in turn; a share of them comes late."""
    rng = np.random.default_rng(seed)
    price = 1000 + np.cumsum(np.where(rng.random(n) < UP, 1, -1))
    alarm = (rng.random(n) < 0.02).astype(np.int64)
    return shifted({"symbol": np.arange(n) % SYMBOLS, "alarm": alarm, "price": price, "le": np.arange(n)}, late)


def calm() -> afa.Query:
    """No alarm, then two trades of a symbol of which the second one is cheaper."""
    return afa.query(
        "PATTERN SEQ(~(Trade n), Trade a, Trade b) WHERE partition_contiguity "
        "{ [symbol] and n.alarm = 1 and a.alarm = 0 and b.alarm = 0 and b.price < a.price } "
        f"WITHIN {WINDOW} RETURN a.price, b.price",
        event=Trade,
    )


def filled(stream: Stream, field: str) -> Stream:
    """The stream with the time of the last alarm of each symbol before each event."""
    order = np.lexsort([stream["le"], stream["symbol"]])
    last, found, symbol = None, np.empty(len(order), object), None
    for i in order.tolist():
        if stream["symbol"][i] != symbol:
            symbol, last = stream["symbol"][i], None
        le = int(stream["le"][i])
        found[i] = last if last is not None and last > le - WINDOW else None
        last = le if stream["alarm"][i] else last
    return {**stream, field: found}


def measure(o: Options) -> list[Row]:
    rows: list[Row] = []
    query, engine = calm(), o.engine
    schema = query.automaton.event_schema
    assert schema is not None
    field = next(f.name for f in schema.fields if f.name not in Trade._fields and f.name != schema.instant)
    for late in (0.0, 0.1):
        stream = trades(o.size(400_000, least=4000), late)
        for size in o.some(list(BATCHES)):
            alone: Any = partial(Keyed, query.automaton, key="symbol", window=query.window, engine=engine)
            fed = {
                "looking": batched(punctuated(stream, size), size, arrow=True),
                "filled": batched(punctuated(filled(stream, field), size), size, arrow=True),
            }
            makes = {"looking": partial(query.operator, engine=engine), "filled": alone}
            columns = interleaved({name: partial(run, make, fed[name]) for name, make in makes.items()}, o.rounds)
            looking, known = columns["looking"], columns["filled"]
            rows.append(
                {
                    "late, %": round(100 * late),
                    "batch": size,
                    "matches": looking[0].final,
                    "records": looking[0].records,
                    "M events/s": rates(looking),
                    "events that know, M events/s": rates(known),
                    "rate, relative to events that know": ratio(looking, known),
                    "looking back, us an event": spread([(a.seconds - b.seconds) * 1e6 / a.events for a, b in zip(looking, known)]),
                }
            )
    return rows
