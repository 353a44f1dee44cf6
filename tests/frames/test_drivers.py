"""A driver that is there, but compiles nothing for this processor: an older one on a newer machine."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from afa.cli import device_list
from afa.cli.console import Terminal
from afa.compiled.device import devices
from afa.errors import DeviceError


class DriverError(Exception):
    pass


class _Program:
    def __init__(self, context: list[Any], text: str) -> None:
        self.device = context[0]

    def build(self, options: list[str]) -> None:
        if self.device.name == "old":
            raise DriverError("BUILD_PROGRAM_FAILURE")

    def get_build_info(self, device: Any, what: str) -> str:
        return "error: unknown target CPU 'generic'\nDevice failed\n"


def _device(name: str) -> Any:
    return SimpleNamespace(name=name, double_fp_config=1, type=2, max_mem_alloc_size=1 << 30, max_compute_units=2)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices that OpenCL lists."""
    listed: list[Any] = []
    fake = SimpleNamespace(
        Error=DriverError,
        get_platforms=lambda: [SimpleNamespace(get_devices=lambda: listed)],
        device_type=SimpleNamespace(CPU=2),
        program_build_info=SimpleNamespace(LOG="log"),
        Program=_Program,
        Context=lambda found: found,
        CommandQueue=lambda context: context,
    )
    monkeypatch.setitem(sys.modules, "pyopencl", fake)
    monkeypatch.setattr(devices, "_open", {})
    return listed


def test_a_driver_that_compiles_nothing_is_told(
    driver: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver.append(_device("old"))
    text = r"opencl:0 but there is none, beside old \(its driver can't compile: error: unknown target CPU 'generic'\)"
    with pytest.raises(DeviceError, match=text):
        devices.device("opencl")
    for name, size in (("KEYS", 8), ("ROWS", 40), ("VARIANTS", 2)):
        monkeypatch.setattr(device_list, name, size)
    device_list.show_devices(Terminal(width=120))
    assert "no device: expected a device opencl:0 but there is none, beside old" in capsys.readouterr().out


def test_one_that_compiles_is_found_behind_it(driver: list[Any]) -> None:
    driver += [_device("old"), _device("new")]
    assert devices.device("opencl").said == "new"
    assert [each.said for each in devices.all_devices()] == ["new"]
