"""What a database's error means to everybody else."""

import logging

from balcao.core.errors import BalcaoError, StorageFailed

log = logging.getLogger(__name__)


def failure(error: Exception) -> StorageFailed:
    """It cannot be written or read now: by the error's type alone, for its words may hold rows.

    The error itself is the cause, by which the command line tells a busy file from a full disk.
    """
    failed = StorageFailed(type(error).__name__)
    failed.__cause__ = error
    return failed


def told(error: Exception) -> Exception:
    """What is said to whoever had some work done: what the work refuses, or else `failure`."""
    # Not its subclasses: a missing index or key is a bug.
    if isinstance(error, BalcaoError) or type(error) is LookupError:
        return error
    log.error("database failed: %s", type(error).__name__)
    return failure(error)
