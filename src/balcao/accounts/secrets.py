"""The secrets of an opened installation."""

from balcao.core.secrets import Secrets, ring_of
from balcao.home import Home
from balcao.storage.desk.desk import Desk


def secrets_of(home: Home, desk: Desk) -> Secrets:
    """Return the secrets of the data folder, with their roles in the database.

    Raises `HomeDamaged`, `StorageFailed`, and `PepperDiffers` if the secret in use is missing.
    """
    return Secrets(ring_of(home.secrets(), desk.secrets.newest()))
