"""Pieces that the tests of state registrations and rural producers share."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from tests.records import CNPJ, CPF, producer, sintegra
from tests.service import Reply, Service

KEY = "pedido-0001"
NO_UF = sintegra(query="")
AT = datetime.fromtimestamp(0, UTC)  # the fake source puts its clock's time there

UFS = re.findall("..", "ACALAMAPBACEDFESGOMAMGMSMTPAPBPEPIPRRJRNRORRRSSCSESPTO")  # endpoint 2
RURAL_UFS = [uf for uf in UFS if uf != "PR"]  # endpoint 3: "PR is not in this list"


class Lookup(NamedTuple):
    """One of the two operations."""

    path: Callable[..., str]
    document: str
    field: str  # of the document in the answer
    name: str  # of the field that names its holder
    ufs: list[str]


SINTEGRA = Lookup(sintegra, CNPJ, "cnpj", "razao_social", UFS)
PRODUCER = Lookup(producer, CPF, "cpf", "nome", RURAL_UFS)
both = pytest.mark.parametrize("of", [SINTEGRA, PRODUCER], ids=["sintegra", "producer"])

THE_ADDRESS = {
    "logradouro": "RUA DAS ACACIAS FICTICIAS",
    "numero": "100",
    "bairro": "CENTRO",
    "municipio": "SAO PAULO",
    "codigo_municipio_ibge": "3550308",
    "uf": "SP",
    "cep": "04000100",
}


def br(of: Lookup, query: str = "") -> str:
    """Return the address of a lookup in all UFs."""
    return of.path(of.document, "uf=BR" + (f"&{query}" if query else ""))


def inquiry(of: Lookup, uf: str) -> Inquiry:
    if of is SINTEGRA:
        return Inquiry("state_registration", Cnpj.parse(of.document), uf)
    return Inquiry("rural_producer", Cpf.parse(of.document), uf)


def origins(answer: Reply) -> Mapping[str, str]:
    """Return where each UF's answer came from."""
    return {each["uf"]: each["origem"] for each in answer.json["ufs"]}


def asked_about(world: Service) -> list[str | None]:
    """Return the UFs that the source was asked about, without the company registry."""
    return [each.uf for each in world.source.inquiries if each.subject != "company"]


def asked(world: Service) -> list[tuple[str, str | None]]:
    """Return subject and UF of each request to the source."""
    return [(about.subject, about.uf) for about in world.source.inquiries]
