"""SQL's PATTERN, a regular expression over rows: text -> pattern tree of components without predicates.

    A B+ (C | D)* E{2,3}? PERMUTE(F, G) {- H -}

All gaps are partition contiguity: the rows of a match are neighbours. ``{- -}`` hides rows where all of them are shown; where one
row shows a match it changes nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from afa.expression.nodes import Expr, FieldRead, IsNone
from afa.language.pattern import (
    EMPTY_MATCH,
    PARTITION,
    Component,
    Either,
    Gap,
    Pattern,
    Repeat,
    Seq,
    components_of,
    neighbour_name,
)
from afa.language.positions import MOST
from afa.language.row_places import least_of
from afa.language.sase_grammar import RefusedError
from afa.language.three_values import FALSE

if TYPE_CHECKING:
    from lark import Lark, Token

MOST_PERMUTED = 4
"""How many items PERMUTE may have: n! sequences come of them."""
STRICT = Gap(PARTITION)
GRAMMAR = r"""
start: either
either: row ("|" row)*
row: item+
item: atom times?
times: STAR QUESTION? -> star
    | PLUS QUESTION? -> plus
    | QUESTION QUESTION? -> optional
    | "{" NUMBER "}" QUESTION? -> exactly
    | "{" NUMBER "," "}" QUESTION? -> least
    | "{" "," NUMBER "}" QUESTION? -> most
    | "{" "," "}" QUESTION? -> star
    | "{" NUMBER "," NUMBER "}" QUESTION? -> between
?atom: NAME -> name
    | "(" either ")" -> group
    | "{-" either "-}" -> hidden
    | PERMUTE "(" either ("," either)* ")" -> permute
    | (BEGIN | END) -> anchor
    | EMPTY -> empty
STAR: "*"
PLUS: "+"
QUESTION: "?"
BEGIN: "^"
END: "$"
EMPTY: /\(\s*\)/
PERMUTE.2: /permute(?=\s*\()/i
NAME: /[^\W\d]\w*|"[^"]*"|`[^`]*`/
NUMBER: /\d{1,9}/
%ignore /\s+/
"""


class Anchors:
    """What ``^`` and ``$`` ask: of the first row of a match, of its last one, or of the row beside which they stand.

    ``condition``: from where there must be no row (-1: before, 1: behind) to the condition that there is none.
    """

    def __init__(self, condition: Callable[[int], Expr]) -> None:
        self.condition = condition
        self.begins: tuple[Expr, ...] = ()
        self.ends: tuple[Expr, ...] = ()


def read_pattern(
    text: str, name_of: Callable[[str], str], hidden: list[int] | None = None, anchors: Anchors | None = None
) -> Pattern:
    """Read what stands in the parentheses of PATTERN; a RefusedError has a place in ``text``.

    ``name_of`` turns a variable as it is written here into its name (variables are compared without case); ``hidden`` takes the
    places of the variables within ``{- -}``, of all of them from left to right; ``anchors`` those around the whole pattern.

    >>> read_pattern("A B+", str.lower)
    Seq(items=(Component(name='a', type=None, where=(), first=(), rest=(), done=()), Repeat(item=Component(name='b', type=None, \
where=(), first=(), rest=(), done=()), low=1, high=None, gap=Gap(strategy='partition', absent=()), greedy=True)), \
gaps=(Gap(strategy='partition', absent=()),))
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        tree = _parser().parse(text)
    except UnexpectedToken as error:
        got = "the end" if error.token.type == "$END" else repr(str(error.token))
        place = len(text) if error.token.type == "$END" else error.token.start_pos or 0
        raise RefusedError(f"expected a row pattern but got {got}; write variables with *, +, ?, {{n,m}}, |, ( )", place) from None
    except UnexpectedCharacters as error:
        place = error.pos_in_stream or 0
        raise RefusedError(
            f"expected a row pattern but got {text[place]!r}; write variables with *, +, ?, {{n,m}}, |, ( )", place
        ) from None
    if _written_out(tree.children[0]) > MOST:
        raise RefusedError(f"expected a pattern of at most {MOST} positions but got more: PERMUTE is written out", 0)
    reader = _RowPatternReader(name_of, anchors or Anchors(lambda offset: IsNone(FieldRead("e", neighbour_name("", offset, ())))))
    found = reader.whole(tree.children[0]) or Component(EMPTY_MATCH, where=(FALSE,))
    if hidden is not None:
        hidden += [i for i, each in enumerate(components_of(found)) if any(each is other for other in reader.hidden)]
    return found


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", propagate_positions=True)


def _written_out(tree: Any) -> int:
    """Return how many variables there are where each PERMUTE is written out."""
    below = sum(_written_out(each) for each in tree.children if hasattr(each, "data"))
    items = len(tree.children) - 1 if tree.data == "permute" else 1
    return (int(tree.data == "name") + below) * (math.factorial(items) if items <= MOST_PERMUTED else 1)


