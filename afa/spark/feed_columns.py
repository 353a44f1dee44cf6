"""Change feeds as columns: messages of a database become rows that say what became of a table's rows. No Python runs over them.

    messages.transform(afa.spark.feed("debezium", columns="id bigint, card string, at timestamp", key=("card", "id"), time="at"))

What is said is as of `afa.feeds`; which version of a row is in force `match` finds out itself (``id=``, ``version=``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everyone does)
from pyspark.sql.types import DataType, StructType

from afa.errors import AfaError, did_you_mean
from afa.feeds.changelog import HOUSEKEEPING, KIND_COLUMNS, VERSIONS, WORDS
from afa.feeds.facts import TYPE
from afa.feeds.feed import FORMATS
from afa.feeds.maxwell import LAST
from afa.feeds.maxwell import OPS as OF_MAXWELL
from afa.feeds.maxwell import SILENT as SILENT_OF_MAXWELL
from afa.feeds.messages import ISO, SIGNS, WIDE
from afa.feeds.wal2json import ACTIONS
from afa.model.option_values import names_of
from afa.spark.packed_rows import OF_FEED
from afa.spark.typed import column, quoted

FAULT = "fault"
MADE = ("le", "diff", "version", FAULT)
"""Columns beside those of the row."""
DAY = r"^\d{4}-\d\d-\d\d"
"""How text that is a time begins."""
SHOWN = 500
"""How many letters of a message that can't be read are shown."""
TICKS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
MARK = {OF_FEED: True}
"""By which `match` knows the column that says what is wrong with a message."""
READ = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "BIGINT"),
    **dict.fromkeys(("float", "double"), "BIGINT|DOUBLE|FLOAT|DECIMAL.*"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "date"), "STRING"),
    "decimal": "BIGINT|DOUBLE|DECIMAL.*",
    "boolean": "BOOLEAN",
    "string": "STRING|BIGINT|DOUBLE|DECIMAL.*|BOOLEAN",
}
"""The types of columns, and the kinds of JSON that they are read from."""
PATHS = {"debezium": ("source.lsn",), "wal2json": ("lsn",), "maxwell": ("ts", "xid", "xoffset")}
"""What orders the messages of a format."""


class FeedAsked(NamedTuple):
    """What a feed is asked for; ``columns``: those of the row, with their types."""

    format: str
    columns: StructType
    key: tuple[str, ...]
    time: str | None
    facts: Mapping[str, str]
    version: tuple[str, ...]
    table: str | None
    tick: str | None


class Envelope(NamedTuple):
    """What messages say, as columns; ``after`` and ``before`` return a column of the row, as JSON or in its type."""

    op: Column  # one of `SIGNS`, "m" (nothing of rows), or as it came
    there: Column  # whether there is a row behind
    after: Callable[[str], Column]
    before: Callable[[str], Column]
    version: Column
    said: Column | None  # when it happened
    table: Column | None
    json: bool  # whether values are VARIANT


