"""The job of `Worlds` on Spark, which travels to the workers: the options of a `Worlds`, of which each bucket makes its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from afa.compiled.fit import known
from afa.errors import AfaError, SnapshotError
from afa.model.arc import TIMEOUT
from afa.model.option_values import names_of
from afa.operator.options import Options
from afa.spark.job import Job, job_of
from afa.spark.recipe import Recipe, difference
from afa.spark.stages import PatternStages
from afa.uncertain.distributions import data_of, shape_of
from afa.uncertain.told_tables import match_class
from afa.uncertain.worlds import Worlds
from punctuation.durations import ticks_of_duration

LOWER, UPPER = "afa_lower", "afa_upper"
"""The columns in which a bucket gets the ends of intervals; `LOWER` alone the times that are certain, or those of a clock."""


class WorldsJob(NamedTuple):
    """What every worker must know.

    Parameters
    ----------
    job : Job
        The pattern, its columns, what of a match leaves.
    options : mapping
        Those of the `Worlds` of a bucket.
    before, behind : int
        How many ticks before, and behind, the time that is given an event may have happened: by its clock.
    window : int or None
        In ticks; None: events live for ever.
    """

    job: Job
    options: Mapping[str, Any]
    before: int
    behind: int
    window: int | None

    def fresh(self) -> Worlds:
        """Return a `Worlds` that has taken nothing."""
        return Worlds(self.job.automaton, **self.options)

    @property
    def times(self) -> list[str]:
        """The columns of times that a bucket gets."""
        return [name for name in (self.options["lower"], self.options["upper"]) if name is not None] or [LOWER]

    @property
    def waits(self) -> bool:
        """Whether a promise brings matches: those of time-outs."""
        return any(arc.kind == TIMEOUT for arc in self.job.automaton.arcs)

    def lower(self, rows: pa.Table) -> pa.Array:
        """Return the first instant at which each event may have happened."""
        return pc.subtract(rows[self.times[0]], self.before)

    def upper(self, rows: pa.Table) -> pa.Array:
        """Return the last instant at which each event may have happened."""
        return pc.add(rows[self.times[-1]], self.behind)


@known()
def worlds_job_of(
    given: Worlds,
    time: str,
    said: Options,
    *,
    key_types: Any,
    **more: Any,
) -> WorldsJob:
    """Return the job that a `Worlds` asks for, checked, on the driver; ``key_types``: a function of the names.

    Raises
    ------
    AfaError
        It has taken something; an option of it is none of Spark's, or contradicts one of `match`.
    """
    options, automaton = given.options, given.automaton
    _check(given, options, time, said)
    if automaton.having is not None:
        raise AfaError(f"expected Worlds of an automaton without having= on Spark but got {automaton.having!r}")
    clock = options["clock"]
    ticks = None if clock is None else clock.ticks("us")
    lives = None if options["window"] is None else ticks_of_duration(options["window"], "us", "window")
    told = {
        **{name: options[name] for name in ("worlds", "seed", "threshold", "identity")},
        "shape": data_of(shape_of(options["shape"])),
        "window": lives,
        "intervals": options["lower"] is not None,
        "clock": None if ticks is None else [list(clock.by), *ticks[:3], data_of(clock.shape)],
    }
    names = options["key"] or ()
    job = job_of(
        automaton,
        Options(key=names, order_by=options["order_by"]),
        key_types=key_types(names),
        asked=PatternStages(shown=match_class(automaton.match_schema)),
        worlds=told,
        **more,
    )
    columns = {"lower": LOWER, "upper": UPPER} if options["lower"] is not None else {"time": LOWER}
    before, behind = (0, 0) if ticks is None else (ticks.skew + ticks.own, ticks.skew + ticks.own + ticks.granularity - 1)
    return WorldsJob(job, {**options, **columns, "tick": "us"}, before, behind, lives)


def check_same(before: Recipe, now: Recipe) -> None:
    """Refuse (SnapshotError) a job that can't go on from another one's state: Worlds keep their arcs."""
    other = difference(before, now)
    if other.gone or other.new:
        was, arcs = (", ".join(texts) or "none" for texts in (other.gone, other.new))
        raise SnapshotError(
            f"expected the arcs that the checkpoint was made with, {was}, but got {arcs}: Worlds keep theirs on Spark; begin anew "
            f"with another checkpoint"
        )


def _check(given: Worlds, options: Mapping[str, Any], time: str, said: Options) -> None:
    """Refuse a `Worlds` that is no template, and what `match` says otherwise than it."""
    if given.snapshot() != Worlds(given.automaton, **options).snapshot():
        raise AfaError("expected Worlds that have taken nothing, of which each bucket makes its own, but got some with a state")
    if options["tick"] not in (None, "us"):
        raise AfaError(f"expected Worlds with tick='us', as times are microseconds on Spark, but got tick={options['tick']!r}")
    for name, plain, hint in (("late", "raise", "match(late=) says it"), ("threads", 1, "Spark has its own")):
        if options[name] != plain:
            raise AfaError(f"expected Worlds without {name}= on Spark but got {name}={options[name]!r}: {hint}")
    own = names_of(options["key"], "key")
    if said.key is not None and names_of(said.key, "key") != own:
        raise AfaError(f"expected the key of Worlds, key={options['key']!r}, but got key={said.key!r}")
    if options["lower"] is not None and time != options["lower"]:
        raise AfaError(
            f"expected time={options['lower']!r}, the lower ends of intervals, which the watermark follows, but got time={time!r}"
        )
    if options["lower"] is None and options["time"] not in ("le", time):
        raise AfaError(f"expected the time of Worlds, time={options['time']!r}, but got time={time!r}")
