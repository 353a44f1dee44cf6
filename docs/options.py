"""Write the table of docs/guide/options.md anew: ``python docs/options.py``. What an option says begins its docstring.

Where else it is an option follows from the signatures of `afa run`, `find`, `backtest`, `replay` and `afa.spark.match`.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import afa
from afa.cli import main
from afa.frames.asked import BACKTESTS, TAKES
from afa.operator.options import DEFAULTS, NAMES, OF_FIND, OF_SPARK

PAGE = Path(__file__).parent / "guide" / "options.md"
HEAD = "| option | by default | says | also of | told in |\n|---|---|---|---|---|\n"
TOLD_IN = {
    "key": "[Many keys](../tutorial/keys.md)",
    "window": "[What an operator takes](feeding.md)",
    "engine": "[What compiles](compiles.md)",
    "order_by": "[Equal timestamps](order.md#equal-timestamps)",
    "late": "[When is a match final?](../tutorial/watermark.md)",
    "arc_punctuation": "[Changing the pattern](swaps.md)",
    "retractions": "[Watermarks with a condition](final.md)",
    "keep_payloads": "[Watermarks with a condition](final.md)",
    "gapless": "[Events that are numbered](order.md#events-that-are-numbered)",
    "tick": "[Time](time.md)",
    "id": "[Messages that come twice](messages.md)",
    "on_repeat": "[Messages that come twice](messages.md#versions)",
    "version": "[Messages that come twice](messages.md#versions)",
    "remember": "[Messages that come twice](messages.md#how-long-an-id-is-remembered)",
    "longest": "[The longest match](longest.md)",
    "members": "[Which events matched](lineage.md)",
    "tell": "[Which events matched](lineage.md)",
    "lineage": "[Which events matched](lineage.md)",
    "collapse": "[Which events matched](lineage.md)",
    "having": "[Which events matched](lineage.md)",
    "partial_matches": "[Operations](../operations.md#limits)",
    "max_bytes": "[Operations](../operations.md#limits)",
    "threads": "[Many keys](../tutorial/keys.md)",
    "speculation": "[Stages](stages.md)",
}
BY_DEFAULT = {
    "key": "one stream", "window": "for ever", "max_bytes": "three quarters of what is free", "tick": "ints are ints",
    "order_by": "events of one LE are alternatives", "id": "a retraction says the whole event", "speculation": "no event waits",
    "on_repeat": "a repeat, or a fault",
    "partial_matches": "1,000,000",
}  # fmt: skip
"""What None means, and numbers as people read them."""


def table() -> str:
    """Return the table of all options of an operator."""
    return HEAD + "".join(f"| {' | '.join(_row(name))} |\n" for name in NAMES)


def _row(name: str) -> list[str]:
    default = BY_DEFAULT.get(name, f"`{DEFAULTS[name]!r}`".replace("'", '"'))
    return [f"`{name}=`", default, said(name), ", ".join(doors(name)) or "-", TOLD_IN[name]]


def said(name: str) -> str:
    """Return the first sentence of what the docstring of `Operator` says of an option, on one line."""
    lines = inspect.cleandoc(afa.Operator.__doc__ or "").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"{name} : "))
    words = " ".join(line.strip() for line in lines[begin + 1 : begin + 4])
    sentence = re.split(r"(?<=[.:;]) (?=[A-Z`\"0-9])|\.$", words)[0].rstrip(".:;")
    return re.sub(r"``([^`]+)``", r"`\1`", re.sub(r"\[(AFA10)\]", r"[\1]", sentence))


def doors(name: str) -> list[str]:
    """Return where else this is an option."""
    flags: dict[str, Any] = dict(inspect.signature(main.run).parameters)
    found = [f"`afa run --{name.replace('_', '-')}`"] if name in flags else []
    found += ["`find`, `replay`"] if name in TAKES else []
    found += ["`find`"] if name in {*OF_FIND} - {*TAKES} else []
    found += ["`backtest`"] if name in BACKTESTS else []
    found += ["`find`, `backtest` (by default one for each core)"] if name == "threads" else []
    return found + (["Spark's `match`"] if name in OF_SPARK else [])


def page(text: str) -> str:
    """Return the page with the table as it should be."""
    before, _, rest = text.partition(HEAD.splitlines()[0])
    after = rest.partition("\n\n")[2]
    return f"{before}{table()}\n{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
