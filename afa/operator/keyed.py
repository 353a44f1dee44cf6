"""One operator state per key, under shared arcs and shared watermarks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.model.arc import Arc
from afa.model.keys import UNSAID, Keys
from afa.model.option_values import threads_of
from afa.operator import snapshot
from afa.operator.call import Core, Output
from afa.operator.contract import OperatorMeta, Pattern
from afa.operator.matching import Matching
from afa.operator.options import (
    KeyOf,
    OperatorOptions,
    Unpack,
    not_here,
    options_again,
    options_of,
    said_options,
    takes_options,
)
from afa.operator.speculated import restored, speculating
from punctuation.promise import Punctuation

WITHOUT = "expected key=, the column or columns that make the key, but got Keyed without one"


class Keyed(Matching, metaclass=OperatorMeta):
    """Match an automaton in each of many streams, told apart by a key. Calls, interrupts and threads: as of `Operator`.

    Parameters
    ----------
    automaton : Automaton, or another pattern
    key : str, sequence of str, or callable
        The event's field or fields that make the key, or a function of the event. Names that are no fields of the event are
        columns beside them in `push_many`, and given as ``push(change, key=...)``. One name makes a bare key, several a tuple.
        May be left out where the pattern says it.
    options
        As of `Operator`. An arc pushed without a lifetime begins one tick past all that was seen, over all keys.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton
    >>> class Reading(NamedTuple):
    ...     sensor: str
    ...     hot: bool
    >>> twice = Automaton(
    ...     start="0", final={"2"}, event=Reading,
    ...     arcs=[Arc("0", "1", lambda e, r: e.hot), Arc("1", "2", lambda e, r: e.hot)],
    ... )
    >>> by_sensor = Keyed(twice, key="sensor", window=60)
    >>> out = by_sensor.push_many({"sensor": ["a", "b", "a"], "hot": [True, True, True], "le": [1, 2, 3]})
    >>> out["sensor"].tolist(), out["le"].tolist(), out["re"].tolist()
    (['a'], [3], [61])
    """

    @staticmethod
    def _of_pattern(automaton: Any, options: dict[str, Any]) -> Any:
        """Return of a pattern that is no automaton the operator that it makes of itself; else this one's options."""
        if isinstance(automaton, Pattern):
            _check_keyed(automaton, options.get("key") or getattr(options.get("options"), "key", None))
            return automaton.operator(**options)
        options = said_options(options, "Keyed")
        _check_keyed(automaton, options.get("key"))
        return speculating(Keyed, automaton, options) or options

    @takes_options()
    def __init__(self, automaton: Any, **options: Unpack[OperatorOptions]) -> None:
        said = options_of(options, "Keyed")
        not_here(said)
        _check_keyed(automaton, said.key)
        self._core = Core(automaton, said, keyed=True, bounded=True)
        self._core.keys = Keys(automaton, said.key, self._core.tick)

    def push(self, change: Change | Punctuation, *, key: Hashable = UNSAID) -> Output:
        """Take one event change of one key, or a watermark for all keys. Returns and raises as `Operator.push`.

        Parameters
        ----------
        key : hashable, optional
            Left out: the key is made from the event. An output change of another `Keyed` keeps its key if the event makes none.
        """
        core = self._core
        if type(change) is not Change or type(change.le) is not int or type(change.payload) is dict:
            change = core.in_form(change)
        return core.push(change, core.key_of(change, key))

    @property
    def keys(self) -> list[Hashable]:
        """The keys that hold any state."""
        return self._core.calls.call(self._core.engine.keys)

    def snapshot(self, *, incremental: bool = False) -> bytes:
        """Return the whole state as bytes, as `Operator.snapshot`. Keys must be plain data too.

        Parameters
        ----------
        incremental : bool
            True: save only the keys that have changed since the last snapshot (the first one has all keys). Such a snapshot is
            restored together with those before it. O(state of these keys), and some tens of nanoseconds for each other key.
        """
        return self._core.calls.call(snapshot.save, self._core, incremental)

    @classmethod
    @takes_options()
    def restore(
        cls,
        automaton: Any,
        blob: bytes | Sequence[bytes],
        *,
        arcs: Iterable[Arc] = (),
        stages: Iterable[Any] = (),
        **options: Unpack[OperatorOptions],
    ) -> Any:
        """Make the keyed operator that `snapshot` saved. As `Operator.restore`, with the key given again.

        Parameters
        ----------
        blob : bytes or sequence of bytes
            A snapshot; or a whole one and the incremental ones that were taken after it, in that order.
        """
        said = options_again(options)
        _check_keyed(automaton, said.get("key"))
        if isinstance(automaton, Pattern):
            return automaton.restore(blob, arcs=arcs, **({"stages": stages} if stages else {}), **said)
        threads_of(said.get("threads", 1))

        def alone(part: Any) -> Keyed:
            blobs = part if isinstance(part, (list, tuple)) else [part]
            return cls._of(snapshot.load(automaton, blobs, arcs, said, keyed=True), said["key"])

        return restored(blob, said, alone, stages)

    @classmethod
    def _of(cls, core: Core, key: KeyOf) -> Keyed:
        keyed: Keyed = cls.__new__(cls)
        keyed._core = core
        core.keys = Keys(core.automaton, key, core.tick)
        return keyed


def _check_keyed(pattern: Any, key: Any) -> None:
    if key is None and (not isinstance(pattern, Pattern) or pattern.key is None):
        raise AfaError(WITHOUT)
