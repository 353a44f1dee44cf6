"""Maxwell's messages of MySQL's log.

    {"database": "shop", "table": "orders", "type": "update", "ts": 1449786310, "xid": 940752, "xoffset": 0,
     "data": {"id": 7, "amount": 20}, "old": {"amount": 12.5}}

``old`` has the columns that have changed, as they were. Messages are ordered by ``ts``, ``xid`` and ``xoffset``; the last one of a
transaction says ``commit``, and has none.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from afa.feeds.decoder import Decoder
from afa.feeds.messages import Messages, missing, parts_of, version_of
from punctuation.door import one_array

INT, TEXT = pa.int64(), pa.string()
LINE = {"database": TEXT, "table": TEXT, "type": TEXT, "ts": INT, "xid": INT, "xoffset": INT, "commit": pa.bool_()}
LINE |= {"data": pa.struct([]), "old": pa.struct([]), "primary_key_columns": pa.list_(TEXT)}
OPS = {"insert": "c", "update": "u", "delete": "d", "bootstrap-insert": "r"}
SILENT = ("bootstrap-start", "bootstrap-complete", "table-create", "table-alter", "database-create", "database-alter", "heartbeat")
LAST = 1 << 31
"""Behind each offset in a transaction."""


class Maxwell(Decoder):
    """The decoder of Maxwell's messages."""

    known = pa.schema(LINE)

    def messages(self, table: pa.Table, numbers: Any) -> Messages:
        whole = {name: one_array(table[name]) if name in table.column_names else pa.nulls(len(table), LINE[name]) for name in LINE}
        kinds = whole["type"]
        at = pc.index_in(kinds, pa.array([*OPS, *SILENT]))
        ops = pc.coalesce(pa.array([*OPS.values(), *["m"] * len(SILENT)]).take(at), kinds)
        silent = pc.fill_null(pc.equal(ops, "m"), False).to_numpy(zero_copy_only=False)
        timeless = missing(whole["ts"]) & ~silent
        self._maker.tell(numbers[timeless], "expected the time 'ts', which orders messages, but got none")
        keys = whole["primary_key_columns"].drop_null()
        if not self._maker.key and len(keys):
            self._maker.key = tuple(keys[0].as_py())
        offset = pc.coalesce(whole["xoffset"], pc.if_else(pc.fill_null(whole["commit"], False), LAST, None))
        data, old, gone = parts_of(whole["data"]), parts_of(whole["old"]), pc.equal(ops, "d")
        nothing = pa.nulls(len(table))
        before = {}
        for name in self._maker.key:
            was, now = old.get(name, nothing), data.get(name, nothing)
            before[name] = was if gone.false_count == len(table) or was.type != now.type else pc.if_else(gone, now, was)
            if pa.types.is_null(was.type):
                before[name] = pc.if_else(gone, now, None)
        columns = {
            "op": ops,
            "before": pa.StructArray.from_arrays([*before.values()], [*before]) if before else pa.nulls(len(table)),
            "after": whole["data"],
            "key": pa.nulls(len(table)),
            "version": version_of([whole["ts"], whole["xid"], offset]),
            "time": pc.cast(whole["ts"], INT).view(pa.timestamp("s")),
            "table": pc.binary_join_element_wise(pc.fill_null(whole["database"], ""), whole["table"], "."),
            "number": pa.array(numbers),
        }
        return self._maker.messages(pa.table(columns).filter(whole["ts"].is_valid()), {})
