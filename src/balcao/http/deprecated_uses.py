"""`/conta/v1/obsoletos`: the deprecated features that an account's keys use (contract 18.4)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from balcao.core.calendar import civil_day
from balcao.core.deprecations import (
    CACHE_HEADER,
    FEATURES,
    KEPT_DAYS,
    SHOWN_DAYS,
    shown_since,
    title_of,
)
from balcao.core.described import described, doc
from balcao.http.account import PREFIX
from balcao.http.contents import Json
from balcao.http.json_bodies import enveloped
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import COUNT, TAG_ACCOUNT
from balcao.storage.desk.deprecated_uses import KeyUse
from balcao.storage.desk.desk import Desk

USES_MAX = 1_000
_HEADERS = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
]


@described("UsoObsoleto", "O uso de um recurso obsoleto por uma chave.")
class DeprecatedUseLine(msgspec.Struct, frozen=True):
    """The use of a deprecated feature by a key of the account."""

    recurso: Annotated[
        str,
        doc(
            "O código do recurso, que não muda. Podem surgir outros: "
            + ", ".join(f"`{code}`" for code in FEATURES)
            + "."
        ),
    ]
    titulo: Annotated[str, doc("Nome do recurso.")]
    chave: Annotated[str, doc("Nome da chave que usou o recurso.")]
    ultimo_uso: Annotated[str, doc("Último dia de uso, em Brasília.", format="date")]
    requisicoes: Annotated[int, doc(f"Requisições nos últimos {SHOWN_DAYS} dias.", **COUNT)]
    aceito_ate: Annotated[
        str | None,
        doc("Até quando o recurso funciona, pelo menos. Nulo se já foi removido.", format="date"),
    ]
    substituicao: Annotated[
        str | None, doc("O que usar no lugar. Nulo se o recurso já foi removido.")
    ]


@described("RespostaObsoletos", "Os recursos obsoletos que a conta ainda usa.")
class DeprecatedUsesAnswer(msgspec.Struct, frozen=True):
    """The deprecated features that the account's keys use."""

    itens: Annotated[
        Sequence[DeprecatedUseLine], doc("Do uso mais recente ao mais antigo; no máximo 1000.")
    ]


@dataclass(frozen=True, slots=True)
class DeprecatedUseRoutes:
    """The route about deprecated features, over the desk."""

    desk: Desk
    now_ms: Callable[[], int]

    @Route(
        f"{PREFIX}obsoletos",
        "obsoletos",
        id="obsoletos",
        needs_key=True,
        tag=TAG_ACCOUNT,
        tells_cost=False,
        summary="Consultar o uso de recursos obsoletos",
        text=(
            "Quais chaves ativas da conta ainda usam recursos que deixarão de funcionar, e o que"
            f" usar no lugar. Cada uso aparece por {KEPT_DAYS} dias, cerca de um minuto depois da"
            " requisição. As datas e a política estão no guia de versões da documentação."
        ),
        gives=[
            Json(
                DeprecatedUsesAnswer(
                    [
                        DeprecatedUseLine(
                            recurso=CACHE_HEADER.code,
                            titulo=CACHE_HEADER.title,
                            chave="erp",
                            ultimo_uso="2026-08-08",
                            requisicoes=42,
                            aceito_ate=CACHE_HEADER.last_day.isoformat(),
                            substituicao=CACHE_HEADER.replacement,
                        )
                    ]
                ),
                envelope=True,
            )
        ],
    )
    async def listed(self, request: Request) -> Answer:
        """Return the deprecated features that the account's keys use (contract 18.4)."""
        since = shown_since(civil_day(self.now_ms()))
        read = self.desk.deprecated_uses.read
        uses = await asyncio.to_thread(read, request.account_id, since, USES_MAX)
        return 200, _HEADERS, enveloped(DeprecatedUsesAnswer([_line(use) for use in uses]))


def _line(use: KeyUse) -> DeprecatedUseLine:
    feature = FEATURES.get(use.feature)
    return DeprecatedUseLine(
        recurso=use.feature,
        titulo=title_of(use.feature),
        chave=use.key,
        ultimo_uso=use.last_day,
        requisicoes=use.requests,
        aceito_ate=None if feature is None else feature.last_day.isoformat(),
        substituicao=None if feature is None else feature.replacement,
    )
