"""Minha Receita, and BrasilAPI, which has the same format: the open data as a service."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "minha_receita",
    "Minha Receita ou BrasilAPI, com o mesmo formato de resposta.",
    (
        Offer(
            "minha_receita",
            "Minha Receita",
            ("company",),
            ("url",),
            probe_cost="É gratuita.",
        ),
    ),
)
