"""Which way of a pattern is preferred: at each position the ways on, in the order in which a matcher with backtracking tries them.

One more iteration before none (reluctant: the reverse), the left alternative before the right one. An iteration that takes nothing
is the last one, unless more are demanded.

    (a b)+ c     positions a0 b1 c2     behind b1: a0, then c2
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.language.pattern import Component, Either, Pattern, Repeat, Seq

END = -1


class _Begin(NamedTuple):
    """An iteration begins, in the code of a pattern."""


class _End(NamedTuple):
    """It is over: where it goes on, and where if it has taken nothing."""

    begin: int
    on: int
    out: int


class Preference:
    """The ways on from each position, the preferred one first; positions are numbered as by `afa.language.positions`.

    >>> def c(name):
    ...     return Component(name)
    >>> rounds = Preference(Seq((Repeat(Seq((c("a"), c("b")), ())), c("c")), ()))
    >>> rounds.ways(-1), rounds.ways(1), rounds.ways(2)
    ([0], [0, 2], [-1])
    """

    def __init__(self, pattern: Pattern) -> None:
        self._code: list[Any] = []  # a position, where it may go on (the preferred place first), or an iteration's begin or end
        self._at: list[int] = []  # of each position, its place in the code
        self._ways: dict[int, list[int]] = {}
        self._emit(pattern)

    def ways(self, position: int) -> list[int]:
        """Return the positions that may follow one (-1: the start), and END if the match may end; the preferred ones first."""
        if position not in self._ways:
            self._ways[position] = self._found(self._at[position] + 1 if position >= 0 else 0)
        return self._ways[position]

    def _found(self, place: int) -> list[int]:
        """Returns the positions met from a place on. The search keeps which iterations have begun since and have taken nothing."""
        found: dict[int, None] = {}
        seen = set()
        todo = [(place, frozenset[int]())]
        while todo:
            here = place, empty = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            code = END if place == len(self._code) else self._code[place]
            match code:
                case int():
                    found[code] = None
                case _Begin():
                    todo.append((place + 1, empty | {place}))
                case _End(begin, on, out):
                    todo.append((out if begin in empty else on, empty - {begin}))
                case _:
                    todo.extend((to, empty) for to in reversed(code))
        return list(found)

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
        forks, ends = [], []
        for i in range(max(low, 1) if high is None else high):
            if i >= low:
                forks.append(self._fork())
            begin = len(code)
            code.append(_Begin())
            self._emit(item)
            ends.append((begin, self._fork()))
        again = self._fork() if high is None else 0
        out = len(code)
        for i, (begin, end) in enumerate(ends, 1):
            code[end] = _End(begin, end + 1, out if i >= low else end + 1)
        if high is None:
            code[again] = (begin, out) if greedy else (out, begin)
        for fork in forks:
            code[fork] = (fork + 1, out) if greedy else (out, fork + 1)

    def _fork(self) -> int:
        self._code.append(())
        return len(self._code) - 1
