"""Temporal patterns: sizes, names, what an instant and a match hold, what is refused. What matches: `test_pattern_worlds`."""

from __future__ import annotations

import copy
import pickle
import random
import re
import time
import warnings
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

import afa
from afa import Operator, insert
from afa.errors import AfaError, AutomatonError, QueryError
from afa.extra.situations.configuration_names import state_name
from afa.extra.situations.configurations import plan_of
from afa.situations import Situation, TemporalPattern
from tests.situations.pattern_worlds import pattern_of, world

AGGRESSIVE = (
    "accelerating meets|overlaps|starts|during speeding and speeding contains|finished_by|overlaps|meets braking "
    "and accelerating before braking"
)


class Car(NamedTuple):
    """A reading."""

    car: str
    accel: float
    speed: float


def aggressive(**given: Any) -> TemporalPattern:
    definitions = {"accelerating": Situation("accel > 8"), "speeding": Situation("speed > 70"), "braking": Situation("accel < -9")}
    return TemporalPattern(**{"event": Car, "within": 300, "where": AGGRESSIVE, **definitions, **given})


def related(where: str | None, names: str = "abcdefghij", within: int = 100, **durations: Any) -> TemporalPattern:
    """A pattern of definitions with names of one letter: as many as the text has."""
    used = [name for name in names if where is None or re.search(rf"\b{name}\b", where)]
    return TemporalPattern(event=Car, within=within, where=where, **{name: Situation("speed > 1", **durations) for name in used})


def chain(relation: str, count: int = 10) -> str:
    return " and ".join(f"{a} {relation} {b}" for a, b in zip("abcdefghij"[: count - 1], "bcdefghij"))


def star(relation: str, count: int) -> str:
    return " and ".join(f"{name} {relation} a" for name in "bcdefghij"[: count - 1])


def sizes(pattern: TemporalPattern) -> tuple[int, int]:
    """States that something may still come of, and arcs beside those that wait."""
    found = pattern.explain()
    assert len(pattern.automaton.states) == len(found.states) + 1
    assert len(pattern.automaton.arcs) == len(found.arcs) + len(found.states) - 1
    return len(found.states), len(found.arcs)


@pytest.mark.parametrize(
    ("where", "size"),
    [
        (chain("meets"), (10, 10)),
        (chain("equals"), (2, 2)),
        (chain("overlaps"), (55, 127)),
        (chain("before"), (19, 19)),
        (star("during", 4), (27, 99)),
        (star("during", 6), (243, 2883)),
        ("a overlaps|finished_by|contains b", (2, 2)),
        (None, (1, 1)),
    ],
)
def test_sizes(where: str | None, size: tuple[int, int]) -> None:
    began = time.process_time()
    assert sizes(related(where, "abcdefghij" if where else "a")) == size
    assert time.process_time() - began < 2


def test_aggressive_drivers() -> None:
    assert sizes(aggressive()) == (10, 17)
    assert aggressive().automaton.states[-1] == "all decided"


def test_durations_cost_states_only_where_the_decision_waits_for_them() -> None:
    pattern = aggressive(accelerating=Situation("accel > 8", at_least=5), speeding=Situation("speed > 70", at_least=4))
    assert pattern.waits == {"speeding"}
    assert sizes(aggressive(accelerating=Situation("accel > 8", at_least=5, at_most=9))) == (10, 17)
    assert sizes(related(chain("overlaps"), at_least=3)) == (65, 156)


def test_what_instants_and_matches_hold() -> None:
    pattern = aggressive(
        accelerating=Situation("accel > 8", at_least=5),
        speeding=Situation("speed > 70", at_most=30),
        returns={
            "speed": "avg(speeding.speed)",
            "again": "avg(speeding.speed)",
            "plate": "first(accelerating.car)",
            "n": "count(braking)",
        },
    )
    assert pattern.instants._fields == (
        *("accelerating_begins", "accelerating_ends", "accelerating_lasts", "accelerating_fails"),
        *("speeding_begins", "speeding_ends", "speeding_fails", "braking_begins", "braking_ends"),
        *("first_accelerating_car", "avg_speeding_speed", "count_braking", "at"),
    )
    assert pattern.automaton.event_schema is not None
    assert pattern.automaton.event_schema.instant == "at"
    assert pattern.automaton.register == (0, None, 0, None, 0, None, None, None, None, None)
    schema = pattern.automaton.match_schema
    assert [field.name for field in schema.fields][6:] == ["speed", "again", "plate", "n"]
    assert schema.times == tuple(f"{name}_{end}" for name in ("accelerating", "speeding", "braking") for end in ("ts", "te"))
    assert [aggregate.name for aggregate in pattern.aggregates] == ["first_accelerating_car", "avg_speeding_speed", "count_braking"]
    assert list(pattern.returns) == ["speed", "again", "plate", "n"]


