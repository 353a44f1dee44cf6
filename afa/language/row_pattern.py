"""SQL's PATTERN, a regular expression over rows: text -> pattern tree of components without predicates.

    A B+ (C | D)* E{2,3}? PERMUTE(F, G) {- H -}

All gaps are partition contiguity: the rows of a match are neighbours. ``{- -}`` hides rows where all of them are shown; where one
row shows a match it changes nothing.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from afa.language.pattern import EMPTY_MATCH, PARTITION, Component, Either, Gap, Pattern, Repeat, Seq, components_of
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


def read_pattern(text: str, name_of: Callable[[str], str], hidden: list[int] | None = None) -> Pattern:
    """Read what stands in the parentheses of PATTERN; a RefusedError has a place in ``text``.

    ``name_of`` turns a variable as it is written here into its name (variables are compared without case); ``hidden`` takes the
    places of the variables within ``{- -}``, of all of them from left to right.

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
    reader = _RowPatternReader(name_of)
    found = reader.either(tree.children[0]) or Component(EMPTY_MATCH, where=(FALSE,))
    if hidden is not None:
        hidden += [i for i, each in enumerate(components_of(found)) if any(each is other for other in reader.hidden)]
    return found


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", propagate_positions=True)


class _RowPatternReader:
    """Makes the pattern of lark's tree."""

    def __init__(self, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of
        self.hidden: list[Component] = []  # these objects, whatever else equals one of them

    def either(self, tree: Any) -> Pattern | None:
        """Returns the pattern of alternatives; None: it takes no row."""
        return _either([self._row(row) for row in tree.children])

    def _row(self, tree: Any) -> Pattern | None:
        items = [item for item in map(self._item, tree.children) if item is not None]
        return in_row(items) if items else None

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
        raise RefusedError(
            f"expected variables but got {tree.children[0]}; where a partition begins or ends is not known of a stream", place
        )


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
