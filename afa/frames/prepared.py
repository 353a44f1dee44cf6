"""A frame held for many calls: `find` and `backtest` sort and encode its rows once, and each pattern more costs its loop."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from afa.errors import AfaError, BudgetError, ChangeError
from afa.frames.asked import check_key
from afa.frames.lanes import FORMS, LaneHistory, arrays_in
from afa.io.frame import Frame, is_stored
from afa.model.automaton import Automaton
from afa.operator.options import Options

VALUE, ROW = 18, 64
"""Bytes of a value as it comes and by key, of a text those of its number; and of a row beside: its place, its lane."""


class Prepared(Frame):
    """What `prepared` returns. In ``with`` it is freed at the end.

    Attributes
    ----------
    most : int
        How many bytes it may take beside the frame itself and texts.
    nbytes : int
        How many it takes.
    """

    def __init__(self, given: Any, key: str | Sequence[str] | None, time: str | None, most: int | None, on: str | None) -> None:
        super().__init__(given)
        check_key(key)
        if time is not None and not isinstance(time, str):
            raise ChangeError(f"expected the name of a column but got time={time!r}")
        self.own_key, self.own_time = key, time
        for name in [key] if isinstance(key, str) else key or ():
            self.raw(name, "key")
        some = self.table.column(self.names[0]) if time is None and self.names else [] if time is None else self.raw(time, "time")
        each = len(some) * (VALUE * len(self.names) + ROW)
        if most is not None and each > most:
            raise BudgetError(f"expected at most max_bytes={most:,} but got a frame that may take {each:,}; drop columns or rows")
        self._forms = FORMS if most is None or not each else min(FORMS, most // each)
        self.most = self._forms * each
        self._on = on
        self.close()

    @property
    def nbytes(self) -> int:
        """How many bytes it takes beside the frame itself and texts."""
        arrays = {id(each): each.nbytes for each in (*self.history.arrays, *arrays_in(list(self._known.values())))}
        return sum(arrays.values())

    def keyed(self, pattern: Any, options: Options) -> Options:
        """Return options with the key of this frame: a query has its own."""
        if self.own_key is None or not isinstance(pattern, Automaton):
            return options
        if "key" in options.said and options.key != self.own_key:
            raise AfaError(f"expected the key of the prepared frame, {self.own_key!r}, but got key={options.key!r}")
        return options.but(key=self.own_key)

    def close(self) -> None:
        """Free what it holds; it can be used again, and is then sorted again."""
        self.history = LaneHistory(True, self._forms, self._on)
        self._known.clear()

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def prepared(
    frame: Any,
    *,
    key: str | Sequence[str] | None = None,
    time: str | None = None,
    max_bytes: int | None = None,
    device: str | None = None,
) -> Prepared:
    """Hold a frame for many calls of `find` and `backtest`, which take it in its place.

    Parameters
    ----------
    frame : pandas, polars, Arrow, DuckDB relation, dict of columns
        As of `find`; its values must not change meanwhile.
    key, time : str, optional
        As of `find`, of the calls that say none.
    max_bytes : int, optional
        How many bytes it may take beside the frame and texts: 18 for each value and 64 for each row, for each key and order that is
        asked for, of which so many are held, at most 4.
    device : "opencl" or "cuda", optional
        As of `find`: the rows are copied there once; what they take there is counted nowhere.

    Raises
    ------
    AfaError
        There is no such device, a `DeviceError`; a column is missing; or it may take more bytes than that, a `BudgetError`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Trade(NamedTuple):
    ...     price: float
    >>> def dip(limit):
    ...     return afa.Automaton(
    ...         start="0", final={"2"}, event=Trade, arcs=[afa.Arc("0", "1", f"price < {limit}"), afa.Arc("1", "2", "price > 9")]
    ...     )
    >>> trades = {"symbol": ["A", "B", "A"], "price": [8.0, 8.5, 9.5], "at": [10, 11, 12]}
    >>> with prepared(trades, key="symbol", time="at") as history:
    ...     [len(afa.find(dip(limit), history, window=60)["le"]) for limit in (8, 9)]
    [0, 1]
    """
    if is_stored(frame):
        raise ChangeError(f"expected a frame in memory but got {frame!r}; read it first, or sweep files as they are")
    if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 1):
        raise AfaError(f"expected a number of bytes but got max_bytes={max_bytes!r}")
    return Prepared(frame, key, time, max_bytes, device)
