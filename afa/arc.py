"""Arcs: what takes a computation from one state to another ([AFA10] Definition 1, App. D, App. E)."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from typing import Any

from afa.errors import AutomatonError

CONSUME, EPSILON, TIMEOUT = "consume", "epsilon", "timeout"


def always(register: Any) -> bool:
    """The fence of an epsilon arc that states none."""
    return True


class Arc:
    """An arc ``src -> dst`` with a fence ``f(e, r) -> bool`` and a transfer ``g(e, r) -> register``, both pure.

    Parameters
    ----------
    src, dst : str
        States.
    fence : callable
        ``fence(event, register) -> bool``; whether the event may take the arc.
    transfer : callable, optional
        ``transfer(event, register) -> register``. None: the register stays; a self-loop without a transfer is *ignorable*
        ([AFA10] App. D).
    name : str, optional
        Arcs of one name are equal; without one an arc equals only itself.
    final : bool
        Whether ``dst`` is final for as long as this arc is in force.

    Notes
    -----
    Nothing is checked here: the automaton checks its arcs when it is built, a running operator the arcs that it is given.

    Examples
    --------
    >>> Arc("fall", "fall", lambda e, r: e.change > -0.01, name="noise").ignorable
    True
    """

    __slots__ = ("at", "dst", "fence", "final", "kind", "name", "src", "transfer")

    at: Callable[..., Any]
    dst: str
    fence: Callable[..., Any]
    final: bool
    kind: str
    name: str | None
    src: str
    transfer: Callable[..., Any] | None

    def __init__(
        self,
        src: str,
        dst: str,
        fence: Callable[..., Any],
        transfer: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        final: bool = False,
    ) -> None:
        self._fill(CONSUME, src, dst, fence, transfer, None, name, final)

    @classmethod
    def epsilon(
        cls,
        src: str,
        dst: str,
        fence: Callable[..., Any] = always,
        transfer: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        final: bool = False,
    ) -> Arc:
        """An arc that consumes no event; ``fence(register)`` and ``transfer(register)`` see the register only."""
        arc = cls.__new__(cls)
        arc._fill(EPSILON, src, dst, fence, transfer, None, name, final)
        return arc

    @classmethod
    def timeout(cls, src: str, dst: str, at: Callable[..., Any], *, name: str | None = None, final: bool = False) -> Arc:
        """An epsilon arc that waits in ``src`` until the instant ``at(register)`` (ticks; [AFA10] App. E).

        It fires at ``T = max(at(r), LE of the last event consumed)`` unless an event with an earlier LE ends the wait, and then
        the match has the lifetime ``[T, m)``. A self-loop in ``src`` lets the wait go on; one that also takes events past
        ``at(r)`` makes longer runs, each of which fires at its own last event: bound its fence by the deadline if that is not
        meant.
        """
        arc = cls.__new__(cls)
        arc._fill(TIMEOUT, src, dst, None, None, at, name, final)
        return arc

    def _fill(
        self,
        kind: str,
        src: str,
        dst: str,
        fence: Callable[..., Any] | None,
        transfer: Callable[..., Any] | None,
        at: Callable[..., Any] | None,
        name: str | None,
        final: bool,
    ) -> None:
        fields = (("kind", kind), ("src", src), ("dst", dst), ("fence", fence), ("transfer", transfer), ("at", at))
        for field, value in (*fields, ("name", name), ("final", final)):
            object.__setattr__(self, field, value)

    def __setattr__(self, field: str, value: Any) -> None:
        raise AttributeError(f"an Arc is frozen: {field} can't be set")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"an Arc is frozen: {field} can't be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return _arc, (self.kind, self.src, self.dst, self.fence, self.transfer, self.at, self.name, self.final)

    def __copy__(self) -> Arc:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Arc:
        return self  # frozen; and an arc without a name equals itself only

    @property
    def ignorable(self) -> bool:
        """Whether taking the arc leaves state and register as they are ([AFA10] App. D)."""
        return self.kind == CONSUME and self.src == self.dst and self.transfer is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Arc):
            return NotImplemented
        return self is other or (self.name is not None and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name) if self.name is not None else id(self) >> 4

    def __repr__(self) -> str:
        kind = "" if self.kind == CONSUME else f" ({self.kind})"
        return f"arc {self.name!r}: {self.src} -> {self.dst}{kind}" if self.name else f"arc {self.src} -> {self.dst}{kind}"


def _arc(*fields: Any) -> Arc:
    """An arc from all its fields; for copies that leave the process."""
    arc = Arc.__new__(Arc)
    arc._fill(*fields)
    return arc


def check_arc(arc: Any) -> None:
    """Refuse an arc that can't mean anything, by a message that names it.

    Raises
    ------
    AutomatonError
        It is no arc, a state is no name, a function has the wrong arity, or an epsilon self-loop can never end.
    """
    if not isinstance(arc, Arc):
        raise AutomatonError(f"expected an Arc but got {arc!r}")
    for end in ("src", "dst"):
        if not isinstance(getattr(arc, end), str) or not getattr(arc, end):
            raise AutomatonError(f"expected a state name (str) but got {end}={getattr(arc, end)!r} in {arc!r}")
    if not (arc.name is None or isinstance(arc.name, str)):
        raise AutomatonError(f"expected a str but got name={arc.name!r} in {arc!r}")
    wanted = ("e, r",) if arc.kind == CONSUME else ("r",)
    if arc.kind == TIMEOUT:
        _check_function(arc, "at", arc.at, wanted[0])
    else:
        _check_function(arc, "fence", arc.fence, wanted[0])
        if arc.transfer is not None:
            _check_function(arc, "transfer", arc.transfer, wanted[0])
    if arc.kind == EPSILON and arc.src == arc.dst and (arc.transfer is None or _always_true(arc.fence)):
        reason = "without a transfer it changes nothing" if arc.transfer is None else "its fence is always true"
        raise AutomatonError(f"expected an epsilon arc that ends but got a self-loop: {arc!r} can never end ({reason})")


def _check_function(arc: Arc, role: str, function: Any, parameters: str) -> None:
    if not callable(function):
        raise AutomatonError(f"expected a callable {role}({parameters}) but got {role}={function!r} in {arc!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins without a signature: the first call will tell
        return
    try:
        signature.bind(*parameters.split(", "))
    except TypeError as error:
        raise AutomatonError(f"expected {role}({parameters}) but got {role}{signature} in {arc!r}: {error}") from None


def _always_true(fence: Callable[..., Any] | None) -> bool:
    """Whether a fence is the default one, or a function that only returns a true constant."""
    if fence is always:
        return True
    code = getattr(fence, "__code__", None)
    if code is None or code.co_names or code.co_freevars or code.co_varnames[code.co_argcount :]:
        return False
    reads = {instruction.opname for instruction in dis.get_instructions(code)}
    constant = reads <= {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "LOAD_SMALL_INT"}
    return constant and fence is not None and bool(fence(None))
