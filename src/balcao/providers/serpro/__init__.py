"""SERPRO, by contract: Consulta CNPJ v2 (company registry) and Consulta CND (certificates)."""

from balcao.providers.contract import Offer, Provider

_KEYS = ("consumer_key", "consumer_secret")

PROVIDER = Provider(
    "serpro",
    "SERPRO, Consulta CNPJ v2, por contrato.",
    (
        Offer("serpro", "SERPRO (Consulta CNPJ)", ("company",), _KEYS),
        Offer("serpro_cnd", "SERPRO (Consulta CND)", ("federal_certificate",), ("cnd", *_KEYS)),
    ),
    credentials=_KEYS,
)
