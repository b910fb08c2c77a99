"""Who answers what, for `balcao source` and `balcao doctor`: `balcao.sight`, looked at now."""

from datetime import UTC, datetime

from balcao.cli.failures import explain
from balcao.settings import Settings
from balcao.sight import SNAPSHOT, SUBJECTS, SWITCHES, Seen, Sight, day, ufs_text

__all__ = ["SNAPSHOT", "SUBJECTS", "SWITCHES", "Seen", "Sight", "day", "sight", "ufs_text"]


def sight(settings: Settings) -> Sight:
    """Look now."""
    return Sight(settings, datetime.now(UTC), explain)
