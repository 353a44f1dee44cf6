"""A negation in the middle: an item leaves its shelf and the shop, and no register saw it between. As text, in Python, in SQL.

The reading of the register comes late: what was announced is withdrawn.

It prints:

    item 7 goes by the exit at 30: + Theft(place='A1') [30, 43210)
    item 8 goes by the exit at 40: nothing
    item 7 was at the register at 20: - Theft(place='A1') [30, 43210)
"""

from __future__ import annotations

from typing import NamedTuple

import afa
from afa import Change, insert
from afa.language import one


class Reading(NamedTuple):
    type: str
    tag: int
    place: str = ""


class Theft(NamedTuple):
    place: str


TEXT = """
    PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE skip_till_next_match(a, b, c) { [tag] }
    WITHIN 12 hours
    RETURN Theft(a.place AS place)
"""
PYTHON = one("a", "Shelf").absent("b", "Register").followed_by(one("c", "Exit")).by("tag").within(hours=12)
SQL = """
    SELECT * FROM readings MATCH_RECOGNIZE (
        PARTITION BY tag ORDER BY at
        MEASURES a.place AS place
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a x*? c) WITHIN INTERVAL '12' HOUR
        DEFINE a AS type = 'Shelf', x AS type NOT IN ('Register', 'Exit'), c AS type = 'Exit'
    )
"""


def told(out: list[Change]) -> str:
    return ", ".join(f"{'+' if c.diff > 0 else '-'} {c.payload} [{c.le}, {c.re})" for c in out) or "nothing"


def main() -> None:
    query = afa.query(TEXT, event=Reading, tick="s")
    assert PYTHON.returns(lambda m: Theft(m.a.place)).query(Reading, tick="s") == query
    op, in_sql = query.operator(), afa.sql(SQL, event=Reading, tick="s").operator()

    def push(type: str, tag: int, le: int) -> str:
        change = insert(Reading(type, tag, f"A{le // 10}"), le)
        out = op.push(change)
        assert [tuple(c.payload) for c in in_sql.push(change)] == [tuple(c.payload) for c in out]
        return told(out)

    for tag, type, le in [(7, "Shelf", 10), (8, "Shelf", 11), (8, "Register", 12)]:
        push(type, tag, le)
    print("item 7 goes by the exit at 30:", push("Exit", 7, 30))
    print("item 8 goes by the exit at 40:", push("Exit", 8, 40))
    print("item 7 was at the register at 20:", push("Register", 7, 20))


if __name__ == "__main__":
    main()
