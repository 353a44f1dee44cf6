"""The numbers that the text of a query says, and the text with another number in the place of one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from afa.language.sase_grammar import read_frame
from afa.language.sql_text import SqlText, shown

MOST = 100
"""How many constants of a text are told."""
BREAKS = re.compile(r"\b(?:and|or)\b|[{};\n]", re.IGNORECASE)
"""What stands between two conditions."""
WORDS = re.compile(
    "and|or|not|in|is|if|else|then|when|case|between|like|where|within|return|select|define|measures|by", re.IGNORECASE
)
"""What a value begins behind, in place of an operator: `- 2` behind it is a negative number."""


class TextConstant(NamedTuple):
    """A number in a text."""

    start: int  # where it begins and ends, in characters; a sign belongs to it
    end: int
    written: str
    around: str  # the condition that it stands in

    def as_written(self, text: str, value: float) -> str:
        """Return another number as it is written in the place of this one."""
        said = repr(value)
        return f"({said})" if said.startswith("-") and text[: self.start].rstrip().endswith("-") else said

    def replaced(self, text: str, written: str) -> str:
        """Return the text with something else in the place of the number."""
        return text[: self.start] + written + text[self.end :]


@functools.lru_cache(maxsize=8)
def constants_of(text: str) -> tuple[TextConstant, ...]:
    """Return the first `MOST` numbers of a query, SASE+ or SQL, but for those in brackets. Raises `RefusedError`: it is none.

    >>> for constant in constants_of("PATTERN SEQ(Tick a, Tick b) WHERE a.x - 1 < -2 and b.x in (3, 4) WITHIN 5 minutes"):
    ...     print(constant.written, "in", constant.around)
    1 in PATTERN SEQ(Tick a, Tick b) WHERE a.x - 1 < -2
    -2 in PATTERN SEQ(Tick a, Tick b) WHERE a.x - 1 < -2
    3 in b.x in (3, 4) WITHIN 5 minutes
    4 in b.x in (3, 4) WITHIN 5 minutes
    5 in b.x in (3, 4) WITHIN 5 minutes
    """
    tokens = list(_tokens(text))
    said = [text[start:end] for start, end, _ in tokens]
    found: list[TextConstant] = []
    for i, (start, end, is_number) in enumerate(tokens):
        if not is_number or said[i + 1 : i + 2] == ["]"]:
            continue
        if i and said[i - 1] == "-" and not (i > 1 and _is_value(said[i - 2])):
            start = tokens[i - 1][0]
        begin = max((each.end() for each in BREAKS.finditer(text, 0, start)), default=0)
        behind = BREAKS.search(text, end)
        around = text[begin : behind.start() if behind else len(text)]
        found.append(TextConstant(start, end, text[start:end], shown(around)))
    return tuple(found[:MOST])


def _tokens(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where each token begins and ends, and whether it is a number."""
    if "match_recognize" in text.lower():
        for token in SqlText(text).tokens:
            yield token.start, token.end + 1, token.token_type.name == "NUMBER"
        return
    for token in read_frame(text).scan_values(lambda value: value is not None):
        yield token.start_pos, token.end_pos, token.type == "NUMBER"


def _is_value(said: str) -> bool:
    """Return whether a value may end with a token, so that a minus behind it subtracts."""
    return said[-1] in ")]}'\"" or (said[-1].isalnum() and WORDS.fullmatch(said) is None)
