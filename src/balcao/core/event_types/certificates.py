"""Events about the certificates of watched subjects."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from balcao.core.described import doc
from balcao.core.errors import SourceUnavailable
from balcao.core.event_types.contract import (
    EXAMPLE_ITEM,
    EXAMPLE_REQUEST,
    EventType,
    ItemData,
    when,
)

_LAST_DAY = "O último dia em que a certidão vale."


class EventPaper(msgspec.Struct, frozen=True):
    """The certificate of an item that an event is about."""

    id: Annotated[str, doc("Identificador da certidão na carteira.", format="uuid")]
    tipo: Annotated[
        Literal[
            "certidao_federal",
            "certidao_estadual",
            "certidao_trabalhista",
            "regularidade_fgts",
            "outra",
        ],
        doc("O tipo da certidão."),
    ]
    uf: Annotated[str | None, doc("A UF, de uma certidão estadual.")]
    nome: Annotated[str | None, doc("O nome, de uma certidão incluída à mão.")]


class PaperData(ItemData, frozen=True, kw_only=True):
    """The members of every event about a certificate."""

    papel: Annotated[EventPaper, doc("A certidão.")]


class ExpiringData(PaperData, frozen=True, kw_only=True):
    """The data of `certidao.a_vencer`."""

    valida_ate: Annotated[str, doc(_LAST_DAY, format="date")]
    dias: Annotated[int, doc("Quantos dias faltam.")]
    aviso: Annotated[int, doc("O aviso, em dias antes do vencimento.")]
    renova_sozinha: Annotated[bool, doc("Se será renovada automaticamente.")]


class RenewedData(PaperData, frozen=True, kw_only=True):
    """The data of `certidao.renovada`."""

    valida_ate: Annotated[str, doc(_LAST_DAY, format="date")]
    valida_ate_antes: Annotated[
        str | None, doc("O último dia da certidão anterior.", format="date")
    ]
    recibo: Annotated[str | None, doc("O endereço do comprovante.")]
    request_id: Annotated[str | None, doc("O `request_id` da consulta.", format="uuid")]
    creditos: Annotated[int, doc("Créditos cobrados. 0 nos demais itens da mesma raiz.", minimum=0)]


class SameData(PaperData, frozen=True, kw_only=True):
    """The data of `certidao.mesma`."""

    valida_ate: Annotated[str, doc(_LAST_DAY, format="date")]
    tentativas: Annotated[int, doc("Tentativas nesta validade.", minimum=0)]
    proxima_em: Annotated[str | None, when("Quando será a próxima tentativa.")]


class NotRenewedData(PaperData, frozen=True, kw_only=True):
    """The data of `certidao.nao_renovada`."""

    valida_ate: Annotated[str | None, doc(_LAST_DAY, format="date")]
    motivo: Annotated[str, doc("O código do motivo.")]
    tentativas: Annotated[int, doc("Tentativas nesta validade.", minimum=0)]
    proxima_em: Annotated[str | None, when("Quando será a próxima tentativa.")]


class StandingData(PaperData, frozen=True, kw_only=True):
    """The data of the other events about certificates."""

    valida_ate: Annotated[str | None, doc(_LAST_DAY, format="date")]
    ato: Annotated[str | None, doc("O ato que prorrogou a validade.")]
    request_id: Annotated[str | None, doc("O `request_id` da consulta.", format="uuid")]


_PAPER = EventPaper("0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c3", "certidao_federal", None, None)
_HEAD: Mapping[str, Any] = {
    "item": EXAMPLE_ITEM,
    "cnpj": "90030012000151",
    "pessoa": False,
    "fonte": "sandbox",
    "dados_de": "2026-08-08T10:15:30.120-03:00",
    "competencia": None,
    "sequencia": 7,
    "papel": _PAPER,
}
_BY_CLOCK = {**_HEAD, "fonte": None, "dados_de": None}
_NEXT = "2026-08-18T09:12:00.000-03:00"

CERTIFICATE_TYPES: Sequence[EventType] = (
    EventType(
        "certidao.a_vencer",
        "Faltam 10, 5 ou 1 dias para o vencimento (ou os dias dos avisos da carteira). Cada aviso"
        " vem no máximo uma vez por validade.",
        ExpiringData(**_BY_CLOCK, valida_ate="2026-08-18", dias=10, aviso=10, renova_sozinha=True),
    ),
    EventType(
        "certidao.renovada",
        "Há uma certidão que vale por mais tempo que a anterior, de qualquer consulta sua.",
        RenewedData(
            **_HEAD,
            valida_ate="2027-02-04",
            valida_ate_antes="2026-08-18",
            recibo=None,
            request_id=EXAMPLE_REQUEST,
            creditos=4,
        ),
    ),
    EventType(
        "certidao.mesma",
        "A renovação trouxe a certidão que já havia. A consulta foi cobrada.",
        SameData(**_HEAD, valida_ate="2026-08-18", tentativas=1, proxima_em=_NEXT),
    ),
    EventType(
        "certidao.nao_renovada",
        "A primeira tentativa de renovar uma validade falhou; mais uma vez quando faltam 3 dias.",
        NotRenewedData(
            **_BY_CLOCK,
            valida_ate="2026-08-18",
            motivo=SourceUnavailable.code,
            tentativas=1,
            proxima_em=_NEXT,
        ),
    ),
    EventType(
        "certidao.positiva",
        "A certidão mais recente é positiva: há débitos.",
        StandingData(**_HEAD, valida_ate=None, ato=None, request_id=EXAMPLE_REQUEST),
    ),
    EventType(
        "certidao.vencida",
        "A certidão venceu no dia anterior.",
        StandingData(**_BY_CLOCK, valida_ate="2026-08-18", ato=None, request_id=None),
    ),
    EventType(
        "certidao.prorrogada",
        "Um ato prorrogou a validade da certidão.",
        StandingData(
            **_BY_CLOCK, valida_ate="2026-09-17", ato="Portaria Conjunta 1/2026", request_id=None
        ),
    ),
)
