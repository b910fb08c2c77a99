"""*Lotes*: an operation applied to every row of a list, page by page (contract 13)."""

from balcao.web.pages.batches.form import begun_with
from balcao.web.pages.batches.pages import BatchView, latest_batches

__all__ = ["BatchView", "begun_with", "latest_batches"]
