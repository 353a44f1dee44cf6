"""Orders out of a database by Debezium: a row that says when it was placed, shipped and paid becomes three events.

Messages come twice and out of order, as Kafka delivers them: what comes to count is the table. A payment that was booked wrongly is
mended in its row, and the match goes. The history is `examples/orders/orders.jsonl`; on the command line it is

    afa run examples/orders/shipped_unpaid.sase examples/orders/orders.jsonl --format debezium --id id \\
        --fact placed=placed_at --fact shipped=shipped_at --fact paid=paid_at

It prints:

    + order 2 of bob was shipped before it was paid, at 11:00
    + order 3 of cid was shipped before it was paid, at 11:10
    - order 2 of bob was shipped before it was paid, at 11:00
    14 messages, 3 orders in force
"""

from __future__ import annotations

from pathlib import Path

import afa
from afa import feeds

FOLDER = Path(__file__).parent / "orders"
FACTS = {"placed": "placed_at", "shipped": "shipped_at", "paid": "paid_at"}


def main() -> None:
    lines = (FOLDER / "orders.jsonl").read_text(encoding="utf-8").splitlines()
    feed = feeds.ChangeFeed("debezium", key="id", facts=FACTS)
    events = feed.push(lines[:1])
    query = afa.query((FOLDER / "shipped_unpaid.sase").read_text(encoding="utf-8"), event=events, tick="ms")
    operator = query.operator()
    operator.push_many(events)
    for line in lines[1:]:  # in life: what a poll has brought
        for match in operator.push_many(feed.push([line])).to_pylist():
            sign = "+" if match["diff"] > 0 else "-"
            print(f"{sign} order {match['id']} of {match['s_customer']} was shipped before it was paid, at {match['le']:%H:%M}")
    rows = feeds.debezium(lines, key="id", time="placed_at")
    print(f"{len(lines)} messages, {sum(rows['diff'].to_pylist())} orders in force")


if __name__ == "__main__":
    main()
