"""What random worlds have found and is not mended yet."""

from __future__ import annotations

import pytest

from afa import Operator, insert
from afa.rules.rules import Rules
from tests.rules.patterns import Row

SEEN = Row("a", 0, 2, 1.0, "p", 1, True, None, 0, None, None)


@pytest.mark.xfail(strict=True, reason="the two halves of a replacement are not netted")
def test_a_replacement_tells_nothing_of_a_match_that_stays() -> None:
    one = "PATTERN SEQ(a p) WHERE p.x > {} WITHIN 9 RETURN p.x AS c1"
    op = Operator(Rules({"r": one.format(0)}, event=Row, tick="s"), engine="interpreted")
    assert len(op.push(insert(SEEN, 5))) == 1
    assert op.replace("r", one.format(1), at=3) == []
