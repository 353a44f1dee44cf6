"""``members=`` and ``tell="lineage"`` of queries with AFTER MATCH SKIP. Random ones: `chosen_member_worlds`."""

from __future__ import annotations

import base64
import copy
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Change, Operator, Punctuation, SnapshotError, insert, retract
from afa.engine import SoughtMatch
from speculation import Choose, Cleanse, stage_state
from speculation.layers import parts_of
from tests.language import chosen_member_worlds


class Tick(NamedTuple):
    key: str
    x: float
    id: int = 0


FALL = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES FIRST(a.x) AS top
    PATTERN (a d+) {within} DEFINE d AS x < PREV(x))"""


OLD = (
    b"K}JDC0lDQJXO)tsLuhYrb7iGrW^`q8nyqkQb95kVVRLjKa&LE~b97;HbPAA=k*8y5Z*OyDF_4m_O<{CnXrpv*Z~@bR000000001%lB0BQaHnHvZ*OyDF_E"
    b"EbkphtmkpYsC%RnLk000000FnQ|#Q{G-MnO{vp6`2MnZv{od|A7N3p2^H>MtFGN*tYJm<qtcrE+0ub7jMjz`&N%fB*mh00000(|`Z~000000Mmc~000000"
    b"00C4(|`Z~000000F{#f(|`Z~000000MCE_|NsC0|NoN#(|`Z~000000MCE_|NsC0|NoN$(|`Z~000000MCE_|NsC0|NoN%(|`Z~000000MCE_|NsC0|NoN"
    b"&(|`Z~000000MCE_|NsC0|NoGb0|5X4z@L=?0Fk3}baIivk&==D!~p=r0c(;2!~p=30K@?Rk^sa2kdgqz0FnU20FnU20F=Z4k^sa2!~l{2!~l{3!~*~U0+"
    b"I^E0{{R3k^#g60001!l98cnk^sa50002Q7ytkO0000YKmY&$0000SKmY&$0000WK#~B&0{{R3kiY"
)
"""A snapshot of `fall` by the version before, which chose behind the operator: base85."""


def fall(within: str = "WITHIN 10") -> afa.Query:
    return afa.sql(FALL.format(within=within), event=Tick)


def told(out: list[Any]) -> list[Any]:
    return [(c.diff, c.le, c.members) for c in out if isinstance(c, Change)]


@pytest.mark.parametrize("within", ["WITHIN 10", ""])
def test_members_are_told_and_told_again(engine: str, within: str) -> None:
    query = afa.sql(FALL.format(within=within).replace("BY at", "BY le_"), event=Timed)
    op = query.operator(engine=engine, members="id", tell="lineage")
    assert told(op.push_many([insert(Timed("k", 9, 1), 1), insert(Timed("k", 5, 2), 3)])) == [(1, 3, {"a": (1,), "d": (2,)})]
    assert told(op.push(insert(Timed("k", 7, 3), 2))) == [(0, 3, {"a": (1,), "d": (3, 2)})]
    assert told(op.push_many([retract(Timed("k", 7, 3), 2), insert(Timed("k", 6, 4), 2)])) == [(0, 3, {"a": (1,), "d": (4, 2)})]
    assert told(op.push_many([retract(Timed("k", 6, 4), 2), insert(Timed("k", 6, 4), 2)])) == []
    op = query.restore(op.snapshot(), engine=engine)
    assert told(copy.deepcopy(op).push(insert(Timed("k", 4, 5), 4))) == [
        (-1, 3, None), (1, 4, {"a": (1,), "d": (4, 2, 5)})
    ]  # fmt: skip
    assert op.statistics[:4:3] == (3, 1)  # events, matches
    assert told(op.push(retract(Timed("k", 9, 1), 1)))[0] == (-1, 3, None)


class Timed(NamedTuple):
    key: str
    x: float
    id: int
    le_: afa.Instant | None = None


def test_what_is_final_in_the_operator_keeps_its_members(engine: str) -> None:
    """A match that ends below the promise may still be chosen, when one before it goes."""
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(b.id) AS b PATTERN (a b+ c) WITHIN 20
              DEFINE b AS x > PREV(x), c AS x < PREV(x))"""
    op = afa.sql(text, event=Tick).operator(engine=engine, members="id")
    rows = [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, 1.0)]
    assert told(op.push_many([insert(Tick("", x, le), le) for le, x in rows])) == [(1, 5, {"a": (1,), "b": (2, 3, 4), "c": (5,)})]
    op.push(Punctuation(2))
    assert told(op.push(retract(Tick("", 2.0, 2), 2))) == []  # it stays, with less events; of that nobody wants to be told
    assert op.statistics[:4:3] == (4, 1)
    later = op.push_many([insert(Tick("", 9.0, 6), 6), insert(Tick("", 0.0, 7), 7), Punctuation(8)])
    assert told(later) == []  # the row at 5 is in the match before
    assert told(op.push_many([insert(Tick("", x, le), le) for le, x in ((8, 9.0), (9, 0.0), (10, 8.0))])) == [
        (1, 9, {"a": (7,), "b": (8,), "c": (9,)})
    ]


