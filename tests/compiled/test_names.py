"""The kernels' names of places: no two of one record stand for the same word, and each is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import afa.compiled
from afa.compiled.kernel import names
from afa.compiled.kernel.record import Record

RECORDS = {name: value for name, value in vars(names).items() if isinstance(value, Record)}
OTHERS = {"COLUMN": {"ORDER", "LE", "SEQ", "EV", "ND", "MT", "REACH"}}
BY_SHORT_NAME = "X_"
"""The loops' words: `afa.compiled.code.in_order` adds this to the name that a word has in the IR."""


def fields(record: str) -> dict[str, int]:
    """The names of a record, and their offsets."""
    wanted = OTHERS.get(record) or {
        name for name in vars(names) if re.match(rf"{record.rstrip('_')}_[A-Z]", name) and not name.endswith("_SIZE")
    }
    wanted = wanted - {"G_BEGINS", "G_IDLE", "G_USE", "G_TEST", "G_CONSTANTS"}  # rows of the array, not words of one
    return {name: getattr(names, name) for name in wanted}


@pytest.mark.parametrize("record", RECORDS)
def test_no_two_names_stand_for_one_word(record: str) -> None:
    found, taken = fields(record), RECORDS[record].fields
    assert sorted(found.values()) == [offset for offset, *_ in taken]
    words = [word for offset, width, _ in taken for word in range(offset, offset + width)]
    assert words == list(range(RECORDS[record].size))
    assert all(width for _, width, _ in taken[:-1]), "only the last words may be of any number"


def test_each_number_of_a_kind_is_told_apart() -> None:
    statuses = [value for name, value in vars(names).items() if name.startswith("NEED_")]
    statuses += [names.DONE, names.FAULT, names.ENDLESS, names.CROWDED, names.LATE]
    assert len(set(statuses)) == len(statuses)
    rows = [value for name, value in vars(names).items() if name.startswith("G_") and name not in fields("G")]
    assert sorted(rows) == list(range(len(rows)))


def test_each_name_is_used() -> None:
    package = Path(afa.compiled.__file__).parent
    sources = [path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.name != "names.py"]
    used = set(re.findall(r"\w+", "\n".join(sources)))
    own = (package / "kernel" / "names.py").read_text(encoding="utf-8")
    for name in vars(names):
        if not re.fullmatch(r"[A-Z]+(_[A-Z]+)*", name) or name in used or name in RECORDS:
            continue
        short = name.startswith(BY_SHORT_NAME) and f"%{name.removeprefix(BY_SHORT_NAME).lower()}" in "\n".join(sources)
        assert short or len(re.findall(rf"\b{name}\b", own)) > 1, name
