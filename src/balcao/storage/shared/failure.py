"""What a database's error means to everybody else."""

from balcao.errors import StorageFailed


def failure(error: Exception) -> StorageFailed:
    """It cannot be written or read now: by the error's type alone, for its words may hold rows.

    The error itself is the cause, by which the command line tells a busy file from a full disk.
    """
    failed = StorageFailed(type(error).__name__)
    failed.__cause__ = error
    return failed