def test_tables(engine: str) -> None:
    op = fall().operator(engine=engine, members="le", tell="lineage")
    out = op.push_many(pa.table({"key": ["k"] * 3, "x": [9.0, 8, 7], "id": [1, 2, 3], "le": [1, 2, 3]}))
    assert out.to_pylist() == [
        {"key": "k", "top": 9.0, "le": 3, "re": 11, "diff": 1, "members": {"a": [1], "d": [2, 3]}}
    ]  # fmt: skip
    again = op.push_many(pa.table({"key": ["k"] * 2, "x": [8.0, 8], "id": [2, 4], "le": [2, 2], "diff": [-1, 1]}))
    assert again["diff"].to_pylist() == [0]  # other events, of which members tell the same
    whole = fall().operator(engine=engine, members=True, tell="lineage")
    whole.push_many(pa.table({"key": ["k"] * 3, "x": [9.0, 8, 7], "id": [1, 2, 3], "le": [1, 2, 3]}))
    again = whole.push_many(pa.table({"key": ["k"] * 2, "x": [8.0, 8], "id": [2, 4], "le": [2, 2], "diff": [-1, 1]}))
    assert [event["id"] for event in again["members"][0].as_py()["d"]] == [4, 3]


def test_without_members(engine: str) -> None:
    op = fall().operator(engine=engine, tell="lineage")
    op.push_many([insert(Tick("k", 9), 1), insert(Tick("k", 5), 3)])
    assert told(op.push(insert(Tick("k", 7), 2))) == [(0, 3, None)]
    assert told(fall().restore(op.snapshot(), engine=engine).push(retract(Tick("k", 7), 2))) == [(0, 3, None)]


