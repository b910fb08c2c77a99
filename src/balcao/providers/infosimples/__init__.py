"""Infosimples: a service that queries the web pages of states and federal bodies."""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "infosimples",
    "Infosimples, por contrato.",
    (
        Offer(
            "infosimples",
            "Infosimples",
            (
                "state_registration",
                "rural_producer",
                "federal_certificate",
                "state_certificate",
                "labour_certificate",
                "fgts_regularity",
            ),
            ("token",),
            probe_cost="A Infosimples não cobra por ela.",
        ),
    ),
    credentials=("token",),
)
