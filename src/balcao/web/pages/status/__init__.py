"""The public status page, its history, its feeds and its badge."""

from balcao.web.pages.status.availability import HISTORY, LEGEND, StatusHistory, Strips
from balcao.web.pages.status.pages import ANSWERS, BOARD

__all__ = ["ANSWERS", "BOARD", "HISTORY", "LEGEND", "StatusHistory", "Strips"]
