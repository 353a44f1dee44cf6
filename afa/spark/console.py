"""The console of a local session: the words in which Spark's Python worker greets each query do not reach it.

A worker prints them, Java passes them on to its standard error, and nothing of Spark turns them off. So where Java is started its
standard output and standard error are a pipe, and a thread writes on what it reads there, line by line, but those.
"""

from __future__ import annotations

import os
import threading

GREETINGS = (b"Starting Streaming TransformWithState", b"Streaming TransformWithState")
"""How the lines begin; an empty one follows each."""


def passed_on(to: int) -> int:
    """Where a process may write in place of ``to``: the rest of it appears there."""
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
                if not greeting and not (after and not line):
                    out.append(line + b"\n")
                after = greeting
            if kept and not any(greeting.startswith(kept[:40]) or kept.startswith(greeting) for greeting in GREETINGS):
                out.append(kept)  # such as a progress bar
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
