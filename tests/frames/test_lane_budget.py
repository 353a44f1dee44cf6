"""A sweep in lanes within a budget: it counts the same, few rows go in lanes, too, and what is too much is refused in words."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton
from afa.compiled.lane_program import NoLanes
from afa.frames.frame_reading import FrameReading
from afa.frames.lane_budget import LaneBudget
from afa.io.frame import Frame
from afa.operator.options import Options
from afa.replay.backtest import swept


class Row(NamedTuple):
    n: int


class Reg(NamedTuple):
    n: int = 0


ROWS = {"n": [i * 7 % 10 for i in range(300)], "at": [i * 2 for i in range(300)]}
WAITS = Arc.timeout("1", "2", "r.n + 1")


def automaton(limit: int, *arcs: Arc) -> Automaton:
    falls = [Arc("0", "1", f"n < {limit}", "(e.n,)"), Arc("1", "2", f"n > {limit}")]
    return Automaton(start="0", final={"2"}, event=Row, register=Reg(), arcs=[*falls, *arcs])


def counted(budget: LaneBudget | None, *arcs: Arc, frame: Any = ROWS, limits: tuple[int, ...] = (1, 3)) -> list[int]:
    patterns = [automaton(limit, *arcs) for limit in limits]
    options = Options(window=9) if budget is not None else Options(window=9, engine="interpreted")
    found = swept({"limit": limits}, patterns, Frame(frame), FrameReading("at"), options, False, 1, True, budget)
    assert (budget is None) == bool(found.by_operator)
    return [int(n) for n in found.table["matches"]]


@pytest.mark.parametrize("arcs", [(), (WAITS,)])
def test_few_rows_go_in_lanes_and_find_the_same(arcs: tuple[Arc, ...]) -> None:
    found = counted(LaneBudget(60, 10**6), *arcs)
    assert found == counted(None, *arcs)
    assert 0 < found[0] < found[1]


def test_what_takes_too_long_or_writes_too_many_matches_is_refused() -> None:
    with pytest.raises(NoLanes, match=r"it takes more than 0 s"):
        counted(LaneBudget(0, 10**6))
    with pytest.raises(NoLanes, match="it finds more than 20 matches, which have to be told apart"):
        counted(LaneBudget(60, 20), WAITS)
    assert sum(counted(LaneBudget(60, 20))) > 20  # which are counted only


def test_what_only_an_operator_takes_is_refused() -> None:
    with pytest.raises(NoLanes, match="epsilon"):
        counted(LaneBudget(60, 10**6), Arc.epsilon("1", "3"))
    with pytest.raises(NoLanes, match="lanes have left 1 keys"):
        counted(LaneBudget(60, 10**6), frame={"n": [-1] * 3000, "at": [0, *[1] * 2999]})
