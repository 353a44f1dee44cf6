"""Rows that come steadily: each is handed on when it is so old; and what needs no row is there before the first."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from afa.io import file_bytes as stream
from afa.io.file_bytes import Stdin
from afa.io.file_columns import FileColumn
from afa.io.files import FORMS, batches
from afa.io.placed_file import PlacedFile
from tests.cli import call, fails
from tests.cli import there as there  # the fixture of all tests here
from tests.test_cli_arcs import PAY

AGE = 0.05
LATE = 1.0
"""So much later than `AGE` a row may come on a machine with other work."""
LONGEST = 5.0
"""A writer gives up after so many seconds."""


@pytest.fixture(autouse=True)
def age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "AGE", AGE)


def line_of(form: str, n: int) -> bytes:
    """A row that says when it was written."""
    return (f"{time.monotonic()}\n" if form == "csv" else json.dumps({"le": time.monotonic()}) + "\n").encode()


class Steady:
    """A writer that never pauses, until it is told to stop."""

    def __init__(self, write: Callable[[bytes], Any], form: str, every: float) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(write, form, every), daemon=True)
        self.gave_up = False
        self._thread.start()

    def _run(self, write: Callable[[bytes], Any], form: str, every: float) -> None:
        until = time.monotonic() + LONGEST
        write(b"le\n" if form == "csv" else b"")
        for n in itertools.count():
            if self._stop.wait(every):
                return
            if time.monotonic() > until:
                self.gave_up = True
                return
            write(line_of(form, n))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture(params=["pipe", "file"])
def there_and_back(request: pytest.FixtureRequest, there: Path) -> Iterator[tuple[Callable[[], Stdin], Callable[[bytes], Any]]]:
    """What is read, and what writes it."""
    if request.param == "pipe":
        reader, writer = os.pipe()
        with open(reader, "rb") as raw, open(writer, "wb", buffering=0) as out:
            yield lambda: Stdin(raw), out.write
    else:
        with open("grows", "wb", buffering=0) as out:
            yield lambda: PlacedFile(Path("grows"), ended=lambda: False), out.write


@pytest.mark.parametrize(("form", "every", "size"), [("csv", 0.01, 100_000), ("jsonl", 0.0005, 100_000), ("jsonl", 0.02, 2)])
def test_what_has_come_is_handed_on_when_it_is_old(form: str, every: float, size: int, there_and_back: Any) -> None:
    opened, write = there_and_back
    writer = Steady(write, form, every)
    try:
        source = FORMS[form](opened())
        found, seen = batches(source, "-", [FileColumn("le", "le", "float", False, "le")], 100_000, itertools.repeat(size)), []
        while len(seen) < 4:
            table = next(found).table
            now = time.monotonic()
            assert len(table) <= size
            assert not writer.gave_up, "nothing came before the writer had ended"
            seen += [now - said for said in table["le"].to_pylist()][:1]
        assert max(seen[1:]) < AGE + LATE
    finally:
        writer.stop()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_look_waits_for_a_row_and_no_longer(form: str) -> None:
    reader, writer = os.pipe()
    parts = [b"le,", b"n\n1", b",2\n"] if form == "csv" else [b'{"le": ', b'1, "n"', b": 2}\n"]

    def write() -> None:
        for part in parts:
            time.sleep(2 * AGE)
            os.write(writer, part)

    with open(reader, "rb") as raw:
        thread = threading.Thread(target=write)
        thread.start()
        source = FORMS[form](Stdin(raw))  # though nothing ends the stream
        assert source.names == ["le", "n"]
        thread.join()
        os.close(writer)
        (table,) = [table for table in source.tables([FileColumn("n", "n", "int", False, "n")], 10) if table is not None]
        assert table.to_pylist() == [{"n": 2}]


def test_the_folder_of_arcs_is_there_before_the_first_row(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there / "pay.py").write_text(PAY)
    parts = [b'{"who": "x", "amount": 400, "le": 1}\n']

    def first(self: Stdin, most: int, wait: float) -> bytes:
        if parts:  # nothing has come yet
            assert "above 500" in call("arcs", "rules", "list").stdout
            call("arcs", "rules", "swap", "above 500", "--fence", "amount > 300")  # known by what the job has said
        self._ended = not parts
        return parts.pop() if parts else b""

    monkeypatch.setattr(Stdin, "_more", first)
    found = call("run", "pay.py:large", "-", "--format", "jsonl", "--window", "10", "--arcs", "rules", "-q")
    assert (found.stdout, parts) == ("+ [1, 11) total=400\n", [])
    assert fails("run", "pay.py:large", "none.jsonl", "--arcs", "other").startswith("none.jsonl: ")
    assert not Path("other").exists(), "an input that is not there makes no log"
