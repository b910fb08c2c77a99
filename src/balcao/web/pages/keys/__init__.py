"""*Chaves*: the API keys of an account and the budgets on them."""

from balcao.web.pages.keys.budgets import visible_budgets

__all__ = ["visible_budgets"]
