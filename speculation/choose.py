"""Choose which of overlapping matches are shown: AFTER MATCH SKIP of SQL, and the non-overlapping output of SASE+, as a stage.

What is chosen is a function of the *set* of matches, so that they may come and go in any order: a late event that brings a match,
or breaks one, draws the chain of its key anew from there on (`speculation.chain`). A chosen match is final when nothing that comes
before it can change any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.model.copies import as_plain, as_total
from afa.operator.contract import OperatorLike
from afa.operator.tables import CallOutput
from afa.schema import as_ticks
from punctuation.durations import Duration
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation.before_after import After
from speculation.chain import Point
from speculation.choose_plain import PlainWay
from speculation.choose_rows import RowWay
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
    O(log n) for a change (behind the compiled operator the changes of a call are merged into what is held of their key, from the
    first one on), and what is drawn anew: ``statistics.drawn`` counts it. One late event may shift the chain up to its end.
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
        self.preferred = [(prefers.start + i, name.startswith("-")) for i, name in enumerate(self.prefer)]
        self._read = _reader(names)
        self._way = PlainWay(self)
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
        held, chosen = self._way.look()
        return ChooseStatistics(held, chosen, self._drawn)

    @property
    def columns(self) -> bool:  # type: ignore[override]
        """Whether matches are held as rows: then `pass_found` takes columns."""
        return self._way.columns  # type: ignore[no-any-return]

    def follow(self, core: Any) -> None:
        """Take note of the operator behind which the stage stands: where it is compiled, matches are held as rows of words."""
        schema = core.automaton.match_schema
        if core.engine.name == "compiled" and self._way.columns is False and RowWay.fits(self, schema):
            way = RowWay(self, schema, core.keyed)
            way.load(self._way.matches())
            self._way = way

    # -- one call --------------------------------------------------------------------------------------------------------------

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call. `end` draws the chains."""
        if isinstance(item, Punctuation):
            if item.where is None:  # one with a condition says nothing of what is chosen
                self.end(out)
                t = self.settle(as_ticks(item.t, "t"))
                if t is not None:
                    out.append(Punctuation(t))
        elif item.diff not in (1, -1):
            raise ChangeError(f"expected a match that comes or goes once but got diff={item.diff} for {item.payload!r}")
        else:
            self._way.take(item)

    def end(self, out: Output) -> None:
        """Draw the chains anew; append the difference."""
        self._way.end(out)

    def pass_found(self, found: CallOutput) -> CallOutput:
        """Take an operator's output, within a call, and return what leaves, both as columns."""
        passed: CallOutput = self._way.pass_found(found)
        return passed

    def settle(self, t: int) -> int | None:
        """Forget what is final behind a promise for matches. Returns what it promises of the chosen ones; None: nothing new."""
        if t == FOREVER:
            least = FOREVER
        elif self.window is None:
            return None
        else:
            least = max(t - self.window + 1, BEGINNING)  # what comes starts here or later
        group = t if self.by == "end" else least
        self._way.settle(t, group, least)
        if group <= self._promised:
            return None
        self._promised = group
        return group

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def values(self, match: Change) -> tuple[Any, ...]:
        """Return the fields of a match that choosing reads; refuse one that lacks some of them."""
        try:
            return self._read(match.payload)
        except AttributeError as error:
            raise ChangeError(f"expected a match with the fields that Choose names but got {match.payload!r}: {error}") from None

    def start(self, match: Change, values: tuple[Any, ...]) -> Point:
        """Return where a match starts."""
        opens = values[self._opens]
        if self.window is None:
            return opens
        if match.re is None:
            raise ChangeError(f"expected a match with its RE but got re=None for {match.payload!r}")
        return match.re - self.window, *opens

    def close(self, match: Change, values: tuple[Any, ...]) -> Point:
        """Return where a match ends."""
        return match.le, *values[self._closes]

    def resume(self, match: Change) -> Point:
        """Return where the next match may start: always behind the start of this one."""
        values = self.values(match)
        behind = *self.start(match, values), 0
        to = values[self._to]
        if self.to:
            return behind if None in to else max(to, behind)
        return max((*self.close(match, values), 0), behind) if self.skip == SKIPS[0] else behind

    @staticmethod
    def not_comparable(payload: Any, error: Any) -> ChangeError:
        """Return the error for fields that do not order matches."""
        return ChangeError(f"expected fields that can be compared with those of other matches but got {payload!r}: {error}")

    # -- snapshots: see `Stage.of` -----------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return all but the matches, as plain data."""
        shown = None if self.shown is None else [self.shown.__name__, *self.shown._fields]  # type: ignore[attr-defined]
        said = [self.skip, self.by, self.window, *(list(names) for names in (self.opens, self.closes, self.prefer, self.to)), shown]
        return [*said, as_plain(self._drawn), self._promised]

    def waiting(self) -> list[Change]:
        """Return the matches that are held."""
        found: list[Change] = self._way.matches()
        return found

    def chosen(self, match: Change) -> list[Any]:
        """Return the payloads of the chosen matches that are shown as this one, with all that they hold."""
        payload, le, re, _, key = match
        size = len(payload)
        return [m.payload for m in self._way.chosen(key) if (m.le, m.re) == (le, re) and tuple(m.payload[:size]) == tuple(payload)]

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
