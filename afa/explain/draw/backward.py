"""Which arcs of a picture run upward: those that lead back."""

from __future__ import annotations

from collections.abc import Sequence


def backward(states: Sequence[str], start: str, arcs: Sequence[tuple[str, str]]) -> set[int]:
    """Return the numbers of the arcs that lead back to a state on the way from the start to their own. O(states + arcs).

    Examples
    --------
    >>> backward("abc", "a", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("b", "b")])
    {2, 4}
    """
    outgoing: dict[str, list[tuple[int, str]]] = {state: [] for state in states}
    for i, (src, dst) in enumerate(arcs):
        outgoing[src].append((i, dst))
    found: set[int] = set()
    entered: set[str] = set()
    for root in [start, *states]:
        if root not in entered:
            _search(root, outgoing, entered, found)
    return found


def _search(root: str, outgoing: dict[str, list[tuple[int, str]]], entered: set[str], found: set[int]) -> None:
    """Go through what can be reached, depth first, without recursion."""
    entered.add(root)
    way, stack = {root}, [(root, iter(outgoing[root]))]
    while stack:
        state, rest = stack[-1]
        step = next(rest, None)
        if step is None:
            stack.pop()
            way.discard(state)
        elif step[1] in way:
            found.add(step[0])
        elif step[1] not in entered:
            entered.add(step[1])
            way.add(step[1])
            stack.append((step[1], iter(outgoing[step[1]])))