def test_times_among_aggregates_leave_as_times() -> None:
    class Dated(NamedTuple):
        when: afa.Instant
        on: bool

    pattern = TemporalPattern(event=Dated, within=9, on=Situation("on"), returns={"seen": "last(on.when)", "n": "count(on)"})
    assert pattern.automaton.match_schema.times == ("on_ts", "on_te", "seen")


def test_a_match_is_told_when_nothing_can_break_it(engine: Any) -> None:
    """Values at the end of what has ended, and as of the decision of what goes on."""
    pattern = aggressive(returns={"top": "max(speeding.speed)", "gas": "avg(accelerating.accel)"})
    operator = Operator(pattern.automaton, window=pattern.window, engine=engine)

    def instant(at: int, *happens: str, **values: Any) -> list[tuple[Any, ...]]:
        flags = {field: field in happens for field in pattern.instants._fields if re.search("_(begins|ends)$", field)}
        event = pattern.instants(**flags, max_speeding_speed=values.get("top"), avg_accelerating_accel=values.get("gas"), at=at)
        return [(change.payload, change.le, change.re, change.diff) for change in operator.push(insert(event, le=at))]

    assert instant(10, "accelerating_begins", gas=9.0) == []
    assert instant(20, "speeding_begins", gas=9.5, top=71.0) == []
    assert instant(30, "accelerating_ends", gas=9.75, top=80.0) == []
    (match,) = instant(40, "braking_begins", top=85.0)
    assert match == ((10, 30, 20, None, 40, None, 85.0, 9.75), 40, 310, 1)
    assert instant(50, "speeding_ends", top=90.0) == []


def test_names_of_states_and_arcs() -> None:
    pattern = aggressive()
    assert pattern.automaton.states == (
        "not begun", "speeding", "accelerating", "accelerating = speeding", "accelerating > speeding", "accelerating < speeding",
        "accelerating. meets speeding", "accelerating. starts speeding", "accelerating. during speeding",
        "accelerating. overlaps speeding", "all decided",
    )  # fmt: skip
    names = [arc.name for arc in pattern.automaton.arcs]
    assert "accelerating -> accelerating. meets speeding" in names
    assert "accelerating. meets speeding: speeding ends, braking begins, decided" in names
    assert "speeding: goes on" in names


def test_names_of_what_waits() -> None:
    pattern = related("a overlaps|finished_by|contains b and a before c", at_least=3)
    assert {"b", "c"} == pattern.waits
    assert {"a", "a < b?", "a < b!", "a. overlaps b!, c? (a before c)"} <= set(pattern.automaton.states)


def test_relations_that_follow_are_left_out_of_names() -> None:
    states = related("a meets b and b overlaps|contains c and a before c").automaton.states
    assert "a. meets b < c" in states
    states = related("a overlaps b and b overlaps c and a before|overlaps c").automaton.states
    assert "a. overlaps b < c (a before c)" in states


def _meaning(arc: Any) -> tuple[Any, ...]:
    return arc.src, arc.dst, str(arc.fence), str(arc.transfer)


def test_names_mean_one_thing_in_all_patterns() -> None:
    """Of two patterns over the same definitions: what has one name is the same. Two configurations never share one."""
    shared = 0
    for seed in range(20):
        rng = random.Random(seed)
        meanings: dict[str, tuple[Any, ...]] = {}
        lasting = world(seed).asked.lasting
        for other in [seed, *rng.sample(range(10_000), 40)]:
            asked = world(other).asked
            if len(asked.lasting) != len(lasting):
                continue
            try:
                pattern = pattern_of(asked._replace(lasting=lasting, told=(), within=1000))
            except QueryError:
                continue
            plan = plan_of(pattern.definitions, pattern.constraints)
            assert len({state_name(plan, there) for there in plan.configurations}) == len(plan.configurations)
            for arc in pattern.automaton.arcs:
                assert arc.name is not None
                shared += arc.name in meanings
                assert meanings.setdefault(arc.name, _meaning(arc)) == _meaning(arc)
    assert shared > 1000


