"""Those whom we can ask: a folder each, and this list of them.

A folder holds everything that is particular to its provider: settings, words for people,
adapters, simulator, what is examined of it. Everybody else walks through the list.
"""

from collections.abc import Sequence

from balcao.core.questions import Subject
from balcao.providers import cnpja, infosimples, minha_receita, opendata, sefaz, serpro
from balcao.providers.contract import Offer, Provider

PROVIDERS: Sequence[Provider] = (
    minha_receita.PROVIDER,
    cnpja.PROVIDER,
    serpro.PROVIDER,
    sefaz.PROVIDER,
    infosimples.PROVIDER,
)

# Every source by name: our own copy, then those that are asked over the network.
OFFERS: Sequence[Offer] = (
    opendata.SNAPSHOT,
    *(offer for provider in PROVIDERS for offer in provider.offers),
)


def in_order(subject: Subject, *first: str) -> tuple[str, ...]:
    """The sources that answer a subject: those named, then all others."""
    known = [offer.name for offer in OFFERS if subject in offer.subjects]
    assert set(first) <= set(known), f"{subject}: {set(first) - set(known)} do not answer it"
    return (*first, *(name for name in known if name not in first))
