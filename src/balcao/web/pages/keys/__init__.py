"""*Chaves*: the API keys of an account and the budgets on them."""
