"""`sweep`: the matches of several patterns in stored history, which is looked through once for all of them.

The automata differ in constants, or in arcs. What a run of any of them must contain is what their arcs together ask for: so what is
looked for is the loosest of them. The rows around it are read once, and go through each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from afa.change import Change
from afa.errors import AfaError
from afa.frames.asked import SWEEPS
from afa.frames.frame_reading import End
from afa.operator.options import FrameOptions, Unpack, options_of, takes_options
from afa.replay.question import Question, question
from afa.replay.replaying import Progress, answers, located
from afa.replay.scan_plan import ReplayPlan
from afa.replay.stored import Stored


class Swept(NamedTuple):
    """What a sweep found.

    Attributes
    ----------
    matches : dict of str to pyarrow.Table
        Of each pattern, as `replay` gives them.
    plan : Plan
        What was looked through, once for all.
    """

    matches: dict[str, pa.Table]
    plan: ReplayPlan


@takes_options(*SWEEPS)
def sweep(
    patterns: Mapping[str, Any],
    source: Any,
    *,
    time: str | None = None,
    until: str | None = None,
    diff: str | None = None,
    end: End = "latest",
    arcs: Iterable[Change] = (),
    progress: Progress | None = None,
    **options: Unpack[FrameOptions],
) -> Swept:
    """Find the matches of several patterns in stored history: what if the limit had been 45?

    Parameters
    ----------
    patterns : dict of str to pattern
        Automata, or queries, of one event, one register and one start state: those of a function, called with several constants.
    source, time, until, diff, end, arcs, progress, options
        As of `replay`.

    Returns
    -------
    Swept
        ``.matches`` by name, each as `replay` finds them, and the common ``.plan``.

    Raises
    ------
    AfaError
        As `replay`; or two patterns differ in more than arcs, final states and window.

    Notes
    -----
    Scans, and the reading of rows, once; the rows that the loosest pattern needs go through each of the patterns.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Trade(NamedTuple):
    ...     price: float
    >>> def spike(limit):
    ...     arcs = [Arc("0", "1", f"price > {limit}"), Arc("1", "2", "price < 50")]
    ...     return Automaton(start="0", final={"2"}, event=Trade, arcs=arcs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"price": [92.0, 40.0, 99.5, 45.0], "at": [1, 3, 20, 22]}), f"{folder}/trades.parquet")
    ...     found = sweep({f"over {x}": spike(x) for x in (90, 95)}, folder, time="at", window=10)
    >>> {name: table["le"].to_pylist() for name, table in found.matches.items()}
    {'over 90': [3, 22], 'over 95': [22]}
    """
    if not isinstance(patterns, Mapping) or not patterns:
        raise AfaError(f"expected patterns by name, {{name: pattern}}, but got {patterns!r}")
    asked = options_of(options, "sweep", SWEEPS)
    stored, given = Stored(source), tuple(arcs)
    askings = {name: question(pattern, stored, asked, (time, until, diff, end), given) for name, pattern in patterns.items()}
    first = next(iter(askings.values()))
    for name, asking in askings.items():
        if (other := differs(asking, first)) is not None:
            what, mine, theirs = other
            raise AfaError(f"expected patterns that differ in arcs only but got {what}={mine!r} of {name!r} beside {theirs!r}")
    several = list(askings.values())
    found, plan = located(loosest(several), progress=progress)
    return Swept(dict(zip(askings, answers(several, found, plan, progress))), plan)


def loosest(askings: Sequence[Question]) -> Question:
    """Return the question for what a run of any of several patterns must contain."""
    longest = max(askings, key=lambda asking: (asking.plan.window is None, asking.plan.window or 0))
    found = longest._replace(also=tuple(asking.plan.automaton for asking in askings))
    return found._replace(by_span=None) if any(asking.by_span is None for asking in askings) else found


def differs(asking: Question, first: Question) -> tuple[str, Any, Any] | None:
    """Compare a pattern to the first one, but for arcs, final states and window: name and both values of a difference, or None."""
    one, other = asking.plan, first.plan
    forms = [(repr(plan.automaton.register), plan.automaton.register_schema.fields) for plan in (one, other)]  # NaN as itself
    for what, mine, theirs in (
        ("start", one.automaton.start, other.automaton.start),
        ("event", one.form, other.form),
        ("register", one.automaton.register, other.automaton.register),
        ("span", asking.span, first.span),
    ):
        if forms[0] != forms[1] if what == "register" else mine != theirs:
            return what, mine, theirs
    return None
