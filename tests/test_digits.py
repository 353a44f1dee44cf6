"""Text that looks like a number and is none for `int`: \u00b2 is a digit, and 5,000 digits are too many."""

from __future__ import annotations

import ast
from typing import NamedTuple

import pytest
from typer import BadParameter

import afa
from afa import QueryError
from afa.cli.flags import duration
from afa.extra.live.steering import instant_of, ticks_or_text
from tests.test_layers import MODULES


class Tick(NamedTuple):
    v: int
    at: afa.Instant


ODD = ("\u00b2", "1\u00b2", "\u0663\u00b2", "9" * 5_000, "-" + "9" * 5_000, "--1", "1_0_", "")


def test_no_place_takes_digits_for_a_number() -> None:
    """`str.isdigit` is true of what `int` refuses: isdecimal, or a pattern with a bound."""
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr in ("isdigit", "isnumeric")), f"{path}:{node.lineno}"


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_number_is_text(text: str) -> None:
    assert ticks_or_text(text) == text
    assert instant_of({"at": text}) == (text or None)
    with pytest.raises(BadParameter, match="expected"):
        duration(1)(text)


@pytest.mark.parametrize("text", ["\u00b2", "9" * 5_000, "9" * 401])
def test_literals_of_sql(text: str) -> None:
    for measure, condition in (("a.v", f"v > {text}"), (f"LAST(v, {text})", "v > 1")):
        statement = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES {measure} AS x PATTERN (a b) DEFINE a AS {condition})"
        with pytest.raises(QueryError, match=r"expected (an offset|a field|a number of at most 400 characters)"):
            afa.sql(statement, event=Tick)
