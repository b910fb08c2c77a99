"""Infosimples: a service that queries the web pages of the states and of the federal revenue."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "infosimples",
    "Infosimples, por contrato.",
    (
        Offer(
            "infosimples",
            "Infosimples",
            ("state_registration", "rural_producer", "federal_certificate", "state_certificate"),
            ("token",),
            probe_cost="A Infosimples não cobra por ela.",
        ),
    ),
    credentials=("token",),
)
