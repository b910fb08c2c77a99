"""Those whom we can ask: a folder each, and this list of them.

A folder holds everything that is particular to its provider: settings, words for people,
adapters, simulator, what is examined of it. Everybody else walks through the list.
"""

from collections.abc import Sequence
from importlib import import_module

from balcao.core.questions import Subject
from balcao.providers.contract import Offer, Provider
from balcao.providers.opendata import SNAPSHOT

# In the order in which settings, lists and pages have them.
_FOLDERS = (
    "minha_receita",
    "cnpja",
    "serpro",
    "sefaz",
    "infosimples",
)

PROVIDERS: Sequence[Provider] = tuple(
    import_module(f"{__name__}.{folder}").PROVIDER for folder in _FOLDERS
)

# Every source: our own copy, then those that are asked over the network.
OFFERS: Sequence[Offer] = (
    SNAPSHOT,
    *(offer for provider in PROVIDERS for offer in provider.offers),
)


def in_order(subject: Subject, *first: str) -> tuple[str, ...]:
    """The sources that answer a subject: those named, then all others."""
    known = [offer.name for offer in OFFERS if subject in offer.subjects]
    return (*first, *(name for name in known if name not in first))
