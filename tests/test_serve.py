"""The live page without a browser: who may do what, what a change does to the operator and to the log, how an input plays."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, ArcLog, Automaton, Keyed, QueryError
from afa.extra.live import live_operator
from afa.extra.live import site as server
from afa.extra.live.board import CHANGES, SAMPLES, Board
from afa.extra.live.gate import LONGEST, Gate
from afa.extra.live.live_operator import LiveOperator
from afa.extra.live.pace import MOST, Pace
from afa.extra.live.site import Site
from afa.extra.live.steering import Steering
from speculation import Cleanse
from tests.automata import Total
from tests.cli import call

ROOT = Path(__file__).parent.parent


class Tick(NamedTuple):
    key: str
    change: int


FALLS = Automaton(
    start="start", final={"rebound"}, register=Total(), event=Tick,
    arcs=[
        Arc("start", "falling", "change < 0", "(r.total + e.change,)", name="begin"),
        Arc("falling", "falling", "change < 0", "(r.total + e.change,)", name="go on"),
        Arc("falling", "rebound", "change > 0 and r.total < -2", name="turn"),
    ],
)  # fmt: skip
TEXT = """
    PATTERN SEQ(Tick+ fall[], Tick up)
    WHERE partition_contiguity(fall[], up) { [key] and fall[i].change < 0 and sum(fall[].change) < -2 and up.change > 0 }
    WITHIN 30
    RETURN sum(fall[].change) AS total
"""
NONE = {"key": [], "change": [], "le": [], "diff": []}


class Net:
    """The net of an output, by match."""

    def __init__(self) -> None:
        self.held: dict[Any, int] = {}

    def take(self, part: Any) -> list[dict[str, Any]]:
        for *match, diff in zip(*(np.asarray(part[name]).tolist() for name in ("key", "total", "le", "re", "diff"))):
            self.held[tuple(match)] = self.held.get(tuple(match), 0) + diff
        return []

    @property
    def left(self) -> dict[Any, int]:
        return {match: n for match, n in self.held.items() if n}


def rows(seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Tables of a few rows each, late ones among them, some taken back."""
    rng, held = random.Random(seed), []
    for start in range(0, n, 5):
        table: dict[str, Any] = {name: [] for name in NONE}
        for i in range(start, start + 5):
            if held and rng.random() < 0.15:
                row = held.pop(rng.randrange(len(held)))
                diff = -1
            else:
                row, diff = (rng.choice("ab"), rng.randrange(-3, 3), max(0, i - rng.randrange(8))), 1
                held.append(row)
            for name, value in zip(table, (*row, diff)):
                table[name].append(value)
        yield table


def live(operator: Any, folder: Path, net: Net, automaton: Any = FALLS, **more: Any) -> LiveOperator:
    log = ArcLog(folder, automaton)
    query = automaton if isinstance(automaton, afa.Query) else None
    none = pa.schema([("key", pa.string()), *((name, pa.int64()) for name in ("change", "le", "diff"))]).empty_table()
    return LiveOperator(operator, Steering(log, query, TEXT if query else None), net.take, none, **more)


