"""`/app/busca`: company search by hand, with suggestions and counts by activity."""

from balcao.web.pages.search.pages import PATH, is_searchable

__all__ = ["PATH", "is_searchable"]
