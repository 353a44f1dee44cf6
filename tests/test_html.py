"""What notebooks show: automata, queries, operators, changes, lineages, statistics, as HTML in which all text is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any, NamedTuple

import afa
from afa import FOREVER, Arc, Automaton, Change, Keyed, Operator, insert
from speculation import Cleanse


class Tick(NamedTuple):
    symbol: str
    change: float


TEXT = """
    PATTERN SEQ(Tick+ fall[], Tick up)
    WHERE partition_contiguity(fall[], up) { [symbol] and fall[i].change < 0 and up.change > 0 }
    WITHIN 60
    RETURN sum(fall[].change) AS total
"""
BAD = "<script>alert(1)</script>"


def cells(shown: str) -> list[str]:
    """The text in all elements but drawings; the whole has to be well-formed."""

    def texts(element: ET.Element) -> Iterator[str]:
        if not element.tag.endswith("svg"):
            yield from [element.text] if element.text else []
            for child in element:
                yield from texts(child)

    assert BAD not in shown
    return list(texts(ET.fromstring(shown)))


def made() -> tuple[Any, Any]:
    query = afa.query(TEXT, event=Tick)
    return query, query.operator(lineage=True)


def test_a_query() -> None:
    query, _ = made()
    told = ["Query", "components", "fall, up", "by", "symbol", "within", "60", "returns", "total"]
    assert cells(query._repr_html_()) == told
    assert query.draw() == query.automaton.draw() in query._repr_html_()
    for within, tick, said in (
        ("10 minutes", "ms", "10 minutes"),
        ("90 s", "s", "90 seconds"),
        ("7", None, "7"),
        (None, "s", None),
    ):
        text = TEXT.replace("WITHIN 60", "" if within is None else f"WITHIN {within}")
        shown = cells(afa.query(text, event=Tick, tick=tick)._repr_html_())
        assert (shown[shown.index("within") + 1] if "within" in shown else None) == said


def test_an_operator_with_what_it_holds() -> None:
    _, op = made()
    op.push_many([insert(Tick(BAD, -1.0), 1), insert(Tick(BAD, 2.0), 2)])
    shown = cells(op._repr_html_())
    assert shown[:7] == ["Keyed", "key", "symbol", "window", "60", "engine", "compiled"]
    assert shown[7:9] == ["events", "partial matches"]
    assert op.draw() in op._repr_html_()
    assert cells(op.statistics._repr_html_()) == shown[7:]
    untyped = Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)]), tick="s", window="1 min")
    assert cells(untyped._repr_html_()) == ["Operator", "window", "60", "tick", "s", "engine", "interpreted", "events", "0"]
    assert cells(Keyed(untyped.automaton, key=len)._repr_html_())[:3] == ["Keyed", "key", "a function"]


def test_an_operator_with_a_stage() -> None:
    query, _ = made()
    op = Cleanse(0).after(query.operator())
    assert cells(op._repr_html_())[:3] == ["Keyed, after it a Cleanse", "key", "symbol"]
    assert op.draw() in op._repr_html_()


def test_a_query_that_chooses_and_its_operator() -> None:
    query = afa.sql(
        """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at MEASURES a.change AS first
        PATTERN (a b) WITHIN INTERVAL '1' HOUR DEFINE b AS change > 0)""",
        event=Tick,
        tick="s",
    )
    assert cells(query._repr_html_()) == [
        "Query", "components", "a, b", "by", "symbol", "within", "1 hour", "returns", "first",
    ]  # fmt: skip
    op = query.operator()
    assert cells(op._repr_html_())[:3] == ["Keyed", "key", "symbol"]
    assert op.draw() in op._repr_html_()


def test_a_change() -> None:
    assert cells(Change(Tick(BAD, 1.5), 3, FOREVER, -1, "k")._repr_html_()) == [
        "Tick goes", "symbol", BAD, "change", "1.5", "LE", "3", "RE", "FOREVER", "diff", "-1", "key", "k",
    ]  # fmt: skip
    assert cells(insert("x" * 400, 3)._repr_html_()) == ["str comes", "payload", "x" * 299 + "…", "LE", "3", "diff", "1"]


def test_a_change_with_a_reason_and_a_field_of_a_reserved_name() -> None:
    query, _ = made()
    op = afa.Reasons(query.operator())
    (change,) = op.push_many([insert(Tick("a", -1.0), 1), insert(Tick("a", 2.0), 2)])
    assert cells(change._repr_html_())[-2:] == ["because", change.because.text]

    class Lock(NamedTuple):
        key: str | None

    assert cells(insert(Lock(None), 3)._repr_html_()) == ["Lock comes", "key", "None", "LE", "3", "diff", "1"]


def test_a_lineage_of_more_paths_than_python_writes() -> None:
    text = """
        PATTERN SEQ(Tick a, Tick+ b[], Tick c)
        WHERE skip_till_any_match(a, b[], c) { a.change < 0 and b[i].change == 0 and c.change > 0 }
        WITHIN 100000
        RETURN c.change AS top
    """
    op = afa.query(text, event=Tick).operator(longest=True)
    between = [insert(Tick("A", 0.0), le) for le in range(1, 15_001)]
    (match,) = op.push_many([insert(Tick("A", -1.0), 0), *between, insert(Tick("A", 1.0), 20_000)])
    assert op.lineage(match).count() == 2**15_000 - 1
    assert "about 10^4515" in cells(op.lineage(match)._repr_html_())


def test_a_lineage() -> None:
    _, op = made()
    out = op.push_many([insert(Tick(BAD, -1.0), le) for le in range(20)] + [insert(Tick(BAD, 2.0), 30)])
    shown = cells(op.lineage(out[-1])._repr_html_())
    assert shown[:9] == ["Lineage", "total", repr(out[-1].payload.total), "LE", "30", "RE", str(out[-1].re), "paths", "1"]
    assert shown[9:13] == ["component", "LE", "symbol", "change"]
    assert shown.count(BAD) == len(op.lineage(out[-1]).events()["fall"][:12]) + 1
