"""Conjuncts mean the same where they are placed as where they are written: for all i, of all events of the match at once."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from afa.expression.nodes import Compare, Const, Expr, changed, walk
from afa.language.conjuncts import (
    AggregateTerm,
    FieldTerm,
    MisplacedError,
    PatternPlace,
    SlotPredicate,
    filled,
    place,
    places,
    returned,
)
from afa.language.pattern import ANY, Component, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Ref
from tests.language.meaning import Taken, holds
from tests.language.oracle import Event, choices
from tests.language.test_sase_printer import Event as Row
from tests.language.test_sase_printer import Maker

Picks = tuple[tuple[str, Event], ...]
A, B, C = (Component(name, name.upper()) for name in "abc")
GAP = Gap(ANY)
PATTERNS: list[Pattern] = [
    Seq((A, Repeat(B, gap=GAP), C), (GAP, GAP)),
    Seq((Repeat(A, gap=GAP), Repeat(B, 0, 1), Repeat(C, 0, gap=GAP)), (GAP, GAP)),
    Repeat(Seq((A, B), (GAP,)), gap=GAP),
    Seq((A, Repeat(Seq((B, C), (GAP,)), gap=GAP)), (GAP,)),
]


def written(conjunct: Expr, placed: SlotPredicate, picks: Picks) -> bool:
    """Whether a conjunct as it is written holds of a match; true where its last component has taken nothing."""
    taken = {name: [event.payload for each, event in picks if each == name] for name in "abc"}
    terms = [node for node in walk(conjunct) if isinstance(node, FieldTerm | AggregateTerm)]
    if not taken[placed.component]:
        return True
    moving = [term for term in terms if moves(term)]
    if not moving:
        return meant(conjunct, 0, taken)
    own = {(term.which if isinstance(term, FieldTerm) else term.span) for term in terms if term.component == placed.component}
    least = 2 if "first" in own and own & {"this", "now"} else 1
    numbers = range(least, max(len(taken[term.component]) for term in moving) + 2)
    return all(meant(conjunct, i, taken) for i in numbers if all(there(term, i, len(taken[term.component])) for term in moving))


def moves(term: FieldTerm | AggregateTerm) -> bool:
    """Whether a term reads i."""
    return (term.which in ("this", "before")) if isinstance(term, FieldTerm) else term.span != "all"


def there(term: FieldTerm | AggregateTerm, i: int, count: int) -> bool:
    """Whether a term means something in iteration i."""
    if isinstance(term, AggregateTerm):
        return 2 <= i <= count if term.span == "before" else i <= count
    return i <= count if term.which == "this" else i - 1 - term.back >= 1 and i <= count


def meant(conjunct: Expr, i: int, taken: dict[str, list[Any]]) -> bool:
    """Whether a conjunct is true for one i."""
    given = changed(
        conjunct, lambda node: Const(value(node, i, taken[node.component])) if isinstance(node, FieldTerm | AggregateTerm) else None
    )
    return holds(given, None, Taken((), {}))


def value(term: FieldTerm | AggregateTerm, i: int, rows: list[Any]) -> Any:
    """The value of a term for one i."""
    if isinstance(term, AggregateTerm):
        some = rows[: {"before": i - 1, "now": i, "all": len(rows)}[term.span]]
        if term.function == "count":
            return len(some)
        values = [row.x for row in some]
        functions: dict[str, Any] = {"min": min, "max": max, "sum": sum, "avg": statistics.mean}
        return functions[term.function](values) if values else None
    at = {"one": 0, "first": 0, "this": i - 1, "before": i - 2 - term.back, "last": len(rows) - 1 - term.back}[term.which]
    return getattr(rows[at], term.field) if 0 <= at < len(rows) else None


def conjuncts(rng: random.Random, where: dict[str, PatternPlace]) -> list[tuple[Expr, SlotPredicate]]:
    """One or two conjuncts that have a meaning."""
    make, found = Maker(rng.randrange(1 << 30)), list[tuple[Expr, SlotPredicate]]()
    wanted = rng.choice([1, 1, 2])
    while len(found) < wanted:
        left, right = (make.own_term(where, "x") for _ in range(2))
        expr = Compare(rng.choice(["<", "<=", ">", "!="]), left, rng.choice([right, Const(2.0)]))
        try:
            found.append((expr, place(expr, where)))
        except MisplacedError:
            continue
    return found


@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_placed_and_written_conditions_agree(number: int) -> None:
    pattern, both = PATTERNS[number], [0, 0]
    where, slots = places(pattern), set[str]()
    for seed in range(120):
        rng = random.Random(seed)
        rows = [Event(Row(rng.choice("ABC"), float(rng.randint(1, 3)), 0, ""), le) for le in range(8)]
        found = conjuncts(rng, where)
        slots |= {placed.slot for _, placed in found}
        every = {choice.picks for choice in choices(Tree(pattern, Row, "type", window=100), rows)}
        want = {picks for picks in every if all(written(expr, placed, picks) for expr, placed in found)}
        tree = Tree(filled(pattern, [placed for _, placed in found]), Row, "type", window=100)
        assert {choice.picks for choice in choices(tree, rows)} == want, (seed, found)
        both[0] += len(want)
        both[1] += len(every) - len(want)
    assert min(both) > 100, both
    assert slots >= ({"where", "first", "rest"} if number > 1 else {"where", "first", "rest", "done"})


def test_returned_terms() -> None:
    where = places(PATTERNS[0])
    assert returned(FieldTerm("b", "last", "x", 2), where) == Ref("b", "last", "x", 2)
    assert returned(AggregateTerm("b", "avg", "x", "all"), where) == Aggregate("b", "avg", "x")
    with pytest.raises(MisplacedError, match=r"expected a value of all of b but got b\[i\], which means one iteration"):
        returned(FieldTerm("b", "this", "x"), where)
