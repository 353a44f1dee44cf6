"""What the rows of a match show (ALL ROWS PER MATCH), as a scan asks it."""

from __future__ import annotations

import itertools
from typing import Any

from afa.expression.nodes import walk
from afa.language.lowering import Lowered
from afa.language.pattern import Component, Pattern, Tree, rebuilt
from afa.language.positions import Positions
from afa.language.row_values import RowValues
from afa.language.terms import Final
from afa.model.choice import Rows


def rows_shown(tree: Tree, lowered: Lowered) -> Rows:
    """Returns what the rows of a query's matches show."""
    for _, value in tree.returns:
        lowered.reader.read(value)  # refuses names that are none
    values = RowValues(tree.returns, lowered.event, lowered.reader.groups, tree.payload)
    hidden = [i for i, component in enumerate(_components(tree.pattern)) if component in (tree.rows or ())]
    optional = tuple(field.name for field in values.schema.fields if field.optional)
    running = not any(isinstance(node, Final) for _, value in tree.returns for node in walk(value))
    return Rows(values.rows_of, values.schema, frozenset(hidden), repr(_alike(tree)), optional, running)


def _components(pattern: Pattern) -> list[int]:
    """Returns which component of a pattern each of its positions is, as a repetition writes out copies."""
    number = itertools.count()
    numbered = rebuilt(pattern, lambda _: Component(str(next(number))))
    return [int(each.name) for each in Positions.of(numbered).components]


def _alike(tree: Tree) -> Any:
    """Returns the parts of a query that a running operator can't change: the values of rows, the pattern without conditions."""
    bare = rebuilt(tree.pattern, lambda component: Component(component.name))
    return tree.rows, tree.returns, tree.subsets, bare
