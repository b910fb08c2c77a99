"""A provider that consists of this folder alone."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "acme",
    "Acme, por contrato.",
    (Offer("acme", "Acme Cadastros", ("company",), ("key",)),),
    credentials=("key",),
)
