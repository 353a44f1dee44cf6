"""A query asked twice: once as if recorded times were right, and once in possible worlds."""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.uncertain import Clock, Sequence, Worlds
from examples.hadoop.events import CLOCK, Event, Table
from examples.hadoop.queries import Study

CONFIDENT, LIKELY = 0.9, 0.1
"""Below the first a match is called doubtful; from the second on one that the exact run has not is called missed."""
TENTH = 100
OFF_AS_A_WHOLE = Clock(by="host", skew=CLOCK)
Matches = dict[tuple[Any, ...], float]


class Comparison(NamedTuple):
    """What a run on exact times reports, beside the confidence of each match."""

    reported: set[tuple[Any, ...]]
    confidence: Matches

    @property
    def doubtful(self) -> list[tuple[Any, ...]]:
        """Matches that are reported, with a confidence below 0.9; the least certain ones first."""
        found = [match for match in self.reported if self.confidence.get(match, 0.0) < CONFIDENT]
        return sorted(found, key=lambda match: (self.confidence.get(match, 0.0), match))

    @property
    def missed(self) -> list[tuple[Any, ...]]:
        """Matches that are not reported, though they have a confidence of 0.1 or more; the likeliest first."""
        found = [match for match, p in self.confidence.items() if p >= LIKELY and match not in self.reported]
        return sorted(found, key=lambda match: (-self.confidence[match], match))

    def instead(self, match: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return what else may have happened to the same job, or attempt; the likeliest first."""
        found = [other for other in self.confidence if other[0] == match[0] and other != match]
        return sorted(found, key=lambda other: (-self.confidence[other], other))


def exactly(study: Study, table: Table) -> set[tuple[Any, ...]]:
    """Return the matches of a run that takes recorded times for right."""
    return set(_matches(study, study.query.operator().push_many(table)))


def in_worlds(study: Study, table: Table, worlds: int, clock: Clock | None = None) -> Matches:
    """Return the confidence of each match: events off by their intervals, each on its own; or by what a clock says."""
    query = study.query
    intervals: dict[str, Any] = {"clock": clock} if clock is not None else {"lower": "lower", "upper": "upper"}
    operator = Worlds(
        query.automaton, worlds, key=query.key, window=query.window, order_by="id" if study.order else None, tick="ms", **intervals
    )
    out = operator.push_many(table)
    return dict(zip(_matches(study, out), out["confidence"].tolist()))


def in_tenths(table: Table) -> Matches:
    """Return the exact confidences of Query 1, in tenths of a second as in the paper, by `Sequence`: without worlds."""
    components = {
        "a": "type == 'TaskStart'", "b": "type == 'CPU' and value > 95",
        "c": "type == 'TaskFinish'", "d": "type == 'CPU' and value <= 70",
    }  # fmt: skip
    operator = Sequence(components, window=15_000 // TENTH, event=Event, key="attempt", identity="id")
    half = (table["upper"] - table["le"]) // TENTH
    middle = table["le"] // TENTH
    out = operator.push_many(table | {"lower": middle - half, "upper": middle + half})
    return dict(zip(zip(out["attempt"], out["b"], out["d"]), out["confidence"]))


def _matches(study: Study, out: Table) -> list[tuple[Any, ...]]:
    assert isinstance(study.query.key, str)
    names = [study.query.key, *(field.name for field in study.query.automaton.match_schema.fields)]
    return list(zip(*(out[name].tolist() for name in names)))