class _RowPatternReader:
    """Makes the pattern of lark's tree."""

    def __init__(self, name_of: Callable[[str], str], anchors: Anchors) -> None:
        self._name_of, self._anchors = name_of, anchors
        self.hidden: list[Component] = []  # these objects, whatever else equals one of them

    def either(self, tree: Any) -> Pattern | None:
        """Returns the pattern of alternatives; None: it takes no row."""
        return _either([self._row(row) for row in tree.children])

    def whole(self, tree: Any) -> Pattern | None:
        """Return the whole pattern. Anchors around it are asked of the first and of the last row of a match."""
        row, signs = tree.children[0], [_anchor(item) for item in tree.children[0].children]
        if len(tree.children) > 1 or not {signs[0], signs[-1]} & {"^", "$"}:
            return self.either(tree)
        if signs[0] == "^":
            self._anchors.begins, low = (self._anchors.condition(-1),), 1
        else:
            low = 0
        high = len(signs)
        if signs[-1] == "$" and high - low > 0:
            self._anchors.ends, high = (self._anchors.condition(1),), high - 1
        if low == high:
            raise self._alone(row.children[0], "a match has at least one row")
        found = self._items(row.children[low:high])
        if found is None or least_of(found) == 0:
            raise self._alone(row.children[0 if low else -1], "the pattern beside it may take no row; write + for *")
        return found

    def _row(self, tree: Any) -> Pattern | None:
        return self._items(tree.children)

    def _items(self, trees: list[Any]) -> Pattern | None:
        """Return items one after the other; an anchor is asked of the variable that it stands beside."""
        items: list[Pattern] = []
        waits: Any = None
        for tree in trees:
            sign = _anchor(tree)
            if sign is None:
                item = self._item(tree)
                if waits is not None:
                    item, waits = self._anchored(item, -1, waits), None
                items += [] if item is None else [item]
            elif sign == "^":
                waits = tree
            elif items and waits is None:
                items[-1] = self._anchored(items[-1], 1, tree)
            else:
                raise self._alone(tree, "$ stands behind a variable")
        if waits is not None:
            raise self._alone(waits, "^ stands before a variable")
        return in_row(items) if items else None

    def _anchored(self, item: Pattern | None, offset: int, tree: Any) -> Pattern:
        """Return a variable that takes a row only where there is none before, or behind."""
        if not isinstance(item, Component):
            raise self._alone(tree, "it stands around the whole pattern, or beside a variable that takes one row")
        found = replace(item, where=(*item.where, self._anchors.condition(offset)))
        self.hidden += [found] if any(item is each for each in self.hidden) else []
        return found

    @staticmethod
    def _alone(tree: Any, why: str) -> RefusedError:
        said = _anchor(tree) or str(tree.children[0])
        return RefusedError(f"expected variables but got {said} where it can't be asked of a row; {why}", tree.meta.start_pos)

    def _item(self, tree: Any) -> Pattern | None:
        atom, *times = tree.children
        found = self._atom(atom)
        if not times or found is None:
            return found
        tokens: list[Token] = list(times[0].children)
        questions = sum(token.type == "QUESTION" for token in tokens)
        greedy = questions == (1 if times[0].data == "optional" else 0)
        numbers = [int(token) for token in tokens if token.type == "NUMBER"]
        low, high = _bounds(times[0].data, numbers)
        if high is not None and high < low:
            raise RefusedError(
                f"expected a number of times that can be but got {low} to {high}; write {{n,m}} with n <= m",
                tokens[0].start_pos or 0,
            )
        if high == 0:
            return None
        if low == high == 1:
            return found
        return Repeat(found, low, high, Gap() if high == 1 else STRICT, greedy)

    def _atom(self, tree: Any) -> Pattern | None:
        place = tree.meta.start_pos
        if tree.data == "name":
            return Component(self._name_of(str(tree.children[0])))
        if tree.data == "group":
            return self.either(tree.children[0])
        if tree.data == "hidden":
            found = self.either(tree.children[0])
            self.hidden += [] if found is None else components_of(found)
            return found
        if tree.data == "permute":
            items = [item for item in map(self.either, tree.children[1:]) if item is not None]
            if len(items) > MOST_PERMUTED:
                raise RefusedError(
                    f"expected at most {MOST_PERMUTED} items in PERMUTE but got {len(items)}; write the sequences that you need "
                    f"with |",
                    place,
                )
            rows = [in_row(list(each)) for each in itertools.permutations(items)] if items else []
            return _either(list(rows)) if rows else None
        if tree.data == "empty":
            return None
        raise self._alone(tree, "no anchor repeats")


def _anchor(tree: Any) -> str | None:
    """Return which anchor an item of the pattern is; None: it is none, or one that repeats."""
    atom = tree.children[0] if tree.data == "item" and len(tree.children) == 1 else tree
    return str(atom.children[0]) if getattr(atom, "data", "") == "anchor" else None


def _either(rows: list[Pattern | None]) -> Pattern | None:
    """Return alternatives of which one may take no row (None): what stands behind it is tried if that one does not do."""
    if None not in rows:
        return rows[0] if len(rows) == 1 else Either(tuple(row for row in rows if row is not None))
    place = rows.index(None)
    before, behind = rows[:place], [row for row in rows[place + 1 :] if row is not None]
    if behind:
        last = Either(tuple(behind)) if len(behind) > 1 else behind[0]
        return _either([*before, Repeat(last, 0, 1, Gap(), greedy=False)])
    first = _either(before) if before else None
    return None if first is None else Repeat(first, 0, 1, Gap())


def _bounds(kind: str, numbers: list[int]) -> tuple[int, int | None]:
    match kind:
        case "star":
            return 0, None
        case "plus":
            return 1, None
        case "optional":
            return 0, 1
        case "exactly":
            return numbers[0], numbers[0]
        case "least":
            return numbers[0], None
        case "most":
            return 0, numbers[0]
    return numbers[0], numbers[1]


def in_row(items: list[Pattern]) -> Pattern:
    """Return items one after the other."""
    return items[0] if len(items) == 1 else Seq(tuple(items), (STRICT,) * (len(items) - 1))
