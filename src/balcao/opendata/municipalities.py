"""Municipalities: the open data knows them by the Receita's own codes (TOM), others by IBGE's.

`data/municipalities.csv` has all 5,571 of them, those abroad aside. The open data does not publish
it; a municipality that is founded later is added by hand, and until then found by name or TOM.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@cache
def toms_by_ibge() -> Mapping[str, str]:
    """The Receita's code (4 digits) by IBGE's (7 digits)."""
    text = (files("balcao.opendata") / "data" / "municipalities.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter=";")
    return MappingProxyType({row["ibge"]: row["tom"] for row in rows})


@cache
def ibge_by_tom() -> Mapping[str, str]:
    """The other way round."""
    return MappingProxyType({tom: ibge for ibge, tom in toms_by_ibge().items()})
