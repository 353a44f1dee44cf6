"""Measure what speculation costs and buys on a user's own stream: the curve over sigma ([AFA10] Sec. 6.3, Figures 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from afa.change import Change
from punctuation.base_errors import AfaError
from punctuation.durations import Duration
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING
from speculation.cleanse import Cleanse


class Point(NamedTuple):
    """The measurements for one sigma.

    Parameters
    ----------
    sigma : int or None
        Ticks. For a stage that moves its sigma: the last one.
    records, finals : int
        How many changes left with an LE below the last punctuation, and how many matches are in force there. Matches that are not
        final at the end of the stream count in neither.
    first, final : float
        Medians over the final matches, in ticks: the time from a match's LE until the item arrives that first announces it, and
        until the punctuation arrives that makes it final.
    held : int
        The most events (at the input) or matches (at the output) that ever waited in Cleanse.
    """

    sigma: int | None
    records: int
    finals: int
    first: float
    final: float
    held: int

    @property
    def chattiness(self) -> float:
        """Records for each final match; NaN if there is none."""
        return self.records / self.finals if self.finals else float("nan")


def tradeoff(
    stream: Iterable[tuple[int, Change | Punctuation]],
    operator: Callable[[], Any],
    sigmas: Sequence[float | Duration | Cleanse | None],
    *,
    at: Literal["input", "output"] = "output",
) -> list[Point]:
    """Measure chattiness, time to announcement, time to final, and how much waits, for each of several sigmas.

    Parameters
    ----------
    stream : iterable of (int, Change or Punctuation)
        Each item with its time of arrival, in ticks of the same clock as LE. Its last punctuation decides what is final.
    operator : callable
        Makes a fresh `Operator` or `Keyed`.
    sigmas : sequence
        As `Cleanse` takes them, ``"5 s"`` too, by the operator's tick; or whole stages, ``Cleanse.auto(max_chattiness=1.2)``.
    at : "input" or "output"
        Where Cleanse stands.

    Returns
    -------
    list of Point
        One for each sigma.

    Notes
    -----
    O(sigmas * n). At the output the operator runs once, at the input once for each sigma.

    Examples
    --------
    >>> from afa import Arc, Automaton, Operator, insert
    >>> pair = Automaton(start="0", final={"2"}, arcs=[Arc("0", "1", lambda e, r: e == "a"), Arc("1", "2", lambda e, r: e == "b")])
    >>> items = [Punctuation(0), insert("a", 1), insert("b", 3), insert("x", 2), insert("a", 4), insert("b", 5), Punctuation(6)]
    >>> for point in tradeoff(list(enumerate(items)), lambda: Operator(pair, window=9), [0, 6]):
    ...     print(point.sigma, point.chattiness, point.first, point.final)
    0 1.0 1 1
    6 3.0 0 1
    """
    if at not in ("input", "output"):
        raise AfaError(f'expected at="input" or "output" but got at={at!r}')
    items = list(stream)
    stages = [sigma if isinstance(sigma, Cleanse) else Cleanse(sigma) for sigma in sigmas]
    if at == "input":
        return [_point(_driven(items, stage.before(operator())), stage) for stage in stages]
    made = operator()
    for stage in stages:
        stage.stand(getattr(getattr(made, "_core", None), "tick", None))
    answers = _driven(items, made)
    flat = [(moment, item) for moment, answer in answers for item in answer]
    return [_point(_driven(flat, stage), stage) for stage in stages]


def _driven(items: Sequence[tuple[int, Any]], stage: Any) -> list[tuple[int, list[Any]]]:
    return [(moment, stage.push(item)) for moment, item in items]


def _point(answers: list[tuple[int, list[Any]]], stage: Cleanse) -> Point:
    first: dict[Any, int] = {}
    final: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    records: dict[Any, int] = {}
    last = BEGINNING
    waiting: set[Any] = set()
    for moment, answer in answers:
        for item in answer:
            if isinstance(item, Punctuation):
                last = max(last, item.t)
                done = [match for match in waiting if match[2] < item.t]
                final |= dict.fromkeys(done, moment)
                waiting.difference_update(done)
                continue
            match = (item.key, item.payload, item.le, item.re)
            records[match] = records.get(match, 0) + abs(item.diff)
            first.setdefault(match, moment)
            counts[match] = counts.get(match, 0) + item.diff
            (waiting.add if counts[match] else waiting.discard)(match)
    finals = [match for match, count in counts.items() if count and match in final]
    return Point(
        stage.sigma,
        sum(count for match, count in records.items() if match[2] < last),
        len(finals),
        median([first[match] - match[2] for match in finals] or [float("nan")]),
        median([final[match] - match[2] for match in finals] or [float("nan")]),
        stage.statistics.peak_held,
    )
