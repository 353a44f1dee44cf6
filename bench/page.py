"""``python -m bench.page [FOLDER]``: all results of a folder as one page, ``index.html``; needs ``pip install ".[bench]"``."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.__main__ import NAMES, cell, figure, kinds
from bench.measure import RESULTS, Row
from bench.plots import svg
from bench.targets import TARGETS, Target

Results = Mapping[str, Mapping[str, Any]]
SPARK = tuple(f"spark_{part}" for part in ("rates", "overhead", "state", "latency", "model"))

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #ddd; vertical-align: top }
.met { color: #176f2c } .missed { color: #b3261e; font-weight: 600 } .about { color: #666; font-size: 13px }
svg { max-width: 100%; height: auto }
"""


def load(folder: Path) -> dict[str, Any]:
    """The results that are there."""
    paths = {name: folder / f"{name}.json" for name in (*NAMES, "flink", *SPARK)}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}


def page(results: Results) -> str:
    """The whole page."""
    sections = "".join(section(name, result) for name, result in results.items())
    intro = (
        "Medians of interleaved rounds in one process, with the range in brackets; thread CPU time unless a column says "
        "otherwise. The answers of all variants were compared before anything was kept."
    )
    body = f"<h1>afa: benchmarks</h1><p>{intro}</p><h2>Targets</h2>{targets(results)}{sections}"
    head = f'<meta charset="utf-8"><title>afa: benchmarks</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def targets(results: Results) -> str:
    """What was wanted, what was measured, and whether that is enough."""
    rows = "".join(_target(target, results.get(target.bench)) for target in TARGETS)
    head = "".join(f"<th>{name}</th>" for name in ("question", "target", "measured", "met"))
    return f"<table><tr>{head}</tr>{rows}</table>"


def _target(target: Target, result: Mapping[str, Any] | None) -> str:
    value = target.measured(result["rows"]) if result else None
    if result is None or value is None:
        measured, verdict, css = "not measured", "", ""
    else:
        ours = result["engine"] == "compiled" and result["scale"] == "full"
        measured = figure(value) + ("" if ours else f" ({result['engine']} engine, {result['scale']} scale)")
        verdict, css = ("met", "met") if target.met(value) else ("not met", "missed")
    cells = "".join(f"<td>{html.escape(text)}</td>" for text in (target.question, target.wanted, measured))
    return f'<tr>{cells}<td class="{css}">{verdict}</td></tr>'


def section(name: str, result: Mapping[str, Any]) -> str:
    """One benchmark: the question, the picture, the figures, what they depend on."""
    question, _, more = result["question"].partition("\n\n")
    skip = ("question", "rows")
    about = ", ".join(f"{key} {value}" for key, value in result.items() if key not in skip and value is not None)
    tables = "".join(table(rows) for rows in kinds(result["rows"]))
    return (
        f"<h2>{html.escape(name)}</h2><p>{html.escape(question)}</p><p>{html.escape(more)}</p>"
        f'{svg(name, result["rows"])}{tables}<p class="about">{html.escape(about)}</p>'
    )


def table(rows: Sequence[Row]) -> str:
    """Rows of the same columns."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell(value))}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{lines}</table>"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page beside the results."""
    arguments = sys.argv[1:] if argv is None else argv
    folder = Path(arguments[0]) if arguments else RESULTS
    results = load(folder)
    if not results:
        print(f"expected results in {folder} but found none: run python -m bench first", file=sys.stderr)
        return 2
    path = folder / "index.html"
    path.write_text(page(results), encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
