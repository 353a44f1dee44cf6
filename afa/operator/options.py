"""All that can be said of an operator beside its pattern: one set of options, accepted by everything that makes operators."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast, get_args

from afa.engine.budget import PARTIAL_MATCHES, SAVED, Budget
from afa.errors import AfaError
from afa.model.automaton import Automaton
from afa.model.conflicts import ALL_ROWS, HAVING, SKIP, TIES, check
from afa.model.option_values import names_of, threads_of, tick_of, yes_or_no
from afa.model.renamed import RENAMED, under_new_names, warn_renamed
from afa.operator.gapless import Gapless
from punctuation.durations import Duration
from punctuation.late import Late, Policy

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack  # of Python 3.11
else:
    Unpack = None  # which stands in annotations alone

EngineName = Literal["auto", "compiled", "interpreted"]
ENGINES = get_args(EngineName)
KeyOf = str | Sequence[str] | Callable[[Any], Hashable]

F = TypeVar("F", bound=Callable[..., Any])
OF_IDS = ("id", "on_repeat", "version", "remember")
"""The options of a `speculation.Ids`."""
IN_FRONT = (*OF_IDS, "speculation")
"""Options that put a stage in front of the operator."""
BOUNDS = ("partial_matches", "max_bytes")
OF_OPTIONS = {old: new for old, new in RENAMED.items() if new not in ("time", "until")}
OF_NUMBERS = ("gaps", "repeated", "on_gap")
"""What was said of numbers without gaps beside ``gapless=``, and is said in `Gapless` now."""


class AsOne(TypedDict, total=False):
    """Options as one object, beside which others may be said."""

    options: Options | None


class FrameOptions(AsOne, total=False):
    """Those of `Options` that say something of an operator which takes all rows by time, as keyword arguments."""

    key: KeyOf | None
    window: Duration | None
    engine: EngineName
    order_by: str | None
    tick: str | None
    longest: bool
    members: str | bool | None
    collapse: str | bool | None
    having: str | tuple[str, int] | None
    partial_matches: int | None
    max_bytes: int | None


class FindOptions(FrameOptions, total=False):
    """Those of `Options` that `find` takes."""

    id: str | Sequence[str] | None
    on_repeat: Literal["update"] | None
    version: str | None


class StatementOptions(TypedDict, total=False):
    """Those of `find` that say something of a MATCH_RECOGNIZE in a whole statement, which says the rest itself."""

    engine: EngineName
    partial_matches: int | None
    max_bytes: int | None
    threads: int | None


class SparkOptions(AsOne, total=False):
    """Those of `Options` that Spark's `match` takes."""

    key: str | Sequence[str] | None
    window: str | timedelta | None
    order_by: str | None
    speculation: str | timedelta | None
    longest: bool
    members: str | None
    partial_matches: int | None
    id: str | Sequence[str] | None
    on_repeat: Literal["update"] | None
    version: str | None
    remember: str | timedelta | None


