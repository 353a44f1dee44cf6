"""How does the rate depend on the number of keys? Q1, k = 1; a punctuation after every batch of 100,000 events.

Events of the keys in turn; with those of a key side by side in each batch, and in batches of ten times as many; and keys drawn by
Zipf's law (exponent 1.1).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from afa import Keyed
from bench.drive import batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio
from bench.queries import q1
from bench.workloads import grouped, keyed, punctuated

KEYS = (1, 10, 100, 1_000, 10_000, 100_000)
BATCH = 100_000


def measure(o: Options) -> list[Row]:
    return [number(o, keys) for keys in (o.some(KEYS) if o.scale != "tiny" else (1, 20))]


def number(o: Options, keys: int) -> Row:
    """One number of keys. A window is `WINDOW` events of a key; LEs run over all keys."""
    n, batch = o.size(2_000_000), o.size(BATCH)
    turns = keyed(n, keys)

    def make() -> Any:
        return Keyed(q1(), key="key", window=WINDOW * keys, engine=o.engine)  # type: ignore[arg-type]

    orders = {
        "in turn": (turns, batch),
        "grouped": (grouped(turns, batch), batch),
        "zipf": (keyed(n, keys, zipf=1.1), batch),
    }
    if keys <= 10_000:
        orders["large"] = (grouped(keyed(4 * n, keys), 10 * batch), 10 * batch)
    runs = {}
    for name, (stream, size) in orders.items():
        # A promise that splits no batch: rows of a batch and its punctuation go together.
        fed = batched(punctuated(stream, size), size + 1)
        runs[name] = partial(run, make, fed)
    columns = interleaved(runs, o.rounds, agree=False)
    assert columns["in turn"][0].answer == columns["grouped"][0].answer, "the order of keys changed the answer"
    return {
        "keys": keys,
        "events per key and batch": batch / keys,
        "in turn, M events/s": rates(columns["in turn"]),
        "grouped, M events/s": rates(columns["grouped"]),
        **({"grouped, batches of 1,000,000, M events/s": rates(columns["large"])} if "large" in columns else {}),
        "Zipf, M events/s": rates(columns["zipf"]),
        "grouped, relative to in turn": ratio(columns["grouped"], columns["in turn"]),
        "matches": columns["grouped"][0].final,
    }
