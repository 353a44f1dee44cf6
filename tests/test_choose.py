"""Choose against brute force: chains of matches that come, go and become final, in any order."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from afa import BEGINNING, FOREVER, AfaError, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert, retract
from speculation import Choose, Cleanse
from speculation.chain import MatchChain
from tests import oracle
from tests.automata import counting
from tests.text import R1, E

W = 8


class M(NamedTuple):
    """A match: what is shown, what is preferred, its place among those of its instant, and where the next one may begin."""

    name: str
    rank: int
    goes_on: int | None = None
    at: int = 0
    word: str = ""
    share: float | None = None
    yes: bool = True
    last: str = ""
    seq: int = 0
    till: int = 0
    to_seq: int = 0


class Shown(NamedTuple):
    name: str


def brute(matches: list[Change], stage: Choose) -> list[Any]:
    """What is chosen: again and again the first match that begins behind the last one's end, or where it says."""
    left, found = ranked(matches, stage), []
    while left:
        link = left[0]
        found.append(told(link, stage))
        to = tuple(getattr(link.payload, name) for name in stage.to)
        if stage.to:
            left = [match for match in left if None in to or start(match, stage) >= to]
        elif stage.skip == "past last row":
            left = [match for match in left if start(match, stage) > end(link, stage)]
        left = [match for match in left if start(match, stage) > start(link, stage)]
    return found


def ranked(matches: list[Change], stage: Choose) -> list[Change]:
    """Sorted by all that orders them, from the last that counts to the first."""
    found = sorted(matches, key=lambda match: (*(sortable(value) for value in match.payload), match.re))
    first, other = (start, end) if stage.by == "start" else (end, start)
    if stage.by == "start":
        found.sort(key=lambda match: other(match, stage), reverse=True)
    for name in reversed(stage.prefer):
        field = name.removeprefix("-")
        found.sort(key=lambda match: sortable(getattr(match.payload, field))[1], reverse=name != field)
        found.sort(key=lambda match: sortable(getattr(match.payload, field))[0])
    if stage.by == "end":
        found.sort(key=lambda match: other(match, stage), reverse=True)
    return sorted(found, key=lambda match: first(match, stage))


def sortable(value: Any) -> tuple[int, Any]:
    """Values by themselves, then NaN, then None."""
    return (2, 0) if value is None else (1, 0) if value != value else (0, value)


def start(match: Change, stage: Choose) -> tuple[Any, ...]:
    assert match.re is not None
    fields = tuple(getattr(match.payload, name) for name in stage.opens)
    return fields if stage.window is None else (match.re - W, *fields)


def end(match: Change, stage: Choose) -> tuple[Any, ...]:
    return match.le, *(getattr(match.payload, name) for name in stage.closes)


def told(match: Change, stage: Choose) -> Any:
    """A match as it is shown; NaN is equal to itself."""
    return repr(match.payload if stage.shown is None else match.payload.name), match.le, match.re, match.key


