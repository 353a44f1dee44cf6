"""The numbers that a query's text says: where they stand, and the text with another one in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from afa.language.query_text import another
from afa.language.sase_grammar import RefusedError
from afa.language.text_constants import MOST, constants_of
from tests.test_serve import TEXT, Tick

SQL = """SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY le MEASURES SUM(fall.change) - 1 AS total -- 7 of them
    PATTERN (fall{2,} up) WITHIN 30
    DEFINE fall AS change < -0.5 AND change BETWEEN -9 AND - 1, up AS 'x-2' <> key AND change > 1e2
)"""
CASES = Path(__file__).parents[1] / "cases" / "sql"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TEXT, ["0 in fall[i].change < 0", "-2 in sum(fall[].change) < -2", "0 in up.change > 0", "30 in WITHIN 30"]),
        (SQL, ["1", "2", "30", "-0.5", "-9", "- 1", "1e2"]),
        ("PATTERN SEQ(T a, T b[]) WHERE a.x-1>-b[i-1].x and a.s == '4' and (a.x) - 5 < b[0].x", ["1", "5"]),
    ],
)
def test_numbers_with_their_signs_and_conditions(text: str, wanted: list[str]) -> None:
    found = constants_of(text)
    said = [f"{each.written} in {each.around}" if " in " in wanted[0] else each.written for each in found]
    assert said == wanted
    assert all(text[each.start : each.end] == each.written for each in found)


@pytest.mark.parametrize(("value", "written"), [(-3, "-3"), (4, "4"), (0.25, "0.25"), (-1e-09, "-1e-09")])
def test_another_number_in_its_place(value: float, written: str) -> None:
    (constant,) = [each for each in constants_of(TEXT) if each.written == "-2"]
    changed = constant.replaced(TEXT, constant.as_written(TEXT, value))
    assert changed == TEXT.replace("-2", written)
    import afa

    query = another(afa.query(TEXT, event=Tick), changed)
    assert constants_of(changed)[1].written == written
    assert query.key == "key"


def test_a_negative_number_behind_a_minus_stands_in_parentheses() -> None:
    text = SQL.replace("- 1 AS", "-1 AS")
    constant = constants_of(text)[0]
    assert "SUM(fall.change) -(-4) AS total" in constant.replaced(text, constant.as_written(text, -4))


def test_each_number_of_the_statements_of_users_is_one() -> None:
    count = 0
    for file in sorted(CASES.glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        try:
            found = constants_of(text)
        except RefusedError:  # it is in a dialect
            continue
        for each in found:
            assert float(each.written.replace(" ", "")) == float(text[each.start : each.end].replace(" ", ""))
            assert each.replaced(text, each.written) == text
            count += 1
    assert count > 50


def test_not_all_of_very_many_are_told() -> None:
    assert len(constants_of(f"PATTERN SEQ(T a) WHERE a.x in ({', '.join('7' * 500)})")) == MOST
