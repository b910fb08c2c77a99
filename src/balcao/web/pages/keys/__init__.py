"""*Chaves*: the API keys of an account and the budgets on them."""

from balcao.web.pages.keys.budgets import budgets_concerning

__all__ = ["budgets_concerning"]
