"""The benchmarks themselves: streams are what they say, baselines give the operator's answer, every one runs. Nothing is timed."""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from afa import Keyed, Punctuation, insert
from afa.uncertain import between
from bench import clusters, data, drive, imprecise_stream, situation_readings, swaps, workloads
from bench.__main__ import NAMES, main
from bench.baselines import can, closure_runs, event_based, ipm, nfab, point_based, restart
from bench.baselines.ordered import BufferAndSort
from bench.baselines.valid_intervals import Known
from bench.by_hand import ByHand
from bench.cases import ALL
from bench.drive import batched, operator, run
from bench.measure import Options
from bench.plots import PLOTS
from bench.queries import q1, q2
from bench.targets import TARGETS, Target
from bench.two_phase import TwoPhase

WINDOW = 60


def stream(n: int = 1500, disorder: float = 0.0, p: float = 0.5, **more: Any) -> workloads.Stream:
    return workloads.punctuated(workloads.shifted(workloads.ticks(n, p, **more), disorder, by=50), 100)


def outcome(engine: str, automaton: Any, of: workloads.Stream, size: int = 500, **more: Any) -> Any:
    return run(operator(automaton, WINDOW, engine), batched(of, size), **more)


# -- streams -----------------------------------------------------------------------------------------------------------------


def test_ticks_move_as_the_paper_says() -> None:
    change = workloads.changes(100_000, p=0.7, ignorable=0.2)
    moved = np.abs(change[change != 0])
    assert (change == 0).mean() == pytest.approx(0.2, abs=0.01)
    assert (change > 0).sum() / len(moved) == pytest.approx(0.7, abs=0.01)
    assert (moved.mean(), moved.std()) == (pytest.approx(0.7, abs=0.02), pytest.approx(0.3, abs=0.02))


def test_shifted_events_come_later_and_none_is_lost() -> None:
    ordered = workloads.ticks(2000)
    arrived = workloads.shifted(ordered, 0.2, by=100)
    late = np.maximum.accumulate(arrived["le"]) - arrived["le"]
    assert 0.1 < (late > 0).mean() < 0.25
    assert late.max() <= 100
    assert np.array_equal(data.in_order(arrived)["price"], ordered["price"])


def test_punctuations_are_true_and_as_large_as_can_be() -> None:
    of = stream(disorder=0.2)
    for row in np.flatnonzero(of["kind"] == workloads.PROMISE)[:-1]:
        after = of["le"][row + 1 :][of["kind"][row + 1 :] == workloads.EVENT]
        assert of["le"][row] == after.min()
    assert of["le"][-1] == 1500


def test_q1_by_hand_gives_the_answer_of_the_operator(engine: str) -> None:
    of = workloads.keyed(3000, 40)
    hand, op = ByHand(400), Keyed(q1(), key="key", window=400, engine=engine)  # type: ignore[arg-type]
    found = []
    for low in range(0, 3000, 500):
        part = workloads.take(of, slice(low, low + 500))
        found += hand.push(zip(part["key"].tolist(), part["change"].tolist(), part["le"].tolist()))
        out = op.push_many(part)
        assert sorted(found[-len(out["le"]) :]) == sorted(zip(*(out[name].tolist() for name in ("key", "le", "re"))))
        hand.promise(low)
        op.push(Punctuation(low))
    assert len(found) > 20
    hand.promise(5000)
    assert hand.runs == {}


@pytest.mark.parametrize("zipf", [None, 1.1])
def test_each_key_has_a_walk_of_its_own(zipf: float | None) -> None:
    of = workloads.keyed(500, 7, zipf)
    for key in np.unique(of["key"]):
        rows = of["key"] == key
        assert of["price"][rows] == pytest.approx(100 + np.cumsum(of["change"][rows]))
    grouped = workloads.grouped(of, 100)
    for start in range(0, 500, 100):
        keys = grouped["key"][start : start + 100].tolist()
        assert len(list(itertools.groupby(keys))) == len(set(keys)), "the events of a key are side by side"
        assert Counter(keys) == Counter(of["key"][start : start + 100].tolist())


def test_real_data_is_missing_with_a_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(data.FOLDER, raising=False)
    assert data.missing(data.YHOO) == f"expected {data.YHOO} but {data.FOLDER} is not set: skipped"
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    assert "is no file" in str(data.missing(data.BINANCE))


def test_real_data_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    (tmp_path / "yhoo").mkdir()
    (tmp_path / data.YHOO).write_text("Date,Open\n2009-12-29,5\n2009-12-30,7\n2009-12-31,4\n2010-01-04,9\n", encoding="utf-8")
    assert data.yhoo(4)["change"].tolist() == [2, -3, 2, -3], "2010 is left out, what is there is repeated"
    (tmp_path / "binance_trades").mkdir()
    head = "local_ts_ns,venue,symbol,trade_ms,trade_id,price\n"
    rows = ["10,spot,BTCUSDT,5,1,7.0", "11,usdm,BTCUSDT,5,9,8.0", "12,spot,ETHUSDT,5,3,1.0", "13,spot,BTCUSDT,4,2,6.5"]
    (tmp_path / data.BINANCE.removesuffix(".gz")).write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(data, "BINANCE", data.BINANCE.removesuffix(".gz"))
    trades = data.binance()
    assert trades["le"].tolist() == [1024, 1025, 0]
    assert trades["change"].tolist() == [0, 0, -0.5]


