"""What an input may hold, by name: how its rows are written, or whose messages they are."""

FILES = ("csv", "jsonl", "parquet")
FEEDS = ("debezium", "wal2json", "maxwell", "delta", "iceberg", "hudi", "flink", "changelog")
"""Formats of messages, which `afa.feeds` reads."""
