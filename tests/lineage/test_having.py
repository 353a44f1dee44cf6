"""Paths whose aggregates satisfy a condition: random streams against all paths, budgets, what is refused."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Automaton, Change, Operator, insert
from afa.lineage import having
from tests.lineage.test_lineage import ANY, MANY, Ev, pushed, words

COMPARE = {
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


class Real(NamedTuple):
    kind: str
    val: float | None


REAL = Automaton(start="0", final={"c"}, arcs=ANY, event=Real)


def satisfied(path: Any, part: str) -> bool:
    """Whether a path satisfies a comparison: ``sum a.val > 3``."""
    aggregate, of, compare, bound = part.split()
    component, _, field = of.rpartition(".")
    events = [change.payload for name, change in path if component in ("", name) or (aggregate == "count" and name == of)]
    if aggregate == "count":
        return bool(COMPARE[compare](sum(name == of for name, _ in path), Fraction(bound)))
    values = [Fraction(getattr(event, field)) for event in events if getattr(event, field) is not None]
    if not values:
        return False
    return bool(COMPARE[compare](sum(values) / (len(values) if aggregate == "avg" else 1), Fraction(bound)))


def said(part: str) -> str:
    aggregate, of, compare, bound = part.split()
    return f"{aggregate}({of}) {compare} {bound}"


def stream(choose: random.Random, real: bool) -> list[Any]:
    """Events of a few kinds, each with a value; perhaps ties."""
    value = (lambda: choose.choice([None, 0.1, 0.2, 0.3, -0.5, 1.0])) if real else (lambda: choose.randint(-2, 5))
    of: Any = Real if real else Ev
    return [insert(of(choose.choice("aabbbbbc"), value()), le) for le in sorted(choose.choices(range(1, 14), k=10))]


@pytest.mark.parametrize("seed", range(60))
def test_against_all_paths(seed: int, engine: Any) -> None:
    choose = random.Random(seed)
    real = bool(seed % 2)
    op = Operator(REAL if real else MANY, window=60, engine=engine)
    out = op.push_many(stream(choose, real))
    for match in out[-4:]:
        found = op.collapsed(match) if seed % 3 else op.lineage(match)
        for _ in range(6):
            parts = []
            for _ in range(choose.randint(1, 2)):
                aggregate = choose.choice(["sum", "avg", "count"])
                of = choose.choice("ab") if aggregate == "count" else choose.choice(["val", "b.val", "b.val", "a.val"])
                parts.append(
                    f"{aggregate} {of} {choose.choice(list(COMPARE))} {choose.choice(['0', '3', '7', '0.5', '0.6', '-1'])}"
                )
            expected = [path for path in found.paths() if all(satisfied(path, part) for part in parts)]
            some = found.having(" and ".join(map(said, parts)))
            assert list(some.paths()) == expected, parts
            assert some.count() == len(expected), parts
            assert some.exists() == bool(expected), parts


def big(engine: Any, n: int, value: Any) -> Any:
    op = Operator(MANY, window=10 * n, engine=engine)
    (match,) = op.push_many([insert(Ev("a"), 0), *(insert(Ev("b", value(i)), i) for i in range(1, n + 1)), insert(Ev("c"), n + 1)])
    return op.lineage(match)


def test_more_paths_than_anybody_goes_through(engine: Any) -> None:
    """Sums that are whole numbers: as many states as there are sums; what all or none satisfy costs nothing."""
    n = 60
    found = big(engine, n, lambda i: 1 + i % 3)
    total = sum(1 + i % 3 for i in range(1, n + 1))
    ways = [1] + [0] * total
    for i in range(1, n + 1):
        w = 1 + i % 3
        ways = [ways[s] + (ways[s - w] if s >= w else 0) for s in range(total + 1)]
    assert found.having("sum(b.val) == 30").count() == ways[30]
    assert found.having("sum(b.val) > 30").count() == sum(ways[31:])
    assert found.having("sum(b.val) > 0", budget=10).count() == 2**n - 1
    assert found.having(f"sum(b.val) > {total}", budget=10).count() == 0
    assert not found.having(f"sum(b.val) > {total}", budget=10).exists()
    (all_of_them,) = found.having(f"sum(b.val) >= {total}").paths()
    assert len(all_of_them) == n + 2
    assert [len(path) for path in itertools.islice(found.having("avg(b.val) == 2").paths(), 2)] == [n + 2, n + 1]


def test_the_budget(engine: Any) -> None:
    """Subset sum: no answer within the budget is an error, never an answer in part."""
    found = big(engine, 40, lambda i: 3**i % 1_000_003 * 2)
    with pytest.raises(having.BudgetError, match=r"paths with sum\(b.val\) == 5000001 to be decided within 1000 steps"):
        found.having("sum(b.val) == 5000001", budget=1000).count()
    with pytest.raises(having.BudgetError, match="say budget="):
        found.having("sum(b.val) == 5000001", budget=1000).exists()


def test_by_hand(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    pushed(op, "a1")
    out = op.push_many([insert(Ev("b", 5), 2), insert(Ev("b", 7), 3), insert(Ev("c"), 4)])
    found = op.lineage(out[0])
    assert [words(path) for path in found.having("sum(b.val) > 5").paths()] == ["a1 b2 b3 c4", "a1 b3 c4"]
    assert [words(path) for path in found.having("6 <= avg(b.val) and count(b) > 1").paths()] == ["a1 b2 b3 c4"]
    assert found.having("sum(val) == 12").count() == 1
    assert found.having("count('b') > 1 and sum('b'.val) > 5").count() == 1
    assert op.collapsed(Change((), 4, None)).having("count(c) != 1").count() == 0


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sum(b.val)", r"expected comparisons of sum\(b.price\).* but got 'sum\(b.val\)'"),
        ("sum(b.val) > 1 or count(b) > 2", "joined by `and`, but got"),
        ("max(b.val) > 1", r"but got 'max\(b.val\) > 1'"),
        ("sum(b.val) > x and count(b) > 1", r"but got 'sum\(b.val\) > x' in 'sum\(b.val\) > x and count\(b\) > 1'"),
        ("1 < sum(b.val) < 3", "but got '1 < sum"),
        ("sum(b.val > 3", "but got 'sum"),
        ("__import__('os').system('x') > 1", "but got"),
        ("sum(b.val) > 1e999", "but got"),
        ("sum(b.val) > " + "-" * 900 + "1", "but got"),
        ("sum(b.val) > " + "-" * 20_000 + "1", "but got"),
        ("sum(b.price) > 1", "expected a field of numbers, of Ev.* but got field='price'"),
        ("sum(d.val) > 1", r"expected one of the components 'a', 'b', 'c' but got 'd' in 'sum\(d.val\) > 1'"),
    ],
)
def test_what_is_refused(condition: str, message: str) -> None:
    op = Operator(MANY, window=60)
    (match,) = pushed(op, "a1 b2 c3")
    with pytest.raises(AfaError, match=message):
        op.lineage(match).having(condition)


def test_numbers_that_are_none_and_budgets() -> None:
    op = Operator(REAL, window=60)
    (match,) = op.push_many([insert(Real(kind, val), le) for le, (kind, val) in enumerate(zip("abc", (1.0, float("inf"), None)))])
    found = op.lineage(match).having("sum(val) > 1")
    for asked in (found.exists, found.count, lambda: list(found.paths()), found.exists):  # what was asked before leaves no trace
        with pytest.raises(AfaError, match="expected finite numbers for sum but got val=inf"):
            asked()
    with pytest.raises(AfaError, match="expected a number of steps, at least 1, but got budget=0"):
        op.lineage(match).having("count(b) > 1", budget=0)
