"""SERPRO, by contract: Consulta CNPJ v2 (company registry) and Consulta CND (certificates)."""

from balcao.providers.contract import Offer, Provider

_KEYS = ("consumer_key", "consumer_secret")
_COST = "O SERPRO não deveria cobrar por ela. Confira no seu contrato."

PROVIDER = Provider(
    "serpro",
    "SERPRO, Consulta CNPJ v2, por contrato.",
    (
        Offer("serpro", "SERPRO (Consulta CNPJ)", ("company",), _KEYS, probe_cost=_COST),
        Offer(
            "serpro_cnd",
            "SERPRO (Consulta CND)",
            ("federal_certificate",),
            ("cnd", *_KEYS),
            probe_cost=_COST,
        ),
    ),
    credentials=_KEYS,
)
