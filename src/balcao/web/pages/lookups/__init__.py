"""*Consultas*: the form of each operation, its progress, its result and its receipt."""

from balcao.web.pages.lookups.pages import form_values

__all__ = ["form_values"]
