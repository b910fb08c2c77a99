"""Pages of an account's portfolio: items, their changes, lists, settings."""

from balcao.web.pages.portfolio.items import unseen

__all__ = ["unseen"]
