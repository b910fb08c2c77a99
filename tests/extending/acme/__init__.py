"""A provider that nobody knows of: all there is of it is this folder."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "acme",
    "Acme, por contrato.",
    (Offer("acme", "Acme Cadastros", ("company",), ("key",)),),
    credentials=("key",),
)
