"""Mistakes that find nothing, each with the sentence that names it."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import Arc, Automaton, Funnel, Gapless, Instant, Keyed, Operator, Punctuation, insert, query, retract, sql
from afa.errors import AfaError, AutomatonError
from tests import raising

MINUTE = 60_000


class Pay(NamedTuple):
    card: str
    amount: float
    status: str
    note: float | None = None


class Seen(NamedTuple):
    first: float = 0.0
    since: int = 0


OTHERS = Arc.skip("declined", "True", name="others")


def doubled(status: str = "declined", limit: float = 50.0, more: str = "", arcs: Any = (OTHERS,)) -> Automaton:
    again = f"status == {status!r} and amount > {limit}{more}"
    found = [
        Arc("start", "declined", f"status == {status!r}", "r._replace(first=amount)", name="first"),
        Arc("declined", "twice", again, name="again"),
        *arcs,
    ]
    return Automaton(start="start", final={"twice"}, arcs=found, event=Pay, register=Seen())


def payments(n: int = 2_000, keys: int = 20, every: int = 12 * MINUTE) -> list[Any]:
    """Of each card a payment every twelve minutes, in shuffled order."""
    rng = random.Random(1)
    rows = []
    for i in range(n):
        status = rng.choice(["declined", "approved", "approved"])
        rows.append(insert(Pay(f"c{i % keys}", round(1 + 98 * rng.random(), 2), status), (i // keys) * every))
    rng.shuffle(rows)
    return rows


def asked(automaton: Automaton, rows: list[Any] | None = None, **options: Any) -> Funnel:
    operator = Keyed(automaton, **{"key": "card", "window": 60 * MINUTE, "tick": "ms", **options})
    operator.push_many(payments() if rows is None else rows)
    return operator.funnel()


def test_what_is_right_matches() -> None:
    found = asked(doubled())
    assert found.cause == "matched"
    assert found.why.startswith(f"{found.matches:,} matches, from {found.began:,} beginnings; most others ended in `declined`: ")


def test_a_window_in_seconds_for_milliseconds() -> None:
    found = asked(doubled(), window=600)
    assert found.cause == "window"
    total = found.states[1].entered
    assert found.why == (
        f"`again` was never asked: {found.states[1].by_window:,} of {total:,} partial matches in `declined` ended by the window "
        "(600 ticks of 1 ms = 0.6 s; median distance of two events of a key: 12 min; what it takes comes after 1 h in the median)"
    )


def test_a_limit_in_cents_for_dollars() -> None:
    found = asked(doubled(limit=5_000))
    assert found.cause == "limit"
    times = found.arcs[1].asked
    assert found.why == (
        f"`again` was asked {times:,} times and never true: the largest amount is {max(c.payload.amount for c in payments())}, "
        "not > 5000; is the limit in the unit of the field?"
    )
    assert len(found.misses) == 3
    assert found.misses[0].part == "e.amount > 5000"
    assert found.misses[0].event.amount > 90
    assert [event.status for event, _ in found.misses[0].events or ()] == ["declined"]


def test_a_value_that_is_misspelt() -> None:
    found = asked(doubled("decline"))
    assert found.cause == "value"
    assert found.why == (
        "`first` was asked 2,000 times and never true: no status is 'decline', but 'approved', 'declined'; did you mean 'declined'?"
    )
    found = asked(doubled(arcs=(OTHERS, Arc("twice", "far", "status == 'aproved'", name="far"))))
    assert found.cause == "matched"


def test_a_value_of_a_later_arc() -> None:
    arcs = [
        Arc("start", "a", "status == 'declined'", name="first"),
        Arc("a", "b", "status == 'aproved' and amount > r.first", name="then"),
        Arc.skip("a", "True"),
    ]
    found = asked(Automaton(start="start", final={"b"}, arcs=arcs, event=Pay, register=Seen()))
    assert found.cause == "value"
    assert found.why.endswith("no status is 'aproved', but 'approved', 'declined'; did you mean 'approved'?")


def test_a_key_of_which_each_value_has_one_event() -> None:
    rows = [insert(change.payload._replace(card=f"c{i}"), change.le) for i, change in enumerate(payments())]
    found = asked(doubled(), rows)
    assert found.cause == "key"
    assert found.why == "`again` was never asked: each of the 2,000 keys (card) has one event only; is this the key?"


def test_times_in_another_unit_than_the_tick() -> None:
    """Milliseconds since 1970, and a tick of a second: a window of ten minutes is 600 ticks."""
    begin = 1_700_000_000_000
    rows = [insert(change.payload, begin + change.le) for change in payments()]
    found = asked(doubled(), rows, window="1 hour", tick="s")
    assert found.cause == "unit"
    assert found.why.endswith("by a tick of 1 s the times are those of the year 55841, by 1 ms of 2023: is one tick 1 ms?")


def test_an_order_of_events_that_never_occurs() -> None:
    arcs = [
        Arc("start", "shipped", "status == 'shipped'", name="shipped"),
        Arc("shipped", "ordered", "status == 'ordered'", name="ordered"),
        Arc.skip("shipped", "True"),
    ]
    automaton = Automaton(start="start", final={"ordered"}, arcs=arcs, event=Pay, register=Seen())
    rows = [
        insert(Pay(f"c{i}", 1.0, status), at * MINUTE)
        for i in range(50)
        for at, status in enumerate(["ordered", "paid", "shipped", "closed"])
    ]
    found = asked(automaton, rows)
    assert found.cause == "order"
    assert found.why == (
        "`ordered` was asked 50 times and never true: no event with `e.status == 'ordered'`, of 50 there are, comes behind one of "
        "the same key that led to `shipped`, so the pattern's order never occurs"
    )


def test_another_event_in_between() -> None:
    arcs = [Arc("start", "a", "status == 'declined'", name="first"), Arc("a", "b", "status == 'declined'", name="again")]
    rows = [insert(Pay(f"c{i % 7}", 1.0, ("declined", "approved")[i // 7 % 2]), i * MINUTE) for i in range(200)]
    found = asked(Automaton(start="start", final={"b"}, arcs=arcs, event=Pay), rows)
    assert found.cause == "between"
    assert "ended by an event that no arc took, though for " in found.why
    assert found.why.endswith(
        " of them one that it takes came later within the window; an ignorable arc or a skip lets others pass"
    )


def test_all_rows_late() -> None:
    operator = Keyed(doubled(), key="card", window=60 * MINUTE, late="drop", tick="ms")
    operator.push(Punctuation(10**12))
    operator.push_many(payments())
    found = operator.funnel()
    assert found.cause == "late"
    assert found.why == ("all 2,000 changes came behind the promise and were dropped as late; promise later, or take more lateness")
    assert found.since == 10**12
    assert "since the promise of 1000000000000 (what it has dropped is not counted)" in str(found)


def test_a_fence_over_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison of None raises; where the operator goes on, the arc does not serve."""
    raising.go_on(monkeypatch)
    fence = Arc("declined", "twice", lambda e, r: e.note > 5, name="noted")
    arcs = [doubled().arcs[0], fence, OTHERS]
    found = asked(Automaton(start="start", final={"twice"}, arcs=arcs, event=Pay, register=Seen()))
    assert found.cause == "none"
    assert found.why.startswith(f"`noted` was asked {found.arcs[1].asked:,} times and never true")
    assert "note is None in all 2,000 events" in found.why