# -- queries and baselines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_disorder_and_the_size_of_batches_do_not_change_an_answer(case: Any, engine: str) -> None:
    answers = [
        outcome(engine, case.automaton, stream(600, disorder, case.p), size)
        for disorder, size in ((0.0, 500), (0.2, 70), (0.2, 500))
    ]
    assert answers[0].final > 0
    assert len({answer.answer for answer in answers}) == 1


def test_what_is_not_timed_is_said() -> None:
    drive.left_out()
    outcome("compiled", q1(), stream(600), 600)
    assert drive.left_out() == ""
    outcome("compiled", q1(), stream(600), 100)
    assert drive.left_out() == "Not timed: the first 1/4 of the batches of a run."
    assert drive.left_out() == "", "since it was asked last"


def test_q2_by_brute_force(engine: str) -> None:
    of = workloads.ticks(300)
    price, change = of["price"], of["change"]
    wanted = 0
    for start in np.flatnonzero(change < -0.25):
        back = np.flatnonzero(price[start + 1 : start + WINDOW] >= price[start] - change[start])
        wanted += len(back) > 0
    assert outcome(engine, q2(), of).final == wanted > 0


@pytest.mark.parametrize("disorder", [0.0, 0.2])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_baselines_give_the_answer_of_q1(k: int, disorder: float, engine: str) -> None:
    of = stream(disorder=disorder)
    ours = outcome(engine, q1(k), of, columns=can.COLUMNS)
    embedded = outcome(engine, can.q1(k), of, columns=can.COLUMNS)
    joined = ipm.run(batched(of, 101).batches, ipm.q1(k, 0.25), WINDOW, can.COLUMNS)
    ordered = run(
        lambda: BufferAndSort(operator(q1(k), WINDOW, engine)),
        batched(of, 130),
        columns=can.COLUMNS,
    )
    assert ours.final > 20
    assert {(way.final, way.answer) for way in (ours, embedded, joined, ordered)} == {(ours.final, ours.answer)}
    assert joined.records == ordered.records == ours.final, "no speculation"


def test_ignorable_arcs_and_plain_loops_give_one_answer(engine: str) -> None:
    of = stream(ignorable=0.5, disorder=0.05)
    assert outcome(engine, q1(1, 0.0, "ignorable"), of).answer == outcome(engine, q1(1, 0.0, "plain"), of).answer


@pytest.mark.parametrize("d", [10, 64])
def test_swapped_arcs_serve_as_counted_without_an_automaton(d: int, engine: str) -> None:
    of = workloads.ticks(1500)
    swapped = swaps.swapped(of, d)
    wanted = swaps.expected(of, swapped.at, swapped.signs)
    inside = run(operator(swapped.automaton, WINDOW, engine), batched(swapped.stream, 400, arcs=swapped.arcs))
    assert inside.final == wanted > 0
    again = restart.run(of, swapped, WINDOW, engine)
    assert again.final == swaps.expected(of, swapped.at, swapped.signs, replay=True) > 0


@pytest.mark.parametrize(
    "where",
    [
        situation_readings.AGGRESSIVE,
        situation_readings.Q3,
        "a before|meets|starts|finishes b and a contains|overlapped_by c",
        "b equals|during|met_by a and c after|started_by|finished_by b",
        "a overlaps|before b and b finishes|contains|before c and a before|overlaps c",
    ],
)
def test_two_phases_find_the_matches_whose_situations_end(where: str, engine: str) -> None:
    table: dict[str, Any] = {name: situation_readings.holds(1500, (1, 6), (1, 4), seed) for seed, name in enumerate("abc")}
    table["le"] = np.arange(1500)
    pattern = situation_readings.pattern(where, 40, 3)
    op, joined = pattern.operator(engine=engine), TwoPhase(pattern)
    ours, theirs = set(), list[Any]()
    for batch in situation_readings.cut(table, 400):
        out, found = op.push_many(batch), joined.push(batch)
        ours |= set(zip(*(out[f"{name}_ts"].tolist() for name in "abc")))
        theirs += zip(*(found[name].tolist() for name in "abc"))
    ends = {name: np.flatnonzero(np.diff(table[name], prepend=False, append=False)) for name in "abc"}
    until = {name: dict(zip(at[0::2].tolist(), at[1::2].tolist())) for name, at in ends.items()}
    lasts = {starts: max(until[name][ts] for name, ts in zip("abc", starts)) for starts in ours}
    wanted = {starts for starts, last in lasts.items() if last < 1500 and last - min(starts) < 40}
    assert len(theirs) == len(set(theirs)), "each once"
    assert set(theirs) == wanted != set()


