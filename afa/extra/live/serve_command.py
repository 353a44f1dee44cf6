"""The command ``afa serve``: its options."""

from __future__ import annotations

from typing import Annotated, Any

from afa.cli import flags as o
from afa.cli.fault import plain_exit
from afa.cli.flags import OF_INPUT, Pattern, option, takes

SPEED = "How fast the rows come: so many a second (500), so many times as fast as their own times (60x), or max."
HOST = "Where the page is served: on this machine only by default. Elsewhere all is sent as it is, not encrypted."


@takes(
    *OF_INPUT, "window", "tick", "lateness", "late", "order_by", "speculation", "arcs", "rules", "longest", "threads",
    "partial_matches", "max_bytes", "log", late=o.LateRows.drop,
)  # fmt: skip
def serve(
    pattern: Pattern,
    file: o.Input,
    *,
    speed: Annotated[str, option(o.PAGE, SPEED, metavar="SPEED")] = "1000",
    follow: Annotated[bool, option(o.PAGE, "At the end of INPUT wait for more: it grows.", "--follow")] = False,
    browse: Annotated[bool, option(o.PAGE, "Open the page in the browser.", "--open")] = False,
    host: Annotated[str, option(o.PAGE, HOST, metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option(o.PAGE, "0: any that is free.", metavar="PORT", min=0, max=65535)] = 0,
    **said: Any,
) -> None:
    """Play an input through a pattern, and show it live in a browser, to change its arcs, its text and its speculation there.

    Prints the page's address, which holds the token that changes want. Changes of arcs are written to the arc log of --arcs. Of a
    folder of rules the page lists the rules, and adds, replaces and removes one as text, by the log of --rules.

    [bold]afa serve vees.py:two_vees ticks.csv --time time --key symbol --window 7000 --speed 60x[/]
    [bold]tail -f readings.jsonl | afa serve theft.sase - --format jsonl --lateness 30s[/]
    """
    from afa.cli.request import CommandRequest
    from afa.extra.live.serve_run import PageOptions
    from afa.extra.live.serve_run import serve as serve_job

    with plain_exit():
        serve_job(CommandRequest.of(pattern, file, said), PageOptions(host, port, speed, follow, browse))