@pytest.mark.parametrize(
    ("fence", "cause", "end"),
    [
        (lambda e, r: e.note > 5 and e.status == "declned", "value", "did you mean 'declined'?"),
        (lambda e, r: e.note > 5_000, "limit", "the largest note is 9.0, not > 5000; is the limit in the unit of the field?"),
        (lambda e, r: e.note > r.first + 1_000, "register", ""),
        (lambda e, r: e.status == "declined" and e.note + r.first < 0, "register", ""),
    ],
)
def test_a_rare_none_is_not_the_cause(fence: Any, cause: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fence that raises of a few events, and is false of the others for another reason."""
    raising.go_on(monkeypatch)
    arcs = [doubled().arcs[0], Arc("declined", "twice", fence, name="noted"), OTHERS]
    rows = [insert(c.payload._replace(note=None if i % 50 == 0 else 9.0), c.le) for i, c in enumerate(payments())]
    found = asked(Automaton(start="start", final={"twice"}, arcs=arcs, event=Pay, register=Seen()), rows)
    assert found.arcs[1].raised
    assert found.cause == cause
    assert found.why.endswith(end)


def test_the_largest_value_is_not_nan() -> None:
    rows = [insert(c.payload._replace(amount=float("nan") if i % 3 == 0 else 7.0), c.le) for i, c in enumerate(payments())]
    assert asked(doubled(limit=10), rows).why.endswith("the largest amount is 7.0, not > 10")


def test_a_number_that_is_missing() -> None:
    class Numbered(NamedTuple):
        card: str
        status: str
        seq: int

    arcs = [Arc("start", "a", "status == 'a'", name="first"), Arc("a", "b", "status == 'b'", name="then")]
    automaton = Automaton(start="start", final={"b"}, arcs=arcs, event=Numbered)
    operator = Keyed(automaton, key="card", gapless=Gapless("seq", gaps="break"))
    operator.push_many([insert(Numbered("x", "a", 0), 1), insert(Numbered("x", "b", 2), 3)])
    found = operator.funnel()
    assert (found.cause, found.states[1].open) == ("gap", 1)
    assert found.why == (
        "`then` was never asked: the one partial match in `a` waits in front of a gap, as the next number is missing"
    )
    operator.push(insert(Numbered("x", "b", 1), 2))
    assert operator.funnel().cause == "matched"


def test_a_function_that_is_not_taken_apart_is_no_comparison_with_the_register() -> None:
    arcs = [Arc("start", "a", lambda e, r: e == "a"), Arc("a", "b", lambda e, r: e == "b")]
    operator = Operator(Automaton(start="start", final={"b"}, arcs=arcs))
    operator.push_many([insert("a", 1), insert("c", 2)])
    assert operator.funnel().cause == "stopped"


def test_a_promise_with_a_condition_moves_no_time_out(engine: Any) -> None:
    class Timed(NamedTuple):
        status: str
        at: Instant | None = None

    arcs = [
        Arc("start", "a", "status == 'a'", "r._replace(since=at + 15)"),
        Arc.timeout("a", "silent", "r.since"),
        Arc.skip("a", "status != 'b'"),
    ]
    automaton = Automaton(start="start", final={"silent"}, arcs=arcs, event=Timed, register=Seen())
    operator = Operator(automaton, window=40, engine=engine, retractions=False)
    rng = random.Random(4)
    operator.push_many([insert(Timed(rng.choice("aabc")), 3 * i) for i in range(120)])
    before = operator.funnel()
    operator.push(Punctuation(200, "status == 'b'"))
    after = operator.funnel()
    assert before.matches
    assert (after.arcs, after.states, after.matches) == (before.arcs, before.states, before.matches)
    assert after.since == 200


def test_nothing_is_left_behind_a_promise() -> None:
    operator = Operator(doubled(), window=60 * MINUTE)
    operator.push_many(payments(20))
    operator.push(Punctuation(10**12))
    found = operator.funnel()
    assert (found.cause, found.why) == ("empty", "no event is held: a promise has dropped what has come")


def test_a_guarded_fence_over_none() -> None:
    found = asked(doubled(more=" and note is not None and note > 5"))
    assert found.cause == "none"
    assert found.why.endswith("note is None in all 2,000 events")


def test_what_waits_at_the_end_of_the_input() -> None:
    arcs = [
        Arc("start", "waits", "status == 'declined'", "r._replace(since=1_000_000_000)", name="first"),
        Arc.timeout("waits", "silent", "r.since", name="silence"),
    ]
    automaton = Automaton(start="start", final={"silent"}, arcs=arcs, event=Pay, register=Seen())
    rows = [insert(Pay(f"c{i}", 1.0, "declined"), i) for i in range(12)]
    operator = Keyed(automaton, key="card", tick="ms")
    operator.push_many(rows)
    found = operator.funnel()
    assert found.cause == "waits"
    assert found.why == "12 partial matches in `waits` still wait for `silence`: no promise has come up to where it fires"
    operator = Keyed(automaton, key="card", tick="ms", window="1 min")
    operator.push_many(rows)
    found = operator.funnel()
    assert found.cause == "past"
    assert found.why == ("`silence` would fire past the window (60,000 ticks of 1 ms = 1 min) in 12 cases: give a longer window")


def test_a_comparison_with_what_came_before() -> None:
    found = asked(doubled(more=" and amount > r.first + 1000"))
    assert found.cause == "register"
    assert "`e.amount > r.first + 1000` stopped it " in found.why
    assert ", the nearest by " in found.why
    assert all(miss.part == "e.amount > r.first + 1000" for miss in found.misses)


def test_a_window_is_not_the_cause_where_a_longer_one_would_help_a_few_only() -> None:
    rng = random.Random(3)
    arcs = [
        Arc("start", "declined", "status == 'declined'", "r._replace(first=amount)", name="first"),
        Arc("declined", "twice", "status == 'declined' and amount > r.first + 97", name="again"),
        OTHERS,
    ]
    rows = [insert(Pay("x", round(1 + 90 * rng.random(), 2), "declined"), i * MINUTE) for i in range(600)]
    rows += [insert(Pay("x", 100.0, "declined"), 600 * MINUTE)]
    found = asked(Automaton(start="start", final={"twice"}, arcs=arcs, event=Pay, register=Seen()), rows, window=2 * MINUTE)
    assert found.states[1].by_window > found.states[1].open
    assert found.cause == "register"
    assert "`e.amount > r.first + 97` stopped it " in found.why


def test_a_window_that_lets_hardly_any_be_asked_is_the_cause() -> None:
    """However rare what is looked for is."""
    rng = random.Random(3)
    again = "status == 'declined' and amount > r.first + 95"
    arcs = [doubled().arcs[0], Arc("declined", "twice", again, name="again"), OTHERS]
    rows = [insert(Pay("x", round(1 + 98 * rng.random(), 2), "declined"), i * MINUTE) for i in range(600)]
    rows += [insert(Pay("x", 50.0, "declined"), 1), insert(Pay("x", 51.0, "declined"), 2)]
    found = asked(Automaton(start="start", final={"twice"}, arcs=arcs, event=Pay, register=Seen()), rows, window=60)
    assert 0 < found.arcs[1].asked < 10
    assert found.cause == "window"
    assert ", for " in found.why


def test_events_that_are_never_true_at_once() -> None:
    arcs = [
        Arc("start", "a", "status == 'declined'", name="first"),
        Arc("a", "b", "amount > 90 and status == 'refund'", name="big"),
        Arc.skip("a", "True"),
    ]
    rows = [*payments(), insert(Pay("c1", 2.0, "refund"), 5)]
    found = asked(Automaton(start="start", final={"b"}, arcs=arcs, event=Pay), rows)
    assert found.cause == "never"
    assert found.why.endswith("never true: no event satisfies `e.amount > 90` and `e.status == 'refund'` at once")


def test_no_event_and_no_way() -> None:
    assert asked(doubled(), []).why == "there is no event"
    arcs = [Arc("start", "a", "True")]
    found = asked(Automaton(start="start", final={"b"}, arcs=arcs, event=Pay))
    assert (found.cause, found.why) == ("apart", "no arcs lead from `start` to a final state")


def test_a_query_names_its_components() -> None:
    text = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { [card] and a.status = 'declined' and b.amount > 9000 }"
    operator = query(f"{text} WITHIN 1 hour", event=Pay, tick="ms").operator()
    operator.push_many(payments())
    found = operator.funnel()
    assert found.cause == "limit"
    assert found.why.startswith("`b: a -> F` was asked ")
    assert "the largest amount is " in found.why


def test_counts_do_not_depend_on_the_order_or_the_engine(engine: Any) -> None:
    rows = payments(400)
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        operator = Keyed(doubled(limit=90), key="card", window=30 * MINUTE, engine=engine)
        operator.push_many([*rows, insert(Pay("c1", 99.0, "declined"), 7)])
        operator.push(retract(Pay("c1", 99.0, "declined"), 7))
        found.append(operator.funnel())
    interpreted = Keyed(doubled(limit=90), key="card", window=30 * MINUTE, engine="interpreted")
    interpreted.push_many(rows)
    assert found == [interpreted.funnel()] * 3


def test_forms(engine: Any) -> None:
    operator = Operator(doubled(), window=600, tick="ms", engine=engine)
    operator.push_many([insert(Pay("x", 60.0, "declined"), 0), insert(Pay("x", 60.5, "declined"), 1_000)])
    found = operator.funnel()
    assert isinstance(found.table(), pa.Table)
    assert found.table().to_pylist()[1]["parts"] == [
        {"text": "e.status == 'declined'", "stopped": 0},
        {"text": "e.amount > 50.0", "stopped": 0},
    ]
    assert found.table("states").column_names[0] == "state"
    with pytest.raises(ValueError, match='expected of="arcs" or "states" but got of=\'x\''):
        found.table("x")
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["cause"] == "window"
    assert plain["states"][1]["by_window"] == 1
    page = found._repr_html_()
    assert page.count("<table") == 2
    assert "never asked" in page
    assert "<script" not in page
    text = str(found)
    assert text.startswith(found.why)
    assert "again: declined -> twice" in text


def test_html_is_escaped() -> None:
    arcs = [Arc("<b>", "z", "status == '<i>'", name="<u>")]
    operator = Operator(Automaton(start="<b>", final={"z"}, arcs=arcs, event=Pay))
    operator.push(insert(Pay("x", 1.0, "<script>"), 1))
    page = operator.funnel()._repr_html_()
    assert not any(tag in page for tag in ("<b>", "<u>", "<i>", "<script>"))


def test_what_is_too_much_is_said() -> None:
    operator = Keyed(doubled(), key="card", window=60 * MINUTE)
    operator.push_many(payments())
    found = operator.funnel(most=500)
    assert found.part
    assert found.keys < found.all_keys == 20
    assert f"{found.keys} of 20 keys" in found.scope
    one = Operator(doubled(), window=60 * MINUTE)
    one.push_many(payments())
    found = one.funnel(most=3_000)
    assert found.until is not None
    assert f"up to {found.until}: there was too much to count" in found.scope
    assert not one.funnel(most=None).part
    with pytest.raises(AfaError, match="expected a number of functions to ask, at least 1, or None but got most=0"):
        one.funnel(most=0)


def test_without_payloads_there_is_none() -> None:
    arcs = [Arc("start", "a", "status == 'declined'")]
    automaton = Automaton(start="start", final={"a"}, arcs=arcs, event=Pay)
    operator = Operator(automaton, retractions=False, keep_payloads=False)
    with pytest.raises(AfaError, match="expected an operator that keeps payloads, for its funnel, but got keep_payloads=False"):
        operator.funnel()


def test_times_are_shown_as_times_where_they_are_some() -> None:
    rows = [insert(change.payload, 1_767_276_660_000 + change.le) for change in payments()]
    found = asked(doubled(limit=5_000), rows)
    assert found.dated
    assert found.rows_of_arcs()[0][3].startswith("2026-01-")
    assert all(" at 2026-01-" in line for line in found.misses_in_words())
    assert isinstance(found.to_json()["arcs"][0]["last"], int)
    assert not asked(doubled(limit=5_000)).dated


def test_arcs_of_a_query_are_named_once() -> None:
    text = "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_next_match(a, b) { [card] and a.status = 'declined' }"
    operator = query(f"{text} WITHIN 1 hour", event=Pay, tick="ms").operator()
    operator.push_many(payments(40))
    assert [row[0] for row in operator.funnel().rows_of_arcs()][:2] == ["a: start -> a", "b: a -> F"]


def test_stages_have_the_funnel_of_their_operator() -> None:
    text = (
        "SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES a.amount AS x AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (a b) WITHIN INTERVAL '1' HOUR DEFINE a AS status = 'declined', b AS status = 'refund')"
    )

    class Dated(NamedTuple):
        card: str
        amount: float
        status: str
        at: Instant | None = None

    operator = sql(text, event=Dated, tick="ms").operator()
    rows = {(change.payload.card, change.le): change for change in payments(400)}.values()
    operator.push_many([insert(Dated(*change.payload[:3]), change.le) for change in rows])
    found = operator.funnel()
    assert found.cause == "value"
    assert found.why.endswith("no status is 'refund', but 'approved', 'declined'")


def test_matches_before_the_choice() -> None:
    """Of the attempts of a scan each end is counted; what is shown are fewer."""
    chosen = sql(
        """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(b.amount) AS n AFTER MATCH SKIP PAST LAST ROW PATTERN (a b+)
        WITHIN 9 DEFINE b AS amount > 0)""",
        event=Pay,
    )
    op = chosen.operator()
    assert len(op.push_many([insert(Pay("c", x, ""), x) for x in (1, 2, 3)])) == 1
    found = op.funnel()
    assert (found.matches, found.why) == (
        3,
        "3 matches, from 3 beginnings; these are the matches of the arcs, before AFTER MATCH SKIP",
    )
    with pytest.raises(AutomatonError, match=r"but got one that chooses \(AFTER MATCH SKIP\), whose matches show its measures"):
        chosen.automaton.match(chosen.automaton.register)