def feed(
    format: str,
    *,
    key: str | Sequence[str],
    columns: str | None = None,
    time: str | None = None,
    facts: Mapping[str, str] | None = None,
    version: str | Sequence[str] | None = None,
    table: str | None = None,
    tick: str | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function that makes rows of a database's messages, for `match`: ``messages.transform(feed(..))``.

    Parameters
    ----------
    format : str
        As of `afa.feeds.ChangeFeed`; of wal2json its format 2. JSON is read from a column ``value``, as Kafka's source has it.
        Debezium's columns ``op``, ``before``, ``after`` and ``source`` are taken as they are, and so are those of changelogs.
    key : str or sequence of str
        The columns that tell one row of the table from another, and with them the key of the match. Where that is not the
        table's own, messages must say the whole row before (``REPLICA IDENTITY FULL``).
    columns : str, optional
        The columns of JSON's rows that are read, with their types: ``"id bigint, card string, at timestamp"``.
    time, facts, version, table : optional
        As of `afa.feeds.ChangeFeed`. A time is a timestamp, in JSON text of ISO 8601; or an int, with ``tick``.
    tick : "s", "ms", "us" or "ns", optional
        What one int counts in columns of times.

    Returns
    -------
    callable
        Takes a DataFrame, streaming or static, and returns one of rows: the row's columns, ``type`` with ``facts``, ``le``
        (timestamp), ``diff`` (1; -1: the row, or this fact, is gone), ``version`` (bigint, or text that orders), and ``fault``:
        null, or why a message can't be read; `match` tells it as ``kind = fault``. A change of the key is two rows. A truncation is
        a fault.

    Raises
    ------
    AfaError
        A format, a column or an option is not known, or two contradict each other. Some when the function is called.
    """
    if format not in FORMATS:
        raise AfaError(f"expected a format of {', '.join(FORMATS)} but got {format!r}{did_you_mean(str(format), FORMATS)}")
    if facts and time is not None:
        raise AfaError(f"time={time!r} can't be combined with facts= because each fact says its time")
    if tick is not None and tick not in TICKS:
        raise AfaError(f"expected tick= as one of {', '.join(TICKS)} but got {tick!r}")
    keys = names_of(key, "key")
    said = FeedAsked(format, _schema_of(columns), keys, time, dict(facts or {}), names_of(version, "version"), table, tick)

    def rows(messages: DataFrame) -> DataFrame:
        asked, given = said, messages
        if format not in PATHS:
            envelope, asked = _changelog(messages, said)
        elif format == "debezium" and "op" in messages.columns:
            envelope, asked = _structs(messages, said)
        else:
            given = _parsed(messages, said)
            envelope = {"debezium": _debezium, "wal2json": _wal2json, "maxwell": _maxwell}[format](said)
        _check(asked)
        return _rows(given, envelope, asked)

    return rows


def _schema_of(columns: str | None) -> StructType:
    if columns is None:
        return StructType()
    try:
        found: Any = StructType.fromDDL(columns)
    except Exception as error:  # Spark's own, of many classes
        raise AfaError(f'expected columns="name type, ..", as of a table, but got {columns!r}: {error}') from error
    return StructType(found.fields)


def _check(asked: FeedAsked) -> None:
    """Refuse names that are no columns of the row, and columns that are made."""
    names = asked.columns.names
    for option, wanted in (("key", asked.key), ("time", filter(None, [asked.time])), ("facts", asked.facts.values())):
        for name in wanted:
            if name not in names:
                raise AfaError(f"{option}= names no column {name!r} among {', '.join(names) or 'none'}{did_you_mean(name, names)}")
    if not asked.key:
        raise AfaError("expected key=, the columns that tell one row of the table from another, but got none")
    for name in names:
        if "'" in name and '"' in name:
            raise AfaError(f"expected columns whose names have one kind of quote but got {name!r}")
        if name.lower() in MADE or (asked.facts and name.lower() == TYPE):
            raise AfaError(f"expected a row without a column {name!r}, which is made, but got one: leave it out, or rename it")
        if _kind(asked.columns[name].dataType) not in READ and asked.format in PATHS:
            raise AfaError(f"expected columns of {', '.join(READ)} but got {name} {asked.columns[name].dataType.simpleString()}")


# -- formats -------------------------------------------------------------------------------------------------------------------


def _parsed(messages: DataFrame, asked: FeedAsked) -> DataFrame:
    """Return messages as VARIANT, in ``v``, with their text, without tombstones."""
    if "value" not in messages.columns:
        raise AfaError(f"expected a column 'value' of {asked.format}'s messages but got the columns {', '.join(messages.columns)}")
    if not asked.columns.names:
        raise AfaError('expected columns="id bigint, ..", those of a row and their types, which a stream has to know, but got none')
    text = messages.select(F.col("value").cast("string").alias("text"))
    found = text.where(F.length(F.trim("text")) > 0).withColumn("v", F.try_parse_json("text"))
    if asked.format == "debezium":
        found = found.withColumn("v", F.coalesce(F.when(_at("op").isNull(), F.try_variant_get("v", "$.payload", "variant")), "v"))
    if asked.format == "wal2json":
        pairs = "array<struct<name string, value variant>>"
        found = found.withColumn("lists", F.from_json("text", f"columns {pairs}, identity {pairs}"))
    return found.where("v is null or not is_variant_null(v)")


def _at(path: str | Sequence[str], kind: str = "variant") -> Column:
    """Return what a message says at a path; null where it says nothing, or null."""
    steps = path.split(".") if isinstance(path, str) else path
    said = "".join(f'["{step}"]' if "'" in step else f"['{step}']" for step in steps)
    found = F.try_variant_get("v", f"${said}", kind)
    return F.when(~F.is_variant_null(found), found) if kind == "variant" else found


def _ordered(path: str) -> Column:
    """Return what orders messages, as text: an int that is not negative, or text; null where it is anything else."""
    value, text = _at(path), F.try_variant_get(_at(path), "$", "string")
    kind = F.schema_of_variant(value)
    return F.when((kind == "STRING") | ((kind == "BIGINT") & ~text.startswith("-")), text)


def _debezium(asked: FeedAsked) -> Envelope:
    op = _at("op", "string")
    lsn = F.when(F.schema_of_variant(_at("source.lsn")) == "BIGINT", _at("source.lsn", "bigint"))
    version = _in_order([*map(_ordered, asked.version)], op) if asked.version else _or_first(lsn, op)
    millis = F.coalesce(_at("source.ts_ms", "bigint"), _at("ts_ms", "bigint"))
    return Envelope(
        op,
        _at("after").isNotNull(),
        lambda name: _at(("after", name)),
        lambda name: _at(("before", name)),
        version,
        _instant(millis, 1000),
        _table(F.coalesce(_at("source.schema", "string"), _at("source.db", "string")), _at("source.table", "string")),
        True,
    )


def _wal2json(asked: FeedAsked) -> Envelope:
    def of(part: str) -> Callable[[str], Column]:
        def value(name: str) -> Column:
            found = F.get(F.filter(F.col(f"lists.{part}"), lambda each: each["name"] == name), F.lit(0))["value"]
            return F.when(~F.is_variant_null(found), found)

        return value

    at, action = _at("lsn", "string"), _at("action", "string")
    high, low = (F.conv(F.get(F.split(at, "/"), F.lit(i)), 16, 10).cast("bigint") for i in (0, 1))
    version = F.when(at.rlike("^[0-9A-Fa-f]{1,7}/[0-9A-Fa-f]{1,8}$"), F.shiftleft(high, 32) + low)
    said = F.try_to_timestamp(F.regexp_replace(_at("timestamp", "string"), r"([+-]\d\d)$", "$1:00"))
    return Envelope(
        F.coalesce(F.try_element_at(_map(ACTIONS), action), action),
        _at("columns").isNotNull(),
        of("columns"),
        of("identity"),
        _in_order([*map(_ordered, asked.version)]) if asked.version else version,
        said,
        _table(_at("schema", "string"), _at("table", "string")),
        True,
    )


def _maxwell(asked: FeedAsked) -> Envelope:
    last = F.when(F.coalesce(_at("commit", "boolean"), F.lit(False)), F.lit(LAST))
    parts = [_at("ts", "bigint"), _at("xid", "bigint"), F.coalesce(_at("xoffset", "bigint"), last)]
    kind = _at("type", "string")
    return Envelope(
        F.coalesce(F.try_element_at(_map(OF_MAXWELL | dict.fromkeys(SILENT_OF_MAXWELL, "m")), kind), kind),
        _at("data").isNotNull(),
        lambda name: _at(("data", name)),
        lambda name: F.when(kind == "delete", _at(("data", name))).otherwise(F.coalesce(_at(("old", name)), _at(("data", name)))),
        _in_order([*map(_ordered, asked.version)] if asked.version else parts),
        _instant(_at("ts", "bigint"), 1_000_000),
        _table(_at("database", "string"), _at("table", "string")),
        True,
    )


def _structs(messages: DataFrame, asked: FeedAsked) -> tuple[Envelope, FeedAsked]:
    """Return what Debezium's columns say."""
    kinds: dict[str, Any] = {name: messages.schema[name].dataType for name in messages.columns}
    for name in ("before", "after", "source"):
        if not isinstance(kinds.get(name), StructType):
            got = f"{name} {kinds[name].simpleString()}" if name in kinds else f"the columns {', '.join(kinds)}"
            raise AfaError(f"expected a column {name!r} that is a struct beside 'op' but got {got}")
    source, paths = kinds["source"], asked.version or ("source.lsn",)
    for path in paths:
        if not path.startswith("source.") or path.partition(".")[2] not in source.names:
            raise AfaError(f"no {path!r} in the messages, by which version= orders them; source has {', '.join(source.names)}")
    there = {name: F.col(f"source.{name}").cast("string") for name in ("schema", "db", "table") if name in source.names}
    schema = F.coalesce(*(there[name] for name in ("schema", "db") if name in there), F.lit(""))
    envelope = Envelope(
        F.col("op"),
        F.col("after").isNotNull(),
        lambda name: F.col(f"after.{quoted(name)}"),
        lambda name: F.col(f"before.{quoted(name)}"),
        _version([(F.col(path), source[path.partition(".")[2]].dataType) for path in paths], op=F.col("op")),
        _instant(F.col("source.ts_ms").cast("bigint"), 1000) if "ts_ms" in source.names else None,
        _table(schema, there["table"]) if "table" in there else None,
        False,
    )
    return envelope, asked._replace(columns=kinds["after"])


def _changelog(messages: DataFrame, asked: FeedAsked) -> tuple[Envelope, FeedAsked]:
    """Return what rows with a column of kinds say."""
    names = messages.columns
    kind = next((name for name in KIND_COLUMNS if name in names), None)
    if kind is None:
        raise AfaError(f"expected a column of changes, one of {', '.join(KIND_COLUMNS)}, but got {', '.join(names)}")
    order = asked.version or tuple(name for name in VERSIONS if name in names)[:1]
    if not order:
        raise AfaError(f"key={', '.join(asked.key)} wants version=, a column that orders the changes of a row, but there is none")
    for name in order:
        if name not in names:
            raise AfaError(f"version= names no column {name!r} among {', '.join(names)}{did_you_mean(name, names)}")
    word = column(kind).cast("string")
    sign = F.try_element_at(_map(WORDS), F.lower(word))
    kept = {*asked.key, *filter(None, [asked.time]), *asked.facts.values()}
    out = {kind, *order, *VERSIONS, *HOUSEKEEPING} - kept
    envelope = Envelope(
        F.when(sign > 0, "u").when(sign < 0, "d").otherwise(word),
        sign > 0,
        column,
        column,
        _version([(column(name), messages.schema[name].dataType) for name in order], (sign > 0).cast("int")),
        column("_commit_timestamp").cast("timestamp") if "_commit_timestamp" in names else None,
        None,
        False,
    )
    return envelope, asked._replace(columns=StructType([field for field in messages.schema if field.name not in out]))


def _instant(value: Column, micros: int) -> Column:
    """Return a time; null where a timestamp does not reach."""
    return F.timestamp_micros(F.try_multiply(value, F.lit(micros)))


def _table(schema: Column, name: Column) -> Column:
    return F.concat_ws(".", F.coalesce(schema, F.lit("")), name)


def _map(values: Mapping[str, Any]) -> Column:
    return F.create_map(*(F.lit(each) for pair in values.items() for each in pair))


def _version(parts: Sequence[tuple[Column, DataType]], last: Column | None = None, op: Column | None = None) -> Column:
    """Return columns as one that orders, the most significant one first: an int, or text.

    ``last``: 0 or 1, the least one; ``op``: a row that a snapshot has read is older than any other, if it has no version.
    """
    if len(parts) == 1 and READ.get(_kind(parts[0][1])) == "BIGINT":
        found = parts[0][0].cast("bigint")
        return _or_first(found, op) if last is None else F.try_add(F.try_multiply(found, F.lit(2)), last.cast("bigint"))
    columns = []
    for each, kind in parts:
        read = READ.get(_kind(kind))
        if read not in ("BIGINT", "STRING", READ["string"]):
            raise AfaError(f"expected ints, text or times as what orders messages but got {kind.simpleString()}")
        moment = F.unix_micros(each.cast("timestamp")) if read == "STRING" else each
        columns.append(F.when(each >= 0, each) if read == "BIGINT" else moment)
    return _in_order([*columns, *([] if last is None else [last])], op)


def _in_order(parts: Sequence[Column], op: Column | None = None) -> Column:
    """Return text that orders as columns do, of which longer numbers are larger; null where the first one is."""
    texts = [F.coalesce(_in_ticks(each.cast("string")), F.lit("")) for each in parts]
    texts = [F.when(F.length(text) < WIDE, F.lpad(text, WIDE, " ")).otherwise(text) for text in texts]
    there = parts[0].isNotNull()
    return F.when(there if op is None else there | (op == "r"), F.concat_ws(" ", *texts))


def _in_ticks(text: Column) -> Column:
    """Return text that is a time of ISO 8601, of which a longer one is not later, as microseconds; other text as it is."""
    return F.when(text.rlike(ISO), F.unix_micros(F.try_to_timestamp(text)).cast("string")).otherwise(text)


def _or_first(version: Column, op: Column | None) -> Column:
    return version if op is None else F.coalesce(version, F.when(op == "r", -1))


def _kind(of: DataType) -> str:
    return of.simpleString().partition("(")[0]


# -- rows: step by step, as Spark's code for one large expression would be too long ------------------------------------------------


def _rows(messages: DataFrame, of: Envelope, asked: FeedAsked) -> DataFrame:
    """Return the rows that messages say: each one's own, that of the key before where it has changed, or what is wrong."""
    kinds = {field.name: field.dataType for field in asked.columns}
    said = _said(messages, of, asked)
    if of.json:
        said = said.withColumns({side: _typed(side, kinds) for side in ("new", "old")} | {"why": F.coalesce("why", *_lost(kinds))})
    new, old = ({name: F.col(f"{side}.{quoted(name)}") for name in kinds} for side in ("new", "old"))
    before = {name: F.coalesce(old[name], new[name]) if name in asked.key else old[name] for name in kinds}
    moved = reduce(or_, (F.coalesce(old[name] != new[name], F.lit(False)) for name in asked.key))
    mine = {name: F.when(F.col("sign") < 0, before[name]).otherwise(new[name]) for name in kinds}
    rows = _struct(before, "before"), _struct(mine, "mine"), moved.alias("moved")
    there = said.select("raw", "why", "sign", "fresh", "version", "said", *rows)
    events, untimed = _events(asked, "mine", kinds)
    if not events:
        if of.said is None:
            raise AfaError("expected time=, the column that says when a row happened, but got none")
        events = [(None, F.when(F.col("sign") > 0, F.col("said")))]
        untimed = [_why((F.col("sign") > 0) & F.col("said").isNull(), "expected the time of the message but got none")]
    nameless = [
        (F.col(f"mine.{quoted(name)}").isNull(), f"expected a value of the key {name!r} but got none") for name in asked.key
    ]
    there = there.withColumn("why", F.coalesce("why", *(_why(*each) for each in nameless), *untimed))
    own, left = [], []
    for name, at in events:
        gone = F.when(~F.col("fresh") & ~F.col("moved"), -1)  # nothing was there before
        own.append(_row(asked, "mine", name, at, F.when((F.col("sign") > 0) & at.isNotNull(), 1).otherwise(gone)))
        left.append(_row(asked, "before", name, F.lit(None), F.lit(-1)))
    wrong = _row(asked, None, None, F.lit(None), F.lit(None), F.concat_ws(": ", "why", F.substring("raw", 1, SHOWN)))
    parts = F.when((F.col("sign") > 0) & F.col("moved"), F.array(*left, *own)).otherwise(F.array(*own))
    parts = F.when(F.col("why").isNotNull(), F.array(wrong)).otherwise(F.filter(parts, lambda row: row["diff"].isNotNull()))
    return there.select(F.explode(parts).alias("row")).select("row.*").withMetadata(FAULT, MARK)


def _said(messages: DataFrame, of: Envelope, asked: FeedAsked) -> DataFrame:
    """Return what messages say of rows: raw, why (null: all is well), sign, fresh (nothing was before), version, said, new, old."""
    sign, names = F.try_element_at(_map(SIGNS), of.op), asked.columns.names
    known = "insert, update_postimage, +I, .." if asked.format not in PATHS else ", ".join(op for op in SIGNS if op != "t")
    got = F.concat(F.lit(f"expected an operation of {known} but got "), F.coalesce(of.op, F.lit("none")))
    why = [
        *([_why(F.col("v").isNull(), "expected a message in JSON but got another text")] if of.json else []),
        F.when(sign.isNull(), got),
        _why(sign == 0, "expected changes of rows but got a truncation (t), which names no row"),
        _why((sign > 0) & ~of.there, "expected a row in 'after' but got none"),
        _why(of.version.isNull(), f"expected an order ({', '.join(asked.version) or 'of the format'}) but got none"),
    ]
    if of.table is not None and asked.table is not None:
        named = F.array(of.table, F.element_at(F.split(of.table, r"\."), -1))
        messages = messages.where(F.coalesce(F.array_contains(named, asked.table), F.lit(True)))
    return messages.where(F.coalesce(of.op != "m", F.lit(True))).select(
        (F.col("text") if of.json else F.to_json(F.struct("*"))).alias("raw"),
        F.coalesce(*why).alias("why"),
        sign.alias("sign"),
        (of.op == "c").alias("fresh"),
        of.version.alias("version"),
        (F.lit(None).cast("timestamp") if of.said is None else of.said).alias("said"),
        _struct({name: of.after(name) for name in names}, "new"),
        _struct({name: of.before(name) for name in names}, "old"),
    )


def _typed(side: str, kinds: Mapping[str, DataType]) -> Column:
    """Return the row of a side in its types; null where a value is of another one."""
    values = {name: F.col(f"{side}.{quoted(name)}") for name in kinds}
    fits = {name: F.schema_of_variant(values[name]).rlike(f"^({READ[_kind(kind)]})$") for name, kind in kinds.items()}
    return F.struct(
        *(F.when(fits[name], F.try_variant_get(values[name], "$", kind.simpleString())).alias(name) for name, kind in kinds.items())
    )


def _lost(kinds: Mapping[str, DataType]) -> list[Column]:
    """Return which value of a row, as it came, has another type, or loses a part in its own, as text or null."""
    found = []
    for name, kind in kinds.items():
        text = f"expected {kind.simpleString()} in {name!r} but got another value"
        for side in ("new", "old"):
            value = F.col(f"{side}.{quoted(name)}")
            read = F.try_variant_get(value, "$", kind.simpleString())
            fits = F.schema_of_variant(value).rlike(f"^({READ[_kind(kind)]})$") & read.isNotNull()
            if READ[_kind(kind)] == "STRING":
                fits &= F.try_variant_get(value, "$", "string").rlike(DAY)
            if _kind(kind) == "decimal":
                fits &= F.coalesce(read == F.try_variant_get(value, "$", "decimal(38,18)"), F.lit(False))
            elif _kind(kind) == "date":
                fits &= F.length(F.try_variant_get(value, "$", "string")) == 10
            elif _kind(kind) == "double":
                whole = F.schema_of_variant(value) != "BIGINT"
                fits &= whole | (F.abs(F.try_variant_get(value, "$", "bigint")) <= 2**53)
            found.append(_why(value.isNotNull() & ~F.coalesce(fits, F.lit(False)), text))
    return found


def _struct(values: Mapping[str, Column], name: str) -> Column:
    return F.struct(*(value.alias(each) for each, value in values.items())).alias(name)


def _row(asked: FeedAsked, of: str | None, name: str | None, le: Column, diff: Column, fault: Any = None) -> Column:
    """Return a row as a struct; ``of``: the column that has its values."""
    parts = []
    for field in asked.columns:
        value = F.lit(None) if of is None else F.col(f"{of}.{quoted(field.name)}")
        parts.append(value.cast(field.dataType).alias(field.name))
    parts += [F.lit(name).cast("string").alias(TYPE)] if asked.facts else []
    parts += [le.cast("timestamp").alias("le"), diff.cast("int").alias("diff"), F.col("version")]
    return F.struct(*parts, (F.lit(None) if fault is None else fault).cast("string").alias(FAULT))


def _events(asked: FeedAsked, of: str, kinds: Mapping[str, DataType]) -> tuple[list[tuple[str | None, Column]], list[Column]]:
    """Return the events of a row, a column: each one's name, and its time; and which time is none, as text or null."""
    wanted: list[tuple[str | None, str]] = [*asked.facts.items()] if asked.time is None else [(None, asked.time)]
    found, wrong = list[tuple[str | None, Column]](), []
    for event, name in wanted:
        kind, value = _kind(kinds[name]), F.col(f"{of}.{quoted(name)}")
        if kind in ("timestamp", "timestamp_ntz", "date"):
            moment = value.cast("timestamp")
        elif kind == "string":
            moment = F.when(value.rlike(DAY), F.try_to_timestamp(value))
        elif READ.get(kind) == "BIGINT" and asked.tick is not None:
            micros = F.try_multiply(value.cast("bigint"), F.lit(TICKS[asked.tick]))
            if asked.tick == "ns":
                micros = F.floor(micros.cast("decimal(20,0)") / 1000).cast("bigint")
            moment = F.timestamp_micros(micros)
        else:
            hint = 'tick="ms", what an int counts' if READ.get(kind) == "BIGINT" else "a column of timestamps, text or ints"
            raise AfaError(f"expected {hint}, as the time of events is {name} {kind}, but got none")
        found.append((event, moment))
        wrong.append(_why(value.isNotNull() & moment.isNull(), f"expected a time in {name!r} but got another value"))
    return found, wrong


def _why(condition: Column, text: str) -> Column:
    return F.when(condition, F.lit(text))
