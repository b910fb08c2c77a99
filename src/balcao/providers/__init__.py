"""The providers: one folder each, and the list of all.

A folder holds all code that is specific to its provider: settings, texts, adapters, simulator and
checks. All other code iterates over the list.
"""

from collections.abc import Sequence
from importlib import import_module

from balcao.core.questions import Subject
from balcao.providers.contract import Offer, Provider
from balcao.providers.opendata import SNAPSHOT

# In the order of settings, lists and pages.
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

# Every source: the local copy first, then the online ones.
OFFERS: Sequence[Offer] = (
    SNAPSHOT,
    *(offer for provider in PROVIDERS for offer in provider.offers),
)


def in_order(subject: Subject, *first: str) -> tuple[str, ...]:
    """Return the sources of a subject: the named ones first, then all others."""
    known = [offer.name for offer in OFFERS if subject in offer.subjects]
    return (*first, *(name for name in known if name not in first))
