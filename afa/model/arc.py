"""Arcs lead a computation from one state to another ([AFA10] Definition 1, App. D, App. E)."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from afa.errors import AutomatonError, ExpressionError
from afa.expression.arc_functions import Schemas, WrittenFunction, functions_of
from afa.expression.kinds import FunctionKind
from afa.expression.nodes import Const
from afa.model.frozen import Frozen
from afa.schema import Schema

CONSUME, SKIP, EPSILON, TIMEOUT = "consume", "skip", "epsilon", "timeout"
MADE = re.compile(r"(?P<what>.*?): (?P<way>.*) #[0-9a-f]{8}", re.DOTALL)
"""A name that a query has made of its arc."""


def always(register: Any) -> bool:
    """The fence of an epsilon arc that is given none: always true."""
    return True


class Arc(Frozen):
    """An arc ``src -> dst`` with a fence ``f(e, r) -> bool`` and a transfer ``g(e, r) -> register``, both pure.

    Parameters
    ----------
    src, dst : str
        States.
    fence : callable or str
        ``fence(event, register) -> bool``; whether the event may take the arc. As text: ``"change < 0 and r.n < 3"``, a Python
        expression over ``e`` and ``r``, where a bare name is a field of the event; see `afa.expression.from_text`.
    transfer : callable or str, optional
        ``transfer(event, register) -> register``; as text ``"r._replace(n=r.n + 1)"``, or a tuple of the fields. None: the
        register stays; a self-loop without a transfer is *ignorable* ([AFA10] App. D).
    name : str, optional
        Arcs of one name are equal; without one an arc equals only itself.
    final : bool
        Whether ``dst`` is final for as long as this arc is in force.
    select : str, optional
        The component for which the arc takes its event, as `Operator.lineage` tells it. None: for the state that it leads to; an
        ignorable arc passes it over. Empty: it is passed over.

    Notes
    -----
    Nothing is checked here: the automaton checks its arcs when it is built, a running operator the arcs that it is given.

    Examples
    --------
    >>> Arc("fall", "fall", lambda e, r: e.change > -0.01, name="noise").ignorable
    True
    >>> Arc("fall", "fall", "change > -0.01", name="noise").fence
    'change > -0.01'
    """

    __slots__ = ("__weakref__", "at", "dst", "fence", "final", "kind", "name", "origin", "select", "src", "transfer")

    at: Callable[..., Any]
    dst: str
    fence: Callable[..., Any]
    final: bool
    kind: str
    name: str | None
    origin: Arc | None
    """The arc that this one was made of, by binding its durations to a tick (`Automaton.bound`)."""
    select: str | None
    src: str
    transfer: Callable[..., Any] | None

    def __init__(
        self,
        src: str,
        dst: str,
        fence: Callable[..., Any] | str,
        transfer: Callable[..., Any] | str | None = None,
        *,
        name: str | None = None,
        final: bool = False,
        select: str | None = None,
    ) -> None:
        self._fill(CONSUME, src, dst, fence, transfer, None, name, final, select)

    @classmethod
    def epsilon(
        cls,
        src: str,
        dst: str,
        fence: Callable[..., Any] | str = always,
        transfer: Callable[..., Any] | str | None = None,
        *,
        name: str | None = None,
        final: bool = False,
    ) -> Arc:
        """Make an arc that consumes no event. Its ``fence(register)`` and ``transfer(register)`` see the register only."""
        arc = cls.__new__(cls)
        arc._fill(EPSILON, src, dst, fence, transfer, None, name, final)
        return arc

    @classmethod
    def skip(
        cls,
        state: str,
        fence: Callable[..., Any] | str,
        transfer: Callable[..., Any] | str | None = None,
        *,
        name: str | None = None,
    ) -> Arc:
        """Make an arc by which a computation in ``state`` passes all events of one instant, and consumes none of them.

        It is taken if ``fence(event, register)`` holds of *every* event of the step. An ignorable arc consumes one event of the
        step, whatever the others are, and that event's RE shortens the match; a skipped one shortens nothing. No run begins by it.

        With a ``transfer`` the register goes from event to event of the step, and takes note of each: the largest price that was
        skipped, say. In whatever order they are taken it must come to the same.

        Examples
        --------
        >>> Arc.skip("fall", "not change < 0")
        arc fall -> fall (skip)
        >>> Arc.skip("fall", "change < 0", "r._replace(low=min(r.low, e.change))").ignorable
        False
        """
        arc = cls.__new__(cls)
        arc._fill(SKIP, state, state, fence, transfer, None, name, False)
        return arc

    @classmethod
    def timeout(cls, src: str, dst: str, at: Callable[..., Any] | str, *, name: str | None = None, final: bool = False) -> Arc:
        """Make an epsilon arc that waits in ``src`` until the instant ``at(register)`` (ticks; [AFA10] App. E).

        The arc fires at ``T = max(at(r), LE of the last event consumed)`` unless an event with an earlier LE ends the wait; a match
        by it has the lifetime ``[T, m)``. A self-loop in ``src`` lets the wait go on. A self-loop that also takes events past
        ``at(r)`` makes longer runs, each of which fires at its own last event: if you don't want these, say `Arc.skip`,
        which takes none, or let the loop's fence end at the deadline.
        """
        arc = cls.__new__(cls)
        arc._fill(TIMEOUT, src, dst, None, None, at, name, final)
        return arc

    def _fill(
        self,
        kind: str,
        src: str,
        dst: str,
        fence: Callable[..., Any] | str | None,
        transfer: Callable[..., Any] | str | None,
        at: Callable[..., Any] | str | None,
        name: str | None,
        final: bool,
        select: str | None = None,
        origin: Arc | None = None,
    ) -> None:
        object.__setattr__(self, "origin", origin)
        for role, function in (("fence", fence), ("transfer", transfer), ("at", at)):
            if isinstance(function, str):
                function = WrittenFunction(function, FunctionKind(role, kind in (CONSUME, SKIP)))
            object.__setattr__(self, role, function)
        for field, value in (("kind", kind), ("src", src), ("dst", dst), ("name", name), ("final", final), ("select", select)):
            object.__setattr__(self, field, value)

    @classmethod
    def from_json(cls, data: str | Mapping[str, Any]) -> Arc:
        """Make the arc that a JSON object describes, given as text or as a dict. The format stands in `afa.expression.wire`.

        Raises
        ------
        AutomatonError
            The data is no such object. The texts in it are read later, when the arc is pushed or an automaton is built with it.

        Examples
        --------
        >>> Arc.from_json('{"src": "a", "dst": "b", "fence": "change < 0"}')
        arc a -> b
        """
        from afa.expression import wire

        arc = cls.__new__(cls)
        arc._fill(*wire.fields_of(data))
        return arc

    def to_json(self, automaton: Schemas) -> dict[str, Any]:
        """Return this arc as plain data for ``json.dumps``, its functions as text. `from_json` makes an equivalent arc of it.

        Raises
        ------
        AutomatonError
            A function can't be taken apart.
        """
        from afa.expression import wire

        return wire.json_of(self, automaton)

    def changed(
        self,
        *,
        name: str | None = None,
        fence: Callable[..., Any] | str | None = None,
        transfer: Callable[..., Any] | str | None = None,
    ) -> Arc:
        """Return the same arc with another name, fence or transfer; None: as it is.

        Raises
        ------
        AutomatonError
            An arc of this kind has no fence, or no transfer.

        Examples
        --------
        >>> Arc("a", "b", "amount > 500", name="big").changed(fence="amount > 300").fence
        'amount > 300'
        """
        if fence is not None and self.kind == TIMEOUT:
            raise AutomatonError(f"expected no fence for {self!r}, which fires at its instant, but got fence={fence!r}")
        if transfer is not None and self.kind == TIMEOUT:
            raise AutomatonError(f"expected no transfer for {self!r} but got transfer={transfer!r}")
        given = self.name if name is None else name, self.fence if fence is None else fence, transfer or self.transfer
        arc = Arc.__new__(Arc)
        arc._fill(self.kind, self.src, self.dst, given[1], given[2], self.at, given[0], self.final, self.select)
        return arc

    def bound(self, functions: Mapping[str, Callable[..., Any]]) -> Arc:
        """Return this arc with other functions of the same meaning, by role. It equals this one, also where it has no name."""
        arc = Arc.__new__(Arc)
        fence, transfer, at = (functions.get(role, getattr(self, role)) for role in ("fence", "transfer", "at"))
        arc._fill(self.kind, self.src, self.dst, fence, transfer, at, self.name, self.final, self.select, self.origin or self)
        return arc

    def __reduce__(self) -> tuple[Any, ...]:
        return _arc, (self.kind, self.src, self.dst, self.fence, self.transfer, self.at, self.name, self.final, self.select)

    @property
    def ignorable(self) -> bool:
        """Whether the arc is a self-loop that leaves the register as it is ([AFA10] App. D)."""
        return self.reads_event and self.src == self.dst and self.transfer is None

    @property
    def may_stay(self) -> bool:
        """Whether a partial match may stay as it is by the arc: an ignorable one, or a skip that takes note of some events."""
        return self.ignorable or self.kind == SKIP

    @property
    def reads_event(self) -> bool:
        """Whether the arc's fence is asked of events."""
        return self.kind in (CONSUME, SKIP)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Arc):
            return NotImplemented
        if self is other or self.name is not None or other.name is not None:
            return self is other or self.name == other.name
        return (self.origin or self) is (other.origin or other)

    def __hash__(self) -> int:
        return hash(self.name) if self.name is not None else id(self.origin or self) >> 4

    def __repr__(self) -> str:
        kind = "" if self.kind == CONSUME else f" ({self.kind})"
        return f"arc {self.name!r}: {self.src} -> {self.dst}{kind}" if self.name else f"arc {self.src} -> {self.dst}{kind}"


