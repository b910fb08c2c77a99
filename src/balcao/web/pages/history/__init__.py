"""*Histórico*: an account's requests, as a list, as files and one by one."""

from balcao.web.pages.history.filters import CHARGED
from balcao.web.pages.history.requests import (
    OPERATORS,
    PATH,
    RESULTS,
    Names,
    RequestRow,
    company_page,
    name_of,
    names_of,
    names_of_companies,
    read,
    recent_filter,
    rows_of,
    with_company_names,
)
from balcao.web.pages.history.validity import VALIDITIES, DatedCertificate, certificates_until

__all__ = [
    "CHARGED",
    "OPERATORS",
    "PATH",
    "RESULTS",
    "VALIDITIES",
    "DatedCertificate",
    "Names",
    "RequestRow",
    "certificates_until",
    "company_page",
    "name_of",
    "names_of",
    "names_of_companies",
    "read",
    "recent_filter",
    "rows_of",
    "with_company_names",
]
