"""Carry out ``afa new``: write an event class and a first pattern over the columns of an input, a file to begin with.

pay.jsonl    {"at": "2026-01-01T10:00:00", "card": "c1", "amount": 12.5, "note": null}
pay.py       class Pay(NamedTuple): at: afa.Instant; card: str; amount: float; note: str | None
             two events of one card, one after the other, the amount rising: ``afa run pay.py:pattern pay.jsonl`` runs it
"""

from __future__ import annotations

import json
import keyword
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import typer

from afa.cli.fault import CommandError, tell
from afa.errors import AfaError, did_you_mean
from afa.feeds.feed_source import FeedSource, format_of
from afa.io.event_class import BESIDE, is_field, times_among
from afa.io.file_columns import ANY, FileColumn
from afa.io.file_writing import writable
from afa.io.files import SUFFIXES, comes_once, open_source
from afa.io.formats import FEEDS
from afa.io.text_files import FileSource, JsonLines
from punctuation.door import scalar_of
from punctuation.timestamps import is_time_type

ROWS = 10_000
"""How many values of a column are looked at to find the key and what to compare."""
TIMES = ("at", "ts", "time", "timestamp", "when", "date", "datetime", "le")
"""Names of a column of times; also those that end so, behind an underscore."""
KEYS = ("id", "key", "symbol", "card", "user", "account", "customer", "device", "sensor", "order", "session", "host")
WINDOWS = {"1 second": 1, "10 seconds": 10, "1 minute": 60, "10 minutes": 600, "1 hour": 3600, "1 day": 86400, "1 week": 604800}
NAME = "pattern"
LINES = [suffix for suffix, form in SUFFIXES.items() if form == "jsonl"]
"""How files of JSON lines end, whose messages are recognised."""

TEMPLATE = '''"""A first pattern over the columns of {file}: {words}.

    afa run {pattern}:{name} {file}{options}
    afa show {pattern}:{name}
"""

from typing import NamedTuple

import afa
from afa.language import one


class {event}(NamedTuple):
{fields}


{name} = afa.query(
    {query},
    event={event},{tick}
)
'''


class ColumnField(NamedTuple):
    """A column that becomes a field: its type, whether it is empty in some row, and some of its values."""

    name: str
    type: type
    optional: bool
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        return f"    {self.name}: {self.type.__name__}{' | None' if self.optional else ''}"


def write_new(pattern: Path, file: str, form: str | None, le: str | None, key: Sequence[str], ids: Sequence[str] = ()) -> None:
    """Write ``pattern``, a file of Python that is not there yet, for the columns of ``file``; ``ids``: those of messages' keys."""
    if pattern.suffix != ".py":
        raise typer.BadParameter(f"expected a name that ends in .py but got {pattern.name!r}", param_hint="PATTERN")
    known = None if form not in (None, *FEEDS) or comes_once(file) or Path(file).suffix.lower() not in LINES else format_of(file)
    if known is not None or form in FEEDS:
        form = form or known.name  # type: ignore[union-attr]
        if not ids and known is not None and known.key:
            ids = known.key.split(",")
        source: FileSource = FeedSource(file, form, {"key": list(ids) or None, "time": le}, "drop")
        options = [("format", form), *(("id", name) for name in ids), ("time", le)]
        said = "".join(f" --{name} {in_docstring(shlex.quote(text))}" for name, text in options if text is not None)
    elif ids:
        raise CommandError("expected messages of a database beside --id; of other rows it is said when the pattern is run")
    else:
        source, said = open_source(file, form), "" if form is None else f" --format {form}"
    text = new_pattern(str(pattern), file, source, le, key, said)
    write_where_nothing_is(pattern, text)
    tell(f"wrote {pattern}; how it is run stands at its top")


def write_where_nothing_is(file: Path, text: str) -> None:
    try:
        with writable(str(file)), open(file, "x", encoding="utf-8") as stream:
            stream.write(text)
    except AfaError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise CommandError(f"{file} is there already: give another name") from None
        raise


