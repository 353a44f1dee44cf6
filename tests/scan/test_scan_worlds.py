"""Random SQL x rows against a scan with backtracking: watermarks, rows taken back, snapshots, swaps, refused calls. A sample.

The long run: ``python -m tests.worlds sql``.
"""

from __future__ import annotations

from tests.language.sql_worlds import WORLDS

MET = {
    **{"came": 600, "snapshots": 150, "swaps": 20, "reads less": 8, "refused calls": 100},
    **{"compared": 1500, "compared, more than 20 rows": 150, "compared, rows with an RE": 100},
}


def test_worlds(turns: str) -> None:
    WORLDS.run("scan", range(150), turns, more_than=MET)
