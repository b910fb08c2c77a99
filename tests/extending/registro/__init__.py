"""A provider, the only source of the seventh operation."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "registro",
    "O registro das opções pelo Simples.",
    (Offer("registro", "Registro do Simples", ("simples",), ("url",)),),
)
