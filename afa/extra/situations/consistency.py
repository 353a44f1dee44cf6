"""Whether constraints can hold together: what two of them say of the pair that a third one is about (path consistency).

Source: Allen 1983, the algorithm for keeping a network of intervals. It finds most contradictions, and each with the constraints
that it follows from; what it misses shows when no configuration leads to a match (`configurations`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from afa.errors import QueryError
from afa.extra.situations.relations import ALL, composed, inverted, names_of, set_of
from afa.extra.situations.where_text import RelationConstraint

Network = dict[tuple[str, str], int]
"""What each definition may be to each other one, both ways."""


def network_of(definitions: Sequence[str], constraints: Sequence[RelationConstraint]) -> Network:
    """Return what all constraints together leave of each pair. QueryError: they leave a pair nothing.

    >>> a_b, b_c = RelationConstraint("a", "b", ("before",)), RelationConstraint("b", "c", ("before", "meets"))
    >>> names_of(network_of("abc", [a_b, b_c])["a", "c"])
    ('before',)
    >>> network_of("abc", [a_b, b_c, RelationConstraint("c", "a", ("during",))])
    Traceback (most recent call last):
    afa.errors.QueryError: expected constraints that can hold together but 'a before b' and 'b before|meets c' leave only 'a ...
    """
    network = dict.fromkeys(itertools.permutations(definitions, 2), ALL)
    for each in constraints:
        network[each.first, each.second] = said = set_of(each.relations)
        network[each.second, each.first] = inverted(said)
    given = dict(network)
    todo = [(each.first, each.second) for each in constraints]
    while todo:
        a, b = todo.pop(0)
        for c in definitions:
            if c in (a, b):
                continue
            for first, second, third in ((a, b, c), (c, a, b)):  # a is to b, b to c: so a to c; c to a, a to b: so c to b
                follows = composed(network[first, second], network[second, third])
                left = network[first, third] & follows
                if not left:
                    raise _contradiction(first, second, third, network, given)
                if left != network[first, third]:
                    network[first, third], network[third, first] = left, inverted(left)
                    todo.append((first, third))
    return network


def parts_of(definitions: Sequence[str], constraints: Sequence[RelationConstraint]) -> list[list[str]]:
    """Return the definitions in groups that no constraint connects.

    >>> parts_of("abcd", [RelationConstraint("a", "c", ("before",)), RelationConstraint("b", "d", ("before",))])
    [['a', 'c'], ['b', 'd']]
    """
    part = {name: {name} for name in definitions}
    for each in constraints:
        joined = part[each.first] | part[each.second]
        part |= dict.fromkeys(joined, joined)
    found = {min(definitions.index(other) for other in part[name]): part[name] for name in definitions}
    return [[name for name in definitions if name in found[first]] for first in sorted(found)]


def _contradiction(first: str, second: str, third: str, network: Network, given: Network) -> QueryError:
    """Say of which pair nothing is left, and by which third definition."""

    def said(a: str, b: str) -> str:
        text = f"'{RelationConstraint(a, b, names_of(network[a, b]))}'"
        return text if network[a, b] == given[a, b] else f"{text} (which follows)"

    follows = RelationConstraint(first, third, names_of(composed(network[first, second], network[second, third])))
    return QueryError(
        f"expected constraints that can hold together but {said(first, second)} and {said(second, third)} leave only '{follows}', "
        f"against {said(first, third)}"
    )