class World:
    """Random matches through a stage; after each call what is in force is what brute force chooses."""

    def __init__(self, seed: int) -> None:
        self.random = choose = random.Random(seed)
        window = choose.choice([W, W, W, None])
        points = choose.choice([("seq", "till"), ("word", "last")]) if choose.random() < 0.3 else None
        to = ["goes_on", *(["to_seq"] if points else [])] if choose.random() < 0.3 and points != ("word", "last") else []
        prefer = choose.sample(["rank", "-rank", "word", "-word", "share", "-share", "-yes"], choose.randint(0, 2))
        self.stage = Choose(
            choose.choice(["past last row", "to next row"]),
            by=choose.choice(["start", "end"]),  # type: ignore[arg-type]
            window=window,
            start=[*(["at"] if window is None else []), *(points[:1] if points else [])],
            end=points[1:] if points else [],
            prefer=prefer,
            to=to,
            shown=choose.choice([Shown, None]),
        )
        self.matches: list[Change] = []
        self.held: set[Any] = set()
        self.promised = self.told = -(10**9)

    def match(self, number: int) -> Change:
        choose = self.random
        begin = choose.randint(0, 12) + number // 3
        till, word, seq = begin + choose.randint(0, W - 1), choose.choice(["", "a", "ä", "\U0001f600"]), choose.randint(0, 1)
        payload = M(
            choose.choice("ab"),
            choose.randint(0, 2),
            choose.choice([None, choose.randint(begin - 1, till + 2)]),
            begin,
            word,
            choose.choice([None, float("nan"), 0.5, 0.0, -2.0, float("inf")]),
            choose.random() < 0.5,
            word + choose.choice(["", "z"]),
            seq,
            seq + choose.randint(0, 1),
            choose.randint(0, 1),
        )
        return Change(payload, till, begin + W, 1, choose.choice("xy"))

    def step(self, number: int) -> None:
        choose, items, had = self.random, [], list(self.matches)
        for _ in range(choose.randint(1, 4)):
            old = [match for match in had if match.le >= self.promised and match in self.matches]
            if old and choose.random() < 0.4:
                match = choose.choice(old)
                self.matches.remove(match)
                items.append(match._replace(diff=-1))
                continue
            match = self.match(number)
            if match.le >= self.promised and repr(match) not in map(repr, [*self.matches, *had]):
                self.matches.append(match)
                items.append(match)
        if choose.random() < 0.2:
            self.promised = max(self.promised, choose.randint(number // 3, number // 3 + 15))
            items.append(Punctuation(self.promised))
        if choose.random() < 0.1:
            with pytest.raises(ChangeError):
                self.stage.push_many([*items, Change(M("a", 0), 3, 3 + W, 2)])
        if choose.random() < 0.1:
            self.stage = Choose.restore(self.stage.snapshot(), payload=M)
        out = self.stage.push_many(items)
        changes = [change for change in out if isinstance(change, Change)]
        for change in changes:
            assert change.le >= self.told, "what is final never changes"
            assert type(change.payload).__name__ == ("M" if self.stage.shown is None else "Shown")
        self.held = oracle.net([change._replace(payload=told(change, self.stage)) for change in changes], self.held)
        self.told = max([self.told, *(item.t for item in out if isinstance(item, Punctuation))])
        chosen = [each for key in "xy" for each in brute([match for match in self.matches if match.key == key], self.stage)]
        assert {match for match, _, _ in self.held} == set(chosen)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_chosen_is_a_function_of_the_set_of_matches(seed: int) -> None:
    drawn = 0
    for number in range(40):
        world = World(100 * seed + number)
        for step in range(50):
            world.step(step)
        drawn += world.stage.statistics.drawn
        world.stage.push(Punctuation(2**63 - 1))
        assert world.stage.statistics[:2] == (0, 0)
    assert drawn > 1000


def test_behind_an_operator_a_late_event_draws_the_chain_anew(engine: str) -> None:
    stage = Choose(window=20, prefer=["-x"])
    op = stage.after(Operator(counting, window=20, engine=engine))
    zeros = [insert(E(0), le) for le in (1, 2, 4, 5)]
    op.push_many(zeros)
    assert held(op) == {(R1(4), 5, 21)}
    out = op.push(insert(E(1), 3))
    assert [(change.diff, change.payload.x, change.le) for change in out] == [(-1, 4, 5), (1, 2, 2), (1, 2, 5)]
    table = op.push_many({"kind": [1], "seq": [0], "le": [3], "diff": [-1]})
    assert table["x"].tolist() == [2, 2, 4]
    again = Operator.restore(counting, op.snapshot(), engine=engine)
    assert [(change.diff, change.payload.x) for change in again.push(retract(E(0), 5))] == [(-1, 4), (1, 3)]
    assert again.push(Punctuation(100))[-1:] == [Punctuation(81)]
    assert again.stage.statistics[:2] == (0, 0)


def held(op: Any) -> set[Any]:
    return {link.match[:3] for chain in op.stage._chains.values() for link in chain.chosen.values()}


def test_per_key_and_with_a_cleanse_behind_it() -> None:
    op = Cleanse(0).after(Choose(window=20, prefer=["-x"]).after(Keyed(counting, key="seq", window=20)))
    assert op.push_many([insert(E(0, key), le) for le in (1, 2) for key in (0, 1)]) == []
    out = op.push(Punctuation(30))
    assert [(change.payload.x, change.key) for change in out[:-1]] == [(2, 0), (2, 1)]


@pytest.mark.parametrize("around", ["", "cleanse before", "cleanse behind", "twice"])
def test_a_batch_that_is_not_net_tells_what_single_calls_tell(engine: str, around: str) -> None:
    def made() -> Any:
        op: Any = Keyed(counting, key="seq", window=W, engine=engine)
        op = Choose(window=W, prefer=["-x"]).after(Cleanse(2).before(op) if around == "cleanse before" else op)
        behind = {"cleanse behind": Cleanse(0), "twice": Choose(window=W)}.get(around)
        return op if behind is None else behind.after(op)

    rng, withdrawn = random.Random(around), 0
    for _ in range(6):
        events = [insert(E(rng.randrange(2), rng.randrange(2)), rng.randrange(20)) for _ in range(30)]
        events += [retract(*each[:2]) for each in events[::5]]
        later = [insert(E(rng.randrange(2), 1), rng.randrange(6, 30)) for _ in range(9)]
        items: list[Any] = [*events, Punctuation(6), *later, Punctuation(40)]
        one, many, table = made(), made(), made()
        single = [one.push(item) for item in items]
        assert many.push_many(items, net=False) == [change for out in single for change in out]
        assert many.stage.statistics == one.stage.statistics
        columns = {name: [getattr(each.payload, name) for each in events] for name in E._fields}
        columns |= {name: [getattr(each, name) for each in events] for name in ("le", "diff")}
        rows = table.push_many(columns, net=False)
        told = [change for out in single[: len(events)] for change in out]
        assert list(zip(rows["diff"].tolist(), rows["x"].tolist(), rows["le"].tolist())) == [
            (c.diff, c.payload.x, c.le) for c in told
        ]
        withdrawn += sum(change.diff < 0 for change in told)
    assert withdrawn > 20 or around.startswith("cleanse")  # which withdraws nothing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected window= or start="),
        ({"window": 0}, "expected a number of ticks above 0 but got window=0"),
        ({"window": True}, "expected a number of ticks above 0"),
        ({"window": 2**63}, r"expected an int64 \(ticks\) but got window=9223372036854775808"),
        ({"skip": "to last row", "window": 5}, "expected one of 'past last row', 'to next row' but got skip='to last row'"),
        ({"by": "size", "window": 5}, 'expected "start" or "end" but got by=\'size\''),
        ({"prefer": "x", "window": 5}, "expected names of fields but got prefer='x'"),
        ({"start": ["x"], "window": 5}, "expected end= of as many fields as start=, 2"),
        ({"to": ["x", "y"], "window": 5}, "expected to= of as many fields as start=, 1"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Choose(**options)


def test_matches_that_do_not_fit_are_refused_and_change_nothing() -> None:
    stage = Choose(window=5, prefer=["rank"])
    stage.push(insert(M("a", 1), 3, 8))
    for wrong, message in [
        (insert(M("a", 1), 3, 8), "expected a match that comes once, then goes, but got diff=1"),
        (retract(M("b", 1), 3, 8), "expected a match that comes once, then goes, but got diff=-1"),
        (insert(M("b", 1), 3), "expected a match with its RE"),
        (insert("b", 3, 8), "expected a match with the fields that Choose names"),
    ]:
        with pytest.raises(ChangeError, match=message):
            stage.push_many([insert(M("c", 0), 3, 8), wrong])
    assert stage.statistics[:2] == (1, 1)


def test_matches_that_show_the_same_leave_nothing_behind() -> None:
    stage = Choose("to next row", window=10, start=["rank"], end=["rank"], shown=Shown)
    assert [(c.diff, c.payload) for c in stage.push_many([insert(M("a", i), 5, 12) for i in range(3)])] == [(1, Shown("a"))]
    assert [stage.push(retract(M("a", i), 5, 12)) for i in (0, 1)] == [[], []]
    again = Choose.restore(stage.snapshot(), payload=M)
    assert [c.diff for c in again.push(retract(M("a", 2), 5, 12))] == [-1]
    stage.push(insert(M("a", 0), 5, 12))
    assert stage.push(Punctuation(30)) == [Punctuation(21)]
    assert (stage._leaving, stage._chains) == ({}, {})


def test_values_of_any_kind_are_preferred() -> None:
    stage = Choose(window=9, prefer=["-goes_on"])
    values = [None, float("nan"), 1.0, 2.5]
    out = [stage.push(insert(M("a", 0, x), 5, 12))[-1:] for x in values]  # type: ignore[arg-type]
    assert [c[0].payload.goes_on for c in out][2:] == [1.0, 2.5]
    assert stage.push(retract(M("a", 0, 2.5), 5, 12))[-1].payload.goes_on == 1.0  # type: ignore[arg-type]
    stage.push(retract(M("a", 0, 1.0), 5, 12))  # type: ignore[arg-type]
    assert [c.diff for c in stage.push(retract(M("a", 0, float("nan")), 5, 12))] == [-1, 1]  # type: ignore[arg-type]
    assert stage.statistics[:2] == (1, 1)


@pytest.mark.parametrize("options", [{"start": ["name"], "end": ["name"]}, {"prefer": ["name"]}])
def test_fields_that_can_not_be_compared_are_refused(options: Any) -> None:
    stage = Choose(window=9, **options)
    stage.push(insert(M("a", 0), 5, 12))
    with pytest.raises(ChangeError, match="expected fields that can be compared with those of other matches but got"):
        stage.push_many([insert(M("b", 0), 5, 12), insert(M(3, 0), 5, 12)])  # type: ignore[arg-type]
    assert stage.statistics[:2] == (1, 1)
    assert [c.diff for c in stage.push(retract(M("a", 0), 5, 12))] == [-1]


class Tick(NamedTuple):
    place: int | None


def test_a_start_that_is_none_is_refused_beside_another_one(engine: str) -> None:
    own = Automaton(start="0", final={"1"}, event=Tick, register=Tick(None), arcs=[Arc("0", "1", "True", "(e.place,)")])
    op = Choose(start=["place"], to=["place"]).after(Operator(own, window=5, engine=engine))
    assert [match.diff for match in op.push(insert(Tick(None), 1))] == [1]
    with pytest.raises(ChangeError, match="expected fields that can be compared with those of other matches but got"):
        op.push(insert(Tick(0), 2))
    assert op.stage.statistics[:2] == (1, 1)


def test_times_at_the_ends_are_no_others() -> None:
    stage, first, last = (
        Choose(window=W),
        *(insert(M("a", 0), le, re) for le, re in ((BEGINNING, BEGINNING + W), (FOREVER - W, FOREVER))),
    )
    assert stage.push_many([first, last, Punctuation(BEGINNING + 1)]) == [first, last]
    assert stage.push(first._replace(diff=-1)) == [first._replace(diff=-1)]
    assert stage.push(Punctuation(FOREVER - 1)) == [Punctuation(FOREVER - W)]
    assert stage.statistics[:2] == (1, 1)


def test_a_promise_visits_the_keys_that_it_concerns() -> None:
    stage = Choose(window=10)
    stage.push_many([Change(M("a", 1), key, key + 9, 1, key) for key in range(200)])
    stage.push(Punctuation(50))
    visited: list[Any] = []
    settle = MatchChain.settle
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MatchChain, "settle", lambda chain, *args: (visited.append(chain), settle(chain, *args))[1])
        stage.push(Punctuation(53))
        assert 0 < len(visited) <= 6
        with pytest.raises(ChangeError):
            stage.push_many([Punctuation(60), insert(M("a", 1), 3)])
        stage.push(Punctuation(60))
    assert stage.statistics[0] == 200 - 51  # key 51 ends where the next may still begin
