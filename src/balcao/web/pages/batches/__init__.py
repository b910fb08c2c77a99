"""*Lotes*: an operation applied to every row of a list, page by page (contract 13)."""

from balcao.web.pages.batches.form import begun_with
from balcao.web.pages.batches.pages import latest_batches

__all__ = ["begun_with", "latest_batches"]
