"""Lanes on a device give what operators give: through pocl, on the processor, and as a graphics processor would."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import afa
from afa import AfaError, Arc, Automaton
from afa.cli import device_list
from afa.cli.console import Terminal
from afa.compiled import choices
from afa.compiled.device import arena, c_text, device_run, devices
from afa.errors import DeviceError
from tests.frames import test_lanes
from tests.frames.test_lanes import automata, queries, same, sql, taken

cl = pytest.importorskip("pyopencl")
try:
    devices.device("opencl")
except DeviceError as why:
    pytest.skip(str(why), allow_module_level=True)
__all__ = ["taken"]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes for the smallest frame."""
    monkeypatch.setattr(choices, "LONG", 0)


class Told(NamedTuple):
    """How many lanes a device took, left, and why it ran none."""

    lanes: list[int]
    why: list[str]


@pytest.fixture(params=["processor", "graphics", "parts"])
def on(request: Any, taken: list[int], monkeypatch: pytest.MonkeyPatch) -> Told:
    """Rooms of one match, launches of seven rows; items as on a graphics processor; memory in which few rows have room."""
    monkeypatch.setattr(test_lanes, "WAYS", [{"engine": "compiled"}, {"device": "opencl"}])
    for name, size in (("ROWS", 7), ("LEAST", 1), ("SHORT_LIST", 8), ("LIST", 40)):
        monkeypatch.setattr(device_run, name, size)
    monkeypatch.setattr(arena, "LEAST", 256)
    if request.param != "processor":
        monkeypatch.setattr(devices.device("opencl"), "is_cpu", False)
    if request.param != "processor" or "edges" not in request.node.name:
        monkeypatch.setattr(devices, "OPTIONS", [*devices.OPTIONS, "-cl-opt-disable"])  # a third of the time
        monkeypatch.setattr(devices.device("opencl"), "_kernels", {})
    if request.param == "parts":
        monkeypatch.setattr(devices.device("opencl"), "memory", 24_000)
    told, run = Told([0, 0], []), device_run.on_device

    def counted(*given: Any) -> Any:
        found = run(*given)
        for one in found:
            if isinstance(one, str):
                told.why.append(one)
            else:
                told.lanes[0] += len(one.counts)
                told.lanes[1] += len(one.left)
        return found

    monkeypatch.setattr(device_run, "on_device", counted)
    return told


def test_automata(on: Told) -> None:
    assert automata("device", 3, 5) > 20
    assert on.lanes[0] > 20
    assert on.lanes[1] < on.lanes[0] / 2
    assert not on.why


def test_queries(on: Told) -> None:
    assert sum(queries(kind, "device", 2) for kind in ("plain", "sums", "ends")) > 10
    assert on.lanes[0] > 3


def test_sql(on: Told) -> None:
    assert sql("device", 3) > 5
    assert on.lanes[0] > 3


class Row(NamedTuple):
    n: int
    x: float
    m: int | None
    s: str


EDGES: dict[str, list[Any]] = {
    "n": [0, 1, -1, 2**31, -(2**31), 2**53, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63), 7, -7, 3],
    "x": [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.1, 0.2, 2.5, -2.5, 2.0**53],
    "m": [None, 0, 1, -1, 2, None, 3, -3, 7, 2**62, None, 5, -5, 4],
    "s": ["", "a", "b", "ä", "ab", "", "b", "a", "zz", "a", "b", "", "ä", "ab"],
}
CONDITIONS = [
    *("e.n + r.n > 0", "e.n - r.n < 0", "e.n * r.n >= 0", "-e.n > r.n", "abs(e.n) > 5", "r.n != 0 and e.n // r.n < 3"),
    *("r.n != 0 and e.n % r.n == 1", "e.x + r.x > 0.3", "e.x * 3 == 0.30000000000000004 * 3", "abs(e.x) < 9 and e.x // 0.7 > 1"),
    *("abs(e.x) < 9 and e.x % 0.7 > 0.2", "abs(e.x) < 9 and round(e.x) == 2", "abs(e.x) < 9 and int(e.x) == -1", "e.x != e.x"),
    *("e.x == r.x", "max(e.x, r.x) > 1", "min(e.n, r.n) < 0", "e.n in (1, 7, -7)", "e.m is None", "e.m is not None and e.m > r.n"),
    *("e.s == r.s", "e.s in ('a', 'ab')", "e.s.startswith('a')", "e.n & 3 == 1", "e.n ^ r.n > 0", "e.n ** 2 > 40", "e.x > e.n"),
    *("e.n == e.x", "e.n / 7 > 0.5", "abs(e.x) < 9 and math.floor(e.x) == 1", "e.x >= 0 and math.sqrt(e.x) > 0.31622776601683794"),
]


class Reg(NamedTuple):
    n: int = 3
    x: float = 0.5
    s: str = "a"


