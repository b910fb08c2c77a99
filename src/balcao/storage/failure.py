"""Errors of a database as callers of the storage receive them."""

import logging

from balcao.core.errors import BalcaoError, StorageFailed

log = logging.getLogger(__name__)


def failure(error: Exception) -> StorageFailed:
    """Return a `StorageFailed` with the type of this error: its text may contain rows.

    The error is its cause: the command line distinguishes a busy file from a full disk by it.
    """
    failed = StorageFailed(type(error).__name__)
    failed.__cause__ = error
    return failed


def error_for(error: Exception) -> Exception:
    """Return the error to raise to the caller: our own ones as they are, or else `failure`."""
    # Not subclasses of LookupError: a missing index or key is a bug.
    if isinstance(error, BalcaoError) or type(error) is LookupError:
        return error
    log.error("database failed: %s", type(error).__name__)
    return failure(error)
