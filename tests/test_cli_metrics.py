"""`--metrics` and the pages of `afa serve`: what a scrape tells beside `statistics`, of a run that goes on; who may ask what."""

from __future__ import annotations

import http.client
import json
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from afa import AfaError, Arc, Automaton, Chain, Keyed, Operator, Punctuation, insert
from afa.cli import run_metrics
from afa.cli.metrics_server import MOST, page_of, served
from afa.cli.run_metrics import OWN, RunMetrics, told_of
from afa.extra.live.gate import Gate
from afa.feeds import ChangeFeed
from afa.io.table_times import TimeType
from afa.operator.statistics import SLOW, Statistics
from punctuation.time import BEGINNING
from tests.cli import fails, process
from tests.cli import there as there  # the fixture of all tests here
from tests.test_serve import Served, lines

SLOWS = {"ended_by_window", "ended_by_no_arc", "timeouts_past"}
TOLD = {f"afa_{name}" for name in Statistics._fields if name not in SLOWS}


class Tick(NamedTuple):
    price: float


UP = Automaton(start="a", final={"b"}, event=Tick, register=Tick(0.0), arcs=[Arc("a", "b", "price > 0", "(e.price,)")])


def got(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def numbers(text: str) -> dict[str, float]:
    """The samples of a page, by name; and by link where there are several operators."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name + sample.labels.get("link", ""): sample.value for sample in samples}


def page(run: RunMetrics) -> dict[str, float]:
    status, _, body = page_of(run, "/metrics")
    assert status == 200
    return numbers(body.decode())


@pytest.fixture
def run() -> RunMetrics:
    return RunMetrics()


# -- what is told --------------------------------------------------------------------------------------------------------------


def test_a_process_is_scraped_while_it_runs() -> None:
    options = ("--time", "t", "--lateness", "1s", "--late", "drop", "--window", "10s", "--metrics", "0")
    started = process("run", "p.py:price", "-", "--format", "jsonl", *options, stdin=-1)
    assert started.stdin is not None
    assert started.stderr is not None
    said = started.stderr.readline()
    url = re.fullmatch(r"afa: (http://127\.0\.0\.1:\d+)/metrics tells .*, \1/healthz whether it takes rows\n", said)[1]  # type: ignore[index]
    assert got(f"{url}/healthz") == (200, "running\n")
    assert numbers(got(f"{url}/metrics")[1]) == {"afa_rows_total": 0, "afa_faults_total": 0}
    found: dict[str, float] = {}
    for count, second in enumerate((0, 5, 0), 1):  # the last one is late
        started.stdin.write(f'{{"t": "2026-01-01T00:00:0{second}", "price": 2, "change": 0}}\n')
        started.stdin.flush()
        for _ in range(600):
            found = numbers(got(f"{url}/metrics")[1])
            if found["afa_rows_total"] == count:
                break
            time.sleep(0.05)
    start = 1_767_225_600
    assert {name: found[f"afa_{name}_total"] for name in ("rows", "changes", "outputs", "retractions", "late", "faults")} == {
        "rows": 3, "changes": 2, "outputs": 2, "retractions": 0, "late": 1, "faults": 0,
    }  # fmt: skip
    assert (found["afa_events"], found["afa_matches"], found["afa_watermark_seconds"]) == (1, 1, start + 4)
    assert time.time() - start - 15 < found["afa_lag_seconds"] < time.time() - start - 4
    assert found["afa_memory_bytes"] > 100
    assert got(f"{url}/other") == (404, "expected /metrics or /healthz\n")
    started.communicate(timeout=20)
    assert started.returncode == 0
    with pytest.raises(urllib.error.URLError):
        got(f"{url}/healthz")


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_names_kinds_and_values_are_those_of_statistics(engine: Any, run: RunMetrics) -> None:
    keyed = Keyed(UP, key=lambda e: e.price, window=5, engine=engine, late="drop")
    run.watch(keyed, lambda: 7, lambda: 30, None)
    keyed.push_many([insert(Tick(price), le) for le, price in enumerate((1.0, 2.0, 1.0, -1.0))])
    keyed.push_many([Punctuation(3), insert(Tick(1.0), 0)])
    families = {family.name: family for family in text_string_to_metric_families(page_of(run, "/metrics").body.decode())}
    own = {"afa_rows", "afa_faults", "afa_watermark_ticks"} | ({"afa_memory_bytes"} if engine == "compiled" else set())
    assert set(families) == TOLD | own  # no lag: LE are no times
    assert {name: page(run)[f"afa_{name}" + "_total" * total] for name, (total, _) in told_of(Statistics).items()} == {
        name: value for name, value in keyed.statistics._asdict().items() if name not in SLOWS
    }
    assert keyed.statistics.late == 1
    assert families["afa_watermark_ticks"].samples[0].value == 3
    totals = {name for name, family in families.items() if family.type == "counter"}
    numbers_of = ("changes", "outputs", "retractions", "late", "stale", "gaps", "missing", "repeated", "repeats", "superseded")
    assert totals == {f"afa_{name}" for name in ("rows", "faults", *numbers_of)}
    assert families["afa_retractions"].documentation == "Matches withdrawn so far."
    assert all(family.documentation for family in families.values())


def test_what_takes_long_is_left_out() -> None:
    assert {*Statistics._fields} - {*told_of(Statistics)} == SLOWS
    assert SLOW not in {text for _, text in told_of(Statistics).values()}


def test_of_a_chain_each_operator_has_a_label(run: RunMetrics) -> None:
    chain = Chain(Operator(UP, window=5), Operator(UP, window=5))
    run.watch(chain, lambda: 0, lambda: BEGINNING, TimeType.of_arrow(pa.timestamp("s"), "s"))
    chain.push_many([insert(Tick(2.0), 1), insert(Tick(-1.0), 2)])
    found = page(run)
    assert [found[f"afa_changes_total{link}"] for link in (0, 1)] == [one.changes for one in chain.statistics] == [2, 1]
    assert "afa_lag_seconds" not in found  # no row has come
    assert "afa_changes_total" not in found


def test_numbers_of_the_run_have_names_of_their_own() -> None:
    assert not {own.name for own in OWN} & {*Statistics._fields}


# -- beside the run ------------------------------------------------------------------------------------------------------------


def test_scrapes_beside_a_thread_that_pushes(run: RunMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_metrics, "SHARE", 1e9)  # each looks
    keyed, over, seen = Keyed(UP, key=lambda e: e.price, window=50, threads=2), threading.Event(), list[float]()
    run.watch(keyed, lambda: 0, lambda: 0, None)

    def push() -> None:
        for n in range(300):
            keyed.push_many([Punctuation(n), *(insert(Tick(float(key)), n) for key in range(1, 40))])
        over.set()

    pushing = threading.Thread(target=push)
    pushing.start()
    while not over.is_set():
        found = page(run)
        assert found["afa_changes_total"] % 39 == 0  # whole calls
        assert found["afa_changes_total"] == found["afa_outputs_total"]
        seen.append(found["afa_changes_total"])
    pushing.join()
    assert page(run)["afa_changes_total"] == 300 * 39
    assert seen == sorted(seen)
    assert len({*seen}) > 2


def test_a_scrape_does_not_wait_for_a_long_call(run: RunMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_metrics, "WAIT", 0.02)
    monkeypatch.setattr(run_metrics, "SHARE", 1e9)
    operator = Operator(UP, window=5)
    run.watch(operator, lambda: 0, lambda: 0, None)
    operator.push(insert(Tick(1.0), 1))
    assert page(run)["afa_changes_total"] == 1
    operator.push(insert(Tick(1.0), 2))
    found: list[dict[str, float]] = []
    with operator._core.calls.lock:
        asking = threading.Thread(target=lambda: found.append(page(run)))
        asking.start()
        asking.join(10)
    assert found[0]["afa_changes_total"] == 1  # as it was seen last
    assert page(run)["afa_changes_total"] == 2


def test_looks_take_a_share_of_the_time_at_most(run: RunMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator(UP, window=5)
    run.watch(operator, lambda: 0, lambda: 0, None)
    monkeypatch.setattr(run_metrics, "statistics_of", lambda core, ends: (time.sleep(0.05), core.changes)[1])
    run.look()
    operator.push(insert(Tick(1.0), 1))
    run.look()
    assert run.held is not None
    assert list(run.held.statistics) == [0]
    run._looked -= 2  # two seconds later
    run.look()
    assert list(run.held.statistics) == [1]


def test_a_run_whose_thread_died_is_not_well() -> None:
    made: list[RunMetrics] = []
    thread = threading.Thread(target=lambda: made.append(RunMetrics()))
    thread.start()
    thread.join()
    assert page_of(made[0], "/healthz")[::2] == (503, b"ended\n")


def test_what_can_not_be_read_is_said(run: RunMetrics) -> None:
    run.watch(Operator(UP, window=5), lambda: 1 // 0, lambda: 0, None)
    status, _, body = page_of(run, "/metrics")
    assert (status, body.decode()) == (500, "ZeroDivisionError: integer division or modulo by zero\n")


# -- who asks, and where -------------------------------------------------------------------------------------------------------


def test_only_get_is_answered_and_few_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with served("localhost:0"):
        port = int(re.search(r":(\d+)/", capsys.readouterr().err)[1])  # type: ignore[index]
        idle = [http.client.HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(MOST - 1)]
        for one in idle:
            one.connect()
        for method, status in (("POST", 501), ("HEAD", 501), ("DELETE", 501), ("GET", 200)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request(method, "/metrics", body=b"x=1" if method == "POST" else None)
            assert (connection.getresponse().status, method) == (status, method)
            connection.close()
            time.sleep(0.05)
        for one in idle:
            one.close()
    assert capsys.readouterr().err == ""


def test_a_port_that_is_taken_and_what_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with served("0"):
        port = re.search(r":(\d+)/", capsys.readouterr().err)[1]  # type: ignore[index]
        said = fails("run", "p.py:price", "ticks.csv", "--metrics", port)
        assert said.startswith(f"expected an address to listen on but got host='127.0.0.1', port={port}: ")
    for wrong in ("http", "65536", "localhost:", "-1", "http://localhost:80/"):
        said = fails("run", "p.py:price", "ticks.csv", f"--metrics={wrong}")
        assert said == f"expected --metrics PORT or HOST:PORT but got {wrong}"
    said = fails("run", "p.py:drop", "ticks.csv", "--vary", "x=1", "--metrics", "0")
    assert said == "--vary can't be combined with --metrics because its variants run all at once, not as rows come"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert re.search(r'pip install "\.\[serve\]"', fails("run", "p.py:price", "ticks.csv", "--metrics", "0"))
    with pytest.raises(AfaError, match="expected the package of metrics but got none"):
        RunMetrics()


# -- the live page -------------------------------------------------------------------------------------------------------------


def test_a_live_page_has_them_too(tmp_path: Path) -> None:
    options = ("--format", "csv", "--window", "5", "--speed", "max", "--lateness", "2")
    with Served(tmp_path, "-", *options, "--log", "json", stdin=True) as live:
        url = f"http://127.0.0.1:{live.port}"
        assert got(f"{url}/healthz") == (200, "waiting\n")
        live.say("le,change\n" + lines(1, 6))
        live.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 6)
        found = numbers(got(f"{url}/metrics")[1])
        assert (found["afa_rows_total"], found["afa_changes_total"], found["afa_watermark_ticks"]) == (6, 6, 4)
        assert {name.removesuffix("_total") for name in found} >= TOLD
        assert got(f"{url}/healthz") == (200, "playing\n")
        assert live.change(do="swap", name="up", fence="change // (change - 1) > 7")[0] == 200
        live.say(lines(7, 6))
        live.until(lambda told: told["status"] == "failed")
        assert got(f"{url}/healthz") == (503, "failed\n")
        assert numbers(got(f"{url}/metrics")[1])["afa_faults_total"] == 1
        code, said = live.end(signal.SIGTERM)
    told = [json.loads(line) for line in said.splitlines()]
    assert (code, [(line["level"], line["event"]) for line in told]) == (1, [("error", "fault"), ("info", "summary")])


def test_the_gate_of_a_live_page_is_as_it_was() -> None:
    gate = Gate(None, "secret", "0.0.0.0", open_to_read=False)
    for path in ("/metrics", "/healthz"):
        asked: dict[str, Any] = {"method": "GET", "path": path, "headers": [(b"host", b"10.0.0.7:80")]}
        assert gate._refused(asked)[0] == 401  # type: ignore[index]
        asked["headers"].append((b"authorization", b"Bearer secret"))
        assert gate._refused(asked) is None


def test_a_run_with_a_state_tells_of_its_snapshots(there: Path) -> None:
    Path("ticks.jsonl").write_text('{"t": "2026-01-01T00:00:00", "price": 2, "change": 0}\n')
    options = ("--time", "t", "--lateness", "1s", "--window", "10s", "--state", "s", "--output", "o.jsonl", "--follow")
    started = process("run", "p.py:price", "ticks.jsonl", *options, "--state-every", "1", "--metrics", "0")
    assert started.stderr is not None
    url = re.search(r"(http://127\.0\.0\.1:\d+)/metrics", started.stderr.readline())[1]  # type: ignore[index]
    found: dict[str, float] = {}
    for _ in range(600):
        found = numbers(got(f"{url}/metrics")[1])
        if found["afa_rows_total"] == 1 and "afa_snapshot_bytes" in found:
            break
        time.sleep(0.05)
    assert found["afa_snapshot_bytes"] > 100
    assert 0 < found["afa_snapshot_seconds"] < 9
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=20)
    assert started.returncode == 0


def test_messages_that_can_not_be_read_are_faults(run: RunMetrics) -> None:
    feed = ChangeFeed("debezium", key="id", time="at", on_fault="drop")
    run.watch(Operator(UP, window=5), lambda: 0, lambda: BEGINNING, None, feed)  # type: ignore[arg-type]
    feed.push(['{"op": "q"}', "no JSON"])
    run.faults += 1
    assert page(run)["afa_faults_total"] == 3
