"""Keep Spark's own messages that nobody needs off the console of a local session.

A Python worker greets each query; Java and Spark name at their start a module, a log and a host name. Nothing of Spark's turns all
of that off. So where Java is started its standard output and standard error are a pipe, and a thread writes on what it reads there,
line by line, but those.
"""

from __future__ import annotations

import os
import threading

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