class OperatorOptions(FindOptions, total=False):
    """The fields of `Options` as keyword arguments."""

    late: Policy
    arc_punctuation: bool
    retractions: bool
    keep_payloads: bool
    gapless: str | Gapless | None
    remember: Duration | None
    tell: str | None
    lineage: bool
    threads: int
    speculation: Duration | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of an operator, checked: what each means stands in `Operator`.

    ``Operator(pattern, options=Options(window="1 h", tick="s"))`` is ``Operator(pattern, window="1 h", tick="s")``; what is said
    beside ``options=`` counts in place of what it says.

    Raises
    ------
    AfaError
        A value is none that the option can have; or two options contradict each other (`afa.model.conflicts`).

    Examples
    --------
    >>> Options(longest=True, window=10).said
    {'window': 10, 'longest': True}
    >>> Options(retractions=False, id="order")
    Traceback (most recent call last):
    ...
    punctuation.base_errors.AfaError: retractions=False can't be combined with id='order' because an id names an event for its \
retraction, and a revision
    """

    key: KeyOf | None = None
    window: Duration | None = None
    engine: EngineName = "auto"
    order_by: str | None = None
    late: Policy = "raise"
    arc_punctuation: bool = False
    retractions: bool = True
    keep_payloads: bool = True
    gapless: str | Gapless | None = None
    tick: str | None = None
    id: str | Sequence[str] | None = None
    on_repeat: Literal["update"] | None = None
    version: str | None = None
    remember: Duration | None = None
    longest: bool = False
    members: str | bool | None = None
    tell: str | None = None
    lineage: bool = False
    collapse: str | bool | None = None
    having: str | tuple[str, int] | None = None
    partial_matches: int | None = PARTIAL_MATCHES
    max_bytes: int | None = None
    threads: int = 1
    speculation: Duration | None = None

    def __post_init__(self) -> None:
        yes_or_no(
            **{name: getattr(self, name) for name in ("lineage", "longest", "retractions", "keep_payloads", "arc_punctuation")}
        )
        threads_of(self.threads)
        given: dict[str, Any] = {name: None for name in ("members", "collapse") if getattr(self, name) is False}
        if self.tick is not None:
            given["tick"] = tick_of(self.tick)
        if isinstance(self.gapless, str):
            given["gapless"] = Gapless(self.gapless)
        elif self.gapless is not None and not isinstance(self.gapless, Gapless):
            raise AfaError(f"expected the name of the field that numbers events, or a Gapless, but got gapless={self.gapless!r}")
        for name, value in given.items():
            object.__setattr__(self, name, value)
        for name in ("speculation", "remember"):
            value = getattr(self, name)
            if isinstance(value, (bool, float)) or (isinstance(value, int) and value < 0):
                raise AfaError(f"expected a duration of 0 ticks at least, or None, but got {name}={value!r}")
        names = names_of(self.id, "id")
        if self.id is not None and (not names or len(set(names)) < len(names)):
            raise AfaError(f"expected a field name, or several different ones, but got id={self.id!r}")
        if len(names_of(self.version, "version")) > 1 or self.version in (*names, ""):
            raise AfaError(f"expected the name of a field that orders versions but got version={self.version!r}")
        if self.on_repeat not in (None, "update"):
            raise AfaError(f'expected on_repeat="update" but got on_repeat={self.on_repeat!r}')
        if self.engine not in ENGINES:
            raise AfaError(f'expected engine="auto", "compiled" or "interpreted" but got engine={self.engine!r}')
        if self.late != "raise":
            Late(self.late)  # which checks it, as this does
        if self.partial_matches != PARTIAL_MATCHES or self.max_bytes is not None:
            Budget(self.partial_matches, self.max_bytes, self.threads)
        check(self.said)

    def __deepcopy__(self, memo: dict[int, Any]) -> Options:
        return self  # whose callbacks are those of the copy, too

    @property
    def said(self) -> dict[str, Any]:
        """The options that are not as they are by default."""
        pairs = ((name, getattr(self, name)) for name in NAMES)
        return {name: value for name, value in pairs if value is not DEFAULTS[name] and value != DEFAULTS[name]}

    @property
    def numbers(self) -> Gapless | None:
        """How events are numbered; None: they are not."""
        assert not isinstance(self.gapless, str)
        return self.gapless

    def but(self, **changed: Any) -> Options:
        """Return these options with others for some of them."""
        return replace(self, **changed)


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Options)}
NAMES = tuple(DEFAULTS)
KNOWN = frozenset(NAMES)
OF_FRAMES, OF_FIND, OF_SPARK = (
    tuple(name for name in kind.__annotations__ if name in NAMES) for kind in (FrameOptions, FindOptions, SparkOptions)
)


def traits_of(automaton: Automaton) -> dict[str, Any]:
    """Return what of an automaton contradicts options, as `afa.model.conflicts` names it."""
    choice = automaton.choice
    there = {HAVING: automaton.having is not None, TIES: not automaton.ties, SKIP: choice is not None}
    there[ALL_ROWS] = choice is not None and choice.rows is not None
    return {name: True for name, holds in there.items() if holds}


def said_options(said: Mapping[str, Any], door: str, takes: Collection[str] = NAMES) -> dict[str, Any]:
    """Return the keyword arguments of the function ``door`` as options of today: ``options=`` taken apart, old names replaced.

    Raises `TypeError` where there is no such option, `AfaError` where it is one of an operator but not among those that the
    function ``takes``.
    """
    if takes is NAMES and KNOWN.issuperset(said):  # as nearly always
        return dict(said)
    found = under_new_names(said, OF_OPTIONS)
    more = found.pop("options", None)
    if more is not None:
        if not isinstance(more, Options):
            raise AfaError(f"expected an afa.Options but got options={more!r}")
        found = more.said | found
    found = _of_numbers(found)
    for name, value in found.items():
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            hint = f"; did you mean {near[0]}=?" if near else ""
            raise TypeError(f"{door}() got an unexpected keyword argument {name!r}{hint}")
        if name not in takes:
            raise AfaError(f"expected options of {door}, {', '.join(sorted(takes))}, but got {name}={value!r}")
    return found


def options_of(said: Mapping[str, Any], door: str = "Operator", takes: Collection[str] = NAMES) -> Options:
    """Return the options that the keyword arguments of a function say; see `said_options`."""
    return Options(**said_options(said, door, takes))


def options_again(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of an operator that is restored, where what is left out is as it was saved. Raises as `said_options`."""
    said = dict(said)
    policies = {name: said.pop(name) for name in ("repeated", "on_gap") if said.get("gapless") is None and name in said}
    found = said_options(said, "restore")
    left_out = {name for name, value in found.items() if value is None and (DEFAULTS[name] is None or name == "late")}
    left_out = {name for name in left_out if name not in BOUNDS} | {name for name in BOUNDS if found.get(name) == SAVED}
    found = {name: value for name, value in found.items() if name not in left_out}
    for name in policies:
        warn_renamed(f"{name}=", f"gapless=Gapless(.., {name}=..)")
    policies = {name: value for name, value in policies.items() if value is not None}
    return found | ({"gapless": policies} if policies else {})


