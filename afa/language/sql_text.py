"""The text of a statement in SQL: its tokens, the nodes that sqlglot makes of some of them, and where a node stands in it."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any

from afa.language.sase_grammar import LONGEST, RefusedError

DIALECT = "snowflake"
"""Of sqlglot's dialects the one that reads a statement of which no dialect is said."""
DIALECTS = {
    **{name: name for name in ("bigquery", "databricks", "duckdb", "oracle", "risingwave", "snowflake", "spark", "trino")},
    "flink": "",  # sqlglot has none of its own: what all have in common
}
"""The dialects of SQL that a statement may be said to be in, and what sqlglot calls each."""
OPENERS = {"Cast": "CAST", "Case": "CASE", "Interval": "INTERVAL", "Neg": "-", "Not": "NOT", "Paren": "(", "Subquery": "("}
"""What a node begins with that has no place in sqlglot's tree; so has `Select`, where it stands in parentheses."""
TRAILERS = {
    "Ordered": {"ASC", "DESC", "NULLS", "FIRST", "LAST"},
    "Is": {"IS", "NOT", "NULL", "TRUE", "FALSE"},
    "IgnoreNulls": {"IGNORE", "NULLS"},
}
SHOWN = 60
"""How many characters of a node a message shows."""
COMMENT = re.compile(r"--[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
WAYS = {
    "XOR": "write (x OR y) AND NOT (x AND y) for x XOR y",
    "RUNNING": "RUNNING and FINAL stand before FIRST, LAST, SUM, AVG, MIN, MAX and COUNT",
    "FINAL": "RUNNING and FINAL stand before FIRST, LAST, SUM, AVG, MIN, MAX and COUNT",
}
"""Where the word that can't be read, or the one before it, is this: the way out."""
BACKSLASH = (
    "expected dialect= beside a text with \\ but got none: some dialects read \\ as an escape, others as it is; say it, or write "
    "LIKE .. ESCAPE"
)
SLASHES = "expected dialect= beside // but got none: a comment in Snowflake, a division elsewhere; say it, or -- or FLOOR(x / y)"
MISSING = "write what the function is of in its parentheses"


class SqlText:
    """A statement, cut into sqlglot's tokens, with a parser of the dialect that it is in."""

    def __init__(self, text: str, dialect: str | None = None) -> None:
        from sqlglot.errors import SqlglotError

        if len(text) > LONGEST:
            raise RefusedError(f"expected at most {LONGEST} characters but got {len(text)}; split the query", 0)
        self.text, self.dialect = text, dialect
        tokenizer, self._parser = _readers(DIALECTS[dialect] if dialect else DIALECT)
        try:
            self.tokens: list[Any] = tokenizer.tokenize(text)
        except SqlglotError:
            self.tokens, openers = tokenizer.tokens, "/[*]|['\"`$]"
        else:
            openers = "/[*]"  # of which sqlglot says nothing
        if dialect is None:
            self._check_common(text)
        end = self.tokens[-1].end + 1 if self.tokens else 0
        opened = re.search(openers, COMMENT.sub(lambda found: " " * len(found[0]), text[end:]))
        if opened or openers != "/[*]":
            wrong = "expected SQL but got a text, a name or a comment that does not end; close it where it ends"
            raise RefusedError(wrong, end + opened.start() if opened else len(text))
        self._upper = [self.said(token).upper() for token in self.tokens]
        self._begins = {token.start: i for i, token in enumerate(self.tokens)}
        self._ends = {token.end + 1: i for i, token in enumerate(self.tokens)}
        pairs = ({"(": 1, ")": -1}, {"CASE": 1, "END": -1})
        self._opened = [list(itertools.accumulate((pair.get(word, 0) for word in self._upper), initial=0)) for pair in pairs]

    def _check_common(self, text: str) -> None:
        """Refuse what the tokens of dialects differ in. Raises `RefusedError`."""
        begin = 0
        for token in self.tokens:
            found = next((each for each in COMMENT.finditer(text, begin, token.start) if each[0].startswith("//")), None)
            if found is not None:
                raise RefusedError(SLASHES, found.start())
            begin = token.end + 1
            place = text.find("\\", token.start, begin if token.token_type.name == "STRING" else 0)
            if place >= 0:
                raise RefusedError(BACKSLASH, place)
        place = COMMENT.sub(lambda found: " " * len(found[0]), text[begin:]).find("\\")
        if place >= 0:  # perhaps a text ends there
            raise RefusedError(BACKSLASH, begin + place)

    def said(self, token: Any) -> str:
        """Return a token as it was written."""
        return self.text[token.start : token.end + 1]

    def parsed(self, kind: Any, tokens: Sequence[Any], end: int, way: str) -> Any:
        """Return the node of this kind (None: a statement) that some tokens are; ``end``: where what follows them begins.

        Raises `RefusedError`.
        """
        try:
            read = self._parser.parse if kind is None else functools.partial(self._parser.parse_into, kind)
            (found,) = read(list(tokens), self.text)
        except RecursionError:
            raise
        except Exception:  # of some texts that are no SQL it makes a KeyError, an AttributeError ..
            found = None
        if found is not None:
            return found
        at, before = self._parser._curr, self._parser._prev
        place = at.start if at else end
        i = self._begins.get(place)
        word = self.said(self.tokens[i]) if i is not None else ""
        asked = (word.upper(), self.said(before).upper() if before else "")
        way = MISSING if asked == (")", "(") else next((WAYS[each] for each in asked if each in WAYS), way)
        raise RefusedError(f"expected SQL but got what can't be read at {repr(word) if word else 'the end'}; {way}", place)

    def place(self, node: Any) -> int:
        """Return where a node begins."""
        span = self._nearest(node)
        return 0 if span is None else int(self.tokens[span[0]].start)

    def says(self, node: Any, word: str) -> bool:
        """Return whether a word stands in a node."""
        span = self._span(node)
        return span is not None and word in self._upper[span[0] : span[1] + 1]

    def quoted(self, node: Any) -> str:
        """Return a node as it was written."""
        span = self._nearest(node)
        if span is None:
            return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).upper()
        return shown(self.text[self.tokens[span[0]].start : self.tokens[span[1]].end + 1])

    def replaced(self, node: Any, by: Any) -> Any:
        """Return a node that stands for another one, and is quoted as that."""
        span = self._span(node)
        if span is not None:
            by.meta.update(start=self.tokens[span[0]].start, end=self.tokens[span[1]].end)
        return by

    def _nearest(self, node: Any) -> tuple[int, int] | None:
        """Return the first and the last token of a node, or of the first one round it of which they are known."""
        found = self._span(node)
        return found if found or node.parent is None else self._nearest(node.parent)

    def _span(self, node: Any) -> tuple[int, int] | None:
        """Return the first and the last token of a node; None: sqlglot says no place of it, nor of what is in it."""
        from sqlglot.expressions import Connector, Func

        kind = type(node).__name__
        spans = [self._span(each) for each in node.iter_expressions() if type(each).__name__ != "DataType"]
        if node.meta.get("start") in self._begins:
            first = self._begins[node.meta["start"]]
            spans.append((first, self._ends.get(node.meta["end"] + 1, first)))
        known = [span for span in spans if span is not None]
        if not known:
            return None
        begin, end = min(first for first, _ in known), max(last for _, last in known)
        opener, before = OPENERS.get(kind), begin - 1
        while opener and before > 0 and self._word(before) in ("(", "WHEN", "SELECT") and self._word(before) != opener:
            before -= 1
        if opener and self._word(before) == opener:
            begin = before
        if kind == "Select" and self._word(begin - 1) == "(":
            begin -= 1
        if isinstance(node, Func) and not isinstance(node, Connector):
            if self._word(begin - 1) == "(" and not opener and not node.meta:
                begin -= 2
            end += self._word(end + 1) == "(" and self.tokens[end].end == node.meta.get("end", -2)  # nothing is in it
        return begin, self._closed(begin, end, TRAILERS.get(kind, set()))

    def _closed(self, begin: int, end: int, trailers: set[str]) -> int:
        """Return the token with which what is open between two of them is closed."""
        while end + 1 < len(self.tokens):
            closed = all(opened[end + 1] <= opened[begin] for opened in self._opened)
            if closed and self._word(end + 1) not in trailers:
                break
            end += 1
        return end

    def _word(self, i: int) -> str:
        return self._upper[i] if 0 <= i < len(self._upper) else ""


