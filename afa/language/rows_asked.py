"""What ALL ROWS PER MATCH asks of a query, and what it is refused beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afa.errors import AfaError
from afa.expression.nodes import walk
from afa.language.all_rows import Shown
from afa.language.chosen_events import MatchRows
from afa.language.lowering import Lowered
from afa.language.pattern import PARTITION, STRICT, Component, Tree, components_of, gaps_of, rebuilt
from afa.language.row_components import places_of, rows_by_bits, rows_by_counts
from afa.language.row_values import RowValues
from afa.language.terms import Final
from afa.model.choice import Rows


def rows_of(tree: Tree, choose: Mapping[str, Any] | None) -> MatchRows:
    """Returns which component takes each event of a query's matches; refused where a match may skip events, or all are shown."""
    if choose is None:
        raise AfaError("expected a query that chooses (AFTER MATCH SKIP) where each row of a match is shown but got skip=None")
    if tree.ties:
        raise AfaError("expected rows of a total order (ties=False) where each row of a match is shown but got ties=True")
    loose = next((gap for gap in gaps_of(tree.pattern) if gap.strategy not in (STRICT, PARTITION) or gap.absent), None)
    if loose is not None or tree.before or tree.after:
        raise AfaError(f"expected neighbours with nothing between them where each row of a match is shown but got {loose}")
    components = tuple(component.name for component in components_of(tree.pattern))
    bits = bool(choose["prefer"]) and choose["prefer"][0].startswith(":")
    return MatchRows(components, rows_by_bits(tree.pattern) if bits else rows_by_counts(tree.pattern), tree.window)


def shown_of(tree: Tree, lowered: Lowered) -> Shown:
    """Returns the part of the rows of a query's matches that is shown."""
    for _, value in tree.returns:
        lowered.reader.read(value)  # refuses names that are none
    values = RowValues(tree.returns, lowered.event, lowered.reader.groups, tree.payload)
    return Shown(values, frozenset(tree.rows or ()), repr(rows_alike(tree)))


def rows_shown(tree: Tree, lowered: Lowered) -> Rows:
    """Returns what the rows of a query's matches show."""
    shown = shown_of(tree, lowered)
    hidden = [i for i, place in enumerate(places_of(tree.pattern)) if place in shown.hidden]
    values, optional = shown.values, tuple(field.name for field in shown.values.schema.fields if field.optional)
    running = not any(isinstance(node, Final) for _, value in tree.returns for node in walk(value))
    return Rows(values.rows_of, values.schema, frozenset(hidden), shown.said, optional, running)


def rows_alike(tree: Tree) -> Any:
    """Returns the parts of a query that a running operator can't change: the values of rows, the pattern without conditions."""
    bare = rebuilt(tree.pattern, lambda component: Component(component.name))
    return tree.rows, tree.returns, tree.subsets, bare