def check_options(said: Mapping[str, Any], takes: Sequence[str], what: str) -> None:
    """Refuse options that say nothing of what is run, which says the rest itself."""
    other = next((name for name in said if name not in takes), None)
    if other is not None:
        raise AfaError(f"expected options of {what}, {', '.join(sorted(takes))}, but got {other}={said[other]!r}")


def not_here(said: Options) -> None:
    """Refuse options that put a stage in front where a subclass is made, which takes none."""
    for name in IN_FRONT:
        if name in said.said:
            raise AfaError(
                f"expected Operator or Keyed themselves with {name}=, by which a stage stands in front of them, but got a subclass "
                f"and {name}={said.said[name]!r}; write Cleanse(..).before(operator)"
            )


def check_alone(threads: Any) -> None:
    """Refuse more threads than one without a key."""
    if threads_of(threads) != 1:
        raise AfaError(f"expected a key, as threads share out its values, but got threads={threads!r} without one")


def _of_numbers(said: dict[str, Any]) -> dict[str, Any]:
    """Return options with what they say of numbers beside ``gapless=`` as a `Gapless`."""
    beside = {name: said.pop(name) for name in OF_NUMBERS if name in said}
    field = said.get("gapless")
    if not beside or (field is None and all(value == getattr(Gapless, name) for name, value in beside.items())):  # as by default
        return said
    if not isinstance(field, str):
        raise AfaError(
            f"expected gapless=<the field that numbers the events> beside {next(iter(beside))}= but got gapless={field!r}"
        )
    for name in beside:
        warn_renamed(f"{name}=", f"Gapless({field!r}, {name}=..) as gapless=")
    return said | {"gapless": Gapless(field, **beside)}


def takes_options(*names: str) -> Callable[[F], F]:
    """Let the signature of a function with ``**options`` show the options that it takes; none named: all."""

    def decorate(function: F) -> F:
        own = [each for each in inspect.signature(function).parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        there, kinds = {each.name for each in own}, Options.__annotations__
        only = inspect.Parameter.KEYWORD_ONLY
        more = [name for name in names or NAMES if name not in there]
        shown = [*own, *(inspect.Parameter(name, only, default=DEFAULTS[name], annotation=kinds[name]) for name in more)]
        if all(each.kind is not only for each in own) and more[:1] == ["key"]:  # Operator(pattern, "symbol")
            shown[len(own)] = shown[len(own)].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        cast(Any, function).__signature__ = inspect.Signature(shown)
        return function

    return decorate
