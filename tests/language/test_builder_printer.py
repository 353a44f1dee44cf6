"""Trees printed in the builder's words build equal trees: random ones, and those of the study's examples."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest

from afa.errors import QueryError
from afa.expression.nodes import Compare, Const, FieldRead
from afa.language.builder_printer import builder_text
from afa.language.pattern import PARTITION, STRICT, Component, Gap, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Classifier, Ref
from tests.language.test_builder import SAME, Stock
from tests.language.trees import Allowed, Tick, tree
from tests.strategies import Seeded


def built(texts: list[str], folder: Path) -> list[Any]:
    """What the texts build: lambdas are read from a file."""
    path = folder / "queries.py"
    head = "import math\nfrom afa.expression import functions\n"
    head += "from afa.language import absent, either, many, next_, one, optional, prev, times\n"
    path.write_text(head + "FOUND = [\n" + "".join(f"(\n{text}\n),\n" for text in texts) + "]\n")
    spec = importlib.util.spec_from_file_location("queries", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "2 is None", which random trees say
        spec.loader.exec_module(module)
    return list(module.FOUND)


def test_random_trees(tmp_path: Path) -> None:
    trees, texts, unsaid = [], [], 0
    for number in range(400):
        made = tree(Seeded(f"print/{number}"), Allowed(start=True, end=True, beside=number % 2 == 0))
        try:
            texts.append(builder_text(made))
            trees.append(made)
        except QueryError:
            unsaid += 1
    assert unsaid < 40
    for made, text, found in zip(trees, texts, built(texts, tmp_path)):
        assert found.of(Tick).tree() == made, text


def test_the_examples(tmp_path: Path) -> None:
    trees = [query.of(event, tick="s").tree() for _, _, event, query in SAME]
    for made, found in zip(trees, built([builder_text(each) for each in trees], tmp_path)):
        assert found.of(made.event).tree() == made
    assert (
        builder_text(trees[2])
        == """many("a", first=lambda e: e.volume > 1000, rest=lambda e, m: e.price > m.a.avg.price)
    .followed_by(one("b", lambda e, m: e.volume < 0.8 * m.a.last.volume))
    .by("symbol")
    .within(3600)
    .returns(lambda m: (m.a.first.price, m.a.count, m.b.volume,))"""
    )


A = Component("a")
OWN = Compare("<", FieldRead("e", "price"), Ref("a", "last", "price"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Tree(A, Stock, skip="past last row"), "but got a subset or AFTER MATCH SKIP"),
        (Tree(A, Stock, returns=(("x", Classifier()),)), "but got CLASSIFIER"),
        (Tree(A, Stock, returns=(("x", Aggregate("", "count")),)), "but got a term over all events of a match"),
        (Tree(Seq((A, Component("b")), (Gap(STRICT),)), Stock, key=("symbol",)), "but got strict contiguity with a key"),
        (Tree(Seq((A, Component("b")), (Gap(PARTITION),)), Stock), "but got partition contiguity without a key"),
        (Tree(Repeat(Component("a", where=(OWN,))), Stock), "but got a condition on all events of a that reads those before them"),
        (Tree(A, Stock, returns=(("x", Aggregate("a", "sum", "price")),)), "but got a term over the events of a, which takes one"),
        (Tree(Seq((A, A), (Gap(),)), Stock), "but got the component a at several places; give each a name of its own"),
        (Tree(Repeat(A, 0, 1, Gap(STRICT)), Stock), "but got a strategy between the iterations of what comes once at most"),
        (
            Tree(Seq((Seq((A, Component("b")), (Gap(),)), Component("c")), (Gap(),)), Stock),
            "but got a group that begins a sequence",
        ),
    ],
)
def test_what_the_builder_does_not_say(tree: Tree, message: str) -> None:
    with pytest.raises(QueryError, match=f"expected a query that the builder can say {message}"):
        builder_text(tree)


def test_odd_constants(tmp_path: Path) -> None:
    values = tuple((f"v{i}", Const(x)) for i, x in enumerate((float("inf"), float("-inf"), float("nan"), -1, 'a"b\\n', None, True)))
    made = Tree(A, Stock, returns=values)
    (found,) = built([builder_text(made)], tmp_path)
    assert found.of(Stock).tree() == made
