"""What the compiled engine must show, and what the results say to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.measure import Row

LIGHT = ("Q1 k=1", "Q1 k=2", "Q2 p=.7", "Q3")


class Target(NamedTuple):
    """A bound on one column of one benchmark, over the rows that it speaks of: the worst of them counts.

    Parameters
    ----------
    question : str
    bench : str
    column : str
    least, most : float, optional
        The bound; one of them.
    where : mapping
        Which rows: the values that their columns must have, or one of several.
    unit : str
        What the figures are, in words.
    """

    question: str
    bench: str
    column: str
    least: float | None = None
    most: float | None = None
    where: Mapping[str, Any] = {}
    unit: str = ""

    def measured(self, rows: Sequence[Row]) -> float | None:
        """The worst median among the rows; None if there is none."""
        values = [middle(row[self.column]) for row in rows if row.get(self.column) is not None and self._speaks_of(row)]
        if not values:
            return None
        return min(values) if self.least is not None else max(values)

    def _speaks_of(self, row: Row) -> bool:
        return all(row.get(name) in (value if isinstance(value, tuple) else (value,)) for name, value in self.where.items())

    def met(self, value: float) -> bool:
        """Whether a figure keeps the bound."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)

    @property
    def wanted(self) -> str:
        """The bound in words."""
        bound = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return f"{bound} {self.unit}".strip()


def middle(value: Any) -> float:
    """The median of a spread, or the figure itself."""
    return float(value["median"] if isinstance(value, dict) else value)


