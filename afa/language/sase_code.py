"""Tokens of WHERE and RETURN written as Python, and the way back to their places.

a[]          a[:]            ∧ ∨ ¬ AND      and or not and
a[..i-1]     a[:i-1]         = <> ≥ ≤ ≠     == != >= <= !=
80% * a.x    0.8 * a.x       × ÷            * /
b.from       b.from_         a name that is a Python keyword gets a _ behind it
"""

from __future__ import annotations

import ast
import bisect
import keyword
import math
from decimal import Decimal
from typing import Any

from afa.expression.from_text import syntax
from afa.expression.kinds import Unreadable
from afa.language.sase_grammar import RefusedError

SIGNS = {
    "=": "==", "<>": "!=", "≥": ">=", "≤": "<=", "≠": "!=", "×": "*", "÷": "/", "−": "-", "∧": "and", "∨": "or", "¬": "not",  # noqa: RUF001
}  # fmt: skip
WORDS = {"and", "or", "not", "in", "is"}
"""Python's words that may be written in any case."""
LONGEST = 40
"""How many characters a percentage may have."""
PYTHON = {*WORDS, "if", "else", "True", "False", "None"}
"""Python's words that mean in conditions what they mean there; all others are names."""


class Code:
    """Tokens written as Python, on one line, and the way back to their places."""

    def __init__(self, tokens: list[Any]) -> None:
        pieces = [(text, token.start_pos) for token, text in zip(tokens, _python(tokens)) if text]
        self.text = " ".join(text for text, _ in pieces)
        self.positions = [position for _, position in pieces]
        self.starts, column = [], 0
        for text, _ in pieces:
            self.starts.append(column)
            column += len(text.encode()) + 1

    def position(self, column: int) -> int:
        """Return the place of the token at a column, counted in bytes."""
        found: int = self.positions[max(0, bisect.bisect_right(self.starts, column) - 1)]
        return found

    def place_of(self, node: Any, otherwise: int = 0) -> int:
        """Return the place of a syntax node."""
        return self.position(getattr(node, "col_offset", otherwise))

    def parsed(self) -> ast.expr:
        """Returns Python's syntax tree."""
        try:
            return syntax(self.text, (ast.Slice,))
        except SyntaxError as error:
            column = len(self.text[: max((error.offset or 1) - 1, 0)].encode())
            hint = "a condition is a Python expression; conditions are joined with and, comments are # or /* */"
            raise RefusedError(f"expected an expression but got {error.msg}; {hint}", self.position(column)) from None
        except Unreadable as error:
            raise RefusedError(f"expected an expression but got {error.reason}; {error.hint}", self.place_of(error.node)) from None


def _python(tokens: list[Any]) -> list[str]:
    """Return each token as Python's text; empty: left out."""
    found: list[str] = []
    for k, token in enumerate(tokens):
        text, kind = str(token), token.type
        before = tokens[k - 1].type if k else ""
        if kind == "NAME":
            bracketed = before in ("LBRACKET", "COMMA") and k + 1 < len(tokens) and tokens[k + 1].type in ("RBRACKET", "COMMA")
            if before != "DOT" and text.lower() in WORDS and not bracketed:
                text = text.lower()
            elif keyword.iskeyword(text) and (before == "DOT" or text not in PYTHON or (bracketed and text not in PYTHON)):
                text += "_"
        elif kind == "NUMBER" and _percent(tokens, k):
            text = _hundredth(token)
        elif kind in ("OPERATOR", "OR", "NOT"):
            text = "" if text == "%" and _percent(tokens, k - 1) else SIGNS.get(text, text)
        elif kind == "EMPTY":
            text = "[:]"
        elif kind == "RANGE":
            text = ":"
        found.append(text)
    return found


def _hundredth(token: Any) -> str:
    """Return a percentage as a float, the nearest one."""
    text = str(token)
    try:
        found = float(Decimal(text.replace("_", "")).scaleb(-2)) if len(text) <= LONGEST else math.inf
    except ArithmeticError:
        found = math.inf
    if found == math.inf:
        raise RefusedError(f"expected a percentage that a float holds but got {text[:LONGEST]}%; write a number", token.start_pos)
    return repr(found)


def _percent(tokens: list[Any], k: int) -> bool:
    """Return whether token k is a number with a percent sign: ``80%``, where nothing follows that ``%`` could divide by."""
    if k < 0 or tokens[k].type != "NUMBER" or k + 1 >= len(tokens) or str(tokens[k + 1]) != "%":
        return False
    sign = tokens[k + 1]
    after = tokens[k + 2] if k + 2 < len(tokens) else None
    if after is None or after.type in ("RPAR", "COMMA", "RBRACKET") or str(after).lower() in PYTHON:
        return True
    close = sign.start_pos == tokens[k].end_pos
    return after.type in ("OPERATOR", "OR") and (close or (str(after) not in "+-~" and SIGNS.get(str(after)) not in ("-", "not")))