@pytest.mark.parametrize("within", ["WITHIN 2", ""])
def test_a_row_behind_a_match_changes_its_events(engine: str, within: str) -> None:
    """Two attempts show the same; the row lets the first one go on: one of both goes, and only the other's events are left."""
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(x) AS last AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a b c | a b | b) {within} DEFINE a AS x < 2, b AS x = 2, c AS x = 3)"""
    op = afa.sql(text, event=Tick).operator(engine=engine, members="le", tell="lineage")
    first = told(op.push_many([insert(Tick("", x), x) for x in (1, 2)]))
    assert {le for _, le, _ in first} == {2}
    again = afa.sql(text, event=Tick).restore(op.snapshot(), engine=engine)
    found = told(op.push(insert(Tick("", 3), 3)))
    table = again.push_many({"le": [3], **{name: [getattr(Tick("", 3), name)] for name in Tick._fields if name != "at"}})
    assert [int(diff) for diff in table["diff"]] == [change[0] for change in found]
    left = {"a": (), "b": (2,), "c": ()}
    assert found == ([] if within else [(-1, 2, None), (0, 2, left), (1, 3, {"a": (1,), "b": (2,), "c": (3,)})])


def test_what_is_refused(engine: str) -> None:
    with pytest.raises(AfaError, match=r'expected a field of the event, "le" or True .* but got members=\'y\''):
        fall().operator(members="y")
    with pytest.raises(AfaError, match='expected "lineage" or None but got tell=3'):
        fall().operator(tell=3)
    op = fall().operator(engine=engine, members="x")
    with pytest.raises(AfaError, match=r"expected an operator without members=.* in front of a Cleanse"):
        Cleanse(0).after(op)
    for name in ("collapse", "having"):
        with pytest.raises(AfaError, match=f"{name}=.* can't be combined with AFTER MATCH SKIP because it shows single matches"):
            fall().operator(engine=engine, **{name: "x" if name == "collapse" else "sum(x) > 3"})
    with pytest.raises(SnapshotError, match="expected members='x', with which the operator was saved, but got members='id'"):
        fall().restore(op.snapshot(), engine=engine, members="id")


def test_snapshots_of_the_stages_of_older_versions(engine: str) -> None:
    old = base64.b85decode(OLD)
    for name in ("Choose", "AllRows", "ChosenMembers"):
        blob = old if name == "Choose" else stage_state.seal(name, "after", [], [], None, parts_of(old)[1])
        for restore in (fall().restore, lambda blob, **options: Operator.restore(fall(), blob, **options)):
            with pytest.raises(SnapshotError, match=f"or of an older version, which chose behind it, by the stage {name}: make"):
                restore(blob, engine=engine)
        with pytest.raises(SnapshotError, match="expected a snapshot of"):
            fall().restore(parts_of(blob)[1], engine=engine)


def test_a_choose_of_the_users_own(engine: str) -> None:
    """It stands behind what is chosen already; its snapshot is none of an older version, unless it is one of another query."""
    op = Choose(by="end", window=10).after(fall().operator(engine=engine))
    ticks = [insert(Tick("k", x), le) for le, x in enumerate((9, 7, 8, 5), 1)]
    assert [change.le for change in op.push_many(ticks)] == [2, 4]
    again = fall().restore(op.snapshot(), engine=engine)
    assert [(change.diff, change.le) for change in again.push(retract(Tick("k", 9), 1))] == [(-1, 2)]
    with pytest.raises(SnapshotError, match="but got one of another, or of an older version"):
        fall("WITHIN 9").restore(op.snapshot(), engine=engine)


def test_worlds(turns: str) -> None:
    """A sample; the long run: ``python -m tests.worlds chosen-members``."""
    seen = chosen_member_worlds.WORLDS.run("sample", range(40), turns, more_than={"matches": 37, "again": 1})
    assert seen["declined"] < 3, seen


class Named(NamedTuple):
    name: str
    x: int
    at: afa.Instant | None = None


@pytest.mark.parametrize("skip", ["PAST LAST ROW WITHIN", "TO NEXT ROW WITHIN", "PAST LAST ROW"])
def test_a_match_is_found_among_those_near_it(skip: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not among all that are shown. Rows of one instant are ordered by text, whichever came first."""
    after = skip.partition(" WITHIN")[0]
    query = afa.sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at, name MEASURES a.x AS x AFTER MATCH SKIP {after} PATTERN (a b)
        {"WITHIN 4" if skip != after else ""} DEFINE a AS name IN ('n', 'z'), b AS name IN ('a', 'b'))""",
        event=Named,
    )
    op = query.operator(engine=engine)
    rows = [insert(Named(name, i), le) for i in range(90) for name, le in (("b", 3 * i + 3), ("z", 3 * i + 2), ("n", 3 * i + 3))]
    out = op.push_many([*rows, insert(Named("a", 0), 3 * 90 + 3)])
    assert len(out) == 91
    asked: list[Any] = []
    plain = SoughtMatch.is_among
    monkeypatch.setattr(SoughtMatch, "is_among", lambda self, shown: asked.append(shown) or plain(self, shown))
    for match, names in ((out[0], "zb"), (out[45], "zb"), (out[-1], "na")):
        (path,) = op.lineage(match).paths()  # type: ignore[arg-type]
        assert "".join(event.payload.name for _, event in path) == names
        assert path[-1][1].le == match.le
    assert len(asked) <= 9


def test_a_variable_at_several_places_takes_an_event_once(engine: str) -> None:
    """Of two matches of one LE that differ in RE only: the row of the later one is one of the earlier one, at another place."""
    query = afa.sql(
        """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES LAST(id) AS id AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a a?) WITHIN 9)""",
        event=Tick,
    )
    op = query.operator(engine=engine)
    out = op.push_many([insert(Tick("k", 0, le), le) for le in (1, 2)])
    assert [(match.le, match.re) for match in out] == [(2, 10), (2, 11)]  # type: ignore[union-attr]
    found = op.collapsed(out[0]._replace(re=None))  # type: ignore[union-attr]
    assert {name: [event.le for event in events] for name, events in found.events().items()} == {"a": [1, 2]}
