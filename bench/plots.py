"""One picture per benchmark, drawn from its rows alone."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.measure import Row
from bench.targets import middle


class Lines(NamedTuple):
    """Columns ``y`` over column ``x``, one line per column and value of ``by``."""

    x: str
    y: Sequence[str]
    by: str | None = None
    where: Mapping[str, Any] = {}
    log_x: bool = False
    log_y: bool = False
    label: str = ""


class Bars(NamedTuple):
    """Columns ``y`` side by side, one group per row, named by the columns ``x``."""

    x: Sequence[str]
    y: Sequence[str]
    log_y: bool = False
    label: str = ""


PLOTS: Mapping[str, Lines | Bars] = {
    "ids": Bars(["what"], ["M events/s", "id=, M events/s", "M messages/s"], label="M rows/s"),
    "restart": Bars(["form"], ["every 5 s, relative to none", "every 500 ms, relative to none"], label="rate, relative to none"),
    "language": Bars(["query"], ["M events/s", "by hand, M events/s", "NFA^b, M events/s"], log_y=True, label="M events/s"),
    "nulls": Bars(["query"], ["M events/s", "may be None, M events/s", "5 % None, M events/s"], label="M events/s"),
    "functions": Bars(["rule"], ["three columns, M events/s", "haversine, M events/s", "left to Python, M events/s"], log_y=True),
    "choose": Bars(["query", "late, %", "skip"], ["M events/s", "all matches, M events/s"], log_y=True, label="M events/s"),
    "sql": Bars(["question", "case"], ["M rows/s"], log_y=True, label="M rows/s"),
    "last_before": Bars(["late, %", "batch"], ["M events/s", "events that know, M events/s"], label="M events/s"),
    "longest": Bars(["window", "late, %"], ["M events/s"], label="M events/s"),
    "first_rows": Bars(["waiting", "rows"], ["s", "of it compiling, s"], log_y=True, label="s"),
    "waiting": Bars(["case", "disorder"], ["M events/s"], log_y=True, label="M events/s"),
    "lineage": Bars(["query"], ["call, ms", "count, ms", "first path, ms"], label="ms"),
    "queries": Bars(["query"], ["M events/s", "interpreted, M events/s"], log_y=True, label="M events/s"),
    "disorder": Lines("disorder", ["relative to in order"], by="query", label="rate, relative to in order"),
    "heavy": Lines("disorder", ["M events/s", "buffered and sorted, M events/s"], by="batch", log_y=True, label="M events/s"),
    "swap": Lines(
        "d",
        ["relative to static", "one call per arc, relative", "restart, relative"],
        log_x=True,
        label="rate, relative to static",
    ),
    "ignorable": Lines(
        "ignorable",
        ["rate, relative to plain", "memory, relative to plain"],
        by="disorder",
        log_y=True,
        label="relative to plain",
    ),
    "keys": Lines(
        "keys",
        ["in turn, M events/s", "grouped, M events/s", "Zipf, M events/s"],
        log_x=True,
        log_y=True,
        label="M events/s",
    ),
    "arcs": Lines(
        "lines", ["one batch, CPU ms", "four batches, CPU ms"], by="lifetimes", log_x=True, log_y=True, label="CPU milliseconds"
    ),
    "batch": Lines("batch", ["columns, M events/s", "Arrow, M events/s"], log_x=True, log_y=True, label="M events/s"),
    "push": Bars(["query", "disorder"], ["p50, microseconds", "p99, microseconds"], log_y=True, label="microseconds"),
    "start": Bars(["cache", "way"], ["import and first match, ms"], log_y=True, label="ms"),
    "snapshot": Lines("events per key", ["bytes per key"], by="keys", log_x=True, log_y=True, label="bytes per key"),
    "memory": Lines("events", ["RSS, MiB"], label="MiB"),
    "flink": Bars(["way"], ["M rows/s"], log_y=True, label="M rows/s"),
    "spark_rates": Bars(["way"], ["M rows/s"], log_y=True, label="M rows/s"),
    "spark_hand": Bars(["way"], ["M rows/s", "afa beside it, M rows/s"], log_y=True, label="M rows/s"),
    "spark_overhead": Bars(["way"], ["s"], label="s a batch"),
    "spark_state": Bars(["keys", "touched"], ["MB written", "MB stored"], log_y=True, label="MB"),
    "spark_latency": Bars(["keys"], ["s until the first match is out"], label="s"),
    "spark_model": Lines("slots", ["M rows a second"], by="batch, s", log_x=True, log_y=True, label="M rows a second"),
    "ordered": Lines("disorder", ["M events/s", "held"], by="way", log_y=True, label="M events/s; held"),
    "predicates": Bars(["engine", "begins", "promises"], ["held"], log_y=True, label="held"),
    "payloads": Bars(["kept"], ["bytes, each event held"], label="bytes"),
    "cleanup": Lines("rows", ["words"], by="way", log_y=True, label="words of partial matches held"),
    "speculation": Lines("sigma, ms", ["records per final match", "to announcement, ms"], by="ignorable", log_y=True, label=""),
    "baselines": Bars(["data", "way"], ["M events/s"], log_y=True, label="M events/s"),
    "cli": Bars(["form", "lateness"], ["afa run, M events/s", "push_many, M events/s"], label="M events/s of CPU time"),
    "windows": Lines("slide, s", ["read, CPU s", "index, CPU s", "naive, CPU s"], by="case", log_x=True, log_y=True, label="CPU s"),
    "situations": Lines(
        "window", ["M readings/s", "two-phase, M readings/s"], by="pattern", log_x=True, log_y=True, label="M readings/s"
    ),
    "uncertain": Lines(
        "half interval",
        ["K events/s", "matching alone, K events/s"],
        by="way",
        log_x=True,
        log_y=True,
        label="K events/s of the stream",
    ),
    "replay": Bars(["large", "row groups"], ["full, CPU s", "replay, CPU s"], log_y=True, label="CPU s"),
    "replay_thesis": Bars(
        ["case"], ["full / replay", "most", "least"], log_y=True, label="CPU time of a full run, of that of replay"
    ),
    "device": Bars(
        ["case", "matches", "way"], ["million a second", "million a CPU second"], log_y=True, label="million rows times variants"
    ),
    "lanes": Bars(["case", "way"], ["million a second", "million a CPU second"], log_y=True, label="million rows times variants"),
    "find": Bars(
        ["keys", "rows"], ["find, CPU s", "best slices by hand, CPU s", "one call, CPU s", "DuckDB, CPU s"], label="CPU s"
    ),
}


def svg(name: str, rows: Sequence[Row]) -> str:
    """The picture of a benchmark as SVG; empty if it has no rows to draw."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    plot = PLOTS[name]
    wanted = [plot.x] if isinstance(plot, Lines) else list(plot.x)
    rows = [row for row in rows if all(column in row for column in wanted)]
    rows = [row for row in rows if any(column in row for column in plot.y)]
    if not rows:
        return ""
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(7.5, 3.6), layout="constrained")
        if isinstance(plot, Lines):
            _lines(axes, plot, rows)
        else:
            _bars(axes, plot, rows)
        axes.set_ylabel(plot.label)
        if plot.log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    return out.getvalue()[out.getvalue().index("<svg") :]


