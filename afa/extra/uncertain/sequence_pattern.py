"""What a `Sequence` looks for, frozen: components, constraints, window, strategy, threshold; which component an event fits."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

from afa.conditions.condition import Condition
from afa.errors import AfaError, AutomatonError, ChangeError, did_you_mean
from afa.extra.uncertain.sequence_where import constraints_of
from afa.model.option_values import names_of, yes_or_no
from afa.schema import Schema, any_payload
from punctuation.durations import has_unit, ticks_of_duration
from punctuation.time import FOREVER

ONE, CHAIN, CLOSURE = "one event", "chain", "closure"
"""The kinds of components: one event; a Kleene closure in order; one in which any order counts."""
ANY, NEXT = "skip_till_any", "skip_till_next"
TOLD = ("confidence", "first", "last")
OURS = ("subsets", *TOLD)


class SequenceComponent(NamedTuple):
    """A component: what fits it. ``value``: of the field ``of=``; or a condition."""

    name: str
    kind: str
    value: Any
    condition: Condition | None


class SequencePattern:
    """A sequence of components, frozen; its arguments are those of `afa.uncertain.Sequence`."""

    def __init__(
        self,
        components: Iterable[str] | Mapping[str, Any],
        of: str | None,
        event: Any,
        strategy: str,
        window: Any,
        threshold: float,
        identity: str | Sequence[str] | None,
        key: str | Sequence[str] | None,
        where: str | Sequence[str],
        tick: str | None,
        collapsed: bool = False,
    ) -> None:
        self.schema = Schema.of(event, "event")
        if self.schema.instant is not None:
            raise AutomatonError(
                f"expected an event without a field for its time, which is uncertain, but got {self.schema.instant}: afa.Instant"
            )
        self.window = _window(window, tick)
        self.next = _strategy(strategy) == NEXT
        self.threshold = _threshold(threshold)
        self.identity, self.key = self._fields("identity", identity), self._fields("key", key)
        self._whole = identity is None
        self.single_key, self.single_identity = isinstance(key, str), isinstance(identity, str)
        names, given = _listed(components, of)
        bare = [name.removesuffix("+") for name in names]
        _check_names(bare)
        kleene = [name.endswith("+") for name in names]
        self.constraints = constraints_of(where, bare, kleene, self.schema, tick)
        self.of = of
        if not isinstance(of, (str, type(None))):
            raise AfaError(f"expected the name of a field but got of={of!r}")
        self._fields("of", of)
        self.components = tuple(
            SequenceComponent(name, self._kind(number, plus), value, None)
            if of is not None
            else SequenceComponent(name, self._kind(number, plus), None, Condition(value, self.schema, tick))
            for number, (name, plus, value) in enumerate(zip(bare, kleene, given))
        )
        self._numbers = {each.value: number for number, each in enumerate(self.components)} if of is not None else {}
        alone = [each for each in self.constraints if each.earlier is None]
        self._own = [[each for each in alone if each.later == number] for number in range(len(bare))]
        self._chains = [[each for each in self.constraints if each.chain and each.later == n] for n in range(len(bare))]
        self._pairs = [
            [each for each in self.constraints if not each.chain and each.earlier is not None and each.later == n]
            for n in range(len(bare))
        ]
        yes_or_no(collapsed=collapsed)
        self.collapsed = collapsed
        """Whether the subsets of a closure are told as one match."""
        told = (*bare, "subsets", *TOLD) if collapsed else (*bare, *TOLD)
        self.match: Any = NamedTuple("Match", [(name, Any) for name in told])  # type: ignore[misc]
        self.plain = not self.constraints and not any(kleene)
        """Whether each component is one event, and nothing but times relates them."""

    def _kind(self, number: int, kleene: bool) -> str:
        if not kleene:
            return ONE
        return CHAIN if any(each.chain and each.later == number for each in self.constraints) else CLOSURE

    def _fields(self, what: str, given: Any) -> tuple[str, ...]:
        names = names_of(given, what)
        known = [field.name for field in self.schema.fields]
        for name in names:
            if name not in known:
                raise AutomatonError(
                    f"expected a field of {self.schema.describe()} but got {what}={name!r}{did_you_mean(name, known)}"
                )
        return names

    # -- events --------------------------------------------------------------------------------------------------------------

    def component_of(self, payload: Any) -> int | None:
        """Returns the number of the component that an event fits, or None. ChangeError: it fits two."""
        if self.of is not None:
            found = self._numbers.get(getattr(payload, self.of))
            return found if found is not None and self._own_holds(found, payload) else None
        fitting = [
            number
            for number, each in enumerate(self.components)
            if each.condition is not None and each.condition.holds(payload) and self._own_holds(number, payload)
        ]
        if len(fitting) > 1:
            a, b = (self.components[number].name for number in fitting[:2])
            raise ChangeError(
                f"expected an event that fits one component but got {payload!r}, which fits {a} and {b}; "
                f"write conditions that exclude each other, or use Worlds, which takes such events"
            )
        return fitting[0] if fitting else None

    def _own_holds(self, number: int, payload: Any) -> bool:
        return all(each.holds(payload, payload) for each in self._own[number])

    def identity_of(self, payload: Any) -> Any:
        return payload if self._whole else self._part(payload, self.single_identity, self.identity)

    def key_of(self, payload: Any) -> Any:
        """Returns the key of an event; None for a pattern without a key."""
        return self._part(payload, self.single_key, self.key) if self.key else None

    @staticmethod
    def _part(payload: Any, single: bool, names: tuple[str, ...]) -> Any:
        if single:
            return any_payload(getattr(payload, names[0]))
        return any_payload(tuple(getattr(payload, name) for name in names))

    def goes_with(self, chosen: Sequence[Sequence[Any]], number: int, payload: Any) -> bool:
        """Returns whether an event of a component satisfies all constraints with what is chosen for earlier ones."""
        return all(
            each.holds(payload, other.payload)
            for each in self._pairs[number]
            if each.earlier is not None and each.earlier < len(chosen)
            for other in chosen[each.earlier]
        )

    def follows(self, number: int, before: Any, after: Any) -> bool:
        """Returns whether an event of a chain may stand behind another one."""
        return all(each.holds(after, before) for each in self._chains[number])

    def without(self, place: int) -> SequencePattern:
        """Returns the pattern without a component, and without its constraints."""
        made = copy.copy(self)
        made.components = tuple(each for number, each in enumerate(self.components) if number != place)

        def moved(each: Any) -> Any:
            return each._replace(earlier=None if each.earlier is None else each.earlier - (each.earlier > place))

        for name in ("_own", "_chains", "_pairs"):
            kept = [of for number, of in enumerate(getattr(self, name)) if number != place]
            setattr(made, name, [[moved(each) for each in of if each.earlier != place] for of in kept])
        return made

    @property
    def said(self) -> list[Any]:
        """What a snapshot says of it."""
        return [
            [[name, kind, value, condition and condition.text] for name, kind, value, condition in self.components],
            [each.text for each in self.constraints],
            self.of, self.next, self.window, self.threshold, list(self.identity), list(self.key),
            self.schema.describe(), self.collapsed,
        ]  # fmt: skip


def _listed(components: Any, of: str | None) -> tuple[list[str], list[Any]]:
    if isinstance(components, Mapping):
        if of is not None:
            raise AfaError(f"expected a list of names beside of={of!r} but got a mapping of conditions")
        names, given = list(components), list(components.values())
    elif isinstance(components, str) or not isinstance(components, Iterable):
        raise AfaError(f"expected a list of names, or a mapping of names to conditions, but got components={components!r}")
    else:
        if of is None:
            raise AfaError("expected of=, the field whose value is the name of a component, but got of=None; or give a mapping")
        names = list(components)
        given = [name.removesuffix("+") if isinstance(name, str) else name for name in names]
    if not names or not all(isinstance(name, str) for name in names):
        raise AfaError(f"expected the names of components but got components={components!r}")
    return names, given


def _check_names(names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise AfaError(f"expected a name for the field of a match but got {name!r}; give a mapping of names to conditions")
        if name in OURS:
            raise AfaError(f"expected a name beside {', '.join(OURS)} but got the component {name!r}")
        if name in names[:number]:
            raise AfaError(f"expected each component once but got {name!r} twice; an event fits one, or use Worlds")


def _window(given: Any, tick: str | None) -> int:
    found = ticks_of_duration(given, tick, "window") if has_unit(given) else given
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found <= FOREVER:
        raise AfaError(f"expected a number of ticks above 0 but got window={given!r}")
    return found


def _strategy(given: Any) -> str:
    if given not in (ANY, NEXT):
        hint = did_you_mean(str(given), (ANY, NEXT))
        raise AfaError(f"expected {ANY} or {NEXT} but got strategy={given!r}{hint}")
    return str(given)


def _threshold(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or math.isnan(given) or not 0 <= given < 1:
        raise AfaError(f"expected a number of 0 to below 1 but got threshold={given!r}")
    return float(given)
