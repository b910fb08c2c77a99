"""Mapping between the Receita's municipality codes (TOM), used by the open data, and IBGE's.

`data/municipalities.csv` has all 5,571, without those abroad. The open data does not publish it. A
municipality founded later is added by hand, and until then found by name or TOM.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from balcao.core.federation import IBGE_CODES


@cache
def toms_by_ibge() -> Mapping[str, str]:
    """Return the Receita's code (4 digits) by IBGE's (7 digits)."""
    text = (files("balcao.opendata") / "data" / "municipalities.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter=";")
    return MappingProxyType({row["ibge"]: row["tom"] for row in rows})


@cache
def ibge_by_tom() -> Mapping[str, str]:
    """Return IBGE's code (7 digits) by the Receita's (4 digits)."""
    return MappingProxyType({tom: ibge for ibge, tom in toms_by_ibge().items()})


@cache
def uf_by_tom() -> Mapping[str, str]:
    """Return the UF by the Receita's code. IBGE's code begins with its own for the UF."""
    ufs = {code: uf for uf, code in IBGE_CODES.items()}
    return MappingProxyType({tom: ufs[ibge[:2]] for ibge, tom in toms_by_ibge().items()})
