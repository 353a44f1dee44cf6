"""Open a device: OpenCL by pyopencl, CUDA by cupy; memory in buffers, one kernel launched over records.

>>> named("opencl:1"), named("cuda")
(('opencl', 1), ('cuda', 0))
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from afa.compiled.device.preludes import CUDA, CUDA_ENTRY, OPENCL, OPENCL_ENTRY
from afa.errors import DeviceError

OPTIONS = ["-cl-std=CL1.2", "-w"]
"""Of OpenCL's compiler."""
POLL = 0.02
"""Seconds between two looks at whether a launch is over: in between an interrupt is heard."""
KERNELS = 256
"""How many kernels a device keeps."""
BLOCK = 128
"""Work items of a block on CUDA."""


class Device(Protocol):
    """A device. Its calls are for one thread at a time: `lock`."""

    name: str  # as `device=` takes it
    said: str  # its maker's name for it
    memory: int  # bytes, of one buffer at most
    units: int  # how many groups of work items it runs at once
    is_cpu: bool
    lock: Any

    def buffer(self, size: int) -> Any:
        """Return a buffer of so many bytes. Raises `MemoryError`."""

    def write(self, buffer: Any, at: int, array: Any) -> None:
        """Copy an array to a place of a buffer."""

    def read(self, buffer: Any, at: int, array: Any) -> None:
        """Fill an array from a place of a buffer."""

    def copy(self, buffer: Any, to: Any, size: int) -> None:
        """Copy the first bytes of a buffer into another one."""

    def kernel(self, text: str) -> Any:
        """Return the kernel of C text, compiled once."""

    def launch(self, kernel: Any, buffer: Any, records: int, size: int, count: int) -> None:
        """Run the kernel over records in a buffer, and wait for it."""


def named(text: str) -> tuple[str, int]:
    """Return the kind and the number of a device. Raises `DeviceError`."""
    kind, _, number = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind not in KINDS or not ((number == "" and ":" not in text) or (number.isdecimal() and len(number) < 4)):
        raise DeviceError(f'expected device="opencl", "cuda", or one with a number, "opencl:1", but got {text!r}')
    return kind, int(number or 0)


def device(text: str) -> Device:
    """Return the device of a name, opened once. Raises `DeviceError`: there is none, or its package is not installed."""
    kind, number = named(text)
    with _LOCK:
        if (kind, number) not in _open:
            _open[kind, number] = KINDS[kind](number)
        return _open[kind, number]


