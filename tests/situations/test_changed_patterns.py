"""A running operator goes over to another pattern by the arcs that differ: those of one name stay, with what has come by them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from afa import BEGINNING, FOREVER, Operator, insert, retract
from afa.errors import QueryError
from tests.situations.oracle import matches, stretches
from tests.situations.pattern_worlds import instants, pattern_of, world


def test_other_constraints() -> None:
    done = kept = 0
    for seed in range(12):
        asked, steps, clock, _ = world(seed)
        others = (world(other).asked for other in range(seed + 1, seed + 500))
        changed = asked._replace(constraints=next(each.constraints for each in others if len(each.lasting) == len(asked.lasting)))
        try:
            before, after = pattern_of(asked), pattern_of(changed)
        except QueryError:
            continue
        assert before.instants is after.instants
        on, values = ({step[0]: step[place] for step in steps if step[3] > 0} for place in (1, 2))
        situations = [stretches(on, values, k) for k in range(len(asked.lasting))]
        operator = Operator(before.automaton, window=asked.within, engine="interpreted")
        net: Counter[Any] = Counter()

        def take(changes: list[Any], net: Counter[Any] = net) -> None:
            for change in changes:
                net[tuple(change.payload), change.le, change.re] += change.diff

        take(operator.push_many([insert(each, le=each.at) for each in instants(before, asked, situations, clock)]))
        assert set(+net) == matches(asked, situations, clock)
        olds, news = ({arc.name: arc for arc in pattern.automaton.arcs} for pattern in (before, after))
        kept += len(olds.keys() & news.keys())
        for name in olds.keys() - news.keys():
            take(operator.push_arc(retract(olds[name], le=BEGINNING, re=FOREVER)))
        for name in news.keys() - olds.keys():
            take(operator.push_arc(insert(news[name], le=BEGINNING, re=FOREVER)))
        assert set(+net) == matches(changed, situations, clock), seed
        done += 1
    assert done > 6
    assert kept > 50
