"""The example of Flink's manual for MATCH_RECOGNIZE, as it stands there: one match, whose times are times."""

from __future__ import annotations

import json

from tests.cli import call, write
from tests.cli import there as there  # the fixture of all tests here

SQL = """
SELECT *
FROM Ticker
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            START_ROW.rowtime AS start_tstamp,
            LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
            LAST(PRICE_UP.rowtime) AS end_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    ) MR;
"""
PRICES = (12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19)


def test_the_example_of_the_manual() -> None:
    rows = [f"ACME,2011-04-01 10:00:{second:02d},{price},1" for second, price in enumerate(PRICES)]
    write("ticker.csv", "\n".join(["symbol,rowtime,price,tax", *rows, ""]))
    write("ticker.sql", SQL)
    call("run", "ticker.sql", "ticker.csv", "--output", "changes.jsonl", "--quiet")
    with open("changes.jsonl", encoding="utf-8") as file:
        (change,) = map(json.loads, file)
    assert (change["symbol"], change["diff"]) == ("ACME", 1)
    times = [change[name] for name in ("start_tstamp", "bottom_tstamp", "end_tstamp")]
    assert [str(time)[:19] for time in times] == [f"2011-04-01T10:00:{second:02d}" for second in (4, 7, 8)]
