"""`trace`: take an input through a pattern, and keep what happened."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError
from afa.explain.tracing.recorder import EVENTS, Trace
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.renamed import renamed
from afa.operator.matching import Matching
from afa.operator.patterns import pattern_of


@renamed("le")
def trace(
    pattern: Any, input: Any, *, key: Any = None, most: int = EVENTS, net: bool = False, time: str = "le", **options: Any
) -> Trace:
    """Take an input through a pattern and return what happened: events, matches, what was withdrawn and why, as a page.

    Parameters
    ----------
    pattern : Query, Automaton, or an operator
    input : table or list
        As of `Operator.push_many`, in the order of arrival.
    key : str or sequence of str, optional
        Of an automaton: as of `Keyed`. A query has its own.
    most : int
        How many changes of events are kept.
    net : bool
        False: each row is taken as it came, so that matches come and go as they would have. True: all of it is one call.
    time : str
        The column that holds LE.
    options
        As of `Operator`: ``window``, ``tick`` .. ; ``lineage`` is on.

    Returns
    -------
    Trace
        ``.html("run.html")`` writes the page, a notebook shows it; ``.push`` and ``.push_many`` go on.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Pay(NamedTuple):
    ...     kind: str
    >>> twice = afa.Automaton(start="0", final={"2"}, event=Pay, arcs=[
    ...     afa.Arc("0", "1", "kind == 'declined'"), afa.Arc("1", "2", "kind == 'declined'"),
    ... ])
    >>> run = trace(twice, {"kind": ["declined", "declined", "approved"], "le": [1, 5, 3]}, window=60)
    >>> run.announced, run.withdrawn, run.announcements[0].gone_because.kind
    (1, 1, 'between')
    >>> "</html>" in run.html()
    True
    """
    if isinstance(pattern, Matching):
        if key is not None or options:
            raise AfaError(f"expected options of a pattern only but got {', '.join(options) or 'key'} beside an operator")
        operator: Any = pattern
    else:
        whole = {"postpone": False} if isinstance(pattern, (Query, Builder)) else {}  # what waits has no steps to show
        said = {} if key is None else {"key": key}
        maker = pattern_of(pattern, "a query, an automaton or an operator")
        operator = maker.operator(**{"lineage": True, **whole, **said, **options})
    found = Trace(operator, most=most)
    found.push_many(input, net=net, time=time)
    return found
