"""CNPJá's commercial API: company registry, state registrations, free-trade-zone registry."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "cnpja",
    "CNPJá, API comercial.",
    (
        Offer(
            "cnpja",
            "CNPJá",
            ("company", "state_registration", "rural_producer", "suframa"),
            ("key",),
            probe_cost="O CNPJá não cobra por ela.",
        ),
    ),
    credentials=("key",),
)