TARGETS = (
    Target("Q1 k=1,2, Q2 p=.7, Q3, in order", "queries", "times interpreted", least=100, where={"query": LIGHT}, unit="times"),
    Target("the same", "queries", "M events/s", least=25, where={"query": LIGHT}, unit="M events/s"),
    Target("fields that may be None, and are not", "nulls", "may be None, relative", least=0.9, unit="of the rate without None"),
    Target("a query beside the automaton by hand", "language", "rate, relative to by hand", least=0.95, unit="of by hand"),
    *(
        Target(
            f"the same, {share} shifted by 1..1000",
            "disorder",
            "relative to in order",
            least=least,
            where={"query": LIGHT, "disorder": share},
            unit="of the rate in order",
        )
        for share, least in (("10%", 0.45), ("20%", 0.30))
    ),
    Target(
        "Q2 p=.5, 20 %, batches of 10,000",
        "heavy",
        "M events/s",
        least=3,
        where={"batch": 10_000, "disorder": "20%"},
        unit="M events/s",
    ),
    *(
        Target(
            f"Q3, an arc swapped every {d:,} events", "swap", "relative to static", least=least, where={"d": d}, unit="of static"
        )
        for d, least in ((10, 0.90), (100, 0.95), (1_000, 0.98))
    ),
    Target("restart at d = 10", "swap", "times restart", least=100, where={"d": 10}, unit="times slower"),
    *(
        Target(f"{kind}, {cache} cache on disk", "swap", "CPU ms", most=most, where={"new arc": kind, "cache": cache}, unit=unit)
        for kind, cache, most, unit in (
            ("changed constant", "cold", 1.0, "ms CPU (no compile)"),
            ("known shape", "cold", 1.0, "ms CPU (no compile)"),
            ("new shape", "cold", 10.0, "ms CPU"),
            ("new shape", "warm", 1.0, "ms CPU"),
        )
    ),
    Target(
        "ignorable 90 %: memory", "ignorable", "memory, relative to plain", most=0.35, where={"ignorable": "90%"}, unit="of plain"
    ),
    Target(
        "ignorable 90 %: rate",
        "ignorable",
        "rate, relative to plain",
        least=2,
        where={"ignorable": "90%"},
        unit="times plain",
    ),
    Target(
        "ignorable 90 %, 5 % disorder: output",
        "ignorable",
        "records per final match",
        most=1.3,
        where={"ignorable": "90%", "disorder": "5%"},
        unit="records per final match",
    ),
    *(
        Target(f"10,000 keys, grouped batches of {size}", "keys", column, least=5, where={"keys": 10_000}, unit="M events/s")
        for size, column in (("100,000", "grouped, M events/s"), ("1,000,000", "grouped, batches of 1,000,000, M events/s"))
    ),
    *(
        Target(f"1,000,000 keys: {case}", "keys", "M rows/s", least=least, where={"case": case}, unit="M rows/s of CPU")
        for case, least in (
            ("a row of each key, all new", 3),
            ("a row of each key, four times more", 3),
            ("the same, new keys of 12 characters", 1.5),
            ("the same, known keys of 12 characters", 1.5),
            ("a hundredth of the keys, grouped", 8),
            ("a hundredth of the keys, in turn", 6),
            ("Zipf 1.1", 6),
        )
    ),
    *(
        Target(f"1,000,000 keys: {cost}", "keys", "afa", most=most, where={"cost": cost}, unit=unit)
        for cost, most, unit in (
            ("1 event, bytes a key", 160, "bytes"),
            ("5 events, bytes a key", 400, "bytes"),
            ("promise that concerns a thousandth, ms", 5, "ms"),
            ("the same behind a table, ms", 5, "ms"),
            ("snapshot, 1 event, s", 0.5, "s"),
            ("restore, 1 event, s", 0.7, "s"),
        )
    ),
    Target(
        "one key, beside the engine of before",
        "keys",
        "times before",
        least=0.98,
        where={"case": ("one key, in order", "one key, 20 % late")},
        unit="of its rate",
    ),
    Target(
        "batches of 1,000,000 rows, a promise after each",
        "batch",
        "relative to the best",
        least=0.9,
        where={"long batch": 1_000_000},
        unit="of the best of three sizes",
    ),
    Target("snapshot of a key with 5 events", "snapshot", "bytes per key", most=499, where={"events per key": 5}, unit="bytes"),
    *(
        Target(
            f"10,000 keys on Spark from {form}, beside Flink from CSV",
            "flink",
            "times Flink",
            least=8,
            where={"way": f"afa on Spark, stream, {form}"},
            unit="times Flink",
        )
        for form in ("Parquet", "CSV")
    ),
    Target(
        "1M rows, 10,000 keys on Spark", "spark_rates", "of the pass-through", least=0.65, where={"way": "afa, Q1"}, unit="of it"
    ),
    Target(
        "the same, 29 % of the rows match",
        "spark_rates",
        "of the pass-through",
        least=0.5,
        where={"way": "afa, many matches"},
        unit="of it",
    ),
    Target(
        "the same, beside the operator grouped by key",
        "spark_hand",
        "times that",
        least=3.5,
        where={"way": "Q1, afa's operator for each key"},
        unit="times that",
    ),
    Target(
        "the same, 5 % late",
        "spark_rates",
        "of the same in order",
        least=0.8,
        where={"way": "afa, Q1, 5 % up to 1,000 rows late"},
        unit="of the rate in order",
    ),
    Target("a batch of 1,000 rows on Spark", "spark_overhead", "s more", most=0.1, where={"way": "afa"}, unit="s more"),
    Target("push of a single event, median", "push", "p50, microseconds", most=10, unit="microseconds"),
    Target("import afa", "start", "import afa, ms", most=500, unit="ms"),
    Target(
        "first match on a new machine",
        "start",
        "import and first match, ms",
        most=2000,
        where={"cache": "cold", "way": "auto"},
        unit="ms",
    ),
    Target(
        "first match of afa run on a new machine",
        "start",
        "import and first match, ms",
        most=2000,
        where={"cache": "cold", "way": "afa run"},
        unit="ms",
    ),
    Target(
        "first match of a known automaton in a new process",
        "start",
        "import and first match, ms",
        most=1000,
        where={"cache": "warm", "way": "compiled"},
        unit="ms",
    ),
    Target(
        "memory flat over 100 M events", "memory", "RSS, relative to a tenth of the way", most=1.05, unit="times a tenth of the way"
    ),
    Target(
        "a union of ten feeds, one of them 100 x later",
        "predicates",
        "held, of plain",
        most=0.1,
        where={"promises": "with conditions", "begins": "2%"},
        unit="of what is held without conditions",
    ),
    Target(
        "AFA+O, 20 % shifted",
        "ordered",
        "relative to in order",
        least=0.8,
        where={"way": "AFA+O", "disorder": "20%"},
        unit="of the rate in order",
    ),
    Target(
        "the flights with a bound of 1.2, at the end of each month",
        "speculation",
        "worst month's end",
        most=1.2,
        where={"flights, sigma, h": "auto, 1.2"},
        unit="records per final match",
    ),
    Target(
        "Binance with a bound of 1.05",
        "speculation",
        "records per final match",
        most=1.05,
        where={"Binance BTC, sigma": "auto, 1.05"},
        unit="records per final match",
    ),
    Target(
        "`afa run` from Parquet",
        "cli",
        "afa run, M events/s",
        least=2.0,
        where={"form": "parquet", "lateness": 20_000},
        unit="M events/s of CPU time",
    ),
    Target(
        "`afa run` from CSV",
        "cli",
        "afa run, M events/s",
        least=1.5,
        where={"form": "csv", "lateness": 20_000},
        unit="M events/s of CPU time",
    ),
    *(
        Target(
            f"skip till any match, the longest, a window of 500 to 50,000, {share}",
            "longest",
            "M events/s",
            least=least,
            where={"late, %": late, "window": (500, 5_000, 50_000)},
            unit="M events/s",
        )
        for share, late, least in (("in order", 0, 10), ("5 % late", 5, 5))
    ),
    *(
        Target(
            f"one trade in {round(1 / large):,} is large, row groups of {groups}",
            "replay",
            "full / replay",
            least=least,
            where={"large": large, "row groups": groups},
            unit="times as fast as a full run",
        )
        for groups, wanted in (("1M", (1.1, 3.8, 4.6, 14)), ("128K", (1.3, 2.1, 6.2, 30)))
        for large, least in zip((1e-3, 1e-4, 1e-5, 1e-6), wanted)
    ),
    *(
        Target(
            f"two rare events, {way}",
            "replay",
            f"full / {name}",
            least=least,
            where={"first": 1e-3, "second": 1e-5},
            unit="times as fast as a full run",
        )
        for way, name, least in (
            ("by the first", "first", 1.8),
            ("by the second", "second", 12.5),
            ("by both, as chosen", "chosen", 14.2),
        )
    ),
    *(
        Target(
            f"a thousand late rows {late}, row groups of {groups}",
            "replay",
            "full / amend",
            least=least,
            where={"late": late, "row groups": groups},
            unit="times as fast as a full run",
        )
        for late, groups, least in (
            ("within an hour", "1M", 23),
            ("within an hour", "16K", 37),
            ("spread over all", ("1M", "16K"), 2.6),
        )
    ),
    Target("the plan that is chosen, random patterns", "replay", "chosen / full, worst", most=1.1, unit="of a full run"),
    Target(
        "time to plan, patterns of 32",
        "replay_thesis",
        "planning, most ms",
        most=100,
        where={"case": "m = 32"},
        unit="ms",
    ),
    Target("an index of one column of 33 M rows", "windows", "index, KiB", most=200, where={"rows": 33_000_000}, unit="KiB"),
    Target("to write it", "windows", "to write it, CPU s", most=1.5, where={"rows": 33_000_000}, unit="s"),
    Target(
        "windows of 35 blocks a slide, from the index",
        "windows",
        "read / index",
        least=15,
        where={"windows": 61, "case": "row groups as long as blocks"},
        unit="times as fast as from all rows",
    ),
    Target(
        "windows, as chosen between the index and all rows",
        "windows",
        "auto / best",
        most=1.25,
        where={"case": "row groups as long as blocks"},
        unit="of the better way",
    ),
    *(
        Target(
            f"uncertain times, {worlds} worlds, half intervals of {half}: {said}",
            "uncertain",
            column,
            least=least,
            where={"way": f"{worlds} worlds", "half interval": half},
            unit="K events/s",
        )
        for worlds, rates in ((20, (260, 240, 75)), (100, (75, 45, 30)))
        for half, least in zip((1, 10, 50), rates)
        for said, column in (("with the counting", "K events/s"), ("the matching alone", "matching alone, K events/s"))
    ),
    Target(
        "exact confidences, skip till next, half intervals of 10",
        "uncertain",
        "K events/s",
        least=200,
        where={"way": "Sequence, skip_till_next", "half interval": 10},
        unit="K events/s",
    ),
    Target(
        "one confidence of a chain of 20 events, 21 instants each",
        "uncertain",
        "us an event",
        most=20,
        where={"chain of": 20},
        unit="microseconds for each event",
    ),
    Target(
        "situations: aggressive drivers, W = 300",
        "situations",
        "M readings/s",
        least=66,
        where={"pattern": "aggressive drivers", "readings": 20_000_000},
        unit="M readings/s",
    ),
    Target(
        "the same, 10,000 keys in turn",
        "situations",
        "M readings/s",
        least=11,
        where={"pattern": "aggressive drivers, keys in turn"},
        unit="M readings/s",
    ),
    *(
        Target(
            f"situations: A starts B before C overlaps D, W = {window:,}",
            "situations",
            "M readings/s",
            least=least,
            where={"pattern": "disconnected", "window": window},
            unit="M readings/s",
        )
        for window, least in ((500, 57), (5_000, 56), (20_000, 43), (100_000, 24))
    ),
    Target(
        "situations: aggressive drivers from three columns of floats (66 M, and 60 M by themselves, one after the other)",
        "situations",
        "M readings/s",
        least=31,
        where={"pattern": "aggressive drivers, conditions over three float columns"},
        unit="M readings/s",
    ),
    Target(
        "situations: A before B before C, W = 2,000",
        "situations",
        "M matches/s",
        least=1,
        where={"pattern": "Q3", "window": 2_000},
        unit="M matches/s",
    ),
    Target(
        "situations: 10 % late by up to 1,000", "situations", "late, relative to in order", least=0.5, unit="of the rate in order"
    ),
    Target(
        "situations: one late reading, outside the operator",
        "situations",
        "stage alone, us",
        most=20,
        where={"readings one by one": ("late, as random readings are", "late, each changes all situations")},
        unit="microseconds",
    ),
    *(
        Target(
            f"situations: {relation}, durations 1:1, time to the decision",
            "situations",
            "time to the decision, relative to the last end",
            most=most,
            where={"relation": relation, "durations a : b": "1:1"},
            unit="of the time to the last end",
        )
        for relation, most in (("overlaps", 0.63), ("meets", 0.53), ("before", 0.91))
    ),
)