def _arc(*fields: Any) -> Arc:  # for pickle
    arc = Arc.__new__(Arc)
    arc._fill(*fields)
    return arc


def name_of(arc: Arc) -> str:
    """Return the name of an arc; of a name that a query has made the component only, empty where there is none.

    >>> [name_of(Arc("a", "b", "x < 1", name=name)) for name in ("fall: a -> b #51fe4dc8", "low: a -> b", None)]
    ['fall', 'low: a -> b', '']
    """
    made = MADE.fullmatch(arc.name or "")
    if made is None or made["way"] not in (arc.src, f"{arc.src} -> {arc.dst}"):
        return arc.name or ""
    return "" if made["what"] in ("skip", "end") else made["what"]


def check_arc(arc: Any) -> None:
    """Refuse an arc that can't mean anything, by a message that names it.

    It is no arc, a state is no name, a function has the wrong arity, or an epsilon self-loop can never end.
    """
    if not isinstance(arc, Arc):
        raise AutomatonError(f"expected an Arc but got {arc!r}")
    for end in ("src", "dst"):
        if not isinstance(getattr(arc, end), str) or not getattr(arc, end):
            raise AutomatonError(f"expected a state name (str) but got {end}={getattr(arc, end)!r} in {arc!r}")
    for field in ("name", "select"):
        value = getattr(arc, field)
        if not (value is None or isinstance(value, str)):
            raise AutomatonError(f"expected a str but got {field}={value!r} in {arc!r}")
    wanted = ("e, r",) if arc.reads_event else ("r",)
    if arc.kind == TIMEOUT:
        _check_function(arc, "at", arc.at, wanted[0])
    else:
        _check_function(arc, "fence", arc.fence, wanted[0])
        if arc.transfer is not None:
            _check_function(arc, "transfer", arc.transfer, wanted[0])
    if arc.kind == EPSILON and arc.src == arc.dst and (arc.transfer is None or _always_true(arc.fence)):
        reason = "without a transfer it changes nothing" if arc.transfer is None else "its fence is always true"
        raise _never_ends(arc, reason)


