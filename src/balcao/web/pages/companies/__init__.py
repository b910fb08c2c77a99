"""The company's page: the account's answers about a company, and prices of the rest (ADR 0018)."""

from balcao.web.pages.companies.expiring import WITHIN_DAYS, expiring_certificates
from balcao.web.pages.companies.recent import companies_named, recent_companies

__all__ = ["WITHIN_DAYS", "companies_named", "expiring_certificates", "recent_companies"]
