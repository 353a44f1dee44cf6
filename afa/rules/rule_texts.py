"""Read the rules of a set: patterns by name over one class of events, out of a dict or of the files of a folder."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from afa.errors import AfaError
from afa.language.pattern_file import imported, patterns_in, the_only
from afa.language.query import query
from afa.language.sql_query import sql
from afa.model.automaton import Automaton
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of
from afa.rules.shape import NoShape, RuleParts, parts_of
from afa.schema import Schema

SUFFIXES = (".sase", ".sql", ".py")
"""The files that are rules."""
SET = "a set of rules"
KEPT = 4096
"""How many rules are kept that were saved."""


class Rule:
    """A pattern with its name; ``text``: as it was given, where it was text."""

    __slots__ = ("_parts", "_pattern", "_read", "name", "text")

    def __init__(self, name: str, pattern: Pattern | None, text: str | None, read: Callable[[str, str], Pattern]) -> None:
        self.name, self.text = name, text
        self._pattern, self._read = pattern, read
        self._parts: dict[Any, RuleParts | str] = {}

    @property
    def pattern(self) -> Pattern:
        """The pattern; of a `bare` rule it is read at each time."""
        if self._pattern is None:
            assert self.text is not None
            return self._read(self.name, self.text)
        return self._pattern

    def parts(self, key: Any, window: Any, tick: str | None) -> RuleParts:
        """As `afa.rules.shape.parts_of`; once, as on Spark each batch restores an operator."""
        asked = str(key), str(window), tick
        if asked not in self._parts:
            try:
                self._parts[asked] = parts_of(self.pattern, key, window, tick)
            except NoShape as reason:
                self._parts[asked] = str(reason)
        found = self._parts[asked]
        if isinstance(found, str):
            raise NoShape(found)
        return found

    def of(self, rules: RuleTexts) -> bool:
        """Return whether a set has read the rule."""
        return self._read == rules._reader._pattern_of

    @property
    def bare(self) -> Rule:
        """The rule without its pattern, which takes twenty times its text; one that is no text: itself."""
        return self if self.text is None else Rule(self.name, None, self.text, self._read)


class RuleTexts(Pattern):
    """The patterns of a set, read by name; `afa.Rules` makes operators of them."""

    def __init__(
        self, patterns: Mapping[str, Any], *, event: Any, key: Any = None, tick: str | None = None, type: str | None = None
    ) -> None:
        if not isinstance(patterns, Mapping):
            raise AfaError(f"expected a dict of patterns by name but got {patterns!r}")
        self._tick, self.type = tick, type
        self._event = event if inspect.isclass(event) else _event_of(event)
        self.schema = Schema.of(self._event, "event")._replace(tick=tick)
        self._key = None if key is None else self.checked_key(key)
        self._saved: dict[tuple[str, str], Rule] = {}
        self.rules: dict[str, Rule] = {}
        self._reader = copy.copy(self)  # which holds no rules
        self._reader._reader = self._reader
        self.rules = {name: self.rule(name, given) for name, given in patterns.items()}

    @classmethod
    def of_folder(cls, folder: Any, *, event: Any, key: Any = None, tick: str | None = None, type: str | None = None) -> Any:
        """Read the rules of a folder: each file ``NAME.sase``, ``NAME.sql`` or ``NAME.py`` is the rule NAME.

        A file of Python is run, and has one pattern. Files whose names begin with a dot are left out; all others are refused, and
        two of one name.
        """
        return cls(files_of(folder), event=event, key=key, tick=tick, type=type)

    def rule(self, name: Any, given: Any) -> Rule:
        """Read one more rule of these events. The set stays as it is."""
        if isinstance(given, Rule):
            if given.name == name and given.of(self):
                return given
            given = given.pattern if given.text is None else given.text
        if not isinstance(name, str) or not name:
            raise AfaError(f"expected the name of a rule, a text, but got {name!r}")
        try:
            return self._read(name, given)
        except AfaError as error:
            raise type(error)(f"rule {name!r}: {error}") from error
        except RecursionError as error:
            raise AfaError(f"rule {name!r}: expected a query of fewer levels; the text nests too deeply") from error

    def saved(self, name: str, text: str) -> Rule:
        """Return a rule that was saved as text: read once, as on Spark each batch restores an operator."""
        if (name, text) not in self._saved:
            if len(self._saved) >= KEPT:
                self._saved.clear()
            self._saved[name, text] = self.rule(name, text)
        return self._saved[name, text]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_saved": {}}

    def bare(self) -> Any:
        """Return the set without the patterns of rules that are texts."""
        found = copy.copy(self)
        found.rules = {name: rule.bare for name, rule in self.rules.items()}
        return found

    def _pattern_of(self, name: str, text: str) -> Pattern:
        return self.rule(name, text).pattern

    def _read(self, name: str, given: Any) -> Rule:
        text = given if isinstance(given, str) else None
        if text is not None and "match_recognize" in text.lower():
            pattern: Pattern = sql(text, event=self._event, tick=self._tick)
        elif text is not None:
            pattern = query(given, event=self._event, tick=self._tick, type=self.type)
        else:
            known = pattern_of(given, "the text of a query, a query or an automaton")
            pattern = known.over(lambda: self._event, tick=self._tick, type=self.type, order_by=None)
        if (
            isinstance(pattern, RuleTexts)
            or getattr(pattern, "links", None) is not None
            or getattr(pattern, "ranked", None) is not None
        ):
            raise AfaError(f"expected a pattern with one operator for a stream but got {pattern!r}")
        self._check_event(pattern)
        if pattern.key is not None:
            self.checked_key(pattern.key)
        return Rule(name, pattern, text, self._reader._pattern_of)

    def _check_event(self, pattern: Pattern) -> None:
        own = pattern.events
        if own is None:
            raise AfaError(f"expected a pattern of events {self.schema.describe()} but got one of any events")
        if own.cls is self._event:
            return
        known = {field.name: field for field in self.schema.fields}
        for field in own.fields:
            if field.name not in known:
                raise AfaError(f"expected fields of {self.schema.describe()} but got {field.name!r}")
        alike = ", another class of this name: let all import one" if own.describe() == self.schema.describe() else ""
        raise AfaError(f"expected a pattern of the class of the events, {self.schema.describe()}, but got {own.describe()}{alike}")

    def checked_key(self, key: Any) -> Any:
        """Return a key; refuse one that is not made of fields of the events."""
        if callable(key):
            raise AfaError(f"expected fields of the events as the key of {SET} but got a function, {key!r}")
        for field in names_of(key, "key"):
            if field not in {field.name for field in self.schema.fields}:
                raise AfaError(f"expected fields of {self.schema.describe()} as key but got {field!r}")
        return key

    # -- as a pattern ----------------------------------------------------------------------------------------------------------

    @property
    def automaton(self) -> Automaton:
        self._refuse()

    def _refuse(self) -> NoReturn:
        doors = "Operator, afa.find and afa.backtest take it"
        raise AfaError(f"expected one pattern here but got {SET}: {doors}, or give each rule by itself")

    @property
    def event(self) -> type:
        return self._event

    @property
    def key(self) -> Any:
        return self._key

    @property
    def tick(self) -> str | None:
        return self._tick

    @property
    def shown(self) -> Schema:
        self._refuse()

    def operator_by(self, key: str, /, *args: Any, **options: Any) -> Any:
        self._refuse()

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        return f"Rules({', '.join(map(repr, self.rules))})"


def _event_of(given: Any) -> type:
    """Return the class of events that a table or an Arrow schema says."""
    found = query("PATTERN SEQ(_ a) WITHIN 1 RETURN 1 AS one", event=given)
    return found.event


def files_of(folder: Any, empty: bool = False) -> dict[str, Any]:
    """Return by name what the files of a folder say: text, or the pattern of a file of Python. ``empty``: there may be none."""
    path = Path(folder)
    if not path.is_dir():
        raise AfaError(f"expected a folder of rules but got {str(folder)!r}")
    found: dict[str, Any] = {}
    for file in sorted(path.iterdir()):
        if file.name.startswith(".") or file.name == "__pycache__":
            continue
        if file.suffix not in SUFFIXES or not file.is_file():
            raise AfaError(f"expected files {', '.join(SUFFIXES)} in a folder of rules but got {file.name!r}")
        if file.stem in found:
            raise AfaError(f"expected one file of each name but got two rules {file.stem!r} in {path.name}")
        found[file.stem] = given_in(file)
    if not (found or empty):
        raise AfaError(f"expected rules in {str(folder)!r} but got an empty folder")
    return found


def given_in(file: Path) -> Any:
    """Return what a file says: its text, or the one pattern of a file of Python, which is run."""
    if file.suffix == ".py":
        try:
            there = patterns_in(imported(file, file.name))
        except AfaError as error:
            raise AfaError(f"rule {file.stem!r}: {error}") from error
        if the_only(there) is None:
            raise AfaError(f"rule {file.stem!r}: expected one pattern in {file.name} but got {', '.join(there) or 'none'}")
        return the_only(there)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AfaError(f"rule {file.stem!r}: expected text in {file.name} but got {error}") from error
