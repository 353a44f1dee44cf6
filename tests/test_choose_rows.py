"""The two ways of Choose, chains of changes and rows of words, side by side: the same output for each call, the same numbers."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import BEGINNING, FOREVER, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert
from afa.compiled import kernel_arrays
from afa.schema import Schema
from afa.state.value_numbers import ValueNumbers
from speculation import Choose
from speculation.choose_rows import RowWay
from speculation.rows import row_layout as names
from speculation.rows import row_memory
from speculation.rows.row_entry import main
from speculation.rows.row_memory import RowMemory
from tests.automata import counting
from tests.compiled.plain import plain
from tests.nojit import Columns, Words

W = 8


class M(NamedTuple):
    """A match: a name and a place among those of its instant, what is preferred, and where the next one may begin."""

    name: str
    at: int
    word: str
    share: float | None
    rank: float
    yes: bool
    bits: int
    seq: int
    till: int
    to: int | None
    to_seq: int


class Shown(NamedTuple):
    name: str


def rows_of(stage: Choose) -> Choose:
    """The same stage, which holds rows."""
    stage._way = RowWay(stage, Schema.of(M, "match"), True)
    return stage


class Worlds:
    """A stage of each way under the same changes."""

    def __init__(self, seed: int) -> None:
        self.random = choose = random.Random(seed)
        self.window = choose.choice([W, W, W, None])
        points = choose.choice([("seq", "till"), ("word", "name")]) if choose.random() < 0.5 else None
        start = [*(["at"] if self.window is None else []), *(points[:1] if points else ())]
        to = ["to", *(["to_seq"] if points else [])] if choose.random() < 0.4 and (not points or points[0] == "seq") else []
        prefer = choose.sample(["rank", "-rank", "word", "-word", "share", "-share", "bits", "-yes"], choose.randint(0, 2))
        options: dict[str, Any] = {
            "skip": choose.choice(["past last row", "to next row"]),
            "by": choose.choice(["start", "end"]),
            "window": self.window,
            "start": start,
            "end": list(points[1:]) if points else [],
            "prefer": prefer,
            "to": to,
            "shown": choose.choice([Shown, None]),
        }
        self.plain, self.rows = Choose(**options), rows_of(Choose(**options))
        self.matches: list[Change] = []
        self.promised = -(10**9)
        self.keys = choose.choice(["x", "xy", "abcdefghijklmnopqrstuvwxyz"])

    def match(self, number: int) -> Change:
        choose = self.random
        begin = choose.randint(0, 10) + number // 3
        end = begin + choose.randint(0, W - 1)
        to = choose.choice([None, choose.randint(begin - 1, end + 2)])
        name, word = choose.choice("ab") + str(number // 9), choose.choice(["", "a", "ä", "b", "ba", "\U0001f600"])
        share = choose.choice([None, float("nan"), 0.5, -0.0, 0.0, -2.0, float("inf")])
        bits = choose.choice([1, 2, 3, 5, 9, 2**62, 2**62 + 1])
        rank, yes, seq = choose.choice([-1.0, 0.0, 1.0, float("nan")]), choose.random() < 0.5, choose.randint(0, 1)
        payload = M(name, begin, word, share, rank, yes, bits, seq, seq + choose.randint(0, 1), to, choose.randint(0, 1))
        return Change(payload, end, begin + W, 1, choose.choice(self.keys))

    def step(self, number: int) -> int:
        """One call, on both; how much has left."""
        choose, items = self.random, []
        for _ in range(choose.choice([1, 1, 3, 8])):
            old = [match for match in self.matches if match.le >= self.promised]
            if old and choose.random() < 0.35:
                match = choose.choice(old)
                self.matches.remove(match)
                items.append(match._replace(diff=-1))
                continue
            match = self.match(number)
            if match.le >= self.promised and repr(match) not in map(repr, self.matches):
                self.matches.append(match)
                items.append(match)
        if choose.random() < 0.2:
            self.promised = max(self.promised, choose.randint(number // 3, number // 3 + 15))
            items.append(Punctuation(self.promised))
        if choose.random() < 0.1:
            self.refused(items)
        if choose.random() < 0.05:
            self.rows = copy.deepcopy(self.rows)
        found = [stage.push_many(items) for stage in (self.plain, self.rows)]
        assert told(found[0]) == told(found[1])
        if choose.random() < 0.2:
            self.compare()
        return len(found[0])

    def refused(self, items: list[Any]) -> None:
        there = [match for match in self.matches[-1:] if match.le >= self.promised]
        wrong = self.random.choice([*there, self.match(0)._replace(diff=-1, key="none")])
        errors = []
        for stage in (self.plain, self.rows):
            with pytest.raises(ChangeError, match="expected a match that comes once, then goes, but got diff=") as error:
                stage.push_many([*items, wrong])
            errors.append(str(error.value))
        assert errors[0] == errors[1]

    def compare(self) -> None:
        """The same is held, but that rows let what is final go earlier."""
        assert self.rows.statistics.held == len(self.rows.waiting())
        held = set(map(repr, self.rows.waiting()))
        assert all(repr(match) in held for match in self.plain.waiting() if match.le >= self.promised)
        assert held <= set(map(repr, self.plain.waiting()))


def told(out: list[Any]) -> Any:
    """Output, for comparison: NaN is equal to itself."""
    return Counter(repr(item) for item in out), [item for item in out if isinstance(item, Punctuation)]


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_say_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ValueNumbers, "least", 2)
    told_ = 0
    for number in range(24):
        worlds = Worlds(1000 * seed + number)
        for step in range(40):
            told_ += worlds.step(step)
        worlds.compare()
        for stage in (worlds.plain, worlds.rows):
            stage.push(Punctuation(FOREVER))
            assert stage.statistics[:2] == (0, 0)
        assert worlds.rows._way._leaving == {}
    assert told_ > 1200


def test_kernels_as_python_never_leave_their_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked() -> Any:
        return lambda memory, what, n: int(plain(main)(Words(memory.m), Columns(memory.r), what, n))

    monkeypatch.setattr(row_memory, "main", checked)
    monkeypatch.setattr(row_memory, "HEAP", 1 << 12)
    monkeypatch.setattr(kernel_arrays, "RESERVED", 0)
    for number in range(6):
        worlds = Worlds(number)
        for step in range(25):
            worlds.step(step)


def test_rows_find_room_for_many_keys_and_for_long_chains() -> None:
    stage = rows_of(Choose(window=W))
    blank = M("a", 0, "", None, 0.0, True, 1, 0, 0, None, 0)
    out = stage.push_many([Change(blank, le, le + W, 1, key) for key in range(3000) for le in (5, 3)])
    assert (len(out), stage.statistics[:2]) == (6000, (6000, 6000))
    stage.push_many([Change(blank, le, le + W, 1, "one") for le in range(9, 9000)])
    with pytest.raises(ChangeError):
        stage.push_many([Change(blank, 2, 2 + W, 1, key) for key in [*range(3000), 5]])
    assert stage.statistics[:2] == (6000 + 8991, 6000 + 8991)
    stage.push(Punctuation(30))
    assert stage.statistics.held == 8991 - 14
    for le in range(9000, 9500, 100):
        stage.push_many([*(Change(blank, le, le + W, 1, (le, key)) for key in range(3000)), Punctuation(le + 50)])
    assert len(stage._way._keys) < 10_000  # numbers of keys that hold nothing are given again
    assert len(stage._way._memory.r) < 40_000


def test_only_the_compiled_engine_has_rows() -> None:
    found = [
        Choose(window=20).after(Operator(counting, window=20, engine=name)).stage.columns for name in ("compiled", "interpreted")
    ]
    assert found == [True, False]
    anything = Choose(window=9, start=["x"], end=["x"]).after(Keyed(counting, key="seq", window=9, engine="compiled"))
    assert anything.stage.columns


def test_times_at_the_ends_are_no_others() -> None:
    plain, rows = Choose(window=W), rows_of(Choose(window=W))
    blank = M("a", 0, "", None, 0.0, True, 1, 0, 0, None, 0)
    items: list[Any] = [Change(blank, le, re, 1, "x") for le, re in ((BEGINNING, BEGINNING + W), (FOREVER - W, FOREVER))]
    for call in ([*items, Punctuation(BEGINNING + 1)], [items[0]._replace(diff=-1)], [Punctuation(FOREVER - 1)]):
        assert told(plain.push_many(call)) == told(rows.push_many(call))


def test_rows_are_free_once_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = rows_of(Choose(window=W))
    blank = M("a", 0, "", None, 0.0, True, 1, 0, 0, None, 0)
    matches = [Change(blank, le, le + W, 1, "x") for le in range(9, 29)]
    stage.push_many(matches)
    called = row_memory.main()

    def interrupted(memory: RowMemory, what: int, n: int) -> int:
        if what == names.COMMIT:
            monkeypatch.setattr(row_memory, "main", lambda: called)
            raise KeyboardInterrupt
        return called(memory, what, n)

    monkeypatch.setattr(row_memory, "main", lambda: interrupted)
    with pytest.raises(KeyboardInterrupt):
        stage.push_many([match._replace(diff=-1) for match in matches[:10]])
    stage.push(matches[0])
    memory = stage._way._memory
    free, held = memory._free.tolist(), memory.held()[0].tolist()
    assert len({*free, *held}) == len(free) + len(held)
    assert stage.statistics[:2] == (11, 11)


def test_a_copy_has_arrays_of_its_own() -> None:
    memory = RowMemory(6, np.zeros(2000, np.int64))
    other = copy.deepcopy(memory)
    assert other.addresses[0] != memory.addresses[0]
    assert other.addresses == (other.m.ctypes.data, 0, other.r.ctypes.data, 6)


class Tick(NamedTuple):
    place: int | None


def test_a_start_that_is_none_is_refused_beside_another_one_on_both_engines(engine: str) -> None:
    own = Automaton(start="0", final={"1"}, event=Tick, register=Tick(None), arcs=[Arc("0", "1", "True", "(e.place,)")])
    op = Choose(start=["place"], to=["place"]).after(Operator(own, window=5, engine=engine))
    assert [match.diff for match in op.push(insert(Tick(None), 1))] == [1]
    with pytest.raises(ChangeError, match="expected fields that can be compared with those of other matches but got"):
        op.push(insert(Tick(0), 2))
    assert op.stage.statistics[:2] == (1, 1)


def test_matches_with_more_words_to_compare_than_rows_have_room_for_stay_as_they_are() -> None:
    wide: Any = NamedTuple("wide", [(f"f{i}", int | None) for i in range(42)])
    schema = Schema.of(wide, "match")
    assert RowWay.fits(Choose(window=W, prefer=wide._fields[:20]), schema)
    assert not RowWay.fits(Choose(window=W, prefer=wide._fields[:30]), schema)
    assert not RowWay.fits(Choose(window=W, prefer=["f0"] * 200), schema)
    stage = Choose(window=W, prefer=[f"-f{i}" for i in range(20)])
    stage._way = RowWay(stage, schema, True)
    blank = wide(*[0] * 42)
    matches = [Change(blank._replace(**{name: None}), 5, 9, 1, "x") for name in wide._fields]
    assert len(stage.push_many(matches)) == 1
    assert stage.statistics.held == 42
