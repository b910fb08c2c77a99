"""*Lotes*: an operation applied to every row of a list, page by page (contract 13)."""

from balcao.web.pages.batches.form import as_list, begun_with, columns_of_list, media_type_of
from balcao.web.pages.batches.pages import BatchView, latest_batches

__all__ = [
    "BatchView",
    "as_list",
    "begun_with",
    "columns_of_list",
    "latest_batches",
    "media_type_of",
]
