"""
Expected failures of the open data. Messages are for the operator, in Portuguese: parts of a
sentence that the command line completes.

OpenDataError
├── BadInput              the files given cannot be a month: missing, damaged, mixed
├── TooManyRejects        so many unreadable records that the layout must have changed
├── VerificationFailed    built, but implausible; the published month stays
├── BuildRunning          another build runs in the same store
├── NoRoom                the disk is too small
└── FetchFailed           the month cannot be downloaded from where it is published
    ├── ShareFailed       the share does not answer, or its answer cannot be interpreted
    ├── ShareGone         the share or a file in it is gone: its token or folder has changed
    ├── MonthChanged      files changed while they were being downloaded
    └── FetchRunning      another process is fetching it
"""

from collections.abc import Sequence


class OpenDataError(Exception):
    """Base of the expected failures of an import or a snapshot. Nothing published was changed."""


class BadInput(OpenDataError):
    """The files given cannot be a month: missing, damaged or mixed."""


class TooManyRejects(OpenDataError):
    """So many unreadable records that the layout must have changed."""


class VerificationFailed(OpenDataError):
    """The month was built but is implausible. `problems` has the reasons, one sentence each.

    `only_size`: only sizes are wrong, compared with the month before or one another; `force`
    accepts that.
    """

    def __init__(self, problems: Sequence[str], *, only_size: bool = False) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)
        self.only_size = only_size


class BuildRunning(OpenDataError):
    """Another build runs in the same store."""


class NoRoom(OpenDataError):
    """The disk is too small."""


class FetchFailed(OpenDataError):
    """The month cannot be downloaded from where it is published."""


class ShareFailed(FetchFailed):
    """The share does not answer, or its answer cannot be interpreted."""


class ShareGone(FetchFailed):
    """The share or a file in it is gone: its token or folder has changed."""


class MonthChanged(FetchFailed):
    """Files changed while they were being downloaded: the month was not complete."""


class FetchRunning(FetchFailed):
    """Another process, or another node, is fetching the month."""
