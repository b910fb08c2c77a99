"""`/docs`: the API's documentation, made of its OpenAPI document and of guides."""

from balcao.web.pages.docs.contents import documentation_of

__all__ = ["documentation_of"]
