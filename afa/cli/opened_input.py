"""Open the input of a command: a file, a pipe, or messages of a database as changes (`afa.feeds`)."""

from __future__ import annotations

from afa.cli.fault import CommandError, tell
from afa.cli.request import CommandRequest
from afa.feeds.feed_source import FeedSource
from afa.io.files import open_source
from afa.io.text_files import FileSource


def opened(job: CommandRequest, grows: bool = False) -> FileSource:
    """Return the source of a job's rows; malformed messages become what ``--late`` says of late rows."""
    if job.feed is None or job.form is None:
        return open_source(job.file, job.form, grows)

    def told(text: str) -> None:
        if job.late == "raise":
            raise CommandError(f"{job.file}: {text}; --late drop leaves it out, --late report tells it, too")
        if job.late == "report":
            tell(f"{job.file}: {text}")

    return FeedSource(job.file, job.form, job.feed, told, grows)


def tell_faults(source: FileSource, job: CommandRequest) -> None:
    """Say how many messages were left out."""
    if source.faults and not job.quiet:
        tell(f"{job.file}: {source.faults} messages that can't be read were left out")