def plain(written: str) -> str:
    """Return a name without the quotes that it is written in, of which one in the name stands twice.

    >>> plain('"a""b"'), plain("`a b`"), plain("a")
    ('a"b', 'a b', 'a')
    """
    sign = written[:1]
    return written[1:-1].replace(sign * 2, sign) if sign in ('"', "`") and written[1:].endswith(sign) else written


def shown(said: str) -> str:
    """Return words in one line, and not all of many."""
    said = " ".join(said.split())
    return said if len(said) <= SHOWN else said[: SHOWN - 2] + ".."


@functools.cache
def _tokenizer_of(dialect: str) -> Any:
    """Returns the class of tokenizers of a dialect that knows MATCH_RECOGNIZE, and names in double quotes and backticks."""
    from sqlglot import TokenType
    from sqlglot.dialects.dialect import Dialect

    known = Dialect.get_or_raise(dialect).tokenizer_class
    quotes = [sign for sign in ('"', "`") if sign not in known.QUOTES]
    words = {**known.KEYWORDS, "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE}
    return type("Tokenizer", (known,), {"IDENTIFIERS": [*{*known.IDENTIFIERS, *quotes}], "KEYWORDS": words})


def _readers(dialect: str) -> tuple[Any, Any]:
    """Returns a tokenizer and a parser of one of sqlglot's dialects."""
    from sqlglot.dialects.dialect import Dialect

    return _tokenizer_of(dialect)(dialect=dialect), _parser_of(dialect)(dialect=Dialect.get_or_raise(dialect))


@functools.cache
def _parser_of(dialect: str) -> Any:
    """Returns the class of parsers of a dialect; that of Flink knows in what order TIMESTAMPDIFF has its arguments."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

    known = Dialect.get_or_raise(dialect).parser_class
    if dialect != DIALECTS["flink"]:
        return known

    def difference(given: list[Any]) -> Any:
        names = ("unit", "expression", "this")
        return (
            exp.TimestampDiff(**dict(zip(names, given)))
            if len(given) == 3
            else exp.Anonymous(this="TIMESTAMPDIFF", expressions=given)
        )

    return type("Parser", (known,), {"FUNCTIONS": {**known.FUNCTIONS, "TIMESTAMPDIFF": difference}})
