"""Ties: the mappers of a job, some of which end in the same millisecond, and what they took.

Events of one instant are alternatives, of which a match takes one; `order_by=` names a field that puts them in order, so that every
mapper counts. In SQL, which takes rows in a row, it is the second column of ORDER BY.

It prints:

    without an order: 3 matches
    in order: Job(mean=4.0, top=7, maps=3)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import afa
from afa import insert
from afa.language import many, one


class Task(NamedTuple):
    type: str
    job: int
    attempt: int = 0
    period: int = 0


class Job(NamedTuple):
    mean: float
    top: int
    maps: int


TEXT = """
    PATTERN SEQ(JobStart a, Mapper+ b[], JobEnd c)
    WHERE skip_till_next_match(a, b[], c) { [job] }
    WITHIN 1 day
    RETURN Job(avg(b[].period) AS mean, max(b[].period) AS top, b.LEN AS maps)
"""
PYTHON = (
    one("a", "JobStart")
    .followed_by(many("b", "Mapper"))
    .followed_by(one("c", "JobEnd"))
    .by("job")
    .within(days=1)
    .returns(lambda m: Job(m.b.avg.period, m.b.max.period, m.b.count))
)
SQL = """
    SELECT * FROM tasks MATCH_RECOGNIZE (
        PARTITION BY job ORDER BY at, attempt
        MEASURES AVG(b.period) AS mean, MAX(b.period) AS top, COUNT(b.*) AS maps
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (a b+ c) WITHIN INTERVAL '1' DAY
        DEFINE a AS type = 'JobStart', b AS type = 'Mapper', c AS type = 'JobEnd'
    )
"""
TASKS = [(Task("JobStart", 1), 0), (Task("JobEnd", 1), 90)]
TASKS += [(Task("Mapper", 1, attempt, period), 60) for attempt, period in enumerate((2, 3, 7), 1)]


def main() -> None:
    rows: Any = [insert(task, le) for task, le in TASKS]
    ties = afa.query(TEXT, event=Task, tick="ms")
    print("without an order:", len(ties.operator().push_many(rows)), "matches")
    query = afa.query(TEXT, event=Task, tick="ms", order_by="attempt")
    assert PYTHON.order_by("attempt").query(Task, tick="ms") == query
    for in_order in (query, afa.sql(SQL, event=Task, tick="ms")):
        (found,) = in_order.operator().push_many(rows)
        assert tuple(found.payload) == Job(4.0, 7, 3)
    print("in order:", Job(*found.payload))


if __name__ == "__main__":
    main()
