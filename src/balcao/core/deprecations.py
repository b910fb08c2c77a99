"""Deprecated parts of the API, and their use."""

import msgspec

# A use is stored per civil day; shorter periods are sums of days.
USE_SHOWN_DAYS = 30


class DeprecatedUse(msgspec.Struct, frozen=True, order=True):
    """Requests of one key, in one civil day, that used a deprecated feature."""

    account_id: int
    feature: str
    key_id: int
    day: str  # YYYY-MM-DD in Brasília
    requests: int
