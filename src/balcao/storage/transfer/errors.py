"""
Refusals of backups, restores and moves. Messages are for the operator, in Portuguese: whole
sentences, without rows and passwords.

MoveRefused               data cannot be moved in this state; the data in use is unchanged
BackupError
├── BackupRunning         another process is making one in the same folder
├── BackupStopped         the server ends; what was made so far is gone
├── BackupDamaged         a file is not what was written, or was never one of ours
└── BackupRefused         it cannot be made or restored like this; nothing was changed
"""


class MoveRefused(Exception):
    """Data cannot be moved like this. Nothing that serves was changed."""


class BackupError(Exception):
    """A backup cannot be made or restored."""


class BackupRunning(BackupError):
    """Another process is making one in the same folder."""


class BackupStopped(BackupError):
    """The server ends; what was made so far is gone."""


class BackupDamaged(BackupError):
    """The file is not what was written, or was never one of ours."""


class BackupRefused(BackupError):
    """A backup cannot be made or restored like this. Nothing was changed."""
