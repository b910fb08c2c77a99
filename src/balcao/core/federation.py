"""The 27 federative units, in the contract's order, and `BR`, which means all of them.

Codes: IBGE, as in `sefaz-consulta-cadastro.md` section 4.
"""

from collections.abc import Mapping
from types import MappingProxyType

ALL = "BR"

IBGE_CODES: Mapping[str, str] = MappingProxyType(
    {
        "AC": "12", "AL": "27", "AM": "13", "AP": "16", "BA": "29", "CE": "23", "DF": "53",
        "ES": "32", "GO": "52", "MA": "21", "MG": "31", "MS": "50", "MT": "51", "PA": "15",
        "PB": "25", "PE": "26", "PI": "22", "PR": "41", "RJ": "33", "RN": "24", "RO": "11",
        "RR": "14", "RS": "43", "SC": "42", "SE": "28", "SP": "35", "TO": "17",
    }
)  # fmt: skip

UFS: tuple[str, ...] = tuple(IBGE_CODES)

# For rural producers the contract excludes PR (contract 2.3); a setting may add it.
RURAL_UFS: tuple[str, ...] = tuple(uf for uf in UFS if uf != "PR")

# As people write them, without accents, in lower case.
UF_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "acre": "AC", "alagoas": "AL", "amazonas": "AM", "amapa": "AP", "bahia": "BA",
        "ceara": "CE", "distrito federal": "DF", "espirito santo": "ES", "goias": "GO",
        "maranhao": "MA", "minas gerais": "MG", "mato grosso do sul": "MS", "mato grosso": "MT",
        "para": "PA", "paraiba": "PB", "pernambuco": "PE", "piaui": "PI", "parana": "PR",
        "rio de janeiro": "RJ", "rio grande do norte": "RN", "rondonia": "RO", "roraima": "RR",
        "rio grande do sul": "RS", "santa catarina": "SC", "sergipe": "SE", "sao paulo": "SP",
        "tocantins": "TO",
    }
)  # fmt: skip
