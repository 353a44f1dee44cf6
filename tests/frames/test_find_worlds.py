"""`find` gives what an operator that gets the rows one by one has in force at the end: random queries over random frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import afa
from afa import AfaError, Punctuation, insert, retract
from afa.frames import slicing
from afa.language.query import Query
from tests.language.trees import Allowed, tree
from tests.language.worlds import World, world
from tests.strategies import Seeded
from tests.worlds.kind import in_turn

WORLDS = 30
ALL = {
    "plain": Allowed(end=True),
    "chosen": Allowed(names=True, skip=True, start=True),
    "negated": Allowed(start=True, end=True, later=True),
    "sums": Allowed(end=True, sums=True),
    "beside": Allowed(start=True, end=True, beside=True),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of few rows, groups of one key."""
    for name, size in (("SLICE", 3), ("MOST", 3), ("KEYS", 1), ("SAMPLE", 2)):
        monkeypatch.setattr(slicing, name, size)


def changes(here: World) -> list[Any]:
    """The changes of a world in order of arrival; none of those that wait in vain."""
    found: list[Any] = []
    for op in here.ops:
        found += [one for one in (op[1] if op[0] == "batch" else [op]) if one and one[0] in "+-"]
    balance = Counter[Any]()
    for sign, event in found:
        balance[event] += 1 if sign == "+" else -1
    return [(sign, event) for sign, event in found if balance[event] >= 0]


def one_by_one(query: Query, items: list[Any], engine: Any, end: int, **options: Any) -> tuple[Counter[Any], int]:
    """The matches in force at the end, and how many were taken back on the way."""
    op = query.operator(engine=engine, **options)
    net, gone = Counter[Any](), 0
    for sign, event in items:
        for change in op.push((insert if sign == "+" else retract)(event.payload, event.le, event.re)):
            net[_row(change)] += change.diff
            gone += change.diff < 0
    for change in op.push(Punctuation(end)):
        if not isinstance(change, Punctuation):
            net[_row(change)] += change.diff
    return +net, gone


def _row(change: Any) -> tuple[Any, ...]:
    key = () if change.key is None else change.key if isinstance(change.key, tuple) else (change.key,)
    return _known([*key, *change.payload, change.le, change.re])


def _known(row: list[Any]) -> tuple[Any, ...]:
    return tuple("NaN" if item != item else item for item in row)


def frame(items: list[Any]) -> dict[str, list[Any]]:
    events = [event for _, event in items]
    columns: dict[str, list[Any]] = {
        name: [getattr(event.payload, name) for event in events] for name in ("type", "key", "x", "y", "s", "seq")
    }
    columns["when"] = [event.le for event in events]
    columns["until"] = [event.re for event in events]
    columns["diff"] = [1 if sign == "+" else -1 for sign, _ in items]
    return columns


@pytest.mark.parametrize("kind", ALL)
def test_find_equals_one_by_one(kind: str, turns: str) -> None:
    met, matches = 0, 0
    for number in range(WORLDS):
        engine = in_turn(number, turns)
        choose = Seeded(f"find {kind} {number}")
        shown = replace(tree(choose, ALL[kind]), order="seq") if number % 4 == 0 else tree(choose, ALL[kind])
        here = world(choose, ALL[kind], shown)
        try:
            query = Query(here.tree)
        except AfaError:
            continue
        items = changes(here)
        if not items:
            continue
        met += 1
        latest = max(event.le for _, event in items)
        for end, t in (("latest", latest), ("forever", afa.FOREVER)):
            try:
                expected, gone = one_by_one(query, items, engine, t)
            except AfaError:  # of ties, where there may be none
                continue
            found: Any = afa.find(
                query,
                frame(items),
                time="when",
                until="until",
                diff="diff",
                end=end,
                engine=engine,
                threads=1 + number % 3,  # type: ignore[arg-type]
            )
            rows = Counter(_known(list(row)) for row in zip(*(column.tolist() for column in found.values())))
            assert rows == expected, (kind, number, end)
            matches += sum(rows.values())
            if end == "forever":
                test = afa.backtest({"it": query}, frame(items), time="when", until="until", diff="diff", end=end, engine=engine)  # type: ignore[arg-type]
                assert test.table["withdrawn"].tolist() == [gone], (kind, number)
                assert test.table["matches"].tolist() == [sum(rows.values())]
    assert met > WORLDS // 2
    assert matches > WORLDS


@pytest.mark.parametrize("options", [{"collapse": True}, {"collapse": "y"}, {"having": "sum(y) > 3"}], ids=str)
def test_records_and_conditions_on_paths_one_by_one(options: dict[str, Any], turns: str) -> None:
    allowed, met = Allowed(end=True), 0
    for number in range(14):
        engine: Any = in_turn(number, turns)
        here = world(Seeded(f"find {options} {number}"), allowed)
        items, query = changes(here), Query(here.tree)
        if not items:
            continue
        latest = max(event.le for _, event in items)
        expected, gone = one_by_one(query, items, engine, latest, **options)
        given: dict[str, Any] = {"time": "when", "until": "until", "diff": "diff", "engine": engine, **options}
        found = afa.find(query, frame(items), **given)
        rows = Counter(_known(list(row)) for row in zip(*(column.tolist() for column in found.values())))
        assert rows == expected, number
        test = afa.backtest({"it": query}, frame(items), **given)
        assert test.table["withdrawn"].tolist() == [gone], number
        met += len(rows)
    assert met > 8