def new_pattern(pattern: str, file: str, source: FileSource, le: str | None, key: Sequence[str], form: str) -> str:
    """Return the text of the file; ``form``: the option that says how the input is written."""
    names = source.names or []
    for name in [*key, *([] if le is None else [le])]:
        if name not in names:
            raise CommandError(f"{file}: no column {name!r} among {', '.join(names)}{did_you_mean(name, names)}")
    fields, left = _fields(file, source)
    time = le or _time(source.kinds(), fields)
    if time is None:
        raise CommandError(f"{file}: expected a column of times but got {', '.join(names)}; say which it is with --time")
    timed = next((field for field in fields if field.name == time), None)
    whole = timed is not None and timed.type is int
    rest = [field for field in fields if field.name not in (time, "le")]
    keys = list(key) or _key(rest)
    for name in keys:
        found = next((field for field in rest if field.name == name), None)
        if found is None or found.optional:
            why = left.get(name, "it holds the times") if found is None else "it has no value in some row"
            raise CommandError(f"{file}: column {name!r} can't be a key: {why}")
    where, words = _condition(rest, keys)
    free = (name for name in chain(("at", "time", "instant"), (f"at_{n}" for n in count(2))) if name not in names)
    instant = time if is_field(time) and time not in BESIDE else next(free)
    lines = [f"    {instant}: afa.Instant", *(field.text for field in rest)]
    lines += [f"    # column {name!r} is left out: {why}" for name, why in left.items() if name != time]
    by = f".by({', '.join(map(json.dumps, keys))})" if keys else ""
    gap = _window(() if timed is None else timed.values, [field.values for field in rest if field.name in keys], whole)
    query = f'one("first").next(one("second", where={where})){by}.within({gap})'
    shown = {"file": file, "pattern": pattern}
    return TEMPLATE.format(
        **{name: in_docstring(text.replace("\\", "/").replace('"', "'")) for name, text in shown.items()},
        name=NAME,
        words=f"two events{f' of one {keys[0]}' if keys else ''}, one after the other, {words}",
        options=form + ("" if time in (instant, "le") else f" --time {in_docstring(shlex.quote(time))}"),
        event=_event_name(pattern),
        fields="\n".join(lines),
        query=query,
        tick="" if whole else '\n    tick="ms",',
    )


def in_docstring(text: str) -> str:
    """Return text as a docstring says it: a name out of the input can't end it, and no more of the file is its own."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in plain)


def _event_name(pattern: str) -> str:
    """Return the name of the event class: of the file's, ``pay_events.py`` gives ``PayEvents``."""
    words = re.findall(r"[A-Za-z0-9]+", Path(pattern).stem)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name.isidentifier() and not keyword.iskeyword(name) and name != "NamedTuple" else "Event"


def _fields(file: str, source: FileSource) -> tuple[list[ColumnField], dict[str, str]]:
    """Return the columns that can be fields, in order, and why the others can't be."""
    seen, left = {name: Seen() for name in source.names or []}, {}
    if isinstance(source, JsonLines):
        for number, row in enumerate(source.objects()):
            for name in dict.fromkeys([*seen, *row]):
                seen.setdefault(name, Seen(number)).take(row.get(name))
    else:
        kinds = source.kinds()
        columns = [FileColumn(name, name, ANY, True, "afa new") for name in seen]
        for name, each in seen.items():
            each.kind = scalar_of(kinds[name]) or (str if is_time_type(kinds[name]) else None)
        for table in source.tables(columns, ROWS):
            for name, each in seen.items():
                if table is not None:
                    each.look(table[name])
    fields = []
    for name, each in seen.items():
        if name in ("re", "diff"):
            continue
        if not is_field(name) and name != "le":
            left[name] = "it is no name of a field"
        elif each.kind is None:
            left[name] = each.why
        else:
            fields.append(ColumnField(name, each.kind, each.optional, tuple(each.values)))
    if not fields:
        raise CommandError(f"{file}: expected columns of scalars but got {', '.join(seen) or 'no column'}")
    return fields, left


