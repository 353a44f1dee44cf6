"""A chain of events, each of which leads on from the one before: where has what left a contaminated site been taken?

Skip till any match: every shipment may be part of a chain or not, so that all ways are found. Each prefix of a chain is a match,
and equal answers are one. SQL has no form of it: there a row is passed over once only.

It prints:

    found: Oslo, Paris, Rome
    the shipment to Paris is struck out: Oslo, Rome
"""

from __future__ import annotations

from typing import Any, NamedTuple

import afa
from afa import insert, retract
from afa.language import many, one


class Report(NamedTuple):
    type: str
    site: str  # of an alert; of a shipment: where it comes from
    to: str = ""


TEXT = """
    PATTERN SEQ(Alert a, Shipment+ b[])
    WHERE skip_till_any_match(a, b[]) { b[1].site = a.site and b[i].site = b[i-1].to }
    WITHIN 3 hours
    RETURN b[b.LEN].to AS site
"""
PYTHON = (
    one("a", "Alert")
    .followed_by_any(many("b", "Shipment", first=lambda e, m: e.site == m.a.site, where=lambda e, m: e.site == m.b.last.to).any())
    .within(hours=3)
    .returns(site=lambda m: m.b.last.to)
)
REPORTS = [
    (Report("Alert", "Bonn"), 0),
    (Report("Shipment", "Bonn", "Rome"), 10),
    (Report("Shipment", "Rome", "Paris"), 20),
    (Report("Shipment", "Lima", "Cairo"), 25),
    (Report("Shipment", "Rome", "Oslo"), 30),
]


def main() -> None:
    query = afa.query(TEXT, event=Report, tick="min")
    assert PYTHON.query(Report, tick="min") == query
    op: Any = query.operator()
    sites = {change.payload.site for change in op.push_many([insert(report, le) for report, le in REPORTS])}
    print("found:", ", ".join(sorted(sites)))
    sites -= {change.payload.site for change in op.push(retract(*REPORTS[2]))}
    print("the shipment to Paris is struck out:", ", ".join(sorted(sites)))


if __name__ == "__main__":
    main()
