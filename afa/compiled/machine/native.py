"""Compile LLVM IR to machine code: one LLVM engine for the process, a cache in memory, a folder on disk."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pkgutil
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from afa.compiled.machine.folder import Folder

LOGGER = logging.getLogger("afa")
SOURCES = ("afa.compiled.code", "afa.compiled.machine", "afa.compiled.kernel.layout")
"""The packages on which machine code depends, and the module of the records that it reads and writes."""
LOCK = threading.RLock()
"""Held while code is compiled and around every fork, so that a child never inherits a compilation under way."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class Effort(NamedTuple):
    """The effort that LLVM makes for a function."""

    passes: str  # over the IR: "none"; "places": only from places on the stack to registers; "all": all but vectors
    level: int  # of code generation, 0 to 3
    kept: bool = True  # whether the code is kept on disk
    lasting: bool = False  # whether it is deleted there after all else


ARC = Effort("none", 2)
"""The IR of arcs needs no passes: Q1's step takes 7 ms, with them 20 ms, and is as fast; level 0 takes 1 ms and is half as fast."""
BASELINE = Effort("places", 0, kept=False)
FULL = Effort("all", 2, lasting=True)
"""The effort for the kernels."""


class NativeStatistics(NamedTuple):
    """How many functions were compiled and how many found on disk; ``failures`` of the folder, and the last reason."""

    functions: int
    compiled: int
    from_disk: int
    compile_seconds: float
    failures: int
    reason: str


class Native:
    """The addresses of compiled functions.

    ``folder``: where code is kept from one process to the next; None: nowhere. Code stays for the life of the process: about 5 KB a
    function from disk, 11 KB one that was compiled. llvmlite is loaded at first use.

    >>> import ctypes
    >>> native = Native()
    >>> address = native.function("seven", lambda: "define i64 @f() { ret i64 7 }")
    >>> ctypes.CFUNCTYPE(ctypes.c_int64)(address)()
    7
    >>> native.function("seven", lambda: "") == address
    True
    """

    def __init__(self, folder: Folder | None = None) -> None:
        self.folder = folder
        self._addresses: dict[str, int] = {}
        self._engine: _Engine | None = None
        self._compiled = self._from_disk = 0
        self._seconds = 0.0

    def function(self, key: str, make_ir: Callable[[], str] | None, effort: Effort = ARC) -> int:
        """Return the address of the function ``@f`` of the IR that ``make_ir`` returns; it is called only if no code is kept.

        Without ``make_ir``: 0 if no code is kept. ``key``: names all that the IR depends on, and the effort.
        """
        address = self._addresses.get(key)
        if address is not None:
            return address
        with LOCK:
            address = self._addresses.get(key) or self._kept(key)
            if not address and make_ir is not None:
                address = self.take(key, self.compile(key, make_ir, effort))
        return address

    def compile(self, key: str, make_ir: Callable[[], str], effort: Effort) -> bytes:
        """Compile a function, and keep it on disk. Returns its object code."""
        with LOCK:
            begin = time.thread_time()
            blob = self._llvm.compile(self._name(key), make_ir(), effort)
            self._compiled += 1
            self._seconds += time.thread_time() - begin
            if self.folder is not None and effort.kept:
                self.folder.put(self._name(key), blob, effort.lasting)
        return blob

    def take(self, key: str, blob: bytes) -> int:
        """Load object code from `compile`, here or in another process of the same library. Returns the address of its function.

        Raises RuntimeError where there is none.
        """
        with LOCK:
            address = self._llvm.load(self._name(key), blob)
            if not address:
                raise RuntimeError(f"expected a function @f in the IR of {key!r} but there is none")
            self._addresses[key] = address
        return address

    def known(self, key: str) -> bool:
        """Return whether the function is loaded."""
        return key in self._addresses

    def statistics(self) -> NativeStatistics:
        folder = self.folder
        failed = (0, "") if folder is None else (folder.failures, folder.reason)
        return NativeStatistics(len(self._addresses), self._compiled, self._from_disk, self._seconds, *failed)

    def _kept(self, key: str) -> int:
        """Load a function from disk. Returns its address; 0: its code is not kept."""
        name = self._name(key)
        blob = None if self.folder is None else self.folder.get(name)
        address = 0 if blob is None else self._llvm.load(name, blob)
        if address:
            self._addresses[key] = address
            self._from_disk += 1
        return address

    def _name(self, key: str) -> str:
        """Return the name of a key's code, for LLVM and on disk."""
        return hashlib.blake2b(key.encode(), digest_size=20, key=self._llvm.identity).hexdigest()

    @property
    def _llvm(self) -> _Engine:
        if self._engine is None:
            self._engine = _Engine()
        return self._engine


class _Engine:
    """The LLVM engine for this machine."""

    def __init__(self) -> None:
        from llvmlite import __version__, binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        target = binding.Target.from_default_triple()
        self._binding: Any = binding
        self._machines = {
            level: target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True, codemodel="jitdefault")
            for level in {ARC.level, FULL.level, BASELINE.level}
        }
        self._machine = self._machines[ARC.level]
        self._jit = binding.create_mcjit_compiler(binding.parse_assembly(""), self._machine)
        self._triple, self._data = target.triple, str(self._machine.target_data)
        parts = (__version__, str(binding.llvm_version_info), target.triple, cpu, features, digest_of(*SOURCES))
        self.identity = hashlib.blake2b("\n".join(parts).encode(), digest_size=32).digest()

    def compile(self, name: str, ir: str, effort: Effort) -> bytes:
        """Compile ``@f``, under a name of its own. Returns its object code."""
        module = self._binding.parse_assembly(ir.replace("@f(", f"@afa_{name}(", 1))
        module.triple, module.data_layout = self._triple, self._data
        machine = self._machines[effort.level]
        if effort.passes != "none":
            options = self._binding.create_pipeline_tuning_options(speed_level=2)
            options.loop_vectorization = options.slp_vectorization = False  # loops over a row's few words
            builder = self._binding.create_pass_builder(machine, options)
            if effort.passes == "all":
                passes = builder.getModulePassManager()
            else:
                passes = self._binding.create_new_module_pass_manager()
                passes.add_sroa_pass()
            passes.run(module, builder)
        blob: bytes = machine.emit_object(module)
        return blob

    def load(self, name: str, blob: bytes) -> int:
        """Load object code, which must be whole: LLVM does not check. Returns the address of its function; 0: there is none."""
        self._jit.add_object_file(self._binding.ObjectFileRef.from_data(blob))
        self._jit.finalize_object()
        return int(self._jit.get_function_address(f"afa_{name}"))


@functools.cache
def digest_of(*sources: str) -> str:
    """Return a digest of modules, and of all modules of packages, so that code of an older version is not used."""
    digest = hashlib.blake2b(digest_size=16)
    for source in sources:
        package, _, module = source.rpartition(".")
        path = getattr(import_module(source), "__path__", None)
        names = [module] if path is None else sorted(found.name for found in pkgutil.iter_modules(path))
        for name in names:
            digest.update(pkgutil.get_data(package if path is None else source, f"{name}.py") or b"")
    return digest.hexdigest()


native = Native(Folder())
"""The one of this process."""
