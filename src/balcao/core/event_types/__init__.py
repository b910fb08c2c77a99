"""The catalogue of event types: names, when each is written, and the shape of its data.

Contract 19.3. The feed's filters, the API's document, pages and webhooks all use it.
"""

from collections.abc import Mapping

from balcao.core.event_types.accounts import ACCOUNT_TYPES
from balcao.core.event_types.certificates import CERTIFICATE_TYPES
from balcao.core.event_types.companies import COMPANY_TYPES
from balcao.core.event_types.contract import EventData, EventType, ItemData

__all__ = [
    "EVENT_TYPES",
    "PING",
    "EventData",
    "EventType",
    "ItemData",
    "kinds_named",
    "page_of",
]

EVENT_TYPES: Mapping[str, EventType] = {
    each.name: each for each in (*COMPANY_TYPES, *CERTIFICATE_TYPES, *ACCOUNT_TYPES)
}

# Sent to one endpoint, and in no feed.
PING = "balcao.ping"

_ALL_OF = ".*"
_GROUPS: Mapping[str, frozenset[str]] = {
    group: frozenset(each.name for each in EVENT_TYPES.values() if each.group == group)
    for group in dict.fromkeys(each.group for each in EVENT_TYPES.values())
}


def kinds_named(name: str) -> frozenset[str]:
    """Return the types of a name or group (`certidao.*`); empty: there is none."""
    if name.endswith(_ALL_OF):
        return _GROUPS.get(name.removesuffix(_ALL_OF), frozenset())
    return frozenset({name}) if name in EVENT_TYPES else frozenset()


def page_of(name: str) -> str:
    """Return the address of a type's page in the documentation."""
    return f"{PAGES}{name}"


PAGES = "/docs/eventos/"
