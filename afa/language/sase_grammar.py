"""The frame of SASE+ text: lark reads it in linear time; what is wrong is said with its place."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn

from afa.errors import QueryError

if TYPE_CHECKING:
    from lark import Lark, Tree

LONGEST = 10_000
"""How many characters a query may have."""
SHOWN = 60
WORDS = {
    "PATTERN": "PATTERN", "SEQ": "SEQ(", "NAME": "a name", "STRING": "a string", "NUMBER": "a number", "UNIT": "a unit",
    "COMMA": "','", "ARROW": "'=>'", "OR": "'|'", "EMPTY": "'[]'", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'",
    "RBRACE": "'}'", "NOT": "'~'", "PLUS": "'+'", "STAR": "'*'", "QUESTION": "'?'", "STRATEGY": "a strategy",
    "WHERE": "WHERE", "WITHIN": "WITHIN", "RETURN": "RETURN", "$END": "the end", "OPERATOR": "an operator",
    "RANGE": "'..'", "DOT": "'.'", "LBRACKET": "'['", "RBRACKET": "']'",
}  # fmt: skip
"""Tokens in words, in the order in which they are listed."""
QUOTES = "'\""
_EXPRESSION = {"DOT", "RANGE", "OPERATOR"}
"""What begins or goes on with an expression."""


class RefusedError(Exception):
    """Something in a text is wrong, at a place."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message, self.position = message, position


def read_frame(text: str) -> Tree[Any]:
    """Returns lark's tree of a query."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if len(text) > LONGEST:
        raise RefusedError(f"expected at most {LONGEST} characters but got {len(text)}; split the query", 0)
    strange = next((i for i, sign in enumerate(text) if "\ud800" <= sign <= "\udfff"), None)
    if strange is not None:
        raise RefusedError(f"expected text that UTF-8 holds but got {text[strange]!r}; leave it out", strange)
    try:
        return _parser().parse(text)
    except UnexpectedToken as error:
        end = error.token.type == "$END"
        expected = set(error.accepts or error.expected)
        _unexpected(text, expected, "the end" if end else repr(str(error.token)), len(text) if end else error.token.start_pos or 0)
    except UnexpectedCharacters as error:
        position = error.pos_in_stream or 0
        _unexpected(text, set(error.allowed or ()), repr(text[position]), position)


def query_error(text: str, refused: RefusedError) -> QueryError:
    """Return the error that shows the place: line, column, the line and a caret.

    >>> refused = RefusedError("expected a unit of time but got 'moons'; units: ..", 26)
    >>> print(query_error("PATTERN SEQ(A a)\\nWITHIN 3 moons", refused))
    line 2, column 10: expected a unit of time but got 'moons'; units: ..
        WITHIN 3 moons
                 ^
    """
    position = min(max(refused.position, 0), len(text))
    begin = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line, column = text.count("\n", 0, position) + 1, position - begin
    cut = max(0, column - SHOWN)
    shown = text[begin : end if end >= 0 else len(text)][cut : column + SHOWN]
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in shown)
    return QueryError(f"line {line}, column {column + 1}: {refused.message}\n    {shown}\n    {' ' * (column - cut)}^")


@functools.cache
def _parser() -> Lark:
    from lark import Lark

    grammar = files("afa.language").joinpath("sase.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True)


def _unexpected(text: str, expected: set[str], got: str, position: int) -> NoReturn:
    """Refuse what stands where the grammar has something else, with a way out where the reason is known."""
    if expected >= _EXPRESSION:
        words = ["an expression", *(WORDS[name] for name in WORDS if name in expected & {"WITHIN", "RETURN", "$END"})]
    else:
        words = [WORDS[name] for name in WORDS if name in expected]
    listed = " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
    raise RefusedError(f"expected {listed} but got {got}; {_way_out(text, expected, got.strip(QUOTES), position)}", position)


def _way_out(text: str, expected: set[str], got: str, position: int) -> str:
    if "PATTERN" in expected:
        return "a query is: PATTERN SEQ(Type a, ..) WHERE strategy(a, ..) { .. } WITHIN 1 hour RETURN a.x"
    if expected >= _EXPRESSION:
        if not got:
            return "end the string on the line on which it begins"
        return "write a condition or a value" if got == "the end" else f"{got} means nothing in conditions and values"
    if text[:position].rstrip().endswith(("=>", "⇒")):
        return "write =>next, =>any, =>strict or =>partition"
    if got in ("|", ",") and expected & {"COMMA", "OR"}:
        return "put the alternatives in parentheses of their own: SEQ(A a, (B b | C c), D d)"
    if expected & {"COMMA", "OR"} and "RPAR" in expected:
        if got == "the end":
            return "close the parenthesis"
        return "put commas between components, quantifiers behind the type: Type+ name[]"
    if "NAME" in expected and "SEQ" not in expected:
        return "a component is a type and a name: Type name, or Type+ name[]"
    if "NAME" in expected:
        return "a component is Type name, Type+ name[], ~(Type name), or a group in parentheses"
    if "NUMBER" in expected and len(expected) == 1:
        return "a duration is a number with a unit, 12 hours, or a bare number of ticks"
    if "$END" in expected:
        return "the clauses are PATTERN, WHERE, WITHIN, RETURN, in this order"
    return "a quantifier is +, *, ?, {n}, {n,}, {,m} or {n,m}, behind the type"
