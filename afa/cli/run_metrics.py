"""The numbers of a run for Prometheus: those of its operator, and what a run knows beside it.

An operator's numbers are those of its ``statistics``: names, texts and kinds are read off their class, so that a new number shows
by itself. `OWN` has the others. All are read when they are asked for, between two calls; nothing is counted twice.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_type_hints

from afa.errors import AfaError
from afa.io.text_files import FileSource
from afa.operator.statistics import SLOW, TOTAL, Statistics, statistics_of
from afa.rules.rule_set_operator import RuleSetOperator, RuleSetStatistics, RuleStatistics
from punctuation.durations import NANOSECONDS
from punctuation.time import BEGINNING, FOREVER

SHARE = 0.05
"""The most of the time that is spent on looking at what is held."""
WAIT = 5.0
"""The most seconds that a reader waits for a call under way."""


class HeldNumbers(NamedTuple):
    """What was seen of an operator between two calls; of a `Chain` of each of its operators."""

    statistics: list[Statistics]
    memory: int
    watermark: int
    rules: RuleSetStatistics | None = None


class RunMetrics:
    """The numbers of a run, which it begins to `watch` once its operator is made; a collector of prometheus-client.

    It belongs to the thread that makes it; ``status``: what that thread does, in a word.
    """

    def __init__(self, status: Callable[[], str] = lambda: "running") -> None:
        try:
            from prometheus_client import CollectorRegistry
        except ImportError as error:
            raise AfaError(
                f'expected the package of metrics but got none ({error}); pip install ".[serve]" in the folder of afa'
            ) from error
        self.faults = 0
        self._left_out: Callable[[], int] = int
        self.rows: Callable[[], int] = int
        self.newest: Callable[[], int] = lambda: BEGINNING
        self.tick: str | None = None
        self.held: HeldNumbers | None = None
        self.snapshots: Sequence[tuple[int, float]] = ()
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._status, self._thread, self._lock = status, threading.current_thread(), threading.Lock()
        self._operator: Any = None
        self._looked = self._cost = 0.0

    def watch(
        self, operator: Any, rows: Callable[[], int], newest: Callable[[], int], times: Any, source: FileSource | None = None
    ) -> None:
        """Tell of an operator from now on; how many rows it has taken, the newest LE of them; of ``times``, if LE are some."""
        self.rows, self.newest, self.tick = rows, newest, None if times is None else times.tick
        self._left_out = (lambda: 0) if source is None else lambda: source.faults
        self._operator = operator

    @property
    def all_faults(self) -> int:
        """Faults of functions, and rows that can't be read."""
        return self.faults + self._left_out()

    @property
    def status(self) -> str:
        """What the run does; "ended" where its thread has died."""
        return self._status() if self._thread.is_alive() else "ended"

    def collect(self) -> Iterator[Any]:
        """Yield the metrics as prometheus-client wants them; an operator's once there is one."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        made = {True: CounterMetricFamily, False: GaugeMetricFamily}
        self.look()
        for own in OWN:
            value = own.value(self)
            if value is not None:
                yield made[own.total](f"afa_{own.name}", own.text, value=value)
        links = [] if self.held is None else self.held.statistics
        labels = ["link"] if len(links) > 1 else []
        for name, (total, text) in told_of(Statistics).items() if links else ():
            family = made[total](f"afa_{name}", text, labels=labels)
            for place, link in enumerate(links):
                family.add_metric([str(place)][: len(labels)], getattr(link, name))
            yield family
        rules = None if self.held is None else self.held.rules
        if rules is not None:
            yield GaugeMetricFamily("afa_held", "Changes of events held, for rules that begin in the past.", value=rules.held)
            yield CounterMetricFamily("afa_late", told_of(Statistics)["late"][1], value=rules.late)
            for name, (total, text) in told_of(RuleStatistics).items():
                family = made[total](f"afa_rule_{name}", text, labels=["rule"])
                for rule, each in rules.rules.items():
                    family.add_metric([rule], getattr(each, name))
                yield family

    def look(self) -> None:
        """Look at what is held; not if that would take more than `SHARE` of the time, or a call lasts: then all is as it was."""
        with self._lock:
            if self._operator is None or time.monotonic() - self._looked < self._cost / SHARE:
                return
            operator: Any = self._operator
            look: Callable[[], HeldNumbers]
            if isinstance(operator, RuleSetOperator):
                calls, look = operator._calls, functools.partial(_held_by_rules, operator)
            else:
                cores = [link._core for link in getattr(operator, "links", (operator,))]
                calls = cores[0].calls
                look = functools.partial(calls.call, _held, cores)
            if calls.lock.acquire(timeout=WAIT):
                try:
                    began = time.monotonic()
                    self.held = look()
                    self._looked = time.monotonic()
                    self._cost = self._looked - began
                finally:
                    calls.lock.release()

    def seconds(self, ticks: int) -> float | None:
        """Return an instant in seconds since 1970; None: there is none, or LE are no times."""
        if self.tick is None or ticks in (BEGINNING, FOREVER):
            return None
        return ticks * NANOSECONDS[self.tick] / 1e9

    @property
    def watermark(self) -> int:
        return BEGINNING if self.held is None else self.held.watermark

    @property
    def lag(self) -> float | None:
        newest = self.seconds(self.newest())
        return None if newest is None else time.time() - newest


def _held_by_rules(operator: RuleSetOperator) -> HeldNumbers:
    return HeldNumbers([], 0, BEGINNING, operator.statistics)


def _held(cores: list[Any]) -> HeldNumbers:
    memory = sum(core.engine.memory_bytes() for core in cores)
    return HeldNumbers([statistics_of(core, ends=False) for core in cores], memory, cores[0].progress.final)


class OwnNumber(NamedTuple):
    """A number of the run itself; ``total``: it only grows. A value of None is not told."""

    name: str
    total: bool
    text: str
    value: Callable[[RunMetrics], float | None]


OWN = (
    OwnNumber("rows", True, "Rows of the input taken so far.", lambda run: run.rows()),
    OwnNumber("faults", True, "Rows, or functions over them, that went wrong so far.", lambda run: run.all_faults),
    OwnNumber("memory_bytes", False, "Bytes of the operator's state.", lambda run: run.held.memory or None if run.held else None),
    OwnNumber("watermark_seconds", False, "The last watermark, in seconds since 1970.", lambda run: run.seconds(run.watermark)),
    OwnNumber(
        "watermark_ticks", False, "The last watermark, where times are integers.",
        lambda run: None if run.tick is not None or run.watermark in (BEGINNING, FOREVER) else run.watermark,
    ),
    OwnNumber(
        "snapshot_bytes", False, "Bytes of the last snapshot.",
        lambda run: run.snapshots[-1][0] if run.snapshots else None,
    ),
    OwnNumber(
        "snapshot_seconds", False, "How long the run stood still for the last snapshot.",
        lambda run: run.snapshots[-1][1] if run.snapshots else None,
    ),
    OwnNumber("lag_seconds", False, "How far the time of the newest row is behind the clock.", lambda run: run.lag),
)  # fmt: skip
"""Where a number comes in that is no operator's; where its value is kept, `RunMetrics` says."""


@functools.cache
def told_of(kind: type) -> dict[str, tuple[bool, str]]:
    """Return of each number of a class of statistics whether it only grows, and its text; without those that take long.

    >>> total, text = told_of(Statistics)["retractions"]
    >>> total, text, "ended_by_window" in told_of(Statistics)
    (True, 'Matches withdrawn so far.', False)
    """
    texts = dict(re.findall(r"^(\w+) : .+\n((?: {4}.+\n?)+)", inspect.getdoc(kind) or "", re.MULTILINE))
    marks = {name: getattr(hint, "__metadata__", ()) for name, hint in get_type_hints(kind, include_extras=True).items()}
    return {
        name: (TOTAL in mark, " ".join(texts.get(name, "").replace("``", "").split()))
        for name, mark in marks.items()
        if SLOW not in mark
    }
