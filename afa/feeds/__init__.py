"""Change feeds: messages of databases and tables in, changes of rows out, ready for `push_many` and ``afa.find(.., diff="diff")``.

    orders = feeds.debezium("orders.jsonl", key="id", facts={"placed": "created_at", "paid": "paid_at"})

feed          ChangeFeed: a feed, call after call; named_feeds: one call, a function for each format
given         lines, tables, files -> blocks; json_reader: blocks of lines -> tables; what can't be read is told by its line
debezium wal2json maxwell changelog        a format each: tables -> messages; decoder: what they have in common
messages      one row a message: the row's columns, its time, sign and version; feed_times: times in them
latest_rows   messages -> changes: the largest version of each key, once, in any order (`speculation.Ids`)
facts         a row that says several things as several events
outgoing      changes as messages of Debezium, as upserts
feed_source   a feed as the input of a command
"""

from afa.feeds.facts import facts
from afa.feeds.feed import FORMATS, ChangeFeed
from afa.feeds.named_feeds import changelog, debezium, delta, flink, hudi, iceberg, maxwell, wal2json
from afa.feeds.outgoing import to_debezium, upserts

__all__ = [
    "FORMATS",
    "ChangeFeed",
    "changelog",
    "debezium",
    "delta",
    "facts",
    "flink",
    "hudi",
    "iceberg",
    "maxwell",
    "to_debezium",
    "upserts",
    "wal2json",
]
