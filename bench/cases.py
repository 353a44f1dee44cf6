"""The queries with the streams that belong to them."""

from __future__ import annotations

from typing import NamedTuple

from afa import Automaton
from bench.queries import head_and_shoulders, q1, q2, q3


class Case(NamedTuple):
    """A query, and the probability of an uptick in its stream."""

    name: str
    automaton: Automaton
    p: float = 0.5


LIGHT = [
    Case("Q1 k=1", q1(1)),
    Case("Q1 k=2", q1(2)),
    Case("Q2 p=.7", q2(), 0.7),
    Case("Q3", q3()),
]
HEAVY = Case("Q2 p=.5", q2())
ALL = [*LIGHT, HEAVY, Case("head and shoulders", head_and_shoulders())]
