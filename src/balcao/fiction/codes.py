"""The code tables of the registry, as far as fictitious companies use them.

Codes and descriptions are the official ones (`rfb-open-data.md`, sections 4.5 and 5). Some
codes in use have no description, as in the real tables: they must give a null description.
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

# Of each: its official description, the trade as it stands in names, and how likely it is.
_ROWS = tables.rows("activities")
ACTIVITIES = tables.descriptions("activities")
TRADES = {row["code"]: row["trade"] for row in _ROWS}
ACTIVITY_WEIGHTS = [(row["code"], float(row["weight"])) for row in _ROWS]