def test_explain() -> None:
    found = aggressive(speeding=Situation("speed > 70", at_least=4)).explain()
    assert [str(each) for each in found.decided] == [
        "accelerating meets speeding: when accelerating ends and speeding begins",
        "accelerating overlaps|starts|during speeding: when accelerating ends",
        "speeding meets braking: when speeding ends and braking begins",
        "speeding overlaps|contains|finished_by braking: when braking begins",
        "accelerating before braking: when braking begins",
    ]
    assert found.durations == ("speeding, at least 4: the match waits until it has lasted so long, or ends then",)
    assert found.states[1].to_come == ("accelerating", "braking")
    text = str(found)
    assert "state speeding?: goes on: speeding; to come: accelerating, braking" in text
    assert "arc speeding? -> speeding!: speeding has lasted" in text
    assert "cost: one more instant for each situation of speeding, where it has lasted long enough" in text


@pytest.mark.parametrize(
    ("where", "decided"),
    [
        ("a equals b", ["a equals b: when a and b end"]),
        ("a starts|equals|started_by b", ["a starts|equals|started_by b: when a and b begin"]),
        ("a starts b", ["a starts b: when a ends"]),
        ("a finishes b", ["a finishes b: when a and b end"]),
        ("a after b", ["a after b: when a begins"]),
        ("a met_by b", ["a met_by b: when a begins and b ends"]),
        (
            "a before|meets|overlaps|contains|finished_by b",
            ["a before|overlaps|contains|finished_by b: when b begins", "a meets b: when a ends and b begins"],
        ),
        ("a during b", ["a during b: when a ends"]),
        ("a contains b", ["a contains b: when b ends"]),
    ],
)
def test_when_relations_are_decided(where: str, decided: list[str]) -> None:
    assert [str(each) for each in related(where).explain().decided] == decided


def test_other_durations_in_words() -> None:
    found = related("a before b", at_least=2, at_most=5).explain()
    assert found.durations[0] == "a, at least 2 and at most 5: the match waits for its end"
    found = related("a before b", at_least=2).explain()
    assert found.durations[0] == "a, at least 2: told by its end, which comes before the match is decided"


def test_pictures() -> None:
    pattern = aggressive(key="car", returns={"top": "max(speeding.speed)"})
    assert pattern.draw().startswith("<svg")
    assert "accelerating < speeding" in pattern.draw("dot", labels="names")
    shown = pattern._repr_html_()
    assert "speed &gt; 70" in shown
    assert "max(speeding.speed)" in shown
    assert "accelerating" in repr(pattern)


def test_patterns_are_frozen_values() -> None:
    one, other = aggressive(), aggressive()
    assert one == other
    assert hash(one) == hash(other)
    assert one != aggressive(within=301)
    assert one != aggressive(speeding=Situation("speed > 71"))
    assert aggressive(where=AGGRESSIVE.replace("accelerating before braking", "braking after accelerating")) == one
    for same in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert same == one
        assert [arc.name for arc in same.automaton.arcs] == [arc.name for arc in one.automaton.arcs]
        assert same.instants is one.instants
    assert pickle.loads(pickle.dumps(one.instants)) is one.instants
    assert pickle.loads(pickle.dumps(one.automaton)).register == one.automaton.register
    with pytest.raises(AttributeError, match="a TemporalPattern is frozen: window can't be set"):
        one.window = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="can't be deleted"):
        del one.window


def test_pickle_does_not_warn_again() -> None:
    with pytest.warns(UserWarning, match=r"not connected: no constraint connects \(a, b\) and \(c, d\): .* within 100 .*multiply"):
        pattern = related("a before b and c before d")
    assert pickle.loads(pickle.dumps(pattern)) == pattern
    assert "no constraint connects (a, b) and (c, d)" in str(pattern.explain())