CHANGES_BY_HAND: list[tuple[dict[str, Any], Any]] = [
    (
        {"do": "swap", "name": "turn", "fence": "change > 0 and r.total < -4"},
        lambda op: op.swap("turn", fence="change > 0 and r.total < -4"),
    ),
    ({"do": "swap", "name": "go on", "fence": "change < 1", "at": "7"}, lambda op: op.swap("go on", fence="change < 1", at=7)),
    ({"do": "swap", "name": "begin", "transfer": "(e.change * 2,)"}, lambda op: op.swap("begin", transfer="(e.change * 2,)")),
    (
        {"do": "insert", "arc": {"src": "falling", "dst": "rebound", "fence": "change == 0", "transfer": "", "name": "flat"}},
        lambda op: op.push_arc(afa.insert(Arc("falling", "rebound", "change == 0", name="flat"))),
    ),
    ({"do": "end", "name": "turn", "at": " "}, lambda op: op.push_arc(afa.retract(FALLS.arcs[2]))),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_changes_in_the_page_are_those_by_hand(engine: Any, seed: int, tmp_path: Path) -> None:
    rng, shown, wanted = random.Random(seed), Net(), Net()
    ours, by_hand = (Keyed(FALLS, key="key", window=30, engine=engine) for _ in range(2))
    page = live(ours, tmp_path, shown)
    changes = dict(zip(sorted(rng.sample(range(4, 30), len(CHANGES_BY_HAND))), CHANGES_BY_HAND))
    held = 0
    for i, table in enumerate(rows(seed, 160)):
        page.push([table], 5)
        for part in by_hand.push_many([table]):
            wanted.take(part)
        if i in changes:
            data, call = changes[i]
            held += sum(ours.partial_matches_by_state.values())
            page.change(data)
            out = call(by_hand)
            for change in out:
                match = (change.key, *change.payload, change.le, change.re)
                wanted.held[match] = wanted.held.get(match, 0) + change.diff
        assert shown.left == wanted.left
    assert held > 20
    assert shown.left


def test_the_text_of_a_query_is_swapped_and_partial_matches_stay(tmp_path: Path) -> None:
    before, deeper = afa.query(TEXT, event=Tick), afa.query(TEXT.replace("-2", "-5"), event=Tick)
    shown, wanted = Net(), Net()
    ours, by_hand = before.operator(), before.operator()
    page = live(ours, tmp_path, shown, before)
    for i, table in enumerate(rows(9, 160)):
        page.push([table], 5)
        for part in by_hand.push_many([table]):
            wanted.take(part)
        if i == 12:
            assert sum(ours.partial_matches_by_state.values()) > 3
            said = page.change({"do": "query", "text": TEXT.replace("-2", "-5")})
            assert "partial matches go on in: fall+" in said
            by_hand.push_many(before.changes_to(deeper).arcs)
        assert shown.left == wanted.left
    assert page.change({"do": "query", "text": TEXT.replace("-2", "-5")}).startswith("the query says the same")
    assert page.about()["query"] == TEXT.replace("-2", "-5")


def test_a_query_takes_back_arcs_that_were_changed_one_by_one(tmp_path: Path) -> None:
    query = afa.query(TEXT, event=Tick)
    op = query.operator()
    page = live(op, tmp_path, Net(), query)
    name = page.picture().arcs[-1]["name"]
    page.change({"do": "swap", "name": name, "fence": "e.change > 100"})
    page.change({"do": "insert", "arc": {"src": "start", "dst": "elsewhere", "fence": "e.change > 7", "name": "odd"}})
    assert len(page.picture().arcs) == 4
    assert "- odd" in page.change({"do": "query", "text": TEXT})
    assert sorted(arc["name"] for arc in page.picture().arcs) == sorted(str(arc.name) for arc in query.automaton.arcs)
    assert not any("100" in arc["fence"] for arc in page.picture().arcs)


REFUSED = {
    "no such field": ({"do": "swap", "name": "turn", "fence": "chang > 0"}, "did you mean 'change'"),
    "not an expression": ({"do": "swap", "name": "turn", "fence": "__import__('os')"}, "expected"),
    "no change": ({"do": "swap", "name": "turn"}, "expected another fence or transfer of the arc 'turn' but got none"),
    "no such arc": ({"do": "swap", "name": "trun", "fence": "True"}, "did you mean 'turn'"),
    "an end of no arc": ({"do": "end", "name": "nothing"}, "nothing"),
    "a name that is there": ({"do": "insert", "arc": {"src": "a", "dst": "b", "fence": "True", "name": "turn"}}, "swap it instead"),
    "no name": ({"do": "insert", "arc": {"src": "a", "dst": "b", "fence": "True"}}, "expected an arc with a name"),
    "no arc": ({"do": "insert", "arc": "a -> b"}, "expected an arc, a JSON object"),
    "no time": ({"do": "end", "name": "turn", "at": 1.5}, "expected a timestamp"),
    "not a time": ({"do": "end", "name": "turn", "at": "soon"}, "expected an instant"),
    "no text": ({"do": "swap", "name": "turn", "fence": 7}, "expected text but got fence=7"),
    "nothing": ({}, "expected a change, one of swap, insert, end, query, but got do=None"),
    "another": ({"do": "sawp"}, "did you mean 'swap'"),
    "no query": ({"do": "query", "text": TEXT}, "expected a job whose query is text"),
    "no sigma": ({"do": "sigma", "value": "3"}, "expected a job with a sigma"),
    "no speed": ({"do": "speed", "value": "3"}, "expected a job whose input plays at a speed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_in_words_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    data, said = REFUSED[case]
    op = Keyed(FALLS, key="key", window=30)
    page = live(op, tmp_path, Net())
    page.push([next(rows(1, 5))], 5)
    before, lines = op.snapshot(), list(tmp_path.iterdir())
    with pytest.raises(AfaError, match=re.escape(said)):
        page.change(data)
    assert (op.snapshot(), list(tmp_path.iterdir())) == (before, lines)


def test_a_query_that_is_none_or_another_kind_is_refused(tmp_path: Path) -> None:
    query = afa.query(TEXT, event=Tick)
    page = live(query.operator(), tmp_path, Net(), query)
    with pytest.raises(QueryError, match="expected"):
        page.change({"do": "query", "text": "PATTERN nonsense"})
    with pytest.raises(AfaError, match="expected a query with the same window"):
        page.change({"do": "query", "text": TEXT.replace("30", "60")})
    assert page.about()["query"] == TEXT
    assert not [file for file in tmp_path.iterdir() if file.suffix == ".json"]


def test_what_others_write_is_read_and_told(tmp_path: Path) -> None:
    page = live(Keyed(FALLS, key="key", window=30), tmp_path, Net())
    first = page.picture()
    ArcLog(tmp_path, FALLS).swap("turn", fence="change > 7")
    (tmp_path / "broken.json").write_text("{}\n")
    page.poll()
    assert page.picture().version != first.version
    assert page.picture().arcs[-1]["fence"] == "e.change > 7"
    said = page.board.since(0)
    assert [note["kind"] for note in said["notes"]] == ["fault", "note"]
    assert "expected" in said["notes"][0]["text"]
    assert said["notes"][1]["text"] == "1 line of the arc log stood there at the beginning"
    assert page.change({"do": "swap", "name": "turn", "fence": "change > 8"}).startswith(
        "swapped 'turn'"
    )  # the fault is not its own


def test_changes_from_outside_are_told_as_those_of_the_page(tmp_path: Path) -> None:
    """A dashed line stands in the charts for each note of kind "done"."""
    page = live(Keyed(FALLS, key="key", window=30, late="drop"), tmp_path, Net(), times=lambda at: f"t{at}")
    page.poll()
    for table in rows(1, 40):
        page.push([table], 5)
    page.push([afa.Punctuation(20)])
    now = page._operator._core.progress.now
    other = ArcLog(tmp_path, FALLS)
    other.swap("turn", fence="change > 7")
    page.push([NONE])
    other.retract("begin", at=25)
    other.insert(Arc("start", "falling", "change < -1", name="deep"), at=5)  # behind the promise
    page.poll()
    page.poll()
    page.change({"do": "swap", "name": "turn", "fence": "change > 8"})
    said = [(note["kind"], note["text"]) for note in page.board.since(0)["notes"]]
    assert said[0] == ("done", f"swapped 'turn'; from t{now} on (written by another process)")
    assert said[1][0] == "fault"
    assert "expected at >= the promise but got at=5 for 'deep'" in said[1][1]
    assert said[2] == ("done", "ended 'begin'; from t25 on (written by another process)")
    assert said[3:] == [("done", f"swapped 'turn'; from t{now} on")], "once, and not as another's"


def test_sigma_moves_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_operator, "SHARE", 1e9)  # look each time
    net, stage = Net(), Cleanse(None)
    page = live(stage.after(Keyed(FALLS, key="key", window=30)), tmp_path, net, stage=stage)
    falls = {"key": ["a"] * 2, "change": [-3, 1], "le": [10, 11], "diff": [1, 1]}
    page.push([falls], 2)
    assert (page.matches, len(net.left)) == (1, 1)
    assert page.change({"do": "sigma", "value": "2"}) == "sigma: 2 ticks, from the next promise on"
    page.push([afa.Punctuation(12)])
    page.push([{**falls, "le": [20, 21]}], 2)
    assert page.matches == 1
    page.poll()
    sample = page.board.since(0)["samples"][-1]
    assert (sample["sigma"], sample["waiting"], sample["lag"], sample["rows"]) == (2, 1, 9, 4)
    assert sample["by_state"] == {"falling": 1, "rebound": 2}
    assert page.change({"do": "sigma", "value": " "}) == "sigma: no bound"
    with pytest.raises(AfaError, match="sigma"):
        page.change({"do": "sigma", "value": "-5"})
    for odd in ("\u00b2", "\u0663x", "9" * 5_000):
        with pytest.raises(AfaError, match="expected"):
            page.change({"do": "sigma", "value": odd})


def test_a_board_is_bounded_and_tells_what_is_new() -> None:
    board = Board()
    for i in range(2 * SAMPLES):
        board.sample({"n": i})
        board.changes([{"n": i}])
    found = board.since(0)
    assert (len(found["samples"]), len(found["changes"]), found["next"]) == (SAMPLES, CHANGES, 4 * SAMPLES)
    board.note("done", "x" * 10_000)
    new = board.since(found["next"])
    assert (new["samples"], new["changes"], len(new["notes"][0]["text"])) == ([], [], 2000)


def test_a_pace_plays_rows_a_second_or_times(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    latest = np.arange(0, 100_000, 10)
    pace = Pace("200", "ms")
    assert pace.ready(latest) == 0
    now[0] += 0.5
    assert pace.ready(latest) == 100
    pace.text = "pause"
    now[0] += 5
    assert pace.ready(latest) == 0
    pace.text = "play"
    assert (pace.ready(latest), pace.text) == (0, "200")
    pace.text = "60x"
    assert pace.ready(latest) == 1
    now[0] += 0.1001  # 6 s of ms
    assert pace.ready(latest[1:]) == 600
    pace.text = " MAX "
    assert pace.ready(np.arange(10 * MOST)) == MOST
    with pytest.raises(AfaError, match='expected a speed, "max", rows a second'):
        pace.text = "fast"
    with pytest.raises(AfaError, match="expected --tick"):
        Pace("2x", None)


# -- the server ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(live(Keyed(FALLS, key="key", window=30), tmp_path, Net())) as site:
        yield site


def ask(site: Site, method: str = "GET", path: str = "/state", body: Any = None, **headers: str) -> tuple[int, Any]:
    """The status, and what was answered; underscores in names of headers are hyphens. A header that is empty is not sent."""
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Host": f"127.0.0.1:{site.port}", "Content-Length": str(len(data)), "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value:
            connection.putheader(name, value)
    connection.endheaders(data if sent.get("Content-Length") else None)
    answer = connection.getresponse()
    found = answer.read()
    assert answer.headers["Access-Control-Allow-Origin"] is None
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    connection.close()
    return answer.status, json.loads(found) if answer.headers["Content-Type"] == "application/json" else found


SWAP = {"do": "swap", "name": "turn", "fence": "change > 5"}


def test_a_change_wants_the_token_the_host_and_the_origin(site: Site) -> None:
    told = {"Authorization": f"Bearer {site.token}"}
    own = f"http://127.0.0.1:{site.port}"
    for wanted, headers, words in [
        (401, {}, "expected the token"),
        (401, {"Authorization": f"Bearer {site.token[:-1]}"}, "expected the token"),
        (401, {"Authorization": "Bearer "}, "expected the token"),
        (401, {"Authorization": f"Bearer {site.token}\xe9"}, "expected the token"),
        (403, {**told, "Host": "evil.example"}, "Host"),
        (403, {**told, "Host": f"evil.example:{site.port}"}, "Host"),
        (403, {**told, "Host": "127.0.0.1.evil.example"}, "Host"),
        (403, {**told, "Host": "localhost@evil.example"}, "Host"),
        (403, {**told, "Origin": "https://evil.example"}, "Origin"),
        (403, {**told, "Origin": "null"}, "Origin"),
        (403, {**told, "Origin": f"http://localhost:{site.port}"}, "Origin"),
        (403, {**told, "Sec_Fetch_Site": "cross-site"}, "another site"),
        (415, {**told, "Content_Type": "text/plain"}, "JSON"),
        (413, {**told, "Content_Length": ""}, "Content-Length"),
        (200, {**told, "Origin": own}, "swapped"),
        (200, {**told, "Host": f"localhost:{site.port}"}, "swapped"),
        (200, {**told, "Host": f"[::1]:{site.port}"}, "swapped"),
    ]:
        status, found = ask(site, "POST", "/change", SWAP, **headers)
        assert (status, words in str(found)) == (wanted, True), (headers, found)


def test_what_is_sent_is_small_and_json(site: Site) -> None:
    told = {"Authorization": f"Bearer {site.token}"}
    assert ask(site, "POST", "/change", b"x" * (LONGEST + 1), **told)[0] == 413
    for body in (b"{", b"[1]", b"null", b"\xff", b"[" * 100_000):
        assert ask(site, "POST", "/change", body, **told)[0] == 422
    assert ask(site, "GET", "/change", None, **told)[0] == 405
    assert ask(site, "DELETE", "/state", None, **told)[0] == 405
    assert ask(site, "GET", "/../pyproject.toml")[0] == 404
    assert ask(site, "OPTIONS", "/change", None, Origin="https://evil.example")[0] == 403
    assert ask(site, "POST", "/change", {"do": "swap", "name": "turn", "fence": "chang > 0"}, **told)[1]["error"].startswith(
        "expected"
    )


@pytest.mark.parametrize("since", ["%C2%B2", "%D9%A3", "x", "", "-1", "9" * 5_000, "1e3"])
def test_what_is_no_number_counts_as_none(site: Site, since: str) -> None:
    status, found = ask(site, path=f"/state?since={since}")
    assert status == 200
    assert "about" in found


def half(site: Site, sent: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", site.port), timeout=10)
    found.sendall(sent)
    return found


def test_idle_connections_do_not_lock_anyone_out(site: Site) -> None:
    idle = [half(site, b"GET /state HTTP/1.1\r\nHost: 127" if n % 2 else b"") for n in range(200)]
    for _ in range(3):
        assert ask(site)[0] == 200
    ended = [one for one in idle if is_over(one)]
    assert len(ended) >= 200 - server.EACH
    for one in idle:
        one.close()
    assert ask(site)[0] == 200


def is_over(one: socket.socket) -> bool:
    one.settimeout(0)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_head_has_to_come_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server, "HEAD", 0.4)
    with Site(live(Keyed(FALLS, key="key", window=30), tmp_path, Net())) as site:
        idle, half_way, trickling = half(site), half(site, b"GET /st"), half(site, b"GET /")
        asking = half(site, f"GET /state HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
        assert asking.recv(15) == b"HTTP/1.1 200 OK"
        begin = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < begin + 5 and not is_over(trickling):
                trickling.settimeout(1)
                trickling.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() < begin + 4
        time.sleep(0.3)
        assert is_over(idle)
        assert is_over(half_way)
        assert ask(site)[0] == 200
        for one in (idle, half_way, trickling, asking):
            one.close()


def test_those_that_are_in_a_request_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server, "EACH", 2)
    monkeypatch.setattr(server, "HEAD", 0.3)
    told = threading.Event()
    page = live(Keyed(FALLS, key="key", window=30), tmp_path, Net())
    monkeypatch.setattr(page, "change", lambda data: str(told.wait(10)))
    with Site(page) as site:
        answers: list[int] = []
        to = {"Authorization": f"Bearer {site.token}"}
        asking = [threading.Thread(target=lambda: answers.append(ask(site, "POST", "/change", SWAP, **to)[0])) for _ in range(2)]
        for thread in asking:
            thread.start()
        time.sleep(0.8)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(site)
        told.set()
        for thread in asking:
            thread.join()
        assert answers == [200, 200]
        assert ask(site)[0] == 200


def test_a_page_on_loopback_is_read_without_the_token(site: Site) -> None:
    status, found = ask(site)
    assert (status, found["about"]["controls"]) == (200, ["swap", "insert", "end"])
    assert "picture" not in ask(site, path=f"/state?since={found['next']}&drawn={found['picture']['version']}")[1]
    for path in ("/", "/page.js", "/page.css", "/charts.js", "/charts.css"):
        assert ask(site, path=path)[0] == 200
    assert ask(site, Host="rebound.example")[0] == 403
    assert ask(site, path="/state?since=nothing")[0] == 200


def test_elsewhere_reading_wants_the_token_too() -> None:
    gate = Gate(None, "secret", "0.0.0.0", open_to_read=False)

    def asked(path: str, *headers: tuple[bytes, bytes]) -> Any:
        return gate._refused({"method": "GET", "path": path, "headers": [(b"host", b"10.0.0.7:80"), *headers]})

    assert asked("/") is None
    assert asked("/state")[0] == 401
    assert asked("/state", (b"authorization", b"Bearer secret")) is None
    assert asked("/state", (b"host", b"10.0.0.7"))[0] == 403


def test_nobody_can_listen_there(site: Site) -> None:
    page: Any = None
    with pytest.raises(AfaError, match=re.escape("expected an address to listen on but got host='127.0.0.1'")):
        Site(page, port=site.port)
    with pytest.raises(AfaError, match="expected an address to listen on"):
        Site(page, host="no.such.host.invalid")


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(AfaError, match=re.escape('pip install ".[serve]" in the folder of afa')):
        Site(None)  # type: ignore[arg-type]


# -- the command line ------------------------------------------------------------------------------------------------------------

PATTERN = """
from typing import NamedTuple
from afa import Arc, Automaton
class Tick(NamedTuple):
    change: int
fall = Automaton(start="a", final={"c"}, event=Tick, arcs=[
    Arc("a", "b", "change < 0", name="down"), Arc("b", "c", "change > 0", name="up")])
"""


class Served:
    """`afa serve`, as a process."""

    def __init__(self, folder: Path, *options: str, stdin: bool = False, pattern: str = "fall.py") -> None:
        (folder / "fall.py").write_text(PATTERN)
        command = [sys.executable, "-m", "afa.cli", "serve", pattern, *options]
        self._process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE if stdin else None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(.+)", self.url)
        if found is None:
            self.__exit__()
            raise AssertionError(self.url)
        self.port, self.token = int(found[1]), found[2]

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def state(self) -> Any:
        return ask(self)[1]  # type: ignore[arg-type]

    def until(self, wanted: Any) -> Any:
        """What is shown once it is as wanted."""
        for _ in range(600):
            found = self.state()
            if wanted(found):
                return found
            time.sleep(0.05)
        raise AssertionError(found)

    def change(self, **data: Any) -> Any:
        return ask(self, "POST", "/change", data, Authorization=f"Bearer {self.token}")  # type: ignore[arg-type]

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def end(self, how: int = signal.SIGINT) -> tuple[int, str]:
        self._process.send_signal(how)
        _, said = self._process.communicate(timeout=20)
        return self._process.returncode, said


def lines(first: int, n: int) -> str:
    return "".join(f"{le},{(-1) ** le}\n" for le in range(first, first + n))


def test_a_file_plays_and_grows_and_is_steered(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("le,change\n" + lines(1, 20))
    with Served(tmp_path, "in.csv", "--speed", "max", "--follow", "--arcs", "rules", "--window", "5", "--lateness", "2") as served:
        found = served.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 20)
        matches = found["samples"][-1]["matches"]
        assert (found["status"], matches > 5, found["samples"][-1]["lag"]) == ("playing", True, 2)
        began = time.monotonic()
        assert served.change(do="end", name="up")[0] == 200
        assert time.monotonic() - began < 3  # at once; on a machine with other work, too
        with file.open("a") as grown:
            grown.write(lines(21, 20))
        found = served.until(lambda told: told["samples"][-1]["rows"] == 40)
        assert found["samples"][-1]["matches"] == matches
        assert len([one for one in (tmp_path / "rules").iterdir() if not one.name.startswith(".")]) == 1
        ArcLog(tmp_path / "rules", _fall()).insert(Arc("b", "c", "change > 0", name="up again"))  # another process
        served.until(lambda told: "up again" in told.get("picture", {}).get("svg", ""))
        with file.open("a") as grown:
            grown.write(lines(41, 10))
        served.until(lambda told: told["samples"][-1]["matches"] > matches)
        code, said = served.end()
        assert (code, "ended; 50 events" in said, "Traceback" in said) == (0, True, False)


def test_the_address_is_there_before_the_first_row(tmp_path: Path) -> None:
    """And what others write meanwhile is taken with the first row."""
    with Served(tmp_path, "-", "--format", "csv", "--arcs", "rules", "--window", "5", "--speed", "max", stdin=True) as served:
        found = served.state()
        assert (found["status"], found["about"]["controls"], found["notes"]) == ("waiting", [], [])
        assert "down" in found["picture"]["svg"]
        refused = served.change(do="end", name="up")
        assert (refused[0], "before its first rows have come" in refused[1]["error"]) == (422, True)
        ArcLog(tmp_path / "rules", _fall()).retract("up")
        served.say("le,change\n" + lines(1, 6))
        found = served.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 6)
        assert (found["status"], found["samples"][-1]["matches"]) == ("playing", 0)
        assert "swap" in found["about"]["controls"]
        assert served.end()[0] == 0


def test_the_address_is_there_before_a_named_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in.csv")
    with Served(tmp_path, "in.csv", "--window", "5", "--speed", "max") as served:
        assert served.state()["status"] == "waiting"
        (tmp_path / "in.csv").write_text("le,change\n" + lines(1, 6))
        served.until(lambda told: told["samples"] and told["samples"][-1]["rows"] == 6)
        assert served.end()[0] == 0


def test_it_ends_before_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(*_: Any) -> None:
        raise KeyboardInterrupt

    (tmp_path / "fall.py").write_text(PATTERN)
    monkeypatch.setattr("afa.extra.live.serve_run.opened", waits)
    assert call("serve", str(tmp_path / "fall.py"), "-", "--format", "csv").stdout.startswith("http://127.0.0.1:")


def _fall() -> Automaton:
    class Tick(NamedTuple):
        change: int

    return Automaton(start="a", final={"c"}, event=Tick, arcs=[Arc("a", "b", "change < 0", name="down")])


def test_a_function_that_raises_holds_the_input_until_it_is_mended(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("le,change\n" + lines(1, 20))
    with Served(tmp_path, "in.csv", "--window", "5", "--speed", "40") as served:
        assert served.change(do="swap", name="up", fence="change // (change - 1) > 7")[0] == 200
        found = served.until(lambda told: told["status"] == "failed")
        assert "integer division" in found["notes"][-1]["text"]
        rows = found["samples"][-1]["rows"]
        assert served.change(do="swap", name="up", fence="change > 0")[0] == 200
        assert served.change(do="speed", value="play")[0] == 200
        found = served.until(lambda told: told["status"] == "ended")
        found = served.until(lambda told: told["samples"][-1]["rows"] == 20)
        assert rows < 20
        assert found["samples"][-1]["matches"] > 5
        code, said = served.end()
        assert (code, "integer division" in said, "Traceback" in said) == (0, True, False)


def test_a_fault_is_shown_and_told_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(
        '{"le": 1, "change": -1}\n{"le": 0, "change": 1}\n{"le": 9, "change": 1}\n{"le": 1, "change": 1}\n'
    )
    with Served(tmp_path, "in.jsonl", "--window", "5", "--lateness", "0", "--late", "raise", "--speed", "20") as served:
        found = served.until(lambda told: told["status"] == "failed")
        assert "expected" in found["notes"][-1]["text"]
        code, said = served.end(signal.SIGTERM)
        assert (code, said.startswith("afa: expected"), "Traceback" in said) == (1, True, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("in.csv", "--speculation", "3"), "--speculation needs --lateness because"),
        (("in.csv", "--speed", "fast"), "expected a speed"),
        (("in.csv", "--speed", "2x"), "expected --tick"),
        (("in.csv.gz", "--follow"), "to follow as it grows"),
        (("pipe.csv", "--follow"), "a pipe is read as it comes: leave out --follow"),
        (("in.csv", "--host", "no.such.host.invalid"), "expected an address to listen on"),
        (("none.csv",), "No such file"),
    ],
)
def test_what_is_asked_wrongly_is_one_line(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("le,change\n" + lines(1, 5))
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "fall.py").write_text(PATTERN)
    found = call("serve", str(tmp_path / "fall.py"), str(tmp_path / options[0]), *options[1:], status=1)
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