def test_each_operation_at_the_edges_of_its_types(on: Told) -> None:
    """One automaton of all conditions: what native code can't say it leaves, on a device as on the processor."""
    places = np.random.default_rng(5).integers(0, len(EDGES["n"]), (4, 60))
    rows = {name: [EDGES[name][place] for place in each] for name, each in zip(EDGES, places.tolist())}
    rows |= {"at": list(range(60)), "key": [i % 7 for i in range(60)]}
    for low in range(0, len(CONDITIONS), 6):
        arcs = [Arc("0", str(i), text, "(e.n, e.x, e.s)") for i, text in enumerate(CONDITIONS[low : low + 6], 1)]
        arcs += [Arc(str(i), "7", text) for i, text in enumerate(reversed(CONDITIONS[low : low + 6]), 1)]
        each = Automaton(start="0", final={"7"}, event=Row, register=Reg(), arcs=arcs)
        same(each, rows, key="key", window=9)
        small = {name: [values[i] for i in range(60) if abs(rows["n"][i]) < 2**31] for name, values in rows.items()}
        assert same(each, small, key="key", window=9) > 0
    assert on.lanes[0] > 30


def rise(limit: float) -> Automaton:
    return Automaton(start="0", final={"2"}, event=Row, arcs=[Arc("0", "1", f"x < {limit}"), Arc("1", "2", "x > 1")])


def rows_of(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        "n": np.arange(n),
        "x": rng.normal(0, 2, n),
        "m": [None] * n,
        "s": ["a"] * n,
        "at": np.arange(n),
        "key": rng.integers(0, 9, n),
    }


