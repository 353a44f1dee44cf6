"""Which way of a pattern is preferred: at each position the ways on, in the order in which a matcher with backtracking tries them.

One more iteration before none (reluctant: the reverse), the left alternative before the right one. Two ways of a pattern are
compared where they part; so the choices of a match, from its first event to its end, say how it is preferred among those with one
start.

    (a b)+ c     positions a0 b1 c2     behind b1: a0, then c2

A choice among m ways is written as bits: the i-th as i ones, and a zero behind them if it is not the last. So no match's bits begin
with those of another one, and as texts they are in the order of preference.
"""

from __future__ import annotations

from afa.language.pattern import Component, Either, Pattern, Repeat, Seq

END = -1


class Preference:
    """The ways on from each position, the preferred one first; positions are numbered as by `afa.language.positions`.

    Examples
    --------
    >>> def c(name):
    ...     return Component(name)
    >>> rounds = Preference(Seq((Repeat(Seq((c("a"), c("b")), ())), c("c")), ()))
    >>> rounds.ways(-1), rounds.ways(1), rounds.ways(2)
    ([0], [0, 2], [-1])
    >>> rounds.bits(1, 0), rounds.bits(1, 2), rounds.bits(2, END)
    ('0', '1', '')
    """

    def __init__(self, pattern: Pattern) -> None:
        self._code: list[tuple[int, ...] | int] = []  # a position, or where it may go on, the preferred place first
        self._at: list[int] = []  # of each position, its place in the code
        self._emit(pattern)

    def ways(self, position: int) -> list[int]:
        """Return the positions that may follow one (-1: the start), and END if the match may end; the preferred ones first."""
        found: list[int] = []
        seen: set[int] = set()
        todo = [self._at[position] + 1 if position >= 0 else 0]
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            if place == len(self._code):
                found.append(END)
                continue
            code = self._code[place]
            if isinstance(code, int):
                found.append(code)
            else:
                todo.extend(reversed(code))
        return found

    def bits(self, position: int, to: int) -> str:
        """Return a choice as bits; nothing where there is one way only."""
        ways = self.ways(position)
        i = ways.index(to)
        return "1" * i + ("0" if i < len(ways) - 1 else "")

    def _emit(self, pattern: Pattern) -> None:
        code = self._code
        match pattern:
            case Component():
                self._at.append(len(code))
                code.append(len(self._at) - 1)
            case Seq(items):
                for item in items:
                    self._emit(item)
            case Either(items):
                fork = self._fork()
                begins, ends = [], []
                for item in items:
                    begins.append(len(code))
                    self._emit(item)
                    ends.append(self._fork())
                code[fork] = tuple(begins)
                for end in ends:
                    code[end] = (len(code),)
            case Repeat(item, low, high, _, greedy):
                self._repeat(item, low, high, greedy)

    def _repeat(self, item: Pattern, low: int, high: int | None, greedy: bool) -> None:
        """Write the copies out, as `afa.language.positions` does."""
        code = self._code
        forks = []
        for i in range(max(low, 1) if high is None else high):
            if i >= low:
                forks.append(self._fork())
            begin = len(code)
            self._emit(item)
        if high is None:
            again = self._fork()
            code[again] = (begin, again + 1) if greedy else (again + 1, begin)
        for fork in forks:
            code[fork] = (fork + 1, len(code)) if greedy else (len(code), fork + 1)

    def _fork(self) -> int:
        self._code.append(())
        return len(self._code) - 1
