"""*Chaves*: the API keys of an account and the budgets on them."""

from balcao.web.pages.keys.budgets import visible_budgets
from balcao.web.pages.keys.pages import expiring_keys

__all__ = ["expiring_keys", "visible_budgets"]