def _lines(axes: Any, plot: Lines, rows: Sequence[Row]) -> None:
    groups = list(dict.fromkeys(row[plot.by] for row in rows)) if plot.by else [None]
    for number, group in enumerate(groups):
        of = [row for row in rows if plot.by is None or row[plot.by] == group]
        for style, column in zip(("o-", "s--", "^:"), plot.y):
            there = [row for row in of if column in row]
            if not there:
                continue
            name = column if group is None else f"{plot.by} {group}" if len(plot.y) == 1 else f"{column}, {plot.by} {group}"
            xs = [row[plot.x] for row in there]
            color = f"C{number}" if plot.by else None
            axes.plot(xs, [middle(row[column]) for row in there], style, color=color, label=name, markersize=4)
            if isinstance(there[0][column], dict):
                low, high = ([row[column][end] for row in there] for end in ("low", "high"))
                axes.fill_between(xs, low, high, alpha=0.15, color=color or axes.lines[-1].get_color())
    axes.set_xlabel(plot.x)
    if plot.log_x:
        axes.set_xscale("log")


def _bars(axes: Any, plot: Bars, rows: Sequence[Row]) -> None:
    names = ["\n".join(str(row.get(column, "")) for column in plot.x) for row in rows]
    width = 0.8 / len(plot.y)
    for number, column in enumerate(plot.y):
        values = [middle(row[column]) for row in rows]
        places = [place + (number - (len(plot.y) - 1) / 2) * width for place in range(len(rows))]
        axes.bar(places, values, width, label=column)
    axes.set_xticks(range(len(names)), names, fontsize=7)
