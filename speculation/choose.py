"""Choose which of overlapping matches are shown: AFTER MATCH SKIP of SQL, and the non-overlapping output of SASE+, as a stage.

What is chosen is a function of the *set* of matches, so that they may come and go in any order: a late event that brings a match,
or breaks one, draws the chain of its key anew from there on (`speculation.chain`). A chosen match is final when nothing that comes
before it can change any more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cmp_to_key
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.lineage.components import sort_key
from afa.model.copies import as_plain, as_total
from afa.operator.contract import OperatorLike
from afa.schema import as_ticks
from punctuation.deadlines import Deadlines
from punctuation.durations import Duration
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation.before_after import After
from speculation.chain import ChosenMatch, Group, MatchChain, Point
from speculation.stage import Output, Stage

SKIPS = ("past last row", "to next row")


class ChooseStatistics(NamedTuple):
    """The numbers of one `Choose`.

    Parameters
    ----------
    held : int
        Matches of which it is not final whether they are chosen.
    chosen : int
        Those of them that are chosen now.
    drawn : int
        Links of chains drawn so far: new ones, and those drawn anew behind a change.
    """

    held: int
    chosen: int
    drawn: int


class Choose(Stage):
    """Of overlapping matches show those that AFTER MATCH SKIP draws.

    For each start the *preferred* match counts. The first of these is chosen, then the first that begins behind its end, and so on.

    Parameters
    ----------
    skip : "past last row" or "to next row"
        Where the next match may begin: behind the end of the chosen one, or behind its start.
    by : "start" or "end"
        "start": matches are gone through by their starts. "end": the match that ends first is chosen, of these the one that starts
        last; then the first to end of those that start behind it: the non-overlapping output of SASE+.
    window : int (ticks), str or timedelta, optional
        All matches come from events of this lifetime: then a match starts at RE - window. With it promises pass the stage, and what
        is final is forgotten.
    start : sequence of str
        Fields of a match that say where it starts; behind RE - window, if there is a window.
    end : sequence of str
        Fields that say where it ends, behind its LE.
    prefer : sequence of str
        Fields that say which of the matches with one start is preferred: the smaller value; with ``-`` before the name the larger
        one. Behind them the later end is preferred, then the smaller payload, field by field.
    to : sequence of str
        Fields that say where the next match may begin, in place of ``skip``. None in them: as "to next row".
    shown : NamedTuple class, optional
        Of payloads as they leave: the first fields of those that come. Left out: they leave as they come.
    tick : str, optional
        What one int of LE counts, for a window with units; where the stage stands at an operator that one's.

    Raises
    ------
    AfaError
        Neither ``window`` nor ``start`` says where a match starts, or a value is none of those above.

    Notes
    -----
    O(log n) for a change, and what is drawn anew: ``statistics.drawn`` counts it. One late event may shift the chain up to its end.
    A chosen match is final later than the match is: behind a promise t all that starts at t - window or before is. Put a `Cleanse`
    behind it to see only what is final. Source: ISO/IEC 19075-5, AFTER MATCH SKIP; [SASE08] for ``by="end"``.

    Examples
    --------
    >>> from afa import insert, retract
    >>> stage = Choose(window=10)
    >>> [(c.diff, c.le) for c in stage.push_many([insert("a", 5, 11), insert("a", 7, 14), insert("b", 3, 11)])]
    [(1, 5)]
    >>> [(c.diff, c.le) for c in stage.push(retract("a", 5, 11))]
    [(-1, 5), (1, 3), (1, 7)]
    """

    needs_all = True
    draws = True
    _numbers = ("_drawn", "_promised")

    def __init__(
        self,
        skip: str = "past last row",
        *,
        by: Literal["start", "end"] = "start",
        window: Duration | None = None,
        start: Sequence[str] = (),
        end: Sequence[str] = (),
        prefer: Sequence[str] = (),
        to: Sequence[str] = (),
        shown: type | None = None,
        tick: str | None = None,
    ) -> None:
        super().__init__(tick)
        if skip not in SKIPS:
            raise AfaError(f"expected one of {', '.join(map(repr, SKIPS))} but got skip={skip!r}")
        if by not in ("start", "end"):
            raise AfaError(f'expected "start" or "end" but got by={by!r}')
        if window is None and not start:
            raise AfaError("expected window= or start=, which say where a match starts, but got neither")
        window = self._window(window)
        for name, fields in (("start", start), ("end", end), ("prefer", prefer), ("to", to)):
            if isinstance(fields, str) or not all(isinstance(field, str) for field in fields):
                raise AfaError(f"expected names of fields but got {name}={fields!r}")
        size = len(start) + (window is not None)
        for name, found in (("end", len(end) + 1), ("to", len(to) or size)):
            if found != size:
                raise AfaError(f"expected {name}= of as many fields as start=, {size} with RE - window or LE, but got {found}")
        self.skip, self.by, self.window, self.shown = skip, by, window, shown
        self.opens, self.closes, self.prefer, self.to = tuple(start), tuple(end), tuple(prefer), tuple(to)
        names = [*self.opens, *self.closes, *(name.removeprefix("-") for name in self.prefer), *self.to]
        ends = list(accumulate([len(self.opens), len(self.closes), len(self.prefer), len(self.to)], initial=0))
        self._opens, self._closes, prefers, self._to = (slice(*pair) for pair in pairwise(ends))
        self._prefers = [(prefers.start + i, name.startswith("-")) for i, name in enumerate(self.prefer)]
        self._read = _reader(names)
        self._chains: dict[Hashable, MatchChain] = {}
        self._leaving: dict[Any, int] = {}  # how many chosen matches stand for one that is shown
        self._coming: dict[Hashable, tuple[Point, Point]] = {}  # of each key, the first and the last group that has changed
        self._deadlines: Deadlines | None = None  # None: they are to be set anew
        self._drawn = 0
        self._promised = BEGINNING

    def after(self, operator: OperatorLike) -> After:
        """Put this stage at the output of an operator."""
        return After(self, operator)

    @property
    def statistics(self) -> ChooseStatistics:
        """The numbers of matches that are held, of those that are chosen, and of links drawn anew so far."""
        return self._calls.call(self._look)

    def _look(self) -> ChooseStatistics:
        return ChooseStatistics(len(self.waiting()), sum(len(chain.chosen) for chain in self._chains.values()), self._drawn)

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call. `end` draws the chains."""
        if isinstance(item, Punctuation):
            if item.where is None:  # one with a condition says nothing of what is chosen
                self.end(out)
                t = self._settle(as_ticks(item.t, "t"))
                if t is not None:
                    out.append(Punctuation(t))
            return
        payload, le, _, diff, key = item
        if diff not in (1, -1):
            raise ChangeError(f"expected a match that comes or goes once but got diff={diff} for {payload!r}")
        values = self._values(item)
        start = self._start(item, values)
        group = start if self.by == "start" else self._close(item, values)
        chain = self._chains.get(key)
        if chain is None:
            chain = MatchChain(self._journal, self._pick)
            self._journal.put(self._chains, key, chain)
        try:
            fits = chain.insert(group, item) if diff > 0 else chain.retract(group, item)
            first, last = self._coming.get(key, (group, group))
            self._coming[key] = min(first, group), max(last, group)
        except TypeError as error:
            raise _not_comparable(payload, error) from None
        if not fits:
            raise ChangeError(f"expected a match that comes once, then goes, but got diff={diff} for {payload!r} at le={le}")

    def end(self, out: Output) -> None:
        """Draw the chains anew; append the difference."""
        coming, self._coming = self._coming, {}
        shown: dict[Any, int] = {}
        for key, (first, last) in coming.items():
            chain = self._chains[key]
            found = chain.draw(first, last)
            self._drawn += found.drawn
            for links, diff in ((found.withdrawn, -1), (found.announced, 1)):
                for link in links:
                    match = self._shown(link.match)
                    shown[match] = shown.get(match, 0) + diff
            self._rest(key, chain)
        changes: list[Change] = [Change(payload, le, re, sign, key) for (payload, le, re, key), sign in self._net(shown)]
        changes.sort(key=lambda change: (change.diff > 0, change.le))
        out += changes

    def _net(self, shown: dict[Any, int]) -> Iterable[tuple[Any, int]]:
        """Count chosen matches that show the same, and yield those that come or go."""
        for match, diff in shown.items():
            before = self._leaving.get(match, 0)
            if diff:
                self._leave(match, before + diff)
                if not before or not before + diff:
                    yield match, 1 if diff > 0 else -1

    def _leave(self, match: Any, count: int) -> None:
        if count:
            self._journal.put(self._leaving, match, count)
        else:
            self._journal.drop(self._leaving, match)

    def call_failed(self, before: Any) -> None:
        """Restore the state from before the call; deadlines are set anew when they are needed."""
        super().call_failed(before)
        self._coming, self._deadlines = {}, None

    # -- what is final ---------------------------------------------------------------------------------------------------------

    def _settle(self, t: int) -> int | None:
        """Forget what is final behind a promise for matches. Returns what it promises of the chosen ones; None: nothing new."""
        if t == FOREVER:
            least = FOREVER
        elif self.window is None:
            return None
        else:
            least = max(t - self.window + 1, BEGINNING)  # what comes starts here or later
        group = t if self.by == "end" else least  # and lies in this group or behind it
        for key in self._due(t):
            chain = self._chains[key]
            for link in chain.settle((group,), (least,)):  # all that show the same are final, or none
                match = self._shown(link.match)
                self._leave(match, self._leaving[match] - 1)
            self._rest(key, chain)
        if group <= self._promised:
            return None
        self._promised = group
        return group

    def _due(self, t: int) -> list[Hashable]:
        """Return the keys of which a promise makes something final."""
        if t == FOREVER:
            return list(self._chains)
        if self._deadlines is None or not self._deadlines.whole:
            self._deadlines = Deadlines()
            for key, chain in self._chains.items():
                self._deadlines.set(key, self._deadline(chain))
        return self._deadlines.due(t)

    def _rest(self, key: Hashable, chain: MatchChain) -> None:
        """Set the punctuation that a key wants next; forget the key if it holds nothing."""
        if not chain.groups:
            self._journal.drop(self._chains, key)
        if self._deadlines is not None and self.window is not None:
            self._deadlines.set(key, self._deadline(chain))

    def _deadline(self, chain: MatchChain) -> int | None:
        """Return the smallest punctuation that makes a chain smaller."""
        assert self.window is not None
        groups, wait = chain.groups, 1 if self.by == "end" else self.window
        if not groups:
            return None
        first = groups.peekitem(0)[0]
        link: ChosenMatch | None = chain.chosen.get(first)
        at: int = first[0] + wait
        if link is None:
            return at
        at = max(at, link.resume[0] + self.window)  # it may be the last final link, which stays
        return min(at, groups.peekitem(1)[0][0] + wait) if len(groups) > 1 else at

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _values(self, match: Change) -> tuple[Any, ...]:
        """Return the fields of a match that choosing reads; refuse one that lacks some of them."""
        try:
            return self._read(match.payload)
        except AttributeError as error:
            raise ChangeError(f"expected a match with the fields that Choose names but got {match.payload!r}: {error}") from None

    def _start(self, match: Change, values: tuple[Any, ...]) -> Point:
        """Return where a match starts."""
        opens = values[self._opens]
        if self.window is None:
            return opens
        if match.re is None:
            raise ChangeError(f"expected a match with its RE but got re=None for {match.payload!r}")
        return match.re - self.window, *opens

    def _close(self, match: Change, values: tuple[Any, ...]) -> Point:
        """Return where a match ends."""
        return match.le, *values[self._closes]

    def _resume(self, match: Change) -> Point:
        """Return where the next match may start: always behind the start of this one."""
        values = self._values(match)
        behind = *self._start(match, values), 0
        to = values[self._to]
        if self.to:
            return behind if None in to else max(to, behind)
        return max((*self._close(match, values), 0), behind) if self.skip == SKIPS[0] else behind

    def _pick(self, group: Group, resume: Point | None) -> ChosenMatch | None:
        """Return the preferred match of a group, of those that start at the resume point or behind it."""
        matches: Iterable[Change] = group
        if self.by == "end" and resume is not None:
            matches = [match for match in matches if self._start(match, self._values(match)) >= resume]
        try:
            match = next(iter(matches), None) if len(group) == 1 else min(matches, key=self._rank, default=None)
            return None if match is None else ChosenMatch(self._resume(match), match)
        except TypeError as error:
            raise _not_comparable([match.payload for match in group], error) from None

    def _rank(self, match: Change) -> tuple[Any, ...]:
        """Return what the matches of one group are ordered by: the first one is preferred."""
        values = self._values(match)
        prefer = [_preferred(values[i], down) for i, down in self._prefers]
        last = self._start(match, values) if self.by == "end" else self._close(match, values)
        first = [_down(last), *prefer] if self.by == "end" else [*prefer, _down(last)]
        return (*first, *_tie(match))

    def _shown(self, match: Change) -> tuple[Any, ...]:
        payload, shown = match.payload, self.shown
        if shown is not None:
            payload = shown(*payload[: len(shown._fields)])  # type: ignore[attr-defined]
        return payload, match.le, match.re, match.key

    # -- snapshots: see `Stage.of` -----------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return all but the matches, as plain data."""
        shown = None if self.shown is None else [self.shown.__name__, *self.shown._fields]  # type: ignore[attr-defined]
        said = [self.skip, self.by, self.window, *(list(names) for names in (self.opens, self.closes, self.prefer, self.to)), shown]
        return [*said, as_plain(self._drawn), self._promised]

    def waiting(self) -> list[Change]:
        """Return the matches that are held."""
        return [match for chain in self._chains.values() for group in chain.groups.values() for match in group]

    def chosen(self, match: Change) -> list[Any]:
        """Return the payloads of the chosen matches that are shown as this one, with all that they hold."""
        payload, le, re, _, key = match
        size, links = len(payload), self._chains[key].chosen.values() if key in self._chains else ()
        found = (link.match for link in links)
        return [m.payload for m in found if (m.le, m.re) == (le, re) and tuple(m.payload[:size]) == tuple(payload)]

    @classmethod
    def _made(cls, numbers: list[Any]) -> Choose:
        skip, by, window, start, end, prefer, to, shown, drawn, promised = numbers
        make: Any = NamedTuple  # its fields are known at run time only
        kind = None if shown is None else make(shown[0], [(name, Any) for name in shown[1:]])
        stage = cls(skip, by=by, window=window, start=start, end=end, prefer=prefer, to=to, shown=kind)
        stage._drawn, stage._promised = as_total(drawn), as_ticks(promised, "promised")
        return stage

    def _wait(self, change: Change) -> None:
        self.take(change, [])

    def _check_waiting(self) -> None:
        """Draw the chains of the matches that a snapshot holds."""
        drawn = self._drawn
        self.end([])
        self._drawn = drawn


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda payload: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda payload: (read(payload),)


def _not_comparable(payload: Any, error: Any) -> ChangeError:
    """Return the error for fields that do not order matches."""
    return ChangeError(f"expected fields that can be compared with those of other matches but got {payload!r}: {error}")


def _preferred(value: Any, down: bool) -> tuple[Any, ...]:
    """Return what a field says of the preference; smaller is preferred, NaN behind all numbers, None last."""
    if value is None:
        return (2,)
    return (1,) if value != value else (0, _down(value) if down else value)


def _tie(match: Change) -> tuple[Any, ...]:
    """Return what orders matches that nothing else does: their payload field by field, then RE."""
    payload = match.payload
    fields = payload if isinstance(payload, tuple) else (payload,)
    return tuple(map(sort_key, fields)), BEGINNING if match.re is None else match.re


def _down(value: Any) -> Any:
    """Return what orders values of one type in the other direction."""
    return -value if type(value) in (int, float) else _DESCENDING(value)


_DESCENDING = cmp_to_key(lambda a, b: (a < b) - (b < a))  # type: ignore[operator]
