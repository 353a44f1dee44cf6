"""Find the matches of many patterns in one frame: decoded once, sorted once, on all cores. Of files only what may match is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from afa.errors import AfaError, ChangeError, blame
from afa.frames.arrival import never, withdrawing
from afa.frames.asked import BACKTESTS, OperatorPlan, taken_options
from afa.frames.found import Columns, framed, joined, written
from afa.frames.frame_reading import End, FrameReading
from afa.frames.lane_budget import LaneBudget
from afa.frames.lanes import FORMS, LaneHistory, history_of, in_lanes
from afa.frames.slicing import SortedRows, by_time, columns_of
from afa.frames.through import Beside, finding, in_threads
from afa.io.answer import Answer
from afa.io.frame import Frame, is_stored
from afa.model.option_values import yes_or_no
from afa.model.renamed import renamed
from afa.operator.options import FrameOptions, Options, Unpack, takes_options
from afa.rules.found_rules import backtested_rules
from afa.rules.rule_texts import RuleTexts
from afa.schema import Field
from afa.state.key_columns import chained

T = TypeVar("T")
Labels = Mapping[str, Sequence[Any]]
"""Columns that tell variants apart: of each its values, one for each variant."""
SCALARS: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_, str: object}


class Backtest(NamedTuple):
    """What variants of a pattern find in one frame. Both are frames of the kind that came in (of files: Arrow).

    Attributes
    ----------
    table : frame
        A row for each variant: ``variant``, ``matches``, ``withdrawn``.
    matches : frame or None
        The matches of all variants: ``variant``, and what `afa.find` returns of each; None where they were counted only.
    by_operator : dict or None
        By variant, why an operator took rows of it, all or those of some keys, which takes longer than lanes. None: not known, of
        files that were not read as a whole, and on Spark.
    """

    table: Any
    matches: Any
    by_operator: dict[Any, str] | None = None


@renamed("workers")
@takes_options(*BACKTESTS)
def backtest(
    patterns: Mapping[Any, Any],
    frame: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    end: End = "latest",
    withdrawn: bool = True,
    batch: int | None = None,
    threads: int | None = None,
    counts: bool = False,
    device: str | None = None,
    **options: Unpack[FrameOptions],
) -> Backtest:
    """Find the matches of many patterns in one frame, and count what each would have withdrawn in a live run.

    The frame is decoded and sorted once; patterns that differ in constants only share their machine code; each core takes the next
    one as soon as it is free.

    Parameters
    ----------
    patterns : mapping, or Rules
        Automata or queries by their names: ints, floats, bools or texts. Their matches show the same. Of `afa.Rules`, of a frame in
        memory, those of each rule: a column ``rule`` stands in the place of ``variant``, and matches show what each rule does.
    frame, time, until, diff, end, options
        As of `afa.find`. With ``withdrawn=False`` only those stretches of files are read in which a match can lie, once for all
        patterns, where these differ in arcs, final states and window alone; else files are read as a whole, as far as their columns
        are asked for.
    withdrawn : bool
        False: what is withdrawn is not counted, for a frame whose rows stand in no order of arrival. To count it takes longer than
        to find the matches, where many rows are late.
    batch : int, optional
        How many rows come at once in the run that counts what is withdrawn. None: each row comes alone.
    threads : int, optional
        How many threads there are. None: one for each core.
    counts : bool
        True: matches are counted only, in less time; ``matches`` is None.
    device : "opencl" or "cuda", optional
        As of `afa.find`.

    Returns
    -------
    Backtest
        ``matches`` are those that `afa.find` finds. ``withdrawn`` in ``table`` counts the matches that an operator announces and
        takes back if the rows come in the order in which they stand in the frame. It is 0 where they stand by time, but for
        queries that choose among their matches, and at equal times for skips, time-outs, the longest matches and records.

    Raises
    ------
    AfaError
        As `afa.find`; or the patterns' matches show different fields.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Trade(NamedTuple):
    ...     price: float
    >>> def dip(limit):
    ...     return afa.Automaton(
    ...         start="0", final={"2"}, event=Trade,
    ...         arcs=[afa.Arc("0", "1", lambda e, r: e.price < limit), afa.Arc("1", "2", lambda e, r: e.price > limit)],
    ...     )
    >>> trades = {"price": [8.0, 9.5, 8.5], "at": [10, 12, 11]}
    >>> found = backtest({limit: dip(limit) for limit in (8.2, 9.0)}, trades, time="at", window=60)
    >>> [column.tolist() for column in found.table.values()]
    [[8.2, 9.0], [1, 1], [1, 1]]
    >>> found.matches["variant"].tolist(), found.matches["le"].tolist()
    ([8.2, 9.0], [11, 12])
    """
    yes_or_no(withdrawn=withdrawn, counts=counts)
    if batch is not None and (type(batch) is not int or batch < 1):
        raise AfaError(f"expected a number of rows, or None for one at a time, but got batch={batch!r}")
    said, threads = taken_options(options, "backtest", BACKTESTS, threads)
    if isinstance(patterns, RuleTexts):
        rows = Frame.opened(frame)

        def of_rule(variant: Any, given: Any) -> Backtest:
            more: Any = {"time": time, "until": until, "diff": diff, "end": end, "withdrawn": withdrawn, "batch": batch}
            return backtest(variant, rows, **more, threads=threads, counts=counts, device=device, **given)

        return Backtest(*backtested_rules(patterns, rows, of_rule, said.said))
    labels, variants = variants_of(patterns)
    if not is_stored(frame):
        opened = Frame.opened(frame)
    else:
        from afa.replay.stored import Stored

        if device is not None:
            raise AfaError(f"device={device!r} can't be combined with files; read them, or prepare a frame of them")
        stored = Stored(frame)
        found = None if withdrawn else _in_stretches(labels, variants, stored, said, (time, until, diff, end))
        if found is not None:
            return found._replace(matches=None) if counts else found
        opened = stored.whole()
    reading = FrameReading.of(opened, variants[0], time, until, diff, end)
    return swept(labels, variants, opened, reading, said, batch if withdrawn else False, threads, counts, device=device)


def variants_of(patterns: Any) -> tuple[Labels, list[Any]]:
    """Return what tells patterns apart, and the patterns. Raises `AfaError` where they have no names."""
    if not isinstance(patterns, Mapping) or not patterns:
        raise AfaError(f"expected patterns by their names, {{name: automaton or query}}, but got {patterns!r}")
    return {"variant": list(patterns)}, list(patterns.values())


def _in_stretches(labels: Labels, patterns: Sequence[Any], stored: Any, options: Options, said: Any) -> Backtest | None:
    """Find the matches where they can lie, as `afa.replay.sweep`; None: all rows are to be read."""
    from afa.replay.question import question
    from afa.replay.replaying import located, matches_of
    from afa.replay.sweeping import differs, loosest

    names = [_name(labels, place) for place in range(len(patterns))]
    askings = [
        _of(name, lambda pattern=pattern: question(pattern, stored, options, said))  # type: ignore[misc]
        for name, pattern in zip(names, patterns)
    ]
    plans = [asking.plan for asking in askings]
    _check_alike(labels, plans, names)
    if any(differs(asking, askings[0]) for asking in askings):
        return None
    found, plan = located(loosest(askings))
    if found is None:
        return None
    tables = matches_of(askings, found, plan)
    stored.check_unchanged()
    return _written(labels, plans[0], [joined(*each) for each in zip(tables, plans)], None, askings[0].head, askings[0].reading)


def plans_of(labels: Labels, patterns: Sequence[Any], frame: Frame, reading: FrameReading, options: Options) -> list[OperatorPlan]:
    """Return what patterns ask of frames with these columns. Raises `AfaError` where their matches make no one table."""
    names = [_name(labels, place) for place in range(len(patterns))]
    plans = [_of(name, lambda pattern=pattern: reading.asked(pattern, frame, options)) for name, pattern in zip(names, patterns)]  # type: ignore[misc]
    _check_alike(labels, plans, names)
    return plans


def swept(
    labels: Labels,
    patterns: Sequence[Any],
    frame: Frame,
    reading: FrameReading,
    options: Options,
    batch: int | Literal[False] | None = None,
    threads: int | None = None,
    counts: bool = False,
    budget: LaneBudget | None = None,
    device: str | None = None,
) -> Backtest:
    """Find the matches of patterns that the columns ``labels`` tell apart; see `backtest`.

    ``batch``: False: nothing is counted that is withdrawn. ``budget``, of counts without that: `NoLanes` says what goes beyond it.
    """
    names, plans = [_name(labels, place) for place in range(len(patterns))], plans_of(labels, patterns, frame, reading, options)
    rows = _Rows(frame, reading, history_of(frame, device, options.engine))
    left: dict[int, str] = {}
    found = in_lanes(plans, rows.arrived, threads, reading.end, rows.history, left, counts, budget)
    jobs = [
        _named(name, job)
        for plan, name, there in zip(plans, names, found)
        for job in _jobs(plan, rows, batch, found=there is not None)
    ]
    done = iter(in_threads(jobs, threads if all(plan.native for plan in plans) else 1))
    tables: list[Columns | int] = []
    withdrawn = []
    for plan, there in zip(plans, found):
        tables.append(joined([table for _ in rows.by_time(plan).groups for table in next(done)], plan) if there is None else there)
        withdrawn.append(0 if batch is False or rows.never(plan) else next(done))
    points = list(zip(*labels.values()))
    by_operator = {points[place] if len(labels) > 1 else points[place][0]: why for place, why in sorted(left.items())}
    tested = _written(labels, plans[0], tables, None if batch is False else withdrawn, frame, reading, counts)
    return tested._replace(by_operator=by_operator)


class _Rows:
    """The rows of a frame, once for all patterns that take the same."""

    def __init__(self, frame: Frame, reading: FrameReading, history: LaneHistory | None) -> None:
        self.frame, self.reading, self.history = frame, reading, history or LaneHistory(True, FORMS)
        self._known: dict[Any, Any] = {}

    def _once(self, what: Any, make: Callable[[], Any]) -> Any:
        if what not in self._known:
            self._known[what] = make()
        return self._known[what]

    def arrived(self, plan: OperatorPlan) -> dict[str, Any]:
        """Return the rows as they stand."""
        return self._once(("arrived", plan.form), lambda: columns_of(self.frame, plan, self.reading))  # type: ignore[no-any-return]

    def by_time(self, plan: OperatorPlan) -> SortedRows:
        """Return them by time, in groups and slices."""
        return self._once(("by time", plan.form), lambda: by_time(self.arrived(plan), plan))  # type: ignore[no-any-return]

    def never(self, plan: OperatorPlan) -> bool:
        """Return whether a pattern never withdraws anything."""
        return self._once(("never", plan.form, plan.steady, plan.ties), lambda: never(plan, self.arrived(plan)))  # type: ignore[no-any-return]


def _jobs(plan: OperatorPlan, rows: _Rows, batch: int | Literal[False] | None, found: bool) -> Iterator[Callable[[Beside], Any]]:
    """Yield what finds the matches of a pattern in each group, unless they are ``found``, and counts what is withdrawn."""
    if not found:
        ordered = rows.by_time(plan)
        yield from (finding(plan, ordered, group, rows.reading.end) for group in ordered.groups)
    if batch is not False and not rows.never(plan):
        yield withdrawing(plan, rows.arrived(plan), batch)


def _written(
    labels: Labels,
    plan: OperatorPlan,
    found: Sequence[Columns | int],
    withdrawn: Sequence[int] | None,
    frame: Frame,
    reading: FrameReading,
    counts: bool = False,
) -> Backtest:
    sizes = [each if isinstance(each, int) else len(each["le"]) for each in found]
    told = {name: one_type(values) for name, values in labels.items()}
    table = {**told, "matches": np.array(sizes, np.int64)}
    if withdrawn is not None:
        table["withdrawn"] = np.array(withdrawn, np.int64)
    numbers = framed(Answer(list(table.values()), [Field(name, None, True) for name in table]), frame)
    if counts:
        return Backtest(numbers, None)
    each: list[Any] = list(found)
    columns = {name: chained([one[name] for one in each]) for name in each[0]}
    matches = {**{name: np.repeat(values, sizes) for name, values in told.items()}, **columns}
    return Backtest(numbers, written(matches, frame, plan, reading))


def one_type(values: Sequence[Any]) -> Any:
    """Return names as a column of one type."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        kinds = {float}
    return np.array(values, SCALARS[kinds.pop()]) if len(kinds) == 1 else np.array([str(value) for value in values], object)


