"""What `afa new PATTERN.py` writes without an input: a pattern and an input of a few rows, of which some are late and one is wrong.

pay.jsonl    payments of three cards, in the order in which they arrived; the row "diff": -1 takes one back
pay.py       two declined payments of one card, one after the other, within ten minutes
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import typer

from afa.cli.fault import CommandError, tell
from afa.cli.new import in_docstring, write_where_nothing_is

PATTERN = '''"""Two declined payments of a card, with no other payment of this card between them, within ten minutes.

    afa run {pattern} {input} --report run.html     writes a page that shows the run: open it in a browser
    afa show {pattern}
"""

from typing import NamedTuple

import afa
from afa.language import one


class Pay(NamedTuple):
    at: afa.Instant
    card: str
    kind: str
    amount: float


def declined(name):
    return one(name, where=lambda e: e.kind == "declined")


pattern = afa.query(
    declined("first").next(declined("second")).by("card").within("10 minutes").returns(
        first=lambda m: m.first.amount, second=lambda m: m.second.amount
    ),
    event=Pay,
    tick="ms",
)
'''

ROWS = (
    ("14:00:10", "anna", "declined", 120.0, 1),
    ("14:00:40", "ben", "approved", 18.5, 1),
    ("14:02:05", "carl", "declined", 60.0, 1),
    ("14:05:00", "anna", "declined", 393.0, 1),  # announced
    ("14:06:30", "ben", "declined", 75.0, 1),
    ("14:03:23", "anna", "approved", 35.0, 1),  # late: withdrawn
    ("14:08:15", "ben", "declined", 80.0, 1),  # announced, stays
    ("14:09:40", "carl", "approved", 9.9, 1),
    ("14:04:50", "carl", "declined", 61.0, 1),  # late: announced
    ("14:04:50", "carl", "declined", 61.0, -1),  # it was a mistake: withdrawn
    ("14:11:00", "anna", "declined", 40.0, 1),  # announced, stays
    ("14:13:20", "ben", "approved", 22.0, 1),
)


def write_example(pattern: Path) -> None:
    """Write a pattern and its input beside it; neither may be there yet."""
    if pattern.suffix != ".py":
        raise typer.BadParameter(f"expected a name that ends in .py but got {pattern.name!r}", param_hint="PATTERN")
    rows = pattern.with_suffix(".jsonl")
    lines = [
        json.dumps({"at": f"2026-01-01T{at}", "card": card, "kind": kind, "amount": amount, "diff": diff})
        for at, card, kind, amount, diff in ROWS
    ]
    for file in (pattern, rows):
        if file.exists():
            raise CommandError(f"{file} is there already: give another name")
    said = {name: shlex.quote(file.as_posix()) for name, file in (("pattern", pattern), ("input", rows))}
    shown = {name: in_docstring(text.replace('"', "'")) for name, text in said.items()}
    texts = {pattern: PATTERN.format(**shown), rows: "\n".join(lines) + "\n"}
    for file, text in texts.items():
        write_where_nothing_is(file, text)
    command = f"afa run {said['pattern']} {said['input']} --report run.html"
    tell(f"wrote {pattern} and {rows}, an example; to see it run: {command}")
