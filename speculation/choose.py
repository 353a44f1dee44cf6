"""Choose which of overlapping matches are shown: AFTER MATCH SKIP of SQL, and the non-overlapping output of SASE+, as a stage.

What is chosen is a function of the *set* of matches, so that they may come and go in any order: a late event that brings a match,
or breaks one, draws the chain of its key anew from there on (`speculation.chain`). A chosen match is final when nothing that comes
before it can change any more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.model.copies import as_plain, as_total
from afa.schema import as_ticks
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER
from speculation.before_after import After
from speculation.chain import Candidate, Chain
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
    window : int, optional
        All matches come from events of this lifetime: then a match starts at RE - window. With it promises pass the stage, and what
        is final is forgotten.
    start : sequence of str
        Fields of a match that say where it starts; behind RE - window, if there is a window.
    end : sequence of str
        Fields that say where it ends, behind its LE.
    prefer : sequence of str
        Fields that say which of the matches with one start is preferred: the smaller value; with ``-`` before the name the larger
        one. Behind them the later end is preferred.
    to : sequence of str
        Fields that say where the next match may begin, in place of ``skip``. None in them: as "to next row".
    shown : NamedTuple class, optional
        Of payloads as they leave: the first fields of those that come. Left out: they leave as they come.

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

    _numbers = ("_drawn", "_promised")

    def __init__(
        self,
        skip: str = "past last row",
        *,
        by: Literal["start", "end"] = "start",
        window: int | None = None,
        start: Sequence[str] = (),
        end: Sequence[str] = (),
        prefer: Sequence[str] = (),
        to: Sequence[str] = (),
        shown: type | None = None,
    ) -> None:
        super().__init__()
        if skip not in SKIPS:
            raise AfaError(f"expected one of {', '.join(map(repr, SKIPS))} but got skip={skip!r}")
        if by not in ("start", "end"):
            raise AfaError(f'expected "start" or "end" but got by={by!r}')
        if window is None and not start:
            raise AfaError("expected window= or start=, which say where a match starts, but got neither")
        if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window <= 0):
            raise AfaError(f"expected a number of ticks above 0 but got window={window!r}")
        for name, fields in (("start", start), ("end", end), ("prefer", prefer), ("to", to)):
            if isinstance(fields, str) or not all(isinstance(field, str) for field in fields):
                raise AfaError(f"expected names of fields but got {name}={fields!r}")
        size = len(start) + (window is not None)
        for name, found in (("end", len(end) + 1), ("to", len(to) or size)):
            if found != size:
                raise AfaError(f"expected {name}= of as many fields as start=, {size} with RE - window or LE, but got {found}")
        self.skip, self.by, self.window, self.shown = skip, by, window, shown
        self.opens, self.closes, self.prefer, self.to = tuple(start), tuple(end), tuple(prefer), tuple(to)
        self._chains: dict[Hashable, Chain] = {}
        self._leaving: dict[Any, int] = {}  # how many chosen matches stand for one that is shown
        self._coming: dict[Hashable, tuple[list[Candidate], list[Candidate]]] = {}
        self._drawn = 0
        self._promised = BEGINNING
        self._waiting = _Matches(self)  # type: ignore[assignment]

    def after(self, operator: Any) -> After:
        """Put this stage at the output of an operator."""
        return After(self, operator)

    @property
    def statistics(self) -> ChooseStatistics:
        """The numbers of matches that are held, of those that are chosen, and of links drawn anew so far."""
        return self._calls.call(self._look)

    def _look(self) -> ChooseStatistics:
        chains = self._chains.values()
        held, chosen = sum(len(chain.matches) for chain in chains), sum(len(chain.chosen) for chain in chains)
        return ChooseStatistics(held, chosen, self._drawn)

    # -- one call --------------------------------------------------------------------------------------------------------------

    def call_begins(self) -> Any:
        """Return all numbers; nothing of a call before is coming."""
        self._coming = {}
        return super().call_begins()

    def take(self, item: Change | Punctuation, out: Output) -> None:
        """Take a checked item, within a call. `end` draws the chains."""
        if isinstance(item, Punctuation):
            if item.where is None:  # one with a condition says nothing of what is chosen
                self.end(out)
                self._settle(as_ticks(item.t, "t"), out)
            return
        if item.diff not in (1, -1):
            raise ChangeError(f"expected a match that comes or goes once but got diff={item.diff} for {item.payload!r}")
        candidate = self._candidate(item)
        gone, come = self._coming.setdefault(item.key, ([], []))
        chain = self._chains.get(item.key)
        there = (chain is not None and candidate.place in chain.matches and candidate not in gone) or candidate in come
        if item.diff < 0 and candidate in come:
            come.remove(candidate)
        elif item.diff > 0 and candidate in gone:
            gone.remove(candidate)
        elif there is (item.diff > 0):
            raise ChangeError(
                f"expected a match that comes once, then goes, but got diff={item.diff} for {item.payload!r} at le={item.le}"
            )
        else:
            (come if item.diff > 0 else gone).append(candidate)

    def end(self, out: Output) -> None:
        """Draw the chains anew; append the difference."""
        coming, self._coming = self._coming, {}
        shown: dict[Any, int] = {}
        for key, (gone, come) in coming.items():
            if not gone and not come:
                continue
            chain = self._chains.get(key)
            if chain is None:
                chain = Chain(self._journal)
                self._journal.put(self._chains, key, chain)
            found = chain.change(gone, come)
            self._drawn += found.drawn
            for link in found.withdrawn:
                shown[self._shown(link.match)] = shown.get(self._shown(link.match), 0) - 1
            for link in found.announced:
                shown[self._shown(link.match)] = shown.get(self._shown(link.match), 0) + 1
            if not chain.matches:
                self._journal.drop(self._chains, key)
        changes: list[Change] = [Change(payload, le, re, sign, key) for (payload, le, re, key), sign in self._net(shown)]
        changes.sort(key=lambda change: (change.diff > 0, change.le))
        out += changes

    def _net(self, shown: dict[Any, int]) -> Iterable[tuple[Any, int]]:
        """Count chosen matches that show the same, and yield those that come or go."""
        for match, diff in shown.items():
            before = self._leaving.get(match, 0)
            if diff == 0:
                continue
            if before + diff:
                self._journal.put(self._leaving, match, before + diff)
            else:
                self._journal.drop(self._leaving, match)
            if not before or not before + diff:
                yield match, 1 if diff > 0 else -1

    def _settle(self, t: int, out: Output) -> None:
        """Forget what is final behind a promise for matches, and pass on what it promises of the chosen ones."""
        if t == FOREVER:
            least = FOREVER
        elif self.window is None:
            return
        else:
            least = max(t - self.window + 1, BEGINNING)  # what comes starts here or later
        place = t if self.by == "end" else least
        for key, chain in list(self._chains.items()):
            before = dict(chain.chosen)
            chain.settle((place,), (least,))
            for each in before.keys() - chain.chosen.keys():
                match = self._shown(before[each].match)
                if self._leaving[match] == 1:  # else it stays in force, whatever becomes of the others that show the same
                    self._journal.drop(self._leaving, match)
            if not chain.matches:
                self._journal.drop(self._chains, key)
        if place > self._promised:
            self._promised = place
            out.append(Punctuation(place))

    # -- matches ---------------------------------------------------------------------------------------------------------------

    def _candidate(self, change: Change) -> Candidate:
        """Return a match as the chain sees it."""
        payload, le, re, *_ = change
        if self.window is not None and re is None:
            raise ChangeError(f"expected a match with its RE but got re=None for {payload!r}")
        try:
            start = self._of(payload, self.opens)
            if self.window is not None:
                start = (FOREVER if re is None else re - self.window, *start)
            end = (le, *self._of(payload, self.closes))
            to = self._of(payload, self.to)
            prefer = tuple(_preferred(payload, name) for name in self.prefer)
        except AttributeError as error:
            raise ChangeError(f"expected a match with the fields that Choose names but got {payload!r}: {error}") from None
        resume: tuple[Any, ...] = (*start, 0)
        if self.to and None not in to:
            resume = max((*to, -1), (*start, 0))  # the next match begins behind this one's first event at least
        elif not self.to and self.skip == SKIPS[0]:
            resume = (*end, 0)
        start = (*start, 0)
        last = (_Down(end), repr(payload), -1 if re is None else re)
        place = (*end, 0, _Down(start), *prefer, *last) if self.by == "end" else (*start, *prefer, *last)
        return Candidate(place, start, resume, change._replace(diff=1))

    @staticmethod
    def _of(payload: Any, names: Sequence[str]) -> tuple[Any, ...]:
        return tuple(getattr(payload, name) for name in names)

    def _shown(self, match: Change) -> tuple[Any, ...]:
        payload = match.payload
        if self.shown is not None:
            payload = self.shown(*payload[: len(self.shown._fields)])  # type: ignore[attr-defined]
        return payload, match.le, match.re, match.key

    # -- snapshots: see `Stage.of` -----------------------------------------------------------------------------------------------

    def numbers(self) -> list[Any]:
        """Return all but the matches, as plain data."""
        shown = None if self.shown is None else [self.shown.__name__, *self.shown._fields]  # type: ignore[attr-defined]
        said = [self.skip, self.by, self.window, *(list(names) for names in (self.opens, self.closes, self.prefer, self.to)), shown]
        return [*said, as_plain(self._drawn), self._promised]

    @classmethod
    def _made(cls, numbers: list[Any]) -> Choose:
        skip, by, window, start, end, prefer, to, shown, drawn, promised = numbers
        make: Any = NamedTuple  # its fields are known at run time only
        kind = None if shown is None else make(shown[0], [(name, Any) for name in shown[1:]])
        stage = cls(skip, by=by, window=window, start=start, end=end, prefer=prefer, to=to, shown=kind)
        stage._drawn, stage._promised = as_total(drawn), as_ticks(promised, "promised")
        return stage

    def _check_waiting(self) -> None:
        """Draw the chains of the matches that a snapshot holds."""
        drawn = self._drawn
        self.end([])
        self._drawn = drawn


def _preferred(payload: Any, name: str) -> tuple[Any, ...]:
    """Return what a field says of the preference; smaller is preferred, None last."""
    value = getattr(payload, name.removeprefix("-"))
    return (value is None, _Down(value) if name.startswith("-") else value)


class _Down:
    """A value in descending order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.value == other.value

    def __lt__(self, other: _Down) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)


class _Matches:
    """The matches of a `Choose`, as `Stage` asks of what waits."""

    tables: tuple[Any, ...] = ()
    copies = 0
    changes_of: Any = None

    def __init__(self, stage: Choose) -> None:
        self._stage = stage

    @property
    def changes(self) -> list[Change]:
        """All matches that are held."""
        return [candidate.match for chain in self._stage._chains.values() for candidate in chain.matches.values()]

    all = changes

    def add(self, change: Change) -> None:
        """Take a match of a snapshot."""
        self._stage.take(change, [])

    def takes_rows(self, table: Any) -> bool:
        """Return whether rows wait here: never."""
        return False
