"""`Trace`: an operator that keeps what it took and told, so that a page can show it."""

from __future__ import annotations

import copy
import os
from itertools import islice
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.explain.reasons import Reasons
from afa.explain.reasons.call_items import lineage_now
from afa.explain.reasons.why_changed import is_arc
from afa.explain.tracing.page_data import Announcement, TracedChange, page_data, page_text
from afa.io.whole_file import check_kind, write_text
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.renamed import renamed
from afa.operator.call import Output
from afa.operator.contract import OperatorLike
from afa.operator.matching import Matching
from afa.operator.patterns import pattern_of
from afa.operator.tables import Item
from afa.operator.told_anew import match_name
from punctuation.promise import Punctuation

EVENTS = 100_000
"""So many changes of events are kept by default."""
MATCHES = 20_000
"""So many announcements are kept with their events."""
LONG = 200
"""So many events of a path are kept."""


class Trace(Reasons):
    """An operator with its history: events as they came, matches as they were announced and withdrawn, with their reasons.

    It is used like the operator that it is given, as `afa.Reasons`; `html` writes what has happened as a page.

    Parameters
    ----------
    operator : Operator, Keyed, or one with stages around it
    most : int
        How many changes of events are kept, the first ones. Events of matches are kept with them.
    matches : int
        How many announcements are kept, the first ones; all are counted.
    zone : str, optional
        As of `afa.Reasons`.

    Notes
    -----
    Holds ``most`` events, ``matches`` announcements with at most 200 events each, and two operators. O(lineage) for each match.
    """

    def __init__(self, operator: OperatorLike, *, most: int = EVENTS, matches: int = MATCHES, zone: str | None = None) -> None:
        for name, value in (("most", most), ("matches", matches)):
            if type(value) is not int or value < 0:
                raise AfaError(f"expected a number, at least 0, but got {name}={value!r}")
        super().__init__(operator, zone=zone)
        self.most, self.most_matches = most, matches
        self.events: list[TracedChange] = []
        self.promises: list[tuple[int, int]] = []
        self.arcs: list[tuple[Change, int]] = []
        self.announcements: list[Announcement] = []
        self.arrived = self.changes = self.announced = self.withdrawn = self.late = 0
        self._frontier: int | None = None
        self._promised: int | None = None
        self._open: dict[Any, list[Announcement]] = {}
        self._paths: dict[tuple[int, int], tuple[list[tuple[str, Change]], bool]] = {}

    @property
    def final(self) -> int:
        """The output's watermark: matches with an LE below are final."""
        found: int = self._core.progress.output
        return found

    # -- the page --------------------------------------------------------------------------------------------------------------

    def html(self, path: str | os.PathLike[str] | None = None, *, title: str = "", why: str = "") -> str:
        """Return the page, and write it to a file if one is named: a single file that loads nothing.

        Parameters
        ----------
        path : path, optional
        title : str
            The pattern's name, as the page has it in its head.
        why : str
            What the page says where nothing has matched: the sentence of `funnel`, say.

        Raises
        ------
        AfaError
            The file is there, and is no HTML page.
        """
        text = page_text(page_data(self, title, why), self.draw())
        if path is not None:
            check_kind(path, "html")
            write_text(path, text)
        return text

    def _repr_html_(self) -> str:
        """Show the page within a notebook, in a frame of its own."""
        from html import escape

        return f'<iframe srcdoc="{escape(self.html(), quote=True)}" style="width:100%;height:820px;border:0"></iframe>'

    # -- what happens ----------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return what `call_failed` needs."""
        kept = len(self.events), len(self.promises), len(self.arcs), len(self.announcements)
        counted = self.arrived, self.changes, self.announced, self.withdrawn, self.late, self._frontier, self._promised
        return super().call_begins(), kept, counted

    def call_failed(self, before: Any) -> None:
        """Forget what a call has noted."""
        words, kept, counted = before
        super().call_failed(words)
        for noted, n in zip((self.events, self.promises, self.arcs, self.announcements), kept):
            del noted[n:]  # type: ignore[attr-defined]
        self.arrived, self.changes, self.announced, self.withdrawn, self.late, self._frontier, self._promised = counted
        for known in self.announcements:
            if known.gone_at is not None and known.gone_at >= self.arrived:
                known.gone_at = known.gone_because = None
        self._open = {}
        for known in self.announcements:
            if known.gone_at is None:
                self._open.setdefault(match_name(known.change), []).append(known)

    def __reduce__(self) -> tuple[Any, ...]:
        raise AfaError("expected an Operator or a Keyed to be pickled but got a Trace: its notes stay in this process")

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        with self._core.calls.lock:
            other = memo[id(self)] = Trace(copy.deepcopy(self.operator, memo), most=self.most, matches=self.most_matches)
            other.events, other.promises, other.arcs = list(self.events), list(self.promises), list(self.arcs)
            other.announcements = [copy.copy(each) for each in self.announcements]
            other.call_failed(self.call_begins())
            return other

    def _carry_out(self, items: list[Item], net: bool, write: Any) -> tuple[Output, Any]:
        self._paths.clear()
        return super()._carry_out(items, net, write)

    def _announced(self, place: tuple[int, int], change: Any) -> None:
        if len(self.announcements) + len(self._paths) >= self.most_matches:
            return
        try:
            paths = list(islice(lineage_now(self.operator, change).paths(), 2))
        except AfaError:
            paths = []
        self._paths[place] = (list(paths[0][:LONG]) if paths else [], len(paths) > 1)

    def _taken(self, items: list[Item], places: list[tuple[int, int]], out: Output) -> None:
        for i, item in enumerate(items):
            self._arrive(self.arrived + i, item, self._whole(items, i))
        for (i, j), change in zip(places, out):
            if isinstance(change, Change):
                self._tell(self.arrived + i, (i, j), change)
        self.arrived += len(items)

    def _arrive(self, arrival: int, item: Item, whole: Change | None) -> None:
        if isinstance(item[1], Punctuation):
            if item[1].where is None and item[0] == "event":
                self.promises.append((item[1].t, arrival))
                self._promised = max(self._promised or item[1].t, item[1].t)
        elif whole is not None and is_arc(whole):
            self.arcs.append((whole, arrival))
        elif whole is not None:
            le: Any = whole.le
            late = self._frontier is not None and le < self._frontier
            self.late += late
            self.changes += 1
            self._frontier = le if self._frontier is None else max(le, self._frontier)
            if len(self.events) < self.most:
                left_out = self._promised is not None and le < self._promised
                self.events.append(TracedChange(whole, arrival, left_out))

    def _tell(self, arrival: int, place: tuple[int, int], change: Change) -> None:
        name = match_name(change)
        if change.diff < 0:
            self.withdrawn -= change.diff
            known = self._open.pop(name, [])
            for each in known[change.diff :]:
                each.gone_at, each.gone_because = arrival, change.because
            self._open[name] = known[: change.diff]
            return
        self.announced += change.diff
        path, more = self._paths.get(place, ([], False))
        for _ in range(min(change.diff, self.most_matches - len(self.announcements))):
            self.announcements.append(Announcement(change, arrival, change.because, path, more))
            self._open.setdefault(name, []).append(self.announcements[-1])


