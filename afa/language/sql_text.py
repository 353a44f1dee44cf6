"""The text of a statement in SQL: what of it is no literal and no comment, and where a node of sqlglot's tree stands in it."""

from __future__ import annotations

import re
from typing import Any

from afa.language.sase_grammar import LONGEST, RefusedError

DIALECT = "snowflake"
"""Of sqlglot's dialects the one that reads the most forms of MATCH_RECOGNIZE."""
OPENERS = {"Cast": "CAST", "Case": "CASE", "Interval": "INTERVAL", "Neg": "-", "Not": "NOT", "Paren": "(", "Subquery": "("}
"""What a node begins with that has no place in sqlglot's tree; so has `Select`, where it stands in parentheses."""
TRAILERS = {
    "Ordered": {"ASC", "DESC", "NULLS", "FIRST", "LAST"},
    "Is": {"IS", "NOT", "NULL", "TRUE", "FALSE"},
    "IgnoreNulls": {"IGNORE", "NULLS"},
}
SHOWN = 60
"""How many characters of a node a message shows."""
FINALS = re.compile(r"\b(FINAL|RUNNING)(\s+)(LAST|FIRST|SUM|AVG|MIN|MAX|COUNT)(\s*\()", re.IGNORECASE)


class SqlText:
    """A statement, cut into sqlglot's tokens: ``text`` as it was written, and two copies with each character at its place.

    ``cut`` is what sqlglot reads, blank where a comment stands, or a clause that was read before; ``bare`` has "x" for what stands
    in quotes, to look for words in.
    """

    def __init__(self, text: str) -> None:
        import sqlglot
        from sqlglot.errors import SqlglotError

        if len(text) > LONGEST:
            raise RefusedError(f"expected at most {LONGEST} characters but got {len(text)}; split the query", 0)
        try:
            tokens = sqlglot.tokenize(text, read=DIALECT)
        except SqlglotError:
            raise RefusedError("expected SQL but got a text, a name or a comment that does not end", len(text)) from None
        self.text = text
        self.words = [(token.start, token.end + 1, token.token_type.name) for token in tokens]
        self._upper = [text[begin:end].upper() for begin, end, _ in self.words]
        self._begins = {begin: i for i, (begin, _, _) in enumerate(self.words)}
        self._ends = {end: i for i, (_, end, _) in enumerate(self.words)}
        cut, bare = ["\n" if c == "\n" else " " for c in text], ["\n" if c == "\n" else " " for c in text]
        for begin, end, _ in self.words:
            said = text[begin:end]
            cut[begin:end] = said
            bare[begin:end] = said[0] + "x" * (len(said) - 2) + said[-1] if set(said) & set("'\"$") and said[1:] else said
        self.cut, self.bare = "".join(cut), "".join(bare)
        for found in reversed(list(FINALS.finditer(self.bare))):
            self._put(found.start(), _one_name(*found.groups()))

    def blank(self, begin: int, end: int) -> None:
        """Put blanks in the place of what was read."""
        self._put(begin, "".join(c if c == "\n" else " " for c in self.cut[begin:end]))

    def _put(self, begin: int, words: str) -> None:
        end = begin + len(words)
        self.cut, self.bare = (f"{each[:begin]}{words}{each[end:]}" for each in (self.cut, self.bare))

    def found(self, word: str) -> int:
        """Return where a word stands; 0: nowhere."""
        found = re.search(rf"\b{re.escape(word)}", self.bare, re.IGNORECASE)
        return found.start() if found else 0

    def within(self, opening: re.Pattern[str]) -> str:
        """Returns the text in the parentheses that a pattern opens, as in ``bare``."""
        found = opening.search(self.bare)
        begin, deep = (found.end(), 1) if found else (0, 0)
        end = begin
        while deep and end < len(self.bare):
            deep += {"(": 1, ")": -1}.get(self.bare[end], 0)
            end += 1
        return self.bare[begin:end]

    def place(self, node: Any) -> int:
        """Return where a node begins."""
        span = self._span(node)
        return 0 if span is None else self.words[span[0]][0]

    def quoted(self, node: Any) -> str:
        """Return a node as it was written."""
        span = self._span(node)
        if span is None:
            return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).upper()
        said = " ".join(self.text[self.words[span[0]][0] : self.words[span[1]][1]].split())
        return said if len(said) <= SHOWN else said[: SHOWN - 2] + ".."

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
            end += self._word(end + 1) == "(" and self.words[end][1] == node.meta.get("end", -2) + 1  # nothing is in it
        return begin, self._closed(begin, end, TRAILERS.get(kind, set()))

    def _closed(self, begin: int, end: int, trailers: set[str]) -> int:
        """Return the token with which what is open between two of them is closed."""
        while end + 1 < len(self.words):
            said = self._upper[begin : end + 1]
            closed = said.count("(") <= said.count(")") and said.count("CASE") <= said.count("END")
            if closed and self._word(end + 1) not in trailers:
                break
            end += 1
        return end

    def _word(self, i: int) -> str:
        return self._upper[i] if 0 <= i < len(self._upper) else ""


def _one_name(word: str, blanks: str, name: str, opens: str) -> str:
    """Return ``FINAL LAST(`` as one name, which sqlglot reads as a function; ``RUNNING LAST(`` is ``LAST(``."""
    return " " * len(word) + blanks + name + opens if word.upper() == "RUNNING" else f"{word}_{name}{blanks[1:]}{opens}"
