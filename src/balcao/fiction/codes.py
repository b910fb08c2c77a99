"""The registry's code tables, with the codes that fictitious companies use.

Codes and descriptions are the official ones (`rfb-open-data.md`, sections 4.5 and 5). As in the
real tables, some codes in use have no description, to be answered as null.
"""

from balcao.core import qualifications
from balcao.fiction import tables

REASON_WITHOUT_DESCRIPTION = "32"
COUNTRY_WITHOUT_DESCRIPTION = "150"
QUALIFICATION_WITHOUT_DESCRIPTION = "36"
ACTIVITY_NOT_INFORMED = "8888888"

NATURES = tables.descriptions("natures")
QUALIFICATIONS = qualifications.QUALIFICATIONS
REASONS = tables.descriptions("reasons")
COUNTRIES = tables.descriptions("countries")

# Columns: official description, the trade as in names, weight.
_ROWS = tables.rows("activities")
ACTIVITIES = tables.descriptions("activities")
TRADES = {row["code"]: row["trade"] for row in _ROWS}
ACTIVITY_WEIGHTS = [(row["code"], float(row["weight"])) for row in _ROWS]