def make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget what came first, where there is no room for one more."""
    while len(kept) >= most:
        del kept[next(iter(kept))]


def all_devices() -> list[Device]:
    """Return each device that there is, of the packages that are installed."""
    found: list[Device] = []
    for kind in KINDS:
        while True:
            try:
                found.append(device(f"{kind}:{len([each for each in found if each.name.startswith(kind)])}"))
            except DeviceError:
                break
    return found


class OpenCL:
    """A device of OpenCL that computes with 64-bit floats."""

    def __init__(self, number: int) -> None:
        try:
            import pyopencl as cl
        except ImportError:
            raise DeviceError('expected pyopencl for device="opencl" but it is not installed: pip install "afa[device]"') from None
        self._cl = cl
        every: list[Any] = []
        with contextlib.suppress(cl.Error):  # no platform
            for platform in cl.get_platforms():
                with contextlib.suppress(cl.Error):  # one without a device, or whose devices don't say whether they have doubles
                    every += [each for each in platform.get_devices() if each.double_fp_config]
        every.sort(key=lambda each: bool(each.type & cl.device_type.CPU))  # graphics processors first
        whys = [_cant_compile(cl, each) for each in every]
        unfit = [f"{each.name.strip()} ({why})" for each, why in zip(every, whys) if why]
        every = [each for each, why in zip(every, whys) if not why]
        if number >= len(every):
            raise _missing("opencl", number, [each.name for each in every], unfit)
        mine = every[number]
        self.name, self.said = f"opencl:{number}" if number else "opencl", mine.name.strip()
        self.memory, self.units = mine.max_mem_alloc_size, mine.max_compute_units
        self.is_cpu = bool(mine.type & cl.device_type.CPU)
        self.lock = threading.RLock()
        self._context = cl.Context([mine])
        self._queue = cl.CommandQueue(self._context)
        self._kernels: dict[str, Any] = {}

    def buffer(self, size: int) -> Any:
        try:
            found = self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, size)
            # Drivers allocate it when it is first used: now, where there may be no room.
            self._cl.enqueue_migrate_mem_objects(self._queue, [found], self._cl.mem_migration_flags.CONTENT_UNDEFINED).wait()
            return found
        except self._cl.Error as error:
            raise MemoryError(f"expected {size:,} bytes on {self.said} but got {error}") from None

    def write(self, buffer: Any, at: int, array: Any) -> None:
        self._cl.enqueue_copy(self._queue, buffer, array, dst_offset=at)

    def read(self, buffer: Any, at: int, array: Any) -> None:
        self._cl.enqueue_copy(self._queue, array, buffer, src_offset=at)

    def copy(self, buffer: Any, to: Any, size: int) -> None:
        self._cl.enqueue_copy(self._queue, to, buffer, byte_count=size).wait()

    def kernel(self, text: str) -> Any:
        if text not in self._kernels:
            make_room(self._kernels, KERNELS)
            program = self._cl.Program(self._context, OPENCL + text + OPENCL_ENTRY)
            try:
                self._kernels[text] = self._cl.Kernel(program.build(OPTIONS), "run")
            except self._cl.Error as error:
                raise _refused(self.said, "compile", error) from error
        return self._kernels[text]

    def launch(self, kernel: Any, buffer: Any, records: int, size: int, count: int) -> None:
        words = map(np.int64, (records, size, count))
        try:
            event = kernel(self._queue, (count,), (1,) if self.is_cpu else None, buffer, *words)
            self._queue.flush()
            _wait(lambda: event.command_execution_status <= self._cl.command_execution_status.COMPLETE, event.wait)
        except self._cl.Error as error:
            raise _refused(self.said, "run", error) from error


def _cant_compile(cl: Any, device: Any) -> str | None:
    """Return why a driver compiles nothing at all, as an older one for a newer processor; None: it does."""
    program = cl.Program(cl.Context([device]), "__kernel void run() {}")
    try:
        program.build(OPTIONS)
    except cl.Error as error:
        told = program.get_build_info(device, cl.program_build_info.LOG).strip() or str(error)
        return f"its driver can't compile: {told.splitlines()[0]}"
    return None


class Cuda:
    """A device of CUDA."""

    def __init__(self, number: int) -> None:
        try:
            import cupy
        except ImportError:
            raise DeviceError('expected cupy for device="cuda" but it is not installed: pip install cupy-cuda12x') from None
        self._cupy = cupy
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            count = 0
        if number >= count:
            raise _missing("cuda", number, [f"cuda:{each}" for each in range(count)])
        facts = cupy.cuda.runtime.getDeviceProperties(number)
        self.name, self.said = f"cuda:{number}" if number else "cuda", facts["name"].decode()
        self.memory, self.units = int(facts["totalGlobalMem"]), int(facts["multiProcessorCount"])
        self.is_cpu = False
        self.lock = threading.RLock()
        self._device = cupy.cuda.Device(number)
        self._kernels: dict[str, Any] = {}

    def buffer(self, size: int) -> Any:
        with self._device, self._cupy.cuda.Stream.null:
            try:
                return self._cupy.cuda.alloc(size)
            except self._cupy.cuda.memory.OutOfMemoryError as error:
                raise MemoryError(f"expected {size:,} bytes on {self.said} but got {error}") from None

    def write(self, buffer: Any, at: int, array: Any) -> None:
        with self._device:
            (buffer + at).copy_from_host(array.ctypes.data, array.nbytes)

    def read(self, buffer: Any, at: int, array: Any) -> None:
        with self._device:
            (buffer + at).copy_to_host(array.ctypes.data, array.nbytes)

    def copy(self, buffer: Any, to: Any, size: int) -> None:
        with self._device:
            to.copy_from_device(buffer, size)

    def kernel(self, text: str) -> Any:
        if text not in self._kernels:
            make_room(self._kernels, KERNELS)
            with self._device:
                module = self._cupy.RawModule(code=CUDA + text + CUDA_ENTRY, options=("--fmad=false",), backend="nvrtc")
                try:
                    self._kernels[text] = module.get_function("run")
                except self._cupy.cuda.compiler.CompileException as error:
                    raise _refused(self.said, "compile", error) from error
        return self._kernels[text]

    def launch(self, kernel: Any, buffer: Any, records: int, size: int, count: int) -> None:
        cuda = self._cupy.cuda
        with self._device, cuda.Stream.null:  # as copies go, whatever stream the caller is in
            words = tuple(map(np.int64, (records, size, count)))
            try:
                kernel((-(-count // BLOCK),), (BLOCK,), (np.intp(buffer.ptr), *words))
                event = cuda.Event()
                event.record()
                _wait(lambda: event.done, event.synchronize)
            except (cuda.driver.CUDADriverError, cuda.runtime.CUDARuntimeError) as error:
                raise _refused(self.said, "run", error) from error


KINDS: dict[str, Callable[[int], Any]] = {"opencl": OpenCL, "cuda": Cuda}
_LOCK = threading.Lock()
_open: dict[tuple[str, int], Device] = {}


def _missing(kind: str, number: int, there: list[str], unfit: Sequence[str] = ()) -> DeviceError:
    have = ", ".join(there) if there else "none"
    if unfit:
        return DeviceError(f"expected a device {kind}:{number} but there is {have}, beside {', '.join(unfit)}")
    more = (
        '; pip install "afa[device]" brings on Linux one that runs on the processor (pocl)'
        if kind == "opencl" and not there
        else ""
    )
    return DeviceError(f"expected a device {kind}:{number} but there is {have}{more}")


def _refused(said: str, what: str, error: Exception) -> DeviceError:
    return DeviceError(f"expected {said} to {what} the code of a pattern but got {error}; leave out device=")


def _wait(over: Callable[[], bool], end: Callable[[], Any]) -> None:
    """Wait for a launch so that an interrupt is heard; what it works on must stay until it is over."""
    pause = POLL / 64
    try:
        while not over():
            time.sleep(pause)
            pause = min(2 * pause, POLL)
    finally:
        end()
