"""Infosimples: automated consultations of the states' own pages, and of the federal one."""

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
