"""What a pattern is, and what is used like an operator: the questions of every door that takes one.

Automaton                         key and window are said beside it
Query, the words that build one   they say key, window, order of ties
TemporalPattern                   says key and window

Operator, Keyed, either with stages, a Chain, Worlds, a Sequence  ->  `OperatorLike`
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.model.option_values import names_of
from afa.schema import Schema


class Pattern(ABC):
    """What makes operators, as often as one likes, and says what it knows of them. An `Automaton` is one, too, by `pattern_of`."""

    __slots__ = ()

    @property
    @abstractmethod
    def automaton(self) -> Automaton:
        """The automaton that it stands for."""

    @property
    def traits(self) -> Sequence[str]:
        """Its words in `afa.model.conflicts`: what contradicts options."""
        return ()

    @property
    def event(self) -> type | None:
        """The class of the events; None: any."""
        return None

    @property
    def events(self) -> Schema | None:
        """The fields of the events; None: any."""
        return None if self.event is None else Schema.of(self.event, "event")

    @property
    def shown(self) -> Schema:
        """What a match shows."""
        return self.automaton.match_schema

    @property
    def key(self) -> Any:
        """The fields of its key; None: it has none of its own, and a call may say one."""
        return None

    @property
    def tick(self) -> str | None:
        """What one int of LE counts; None: it does not say that."""
        return None

    @property
    def window(self) -> Any:
        """How long events live; None: it does not say that, or for ever."""
        return None

    @property
    def ordered_by(self) -> str | None:
        """The field that orders events of one time; None: it does not say that."""
        return None

    @abstractmethod
    def operator(self, *args: Any, **options: Any) -> Any:
        """Make an operator that has taken nothing, with options of `Keyed`. What the pattern says itself is refused."""

    @abstractmethod
    def operator_by(self, key: str, /, *args: Any, **options: Any) -> Any:
        """Make one that matches within the values of another column than the key, which events need not have."""

    @abstractmethod
    def restore(self, *args: Any, **options: Any) -> Any:
        """Make the operator that ``snapshot`` saved, of its bytes: ``restore(blob, arcs=(), **options)``, as `Operator.restore`."""

    def in_parts(self, said: Mapping[str, Any]) -> Any:
        """Return what makes operators of it for parts of its keys, on workers of Spark, to which it travels.

        ``said``: what is said beside it. None: an operator of its automaton does it, with stages around it.
        """
        return None

    def view(self) -> Any:
        """Make the stage `RowView` in front of all others; None: all events come, as they are."""
        return None

    @property
    def filled(self) -> Pattern:
        """The pattern over events that have these fields."""
        return self

    def with_tick(self, tick: str | None) -> Pattern:
        """Return the pattern where one int of LE counts ``tick``, if it does not say that itself and reads otherwise for it."""
        return self

    def over(self, event: Callable[[], type], *, tick: str | None, type: str | None, order_by: str | None) -> Pattern:
        """Return the pattern over the events of a class, if it does not know its own, with what is said of them beside it."""
        return self

    def explain(self) -> Any:
        """Explain what became of it; None: it is as it was written."""
        return None


class OperatorLike(Protocol):
    """What all that is used like an operator has: whatever else one has, another has not."""

    def push(self, change: Any, /) -> Any:
        """Take one change of an event, or a watermark; return the changes of matches."""

    def push_many(self, batch: Any, /) -> Any:
        """Take a table, or a list of tables, changes and watermarks, as one call; return changes in the same shape."""

    def snapshot(self) -> bytes:
        """Save its state."""

    @property
    def statistics(self) -> Any:
        """The numbers of what it holds and has done; of a `Chain` those of each operator."""


class PatternInParts(NamedTuple):
    """What a pattern makes in the place of an operator with stages around it. It travels to the workers, where it makes them."""

    made: Callable[..., Any]  # makes an operator of an automaton and options
    options: Mapping[str, Any]
    recipe: Mapping[str, Any]  # what a state depends on, as plain data
    key: Any  # the columns of the key; it may have none
    order_by: str | None
    shown: Any  # the class of matches as they leave
    lives: int | None  # for how many ticks an event says something; None: for ever
    times: Mapping[str, str] = MappingProxyType({})
    """The columns of times that rows have beside ``le``, and the user's; none lies before ``le``."""
    before: int = 0  # how many ticks before its ``le`` an event may have happened
    behind: int = 0  # how many ticks behind its last time
    at_once: int = 65_536  # how many rows of history an operator takes in one call
    name: str = "worlds"  # of its state in the state store; "": as an operator's, so that its keys can move
    clocked: bool = False  # whether a watermark alone may bring matches
    rules: Any = None  # the set of rules that is run in the place of an automaton
    ahead: bool = False  # whether matches may change behind the watermark
    null_keys: bool = False  # whether rows without a value of the key are matched among themselves, as in SQL
    event: Any = None  # the class of the rows, if not the automaton's
    automaton: Any = None  # what takes the rows, if not the pattern's automaton
    restored: Callable[[bytes], Any] | None = None  # makes the operator that was saved; None: another one's ``restore`` does

    def operator(self, automaton: Automaton) -> Any:
        """Make an operator that has taken nothing."""
        return self.made(automaton, **self.options)


class Spanned(NamedTuple):
    """How long matches last at most, in ticks, and the fields of which the least is where one begins."""

    within: int
    starts: Sequence[str]


class OperatorMeta(type):
    """Of a class that any pattern may be given to: ``_of_pattern`` makes another operator, or returns options."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if not args and "automaton" in options:
            args = (options.pop("automaton"),)
        of_pattern = vars(cls).get("_of_pattern")
        if of_pattern is not None and len(args) == 2 and "key" not in options:  # Operator(pattern, "symbol")
            options["key"], args = args[1], args[:1]
        made = options if of_pattern is None or len(args) != 1 else of_pattern.__func__(args[0], options)
        return super().__call__(*args, **made) if isinstance(made, dict) else made

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of ``__init__``, which help and documentation show."""
        _, *parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(parameters)


def own_key(pattern: Any, options: dict[str, Any]) -> Any:
    """Return the key of an operator of a pattern: its own, or the one of a call, which is taken out of the options.

    Raises `AfaError` where both say one, and they differ.
    """
    said = options.pop("key", None)
    if said is not None and pattern.key is not None and (callable(said) or names_of(said, "key") != names_of(pattern.key, "key")):
        raise AfaError(f"expected the pattern's own key={pattern.key!r} but got key={said!r}")
    return said if pattern.key is None else pattern.key
