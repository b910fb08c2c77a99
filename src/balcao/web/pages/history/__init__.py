"""*Histórico*: an account's requests, as a list, as files and one by one."""

from balcao.web.pages.history.filters import CHARGED
from balcao.web.pages.history.requests import (
    OPERATORS,
    PATH,
    RESULTS,
    Names,
    RequestRow,
    name_of,
    names_of,
    read,
    recent_filter,
    rows_of,
    with_company_names,
)

__all__ = [
    "CHARGED",
    "OPERATORS",
    "PATH",
    "RESULTS",
    "Names",
    "RequestRow",
    "name_of",
    "names_of",
    "read",
    "recent_filter",
    "rows_of",
    "with_company_names",
]
