"""Who answers what, for `balcao source` and `balcao doctor`: the inventory, looked at now."""

from datetime import UTC, datetime

from balcao.cli.failures import explain
from balcao.inventory import SNAPSHOT, SUBJECTS, SWITCHES, Inventory, ListedSource, ufs_text
from balcao.settings import Settings

__all__ = ["SNAPSHOT", "SUBJECTS", "SWITCHES", "Inventory", "ListedSource", "inventory", "ufs_text"]


def inventory(settings: Settings) -> Inventory:
    """Look now."""
    return Inventory(settings, datetime.now(UTC), explain)