def check_written(arc: Arc, event_schema: Schema | None, register_schema: Schema) -> None:
    """Refuse an arc with text that means nothing under these schemas, or an epsilon self-loop that can never end."""
    for _, function in functions_of(arc):
        if isinstance(function, WrittenFunction):
            try:
                found = function.expression(event_schema, register_schema)
            except ExpressionError as error:
                raise ExpressionError(f"{error}\nin {arc!r}") from None
            if arc.kind == EPSILON and arc.src == arc.dst and isinstance(found, Const) and found.value:
                raise _never_ends(arc, "its fence is always true")


def _never_ends(arc: Arc, reason: str) -> AutomatonError:
    return AutomatonError(f"expected an epsilon arc that ends but got a self-loop: {arc!r} can never end ({reason})")


def _check_function(arc: Arc, role: str, function: Any, parameters: str) -> None:
    if isinstance(function, WrittenFunction):
        return
    if not callable(function):
        raise AutomatonError(f"expected a str or a callable {role}({parameters}) but got {role}={function!r} in {arc!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins without a signature: the first call will tell
        return
    try:
        signature.bind(*parameters.split(", "))
    except TypeError as error:
        raise AutomatonError(f"expected {role}({parameters}) but got {role}{signature} in {arc!r}: {error}") from None


def _always_true(fence: Callable[..., Any] | None) -> bool:
    """Return whether a fence is `always`, or a function that only returns a true constant."""
    if fence is always:
        return True
    code = getattr(fence, "__code__", None)
    if code is None or code.co_names or code.co_freevars or code.co_varnames[code.co_argcount :]:
        return False
    reads = {instruction.opname for instruction in dis.get_instructions(code)}
    constant = reads <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "LOAD_SMALL_INT"}
    return constant and fence is not None and bool(fence(None))
