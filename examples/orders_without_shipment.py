"""Orders that are not shipped within two days: a negation at the end, whose matches come when time has passed.

An order's key gets no rows while it waits. What makes its match final is the watermark: no earlier row comes any more; at the end
of the input the watermark says whether orders that are still open count as late (`FOREVER`) or are left open (the latest time).

It prints:

    rows of 40 hours: nothing
    the watermark is at hour 52: + order 1, placed at hour 3, is late at hour 51
    order 1 was shipped at hour 50, reported late: nothing can be said any more, 1 late row
    order 2 is shipped at hour 54: nothing
    the input ends at hour 60: nothing, 1 order is open
    nothing comes any more: + order 3, placed at hour 20, is late at hour 68
"""

from __future__ import annotations

from typing import NamedTuple

import afa
from afa import FOREVER, Change, Punctuation, insert


class Row(NamedTuple):
    type: str
    order: int
    at: afa.Instant = 0  # filled with the row's time


LATE = afa.query(
    """
    PATTERN SEQ(Order o, ~(Shipment s))
    WHERE skip_till_next_match(o, s) { [order] }
    WITHIN 48 hours
    RETURN o.order, o.at AS placed
    """,
    event=Row,
    tick="h",
)


def told(out: list[Change | Punctuation]) -> str:
    lines = [
        f"{'+' if c.diff > 0 else '-'} order {c.payload.o_order}, placed at hour {c.payload.placed}, is late at hour {c.le}"
        for c in out
        if isinstance(c, Change)
    ]
    return ", ".join(lines) or "nothing"


def main() -> None:
    op = LATE.operator(late="drop")
    rows = [("Order", 1, 3), ("Order", 2, 10), ("Order", 3, 20), ("Order", 4, 30), ("Shipment", 4, 40)]
    print("rows of 40 hours:", told(op.push_many([insert(Row(type, order), at) for type, order, at in rows])))
    print("the watermark is at hour 52:", told(op.push(Punctuation(52))))
    op.push(insert(Row("Shipment", 1), 50))
    print("order 1 was shipped at hour 50, reported late: nothing can be said any more,", op.statistics.late, "late row")
    print("order 2 is shipped at hour 54:", told(op.push(insert(Row("Shipment", 2), 54))))
    print("the input ends at hour 60:", told(op.push(Punctuation(60))) + ",", op.open_timeouts, "order is open")
    print("nothing comes any more:", told(op.push(Punctuation(FOREVER))))


if __name__ == "__main__":
    main()
