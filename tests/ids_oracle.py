"""What messages come to, one after the other, as SEMANTICS says it (Ids): for tests, in plain Python."""

from __future__ import annotations

from typing import Any, NamedTuple

BEGINNING = -(2**63)


class Message(NamedTuple):
    """An insertion with its content, or (``content`` None) a retraction, perhaps without a time of its own."""

    id: Any
    version: Any
    content: Any
    le: int | None


class Promise(NamedTuple):
    t: int


class Entry:
    """What is known of an id: the newest message, the event in force, whether it has ever met one, until when it is remembered."""

    def __init__(self) -> None:
        self.newest: Message | None = None
        self.event: Message | None = None
        self.met = False
        self.until = BEGINNING


class IdsOracle:
    """Takes messages and promises; ``changes`` are those that leave: (message, 1 or -1)."""

    def __init__(self, versioned: bool, remember: int) -> None:
        self.versioned, self.remember = versioned, remember
        self.known: dict[Any, Entry] = {}
        self.promise = self.seen = BEGINNING
        self.repeats = self.superseded = 0
        self.told: list[Message] = []

    def take(self, item: Message | Promise) -> list[tuple[Message, int]]:
        if isinstance(item, Promise):
            if item.t > self.promise:
                self.promise = item.t
                gone = {name: e for name, e in self.known.items() if e.until < item.t - self.remember}
                vain = [Message(name, None, None, e.until) for name, e in gone.items() if not e.met]
                self.told += sorted(vain, key=lambda m: (m.le, repr(m.id)))
                self.known = {name: e for name, e in self.known.items() if name not in gone}
            return []
        if item.content is not None:
            self.seen = max(self.seen, item.le or 0)
        elif item.le is None:
            item = item._replace(le=max(self.seen, self.promise))
        return self._versioned(item) if self.versioned else self._plain(item)

    def _new(self, item: Message) -> list[tuple[Message, int]]:
        assert item.le is not None
        if item.le < self.promise:
            self.told.append(item)
            return []
        entry = self.known[item.id] = Entry()
        entry.newest, entry.until = item, item.le
        if item.content is None:
            return []
        entry.event, entry.met = item, True
        return [(item, 1)]

    def _plain(self, item: Message) -> list[tuple[Message, int]]:
        entry = self.known.get(item.id)
        if entry is None:
            return self._new(item)
        assert item.le is not None
        assert entry.newest is not None
        if item.content is not None and entry.met:
            if entry.newest.content == item.content:
                self.repeats += 1
            else:
                self.told.append(item)
        elif item.content is not None:
            if item.le < self.promise:
                self.told.append(item)
                return []
            entry.newest, entry.met, entry.until = item, True, item.le
        elif entry.event is None:
            self.repeats += 1
            entry.until = entry.until if entry.met else max(entry.until, item.le)
        elif entry.until < self.promise:
            self.told.append(item)
        else:
            gone, entry.event = entry.event, None
            return [(gone, -1)]
        return []

    def _versioned(self, item: Message) -> list[tuple[Message, int]]:
        entry = self.known.get(item.id)
        if entry is None:
            return self._new(item)
        assert item.le is not None
        assert entry.newest is not None
        if item.version < entry.newest.version:
            self.superseded += 1
            if item.content is not None and entry.event is None:
                entry.met, entry.until = True, max(entry.until if entry.met else self.promise, item.le)
            return []
        if item.version == entry.newest.version:
            if item.content == entry.newest.content:
                self.repeats += 1
            else:
                self.told.append(item)
            return []
        before = entry.event
        if (before is not None and entry.until < self.promise) or (item.content is not None and item.le < self.promise):
            self.told.append(item)
            return []
        entry.newest = item
        if item.content is None:
            entry.event = None
            if not entry.met:
                entry.until = max(entry.until, item.le)
            return [] if before is None else [(before, -1)]
        entry.event, entry.met, entry.until = item, True, item.le
        if before is not None and before.content == item.content:
            return []
        return [*([] if before is None else [(before, -1)]), (item, 1)]


def in_force(messages: list[Message], versioned: bool) -> list[Message]:
    """Return the events that a set of messages leaves in force: from the set alone."""
    by_id: dict[Any, list[Message]] = {}
    for message in messages:
        by_id.setdefault(message.id, []).append(message)
    found = []
    for each in by_id.values():
        if versioned:
            newest = max(each, key=lambda m: m.version)
            found += [newest] if newest.content is not None else []
        elif all(m.content is not None for m in each):
            found.append(each[0])
    return found
