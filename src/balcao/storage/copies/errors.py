"""
What may go wrong with backups, on purpose. Messages are for the operator, in Portuguese: whole
sentences, without anything of what is in a backup.

BackupError
├── BackupRunning         another process is making one in the same folder
├── BackupStopped         the server ends; what was made so far is gone
├── BackupDamaged         a file is not what was written, or was never one of ours
└── BackupRefused         it cannot be made or brought back like this; nothing was changed
"""


class BackupError(Exception):
    """A backup cannot be made or brought back."""


class BackupRunning(BackupError):
    """Another process is making one in the same folder."""


class BackupStopped(BackupError):
    """The server ends; what was made so far is gone."""


class BackupDamaged(BackupError):
    """The file is not what was written, or was never one of ours."""


class BackupRefused(BackupError):
    """It cannot be made or brought back like this. Nothing was changed."""
