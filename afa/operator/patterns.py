"""Whatever a door is given as a pattern, as a `Pattern`: an automaton has its options beside it."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.operator.contract import Pattern
from afa.operator.matching import Matching
from afa.operator.operator import Keyed, Operator


class AutomatonPattern(Pattern):
    """An automaton. All that its operator is to know is said in the call."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    @property
    def automaton(self) -> Automaton:
        return self._automaton

    @property
    def event(self) -> type | None:
        return None if self.automaton.event_schema is None else self.automaton.event_schema.cls

    def operator(self, **options: Any) -> Operator | Keyed:
        made: Operator | Keyed = Operator(self.automaton, **options)
        return made

    def operator_by(self, key: str, **options: Any) -> Keyed:
        return Keyed(self.automaton, key=key, **options)

    def restore(self, blob: bytes, **options: Any) -> Operator | Keyed:
        made: Operator | Keyed = Operator.restore(self.automaton, blob, **options)
        return made


def pattern_of(given: Any, what: str = "an automaton or a query") -> Pattern:
    """Return as a pattern what was given to a door that takes ``what``, else raise `AfaError`."""
    if isinstance(given, Matching):
        given = given.as_pattern() or given
    if isinstance(given, Pattern):
        return given
    if not isinstance(given, Automaton):
        raise AfaError(f"expected {what} but got {given!r}; afa.query reads text, afa.sql SQL")
    return AutomatonPattern(given)