@renamed("le")
def trace(
    pattern: Any, input: Any, *, key: Any = None, most: int = EVENTS, net: bool = False, time: str = "le", **options: Any
) -> Trace:
    """Take an input through a pattern and return what happened: events, matches, what was withdrawn and why, as a page.

    Parameters
    ----------
    pattern : Query, Automaton, or an operator
    input : table or list
        As of `Operator.push_many`, in the order of arrival.
    key : str or sequence of str, optional
        Of an automaton: as of `Keyed`. A query has its own.
    most : int
        How many changes of events are kept.
    net : bool
        False: each row is taken as it came, so that matches come and go as they would have. True: all of it is one call.
    time : str
        The column that holds LE.
    options
        As of `Operator`: ``window``, ``tick`` .. ; ``lineage`` is on.

    Returns
    -------
    Trace
        ``.html("run.html")`` writes the page, a notebook shows it; ``.push`` and ``.push_many`` go on.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Pay(NamedTuple):
    ...     kind: str
    >>> twice = afa.Automaton(start="0", final={"2"}, event=Pay, arcs=[
    ...     afa.Arc("0", "1", "kind == 'declined'"), afa.Arc("1", "2", "kind == 'declined'"),
    ... ])
    >>> run = trace(twice, {"kind": ["declined", "declined", "approved"], "le": [1, 5, 3]}, window=60)
    >>> run.announced, run.withdrawn, run.announcements[0].gone_because.kind
    (1, 1, 'between')
    >>> "</html>" in run.html()
    True
    """
    if isinstance(pattern, Matching):
        if key is not None or options:
            raise AfaError(f"expected options of a pattern only but got {', '.join(options) or 'key'} beside an operator")
        operator: Any = pattern
    else:
        whole = {"postpone": False} if isinstance(pattern, (Query, Builder)) else {}  # what waits has no steps to show
        said = {} if key is None else {"key": key}
        maker = pattern_of(pattern, "a query, an automaton or an operator")
        operator = maker.operator(**{"lineage": True, **whole, **said, **options})
    found = Trace(operator, most=most)
    found.push_many(input, net=net, time=time)
    return found
