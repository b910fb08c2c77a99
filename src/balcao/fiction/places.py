"""Municipalities of fictitious companies: real ones, with the codes of several registries.

Codes: the Receita's own (TOM) in the open data, IBGE's at Suframa and the state treasuries. All
capitals and a few further cities; the shares of the UFs are those of the registry
(`rfb-open-data.md`, section 11).
"""

from math import fsum

import msgspec

from balcao.fiction import tables
from balcao.fiction.dice import FINE, deck


class Municipality(msgspec.Struct, frozen=True, gc=False):
    """A municipality, or a city abroad (`uf` is `EX`, no IBGE code)."""

    uf: str
    tom: str  # 4 digits
    name: str
    ibge: str  # 7 digits
    area_code: str
    cep_prefix: str  # the first 3 of 8 digits


EXTERIOR = Municipality("EX", "9707", "EXTERIOR", "", "", "")


def _read() -> list[tuple[Municipality, float]]:
    """Return the municipalities with their shares: the UF's (`uf_share`), split by `share`."""
    rows = tables.rows("municipalities")
    total = {
        uf: fsum(float(row["share"]) for row in rows if row["uf"] == uf)
        for uf in dict.fromkeys(row["uf"] for row in rows)
    }
    found = [
        (
            msgspec.convert(row, Municipality),
            float(row["uf_share"]) * float(row["share"]) / total[row["uf"]],
        )
        for row in rows
    ]
    return [*found, (EXTERIOR, 0.24)]


_weighted = _read()
MUNICIPALITIES = tuple(municipality for municipality, _ in _weighted)
MUNICIPALITY_DECK = deck(_weighted, FINE)
# People live in Brazil: only companies are abroad.
HOME_DECK = deck([(city, weight) for city, weight in _weighted if city.uf != "EX"], FINE)
BY_TOM = {municipality.tom: municipality for municipality in MUNICIPALITIES}
BY_UF = {
    uf: tuple([municipality for municipality in MUNICIPALITIES if municipality.uf == uf])
    for uf in dict.fromkeys(municipality.uf for municipality in MUNICIPALITIES)
}

# The federal units' names, as in `ente_federativo_responsavel`.
UF_NAMES = {
    "AC": "ACRE", "AL": "ALAGOAS", "AM": "AMAZONAS", "AP": "AMAPA", "BA": "BAHIA",
    "CE": "CEARA", "DF": "DISTRITO FEDERAL", "ES": "ESPIRITO SANTO", "GO": "GOIAS",
    "MA": "MARANHAO", "MG": "MINAS GERAIS", "MS": "MATO GROSSO DO SUL", "MT": "MATO GROSSO",
    "PA": "PARA", "PB": "PARAIBA", "PE": "PERNAMBUCO", "PI": "PIAUI", "PR": "PARANA",
    "RJ": "RIO DE JANEIRO", "RN": "RIO GRANDE DO NORTE", "RO": "RONDONIA", "RR": "RORAIMA",
    "RS": "RIO GRANDE DO SUL", "SC": "SANTA CATARINA", "SE": "SERGIPE", "SP": "SAO PAULO",
    "TO": "TOCANTINS",
}  # fmt: skip