def _check_alike(labels: Labels, plans: Sequence[OperatorPlan], names: Sequence[str]) -> None:
    """Refuse patterns whose matches make no one table, and names that do not tell them apart in it."""
    first = plans[0]
    for plan, name in zip(plans, names):
        if (plan.shown.fields, plan.keys, plan.tick) != (first.shown.fields, first.keys, first.tick):
            raise AfaError(
                f"expected patterns whose matches show the same, as {names[0]}, {first.shown.describe()} by {first.keys}, "
                f"but got {name} with {plan.shown.describe()} by {plan.keys}"
            )
    for label, values in labels.items():
        if any(type(value) not in SCALARS for value in values):
            odd = next(value for value in values if type(value) not in SCALARS)
            raise AfaError(f"expected an int, a float, a bool or a text as the name of a pattern but got {odd!r}")
        if label in (*first.keys, *(field.name for field in first.shown.fields), "le", "re"):
            raise ChangeError(f"expected a name for what varies that no column of the matches has but got {label!r}; rename one")


def _name(labels: Labels, place: int) -> str:
    return ", ".join(f"{label} {values[place]!r}" for label, values in labels.items())


def _of(name: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except AfaError as error:
        raise type(error)(f"{name}: {error}") from error


def _named(name: str, job: Callable[[Beside], Any]) -> Callable[[Beside], Any]:
    """Return a job whose errors name their variant."""

    def carry_out(beside: Beside) -> Any:
        try:
            return job(beside)
        except Exception as error:
            blame(error, f"of {name}")
            raise

    return carry_out