def test_durations_wait_for_a_tick() -> None:
    given = {"speeding": Situation("speed > 70", at_least="4 s", at_most=timedelta(minutes=1)), "within": "5 minutes"}
    pattern = aggressive(**given)
    assert (pattern.window, pattern.definitions[1].at_least) == ("5 minutes", "4 s")
    bound = pattern.bound("ms")
    assert (bound.window, *bound.definitions[1][2:]) == (300_000, 4000, 60_000)
    assert bound == aggressive(**given, tick="ms")
    assert bound.bound("ms") is bound
    assert bound.bound(None) is bound
    with pytest.raises(QueryError, match="expected the pattern's own tick='ms' but got tick='s'"):
        bound.bound("s")
    with pytest.raises(AfaError, match="expected tick=, what one int of LE counts, beside within='5 minutes'"):
        pattern.bound(None)
    with pytest.raises(AfaError, match="expected a whole number of ticks but got speeding: at_least='4 s' with tick='min'"):
        pattern.bound("min")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"within": 0}, "expected within= of at least one tick but got within=0"),
        ({"within": "0 s"}, "expected within= of at least one tick but got within='0 s'"),
        ({"within": "soon"}, "expected a duration such as .* but got within='soon'"),
        ({"within": 1.5}, "within=1.5"),
        ({"key": "cat"}, "expected a field of Car but got key='cat'; its fields: car, accel, speed"),
        ({"key": ["car", "wheel"]}, "expected a field of Car but got key='wheel'"),
        ({"speeding": "speed > 70"}, 'expected a Situation for \'speeding\' but got .*; write speeding=Situation'),
        ({"speeding": 7}, "expected a Situation for 'speeding' but got speeding=7"),
        ({"speeding": Situation("sped > 70")}, "sped is no field of Car; .*did you mean 'speed'(.|\n)*in the situation 'speeding'"),
        ({"speeding": Situation("r.top > 70")}, "r is the register, .* does not see(.|\n)*in the situation 'speeding'"),
        ({"speeding": Situation("avg(braking.speed) > 70")}, "avg is no field of Car(.|\n)*no other situation or aggregate of one"),
        ({"speeding": Situation("braking.speed > 70")}, "braking is no field of Car(.|\n)*a condition reads one reading"),
        ({"speeding": Situation(lambda e: print(e))}, r"print\(\.\.\.\) is called(.|\n)*in the situation 'speeding'"),
        ({"speeding": Situation("speed >")}, "no Python expression(.|\n)*in the situation 'speeding'"),
        ({"returns": {"speeding_ts": "count(speeding)"}}, "two fields 'speeding_ts' of a match; rename a definition or a result"),
        ({"returns": {"top": "max(speding.speed)"}}, "expected a definition but got 'speding'"),
        ({"returns": {"top": "max(speeding.car)"}}, "expected a number for max but got 'car', which is str in Car"),
        ({"where": "accelerating before speeding"}, "expected each definition in a constraint but got none with 'braking'"),
        ({"tick": "moon", "within": "1 s"}, "expected a unit of time but got tick='moon'"),
    ],
)  # fmt: skip
def test_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        aggressive(**given)


@pytest.mark.parametrize("name", ["_a", "class", "a b", "1a", ""])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(QueryError, match=f"expected a definition's name to be a Python name .* but got {name!r}"):
        TemporalPattern(event=Car, within=3, **{name: Situation("speed > 1")})


def test_names_that_make_one_field() -> None:
    class Odd(NamedTuple):
        c: float
        b_c: float

    with pytest.raises(QueryError, match="two fields 'max_a_b_c' of an instant"):
        TemporalPattern(
            event=Odd, within=3, a=Situation("c > 1"), a_b=Situation("c > 2"), where="a before a_b",
            returns={"x": "max(a.b_c)", "y": "max(a_b.c)"},
        )  # fmt: skip