class Seen:
    """What was seen of a column so far."""

    def __init__(self, missing: int = 0) -> None:
        self.kind: type | None = None
        self.mixed, self.optional, self.empty = False, missing > 0, True
        self.values: list[Any] = [None] * min(missing, ROWS)

    def take(self, value: Any) -> None:
        if len(self.values) < ROWS:
            self.values.append(value)
        if value is None:
            self.optional = True
            return
        kind = type(value) if type(value) in (int, float, bool, str) else None
        if {kind, self.kind} == {int, float}:
            kind = self.kind = float
        if self.empty:
            self.kind, self.empty = kind, False
        elif kind is not self.kind:
            self.kind, self.mixed = None, True

    @property
    def why(self) -> str:
        """Why no field can hold it, if its type is not known."""
        if self.mixed:
            return "its values are of several types"
        return "it has no values" if self.empty else "they are no scalars"

    def look(self, column: pa.ChunkedArray) -> None:
        self.optional = self.optional or column.null_count > 0
        self.empty = self.empty and column.null_count == len(column)
        if len(self.values) < ROWS:
            self.values += column.slice(0, ROWS - len(self.values)).to_pylist()


def _time(kinds: dict[str, Any], fields: Sequence[ColumnField]) -> str | None:
    """Return the column of times: the only one of timestamps, else one that is called so and holds ints or text."""
    times = times_among(kinds)
    if len(times) == 1:
        return times[0]
    named = [field.name for field in fields if field.type in (int, str) and field.name.lower() in TIMES]
    named += [field.name for field in fields if field.type in (int, str) and field.name.lower().rpartition("_")[2] in TIMES]
    return next(iter(named + times), None)


def _key(fields: Sequence[ColumnField]) -> list[str]:
    """Return the column that tells streams apart: one that is called so, else the text whose values come back, the most of them."""
    several = {field.name: len(set(field.values)) for field in fields if field.type in (int, str) and not field.optional}
    back = {name: n for name, n in several.items() if 1 < n <= len(fields[0].values) / 2}
    named = [name for name in back if set(re.split(r"[_\W]", name.lower())) & set(KEYS)]
    texts = [field.name for field in fields if field.name in back and field.type is str]
    return sorted(named or texts, key=lambda name: -back[name])[:1]


def _condition(fields: Sequence[ColumnField], keys: Sequence[str]) -> tuple[str, str]:
    """Return the condition on the second event as Python, and in words."""
    numbers = [f for f in fields if f.type in (int, float) and f.name not in keys]
    numbers.sort(key=lambda field: (field.optional, field.type is int, field.name.lower().endswith("id")))
    if numbers:
        name = numbers[0].name
        guard = f"e.{name} is not None and m.first.{name} is not None and " if numbers[0].optional else ""
        return f"lambda e, m: {guard}e.{name} > m.first.{name}", f"the {name} rising"
    texts = [f for f in fields if f.type is str and f.name not in keys and f.values and len(set(f.values)) < len(f.values)]
    if texts:
        common = Counter(value for value in texts[0].values if value is not None).most_common(1)[0][0]
        return f"lambda e: e.{texts[0].name} == {json.dumps(common)}", f"the second with {texts[0].name} {json.dumps(common)}"
    return "lambda e: True", "any two"


def _window(times: Sequence[Any], keys: Sequence[Sequence[Any]], whole: bool) -> str:
    """Return a window as Python, in ticks or as text: about ten times as long as two events of a key are apart, in the median."""
    last: dict[Any, Any] = {}
    gaps = []
    for le, *of in zip(times if whole else map(_instant, times), *keys):
        if le is not None:
            before = last.setdefault(tuple(of), le)
            gaps += [le - before] if le > before else []
            last[tuple(of)] = le
    gap = sorted(gaps)[len(gaps) // 2] if gaps else None
    if whole:
        return "1000" if gap is None else str(10 ** (len(str(gap)) + 1))
    fits = [text for text, seconds in WINDOWS.items() if gap is not None and 10 * gap.total_seconds() <= seconds]
    return json.dumps(fits[0] if fits else "1 hour" if gap is None else list(WINDOWS)[-1])


def _instant(value: Any) -> datetime | None:
    """Return a value of a column of times as an instant, if it is one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return None