@pytest.mark.parametrize("strategy", [imprecise_stream.ANY, imprecise_stream.NEXT])
def test_evaluations_over_intervals_give_the_answer_of_a_sequence(strategy: str, engine: str) -> None:
    rng, matches = random.Random(strategy), 0
    for _ in range(12):
        length, window, t = rng.choice([2, 3]), rng.choice([12, 15, 20]), 0
        events = list[Known]()
        for number in range(rng.randint(6, 16)):
            t += rng.randint(0, 4)
            events.append(Known(rng.randrange(length + 1), number, t - rng.randint(0, 4), t + rng.randint(0, 4)))
        op = imprecise_stream.sequence(strategy, window, length)
        told = op.push_many([insert(imprecise_stream.Reported(kind, number), between(*ends)) for kind, number, *ends in events])
        exact = {change.payload[:length]: pytest.approx(change.payload.confidence, abs=1e-9) for change in told}
        options: Any = (length, window, strategy == imprecise_stream.NEXT)
        ways = [
            event_based.QueryOrder(*options, 9),
            event_based.AnyState(*options, 9),
            event_based.SelectivityOrder(*options, 9, rng.sample(range(length), length)),
        ]
        assert [event_based.run(way, events) for way in ways] == [exact] * 3
        assert point_based.run(events, *options, engine) == exact
        matches += len(exact)
    assert matches > 50


def test_runs_of_closures_give_the_answer_of_a_sequence() -> None:
    of = clusters.rare(200, 14)
    for chain in (True, False):
        out = clusters.closure(20, chain).push_many(of.table())
        exact = {(int(a), tuple(b), int(c)): p for a, b, c, p in zip(*(out[name] for name in ("a", "b", "c", "confidence")))}
        assert closure_runs.run(of.known(), 20, chain).answer == {name: pytest.approx(p, abs=1e-9) for name, p in exact.items()}
        assert len(exact) > 10


# -- every benchmark runs ----------------------------------------------------------------------------------------------------


def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the baselines of a benchmark run as the Python that they are: to compile them took eight seconds."""
    monkeypatch.setattr(nfab, "njit", lambda function: function)
    for name, each in list(vars(nfab).items()):
        if hasattr(each, "py_func"):
            monkeypatch.setattr(nfab, name, each.py_func)


@pytest.mark.parametrize("engine", ["compiled", pytest.param("interpreted", marks=pytest.mark.stress)])
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(name: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()  # benchmarks collect garbage before each part of a run: not that of the tests before them
    monkeypatch.delenv(data.FOLDER, raising=False)
    if name == "language":
        without_numba(monkeypatch)
    options = ["--engine", engine, "--scale", "tiny", "--events", "1000000", "--results", str(tmp_path)]
    assert main(["--only", name, *options]) == 0
    kept = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert kept["question"] == str(importlib.import_module(f"bench.bench_{name}").__doc__).strip()
    assert kept["rows"]
    if name == "device" and "skipped" in kept["rows"][0]:
        pytest.skip(kept["rows"][0]["skipped"])
    columns = {column for row in kept["rows"] for column in row}
    skipped = {column for row in kept["rows"] if "skipped" in row for column in row}
    assert {target.column for target in TARGETS if target.bench == name and skipped.isdisjoint(target.where)} <= columns
    plot = PLOTS[name]
    assert set(plot.y) <= columns


def test_a_page_shows_what_was_measured_and_what_was_not(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `bench` is not installed")
    from bench import page

    assert page.main([str(tmp_path)]) == 2
    rate = {"median": 20.0, "low": 19.0, "high": 21.0}
    rows = [{"query": "Q3", "M events/s": rate, "interpreted, M events/s": rate, "times interpreted": rate}]
    kept = {"question": "How <fast>?", "engine": "compiled", "scale": "full", "rows": rows}
    (tmp_path / "queries.json").write_text(json.dumps(kept), encoding="utf-8")
    assert page.main([str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "How &lt;fast&gt;?" in text
    assert '<td>20</td><td class="missed">not met</td>' in text
    assert "not measured" in text
    assert "<svg" in text


def test_the_worst_row_counts_for_a_target() -> None:
    least = Target("rate", "queries", "rate", least=25, where={"query": ["a", "b"]})
    rows = [{"query": "a", "rate": 30.0}, {"query": "b", "rate": {"median": 24.0}}, {"query": "c", "rate": 1.0}, {"skipped": "?"}]
    assert least.measured(rows) == 24.0
    assert not least.met(24.0)
    assert Target("time", "push", "rate", most=30).measured(rows) == 30.0
    assert least.measured([]) is None


def test_sizes() -> None:
    assert Options().size(1_000_000) == 1_000_000
    assert Options(scale="tiny").size(1_000_000) == 1000
    assert Options(engine="interpreted").size(1_000_000) == 20_000
    assert Options(scale="tiny").size(100) == 100, "never more than at full scale"