def test_an_event_that_is_none() -> None:
    with pytest.raises(AutomatonError, match="expected a NamedTuple as the event schema"):
        TemporalPattern(event=dict, within=3, a=Situation("speed > 1"))
    with pytest.raises(QueryError, match="expected definitions but got none"):
        TemporalPattern(event=Car, within=3)
    with pytest.raises(QueryError, match="expected where= to relate the definitions a, b but got where=None"):
        TemporalPattern(event=Car, within=3, a=Situation("speed > 1"), b=Situation("speed > 1"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "a before b and b before c and c before a",
            "but 'a before b' and 'b before c' leave only 'a before c', against 'a after c'",
        ),
        ("a during b and b during c and a overlaps c", "leave only 'a during c', against 'a overlaps c'"),
        (
            "a before b and b before c and c before d and d before a",
            "leave only 'b before d', against 'b after d' .which follows.",
        ),
        ("a before b and b before a", "expected constraints that leave 'a' and 'b' a relation"),
    ],
)
def test_constraints_that_contradict_one_another(where: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        related(where, "abcd")


def test_a_contradiction_of_four_that_no_three_of_them_show() -> None:
    """What the consistency of paths misses, since it looks at three definitions at a time."""
    where = (
        "a starts|finishes b and a before|after c and a before|after d and b meets|started_by c and b started_by|finished_by d "
        "and c meets|after d"
    )
    with pytest.raises(QueryError, match=r"hold together but no situations satisfy all of 'a starts.finishes b', "):
        related(where, "abcd")


def test_within_is_longer_than_what_must_follow_one_another() -> None:
    for within, where in (
        (10, "a before b"),
        (15, "a before b and b meets c"),
        (5, "a overlaps b"),
        (10, "c before a and b during c"),
    ):
        with pytest.raises(QueryError, match=f"expected within= above .* but got within={within}"):
            related(where, within=within, at_least=5)
        related(where, within=within + 1, at_least=5)
    with pytest.raises(QueryError, match="above 5 \\+ 5 but got within=10: a, b follow one another and last at least so long"):
        related("a before b", within=10, at_least=5)
    with pytest.raises(QueryError, match="expected within= above 10 min but got within='9 min': a lasts at least so long"):
        TemporalPattern(event=Car, within="9 min", a=Situation("speed > 1", at_least="10 min"))
    mixed = TemporalPattern(event=Car, within=9, a=Situation("speed > 1", at_least="10 s"))
    with pytest.raises(QueryError, match="expected within= above 10 but got within=9"):
        mixed.bound("s")


def test_too_many_states() -> None:
    began = time.process_time()
    with pytest.raises(QueryError, match=r"at most 500 states but reached 501 states and .* the 9 neighbours of 'a' .*by a Chain"):
        related(star("during", 10))
    names = [f"x{i}" for i in range(40)]
    definitions = {name: Situation("speed > 1") for name in ["hub", *names]}
    for relation in ("during", "before", "overlaps|contains|finished_by", "meets|starts|equals|before|during|after"):
        with pytest.raises(QueryError, match=r"the 40 neighbours of 'hub' begin and end \(.*, \.\.\)"):
            TemporalPattern(event=Car, within=9, where=" and ".join(f"{name} {relation} hub" for name in names), **definitions)
    long = " and ".join(f"{a} before|overlaps|meets|during {b}" for a, b in pairwise(names))
    with pytest.raises(QueryError, match="in which order the 40 situations begin and end"):
        TemporalPattern(event=Car, within=9, where=long, **{name: Situation("speed > 1") for name in names})
    assert time.process_time() - began < 5


def test_many_definitions_of_few_states() -> None:
    names = [f"x{i}" for i in range(30)]
    where = " and ".join(f"{a} equals {b}" for a, b in pairwise(names))
    began = time.process_time()
    pattern = TemporalPattern(event=Car, within=9, where=where, **{name: Situation("speed > 1") for name in names})
    assert sizes(pattern) == (2, 2)
    assert time.process_time() - began < 2


def test_a_disconnected_pattern_warns_once_it_is_made() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        related("a before b and b before c and c before d")
        with pytest.raises(UserWarning, match="a pattern that is not connected"):
            related("a before b and c before d")


class Sources(NamedTuple):
    """A row of one source or the other."""

    v: float | None = None
    door: str | None = None


def test_explain_says_that_two_sources_end_the_situations_of_each_other() -> None:
    """F6: the naive form finds nothing; a pattern that reads one source, or fields that are always there, is not warned of."""
    defined = {"hot": Situation("v > 1"), "opened": Situation("door == 'open'")}
    naive = TemporalPattern(event=Sources, within=100, where="hot overlaps opened", **defined)
    assert "readings: hot reads v, opened reads door: a row without a value there satisfies no condition" in str(naive.explain())
    rows = [Sources(2.0), Sources(None, "open"), Sources(0.5), Sources(None, "shut")]
    assert naive.operator().push_many([insert(row, le) for le, row in enumerate(rows)]) == []
    both = TemporalPattern(event=Sources, within=100, where="hot overlaps mild", hot=Situation("v > 1"), mild=Situation("v > 0"))
    assert not both.explain().readings