def test_a_sweep_over_a_frame_that_stays_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variants of one code are one launch; the columns are copied once; closed, the device is free again."""
    rows, written = rows_of(3000), list[int]()
    write = devices.OpenCL.write
    monkeypatch.setattr(
        devices.OpenCL, "write", lambda self, to, at, array: (written.append(array.nbytes), write(self, to, at, array))[1]
    )
    patterns = {limit: rise(limit) for limit in (-1.0, 0.0, 0.5)}
    said: dict[str, Any] = {"window": 40, "withdrawn": False}
    expected = afa.backtest(patterns, rows, key="key", time="at", engine="compiled", **said)
    with afa.prepared(rows, key="key", time="at", device="opencl") as held:
        for counts in (True, False):
            found = afa.backtest(patterns, held, counts=counts, **said)
            assert {name: column.tolist() for name, column in found.table.items()} == {
                name: column.tolist() for name, column in expected.table.items()
            }
        assert {name: column.tolist() for name, column in found.matches.items()} == {
            name: column.tolist() for name, column in expected.matches.items()
        }
        assert written.count(8 * 3000) == len({"at", "n", "x", "m", "s"})
        arena = held.history.arena
        assert arena.nbytes > 8 * 3000 * 4
        assert afa.find(rise(0.0), held, window=40, device="opencl")["le"].tolist()
    assert held.history.arena.nbytes == 0


def test_the_first_device_has_two_names() -> None:
    with afa.prepared(rows_of(300), key="key", time="at", device="opencl") as held:
        assert len({len(afa.find(rise(0.0), held, window=40, device=name)["le"]) for name in (None, "opencl", "opencl:0")}) == 1


def test_stacked_queries_over_a_prepared_frame_go_on_its_device(on: Told) -> None:
    rows = rows_of(600)
    text = (
        "SELECT * FROM (SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES B.x AS bx, B.at AS bat "
        "PATTERN (A B) DEFINE A AS x < 0, B AS x > 0)) "
        "MATCH_RECOGNIZE (PARTITION BY key ORDER BY bat MEASURES B.bx AS b PATTERN (A B) DEFINE A AS bx < 1, B AS bx > 1)"
    )
    expected = afa.find(text, rows)["b"].tolist()
    with afa.prepared(rows, device="opencl") as held:
        assert afa.find(text, held)["b"].tolist() == expected
    assert expected
    assert on.lanes[0] > 8


def test_memory_that_is_missing_when_it_is_first_used(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise cl.MemoryError("clEnqueueMigrateMemObjects", cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, "")

    monkeypatch.setattr(cl, "enqueue_migrate_mem_objects", full)
    with caplog.at_level("INFO", "afa"):
        assert len(afa.find(rise(0.0), rows_of(300), time="at", window=40, device="opencl")["le"])
    assert "has no room" in caplog.text


def test_code_that_a_device_does_not_compile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "OPENCL", "no C at all;")
    monkeypatch.setattr(devices.device("opencl"), "_kernels", {})
    with pytest.raises(DeviceError, match="to compile"):
        afa.find(rise(0.0), rows_of(300), time="at", window=40, device="opencl")


def test_a_launch_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise cl.RuntimeError("clEnqueueNDRangeKernel", cl.status_code.OUT_OF_RESOURCES, "")

    with afa.prepared(rows_of(300), time="at", device="opencl") as held:
        expected = afa.find(rise(0.0), held, window=40)["le"].tolist()
        with monkeypatch.context() as patch:
            patch.setattr(devices, "_wait", fails)
            with pytest.raises(DeviceError, match="to run the code of a pattern"):
                afa.find(rise(0.0), held, window=40)
        assert afa.find(rise(0.0), held, window=40)["le"].tolist() == expected


WHERE = (
    "SELECT * FROM (SELECT * FROM t WHERE x > {}) MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES A.x AS ax, B.x AS bx "
    "PATTERN (A B) DEFINE A AS x < 0, B AS x > 1)"
)


def test_rows_behind_a_filter_none_of_them_or_in_parts(on: Told) -> None:
    """Rows that are not laid out by key go in parts, too; of no rows there is nothing to launch."""
    for limit, some in ((-1, True), (1000, False)):
        here, there = (afa.find(WHERE.format(limit), rows_of(2000), **way) for way in test_lanes.WAYS)
        assert {name: column.tolist() for name, column in here.items()} == {name: column.tolist() for name, column in there.items()}
        assert (len(here["le"]) > 0) == some
    assert on.lanes[0] > 8
    assert not on.why


def test_what_a_prepared_frame_no_longer_holds_is_not_on_the_device() -> None:
    rows = {**rows_of(3000), "end": np.arange(3000) + 30}
    with afa.prepared(rows, key="key", time="at", device="opencl") as held:
        sizes = set()
        for turn in range(9):
            afa.find(WHERE.format(-turn / 9), held)
            afa.find(rise(0.0), held, window=40 + turn, until="end")
            arena = held.history.arena
            sizes.add((arena.nbytes, arena.mark()))
        assert len(sizes) < 4


def test_what_no_device_runs_goes_by_the_processor(caplog: pytest.LogCaptureFixture) -> None:
    odd = Automaton(start="0", final={"1"}, event=Row, arcs=[Arc("0", "1", "math.sin(x) > 0.5")])
    with caplog.at_level("INFO", "afa"):
        found = [afa.find(odd, rows_of(200), time="at", window=9, device=device)["le"].tolist() for device in (None, "opencl")]
        assert found[0] == found[1]
        assert found[0]
        assert "the function sin" in caplog.text
        asked = Automaton(start="0", final={"1"}, event=Row, arcs=[Arc("0", "1", operator.is_)])
        afa.find(asked, rows_of(9), time="at", window=9, device="opencl")
        assert "goes by the operator, not by opencl" in caplog.text


def test_an_interrupt_is_heard_between_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(device_run, "ROWS", 64)
    with afa.prepared(rows_of(3000), key="key", time="at", device="opencl") as held:
        before = afa.find(rise(0.0), held, window=40)["le"].tolist()
        with monkeypatch.context() as patch:
            patch.setattr(devices.OpenCL, "launch", interrupted)
            with pytest.raises(KeyboardInterrupt):
                afa.find(rise(0.0), held, window=40)
        assert afa.find(rise(0.0), held, window=40)["le"].tolist() == before


REFUSED: list[tuple[Callable[[], Any], type[AfaError], str]] = [
    (lambda: afa.find(rise(0.0), rows_of(9), time="at", device="gpu"), DeviceError, 'device="opencl"'),
    (lambda: afa.find(rise(0.0), rows_of(9), time="at", device="opencl:"), DeviceError, 'device="opencl"'),
    (lambda: afa.find(rise(0.0), rows_of(9), time="at", device=1), DeviceError, 'device="opencl"'),  # type: ignore[arg-type]
    (lambda: afa.prepared(rows_of(9), device="opencl:77"), DeviceError, "expected a device opencl:77"),
    (lambda: afa.find(rise(0.0), afa.prepared(rows_of(9), time="at"), device="opencl"), AfaError, "afa.prepared"),
    (lambda: afa.find(rise(0.0), "rows.parquet", time="at", device="opencl"), AfaError, "files"),
    (lambda: afa.find(rise(0.0), rows_of(9), time="at", device="opencl", engine="compiled"), AfaError, "engine='compiled'"),
    (lambda: afa.backtest({1: rise(0.0)}, "rows.parquet", time="at", device="opencl"), AfaError, "files"),
]


@pytest.mark.parametrize(("call", "error", "said"), REFUSED)
def test_refused(call: Callable[[], Any], error: type[AfaError], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_what_is_no_ir_of_ours_has_no_text() -> None:
    for line in ("%v = freeze i64 %a", "%v = fcmp one double %a, %b", "%v = call i64 @puts(i64 %a)"):
        with pytest.raises(c_text.NoDeviceText):
            c_text.c_text(f"define i64 @f(i64 %a, i64 %b) {{\n  {line}\n  ret i64 0\n}}")


def test_devices_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with a rate; threads beside."""
    for name, size in (("KEYS", 8), ("ROWS", 40), ("VARIANTS", 2)):
        monkeypatch.setattr(device_list, name, size)
    device_list.show_devices(Terminal(width=120))
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "device"
    assert [row.split()[0] for row in rows][:2] == ["threads", "opencl"]
    assert all(row.split()[-1] == "M" for row in rows)
