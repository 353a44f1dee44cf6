"""The text of ``where``: ``a meets|overlaps b and b before c``, read by lark; what is wrong is said with its place.

A constraint names two definitions and the relations that the first may have to the second. All constraints hold; several of one
pair, in either direction, are one with what they have in common.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from afa.errors import QueryError, did_you_mean
from afa.extra.situations.relations import INVERSES, NAMES, inverted, names_of, set_of
from afa.language.sase_grammar import RefusedError, query_error

if TYPE_CHECKING:
    from lark import Lark, Token

GRAMMAR = r"""
start: constraint (AND constraint)*
constraint: NAME relations NAME
relations: NAME ("|" NAME)*

AND.1: /and\b/i
NAME: /(?!(?:and|or|not)\b)[^\W\d]\w*/i
%ignore /\s+/
"""
LONGEST = 10_000
"""How many characters the text may have."""
FORM = "write a constraint as 'a overlaps b', alternatives of one pair as 'a meets|overlaps b', 'and' between constraints"
ELSEWHERE = {
    "precedes": "'before|meets' (as SQL:2011 means it)",
    "succeeds": "'after|met_by' (as SQL:2011 means it)",
    "immediately_precedes": "'meets'",
    "immediately_succeeds": "'met_by'",
    "intersects": "all ways to share an instant, from 'overlaps' and 'overlapped_by' to 'during' and 'contains', with | between",
    "while": "'starts|during|finishes|equals'",
    "within": "'starts|during|finishes|equals'",
    "in": "'starts|during|finishes|equals'",
    "inside": "'during'",
    "follows": "'after' or 'met_by'",
    "equal": "'equals'",
    "ends": "'finishes'",
    "begins": "'starts'",
    "precededby": "'after'",
}
"""What others call a relation, or several, and what stands for it here."""


class RelationConstraint(NamedTuple):
    """What one definition may be to another: names of relations, in the order in which `NAMES` has them."""

    first: str
    second: str
    relations: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.first} {'|'.join(self.relations)} {self.second}"

    def turned(self) -> RelationConstraint:
        """Return the same constraint, said of the second definition."""
        return RelationConstraint(self.second, self.first, names_of(set_of(INVERSES[name] for name in self.relations)))


def constraints_of(text: Any, definitions: Sequence[str]) -> tuple[RelationConstraint, ...]:
    """Return the constraints that a text says, one for each pair, in the order in which the pairs come first.

    Parameters
    ----------
    text : str or None
        None: there are no constraints, as of one definition there can be none.
    definitions : sequence of str

    Raises
    ------
    QueryError
        The text says something else, or names what is no definition or no relation; a definition is in no constraint; two
        constraints leave a pair nothing.

    Examples
    --------
    >>> print(*constraints_of("a meets|overlaps b and b before c and b overlapped_by a", ["a", "b", "c"]), sep="; ")
    a overlaps b; b before c
    >>> constraints_of("a precedes b", ["a", "b"])
    Traceback (most recent call last):
    afa.errors.QueryError: line 1, column 3: expected a relation but got 'precedes'; write 'before|meets' (as SQL:2011 means it)
        a precedes b
          ^
    """
    if text is None and len(definitions) == 1:
        return ()
    if not isinstance(text, str) or not text.strip():
        raise QueryError(f"expected where= to relate the definitions {', '.join(definitions)} but got where={text!r}; {FORM}")
    try:
        found = _joined(_read(text, definitions))
    except RefusedError as error:
        raise query_error(text, error) from None
    alone = [name for name in definitions if all(name not in (each.first, each.second) for each in found)]
    if alone:
        raise QueryError(
            f"expected each definition in a constraint but got none with {', '.join(map(repr, alone))}: each of its situations "
            f"would multiply the matches; relate it to another one, or leave it out"
        )
    return found


def _read(text: str, definitions: Sequence[str]) -> list[tuple[RelationConstraint, int]]:
    """Return the constraints as they stand, each with its place."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if len(text) > LONGEST:
        raise RefusedError(f"expected at most {LONGEST} characters but got {len(text)}", 0)
    try:
        tree = _parser().parse(text)
    except UnexpectedToken as error:
        end = error.token.type == "$END"
        _unexpected(text, len(text) if end else error.token.start_pos or 0)
    except UnexpectedCharacters as error:
        _unexpected(text, error.pos_in_stream or 0)
    found = []
    for each in tree.find_data("constraint"):
        children: list[Any] = each.children
        first, relations, second = children
        for name in (first, second):
            _check_definition(name, definitions)
        if first == second:
            raise RefusedError(
                f"expected two definitions but got {str(first)!r} twice: a situation is not related to itself", second.start_pos
            )
        names = set_of(_relation(name) for name in relations.children)
        found.append((RelationConstraint(str(first), str(second), names_of(names)), first.start_pos))
    return sorted(found, key=lambda pair: pair[1])


def _check_definition(name: Token, definitions: Sequence[str]) -> None:
    if name not in definitions:
        hint = did_you_mean(str(name), definitions)
        raise RefusedError(
            f"expected a definition but got {str(name)!r}; the definitions are {', '.join(definitions)}{hint}", name.start_pos or 0
        )


def _relation(name: Token) -> str:
    if name in NAMES:
        return str(name)
    meant = ELSEWHERE.get(name.lower())
    hint = f"; write {meant}" if meant else did_you_mean(str(name), NAMES) or f"; the relations are {', '.join(NAMES)}"
    raise RefusedError(f"expected a relation but got {str(name)!r}{hint}", name.start_pos or 0)


def _joined(read: list[tuple[RelationConstraint, int]]) -> tuple[RelationConstraint, ...]:
    """Return one constraint for each pair."""
    found: dict[frozenset[str], RelationConstraint] = {}
    for constraint, position in read:
        pair = frozenset(constraint[:2])
        known = found.setdefault(pair, constraint)
        said = set_of(constraint.relations)
        left = set_of(known.relations) & (said if known.first == constraint.first else inverted(said))
        if not left:
            raise RefusedError(
                f"expected constraints that leave {known.first!r} and {known.second!r} a relation but got '{constraint}' beside "
                f"'{known}'",
                position,
            )
        found[pair] = known._replace(relations=names_of(left))
    return tuple(found.values())


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", lexer="contextual", propagate_positions=True)


def _unexpected(text: str, position: int) -> NoReturn:
    """Refuse what stands where no constraint has it, with a way out where the reason is known."""
    rest = text[position:].lstrip()
    position = len(text) - len(rest)
    word = rest.split(None, 1)[0] if rest else ""
    before = text[:position].lower().split()[-2:]
    if before in (["immediately", "precedes"], ["immediately", "succeeds"]):
        hint = f"for SQL's {' '.join(before)} write '{'meets' if before[1] == 'precedes' else 'met_by'}'"
    elif word.lower() in ("or", "||"):
        hint = "alternatives of one pair stand side by side, 'a meets|overlaps b'; for others write a pattern each"
    elif word.lower() == "not" or (word[:1] in "~!" and word):
        hint = "there is no 'not'; name the relations that are left, with | between them"
    elif word[:1] in "()" and word:
        hint = "there are no parentheses; all constraints hold, and 'a meets|overlaps b' has the alternatives of one pair"
    elif word[:1] in ",;&" and word:
        hint = "write 'and' between constraints"
    else:
        hint = FORM
    raise RefusedError(f"expected constraints between definitions but got {repr(word) if word else 'the end'}; {hint}", position)
