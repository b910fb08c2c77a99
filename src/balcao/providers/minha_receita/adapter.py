"""Company registry, by Minha Receita or by BrasilAPI, which hands its answers on.

`public-cnpj-apis.md` sections 1 and 2. Both rest on the monthly open data: partners' CPF are
masked, and the data are as old as `/updated` says, which Minha Receita alone has. They say 404 when
their database fails, too, so a known company is asked for before one is believed (ADR 0024).
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgspec

from balcao.core.company import (
    AGE_BAND_TEXTS,
    IDENTIFIER_TEXTS,
    SIZE_TEXTS,
    STATUS_TEXTS,
    DatedCompany,
    Partner,
)
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.core.routing import UNCONFIRMED_RETRY_SECONDS
from balcao.core.text import TextTooLong
from balcao.providers.contract import SwitchedOn, always
from balcao.providers.minha_receita.settings import MinhaReceitaSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.remembering import Remembering
from balcao.sources.replies import PartnerList, ShortList, text

PATHS = {"minha_receita": "/{}", "brasilapi": "/api/cnpj/v1/{}"}

# When the data were extracted; the same for every company (`remembering.py`).
UPDATED = "/updated"

PUBLIC_COMPANY = "33683111000280"  # SERPRO, of the Union: in every registry there is


class _Activity(msgspec.Struct):
    codigo: int | None = None
    descricao: str | None = None


class _Partner(msgspec.Struct):
    nome_socio: str | None = None
    cnpj_cpf_do_socio: str | None = None
    qualificacao_socio: str | None = None
    data_entrada_sociedade: str | None = None
    pais: str | None = None
    cpf_representante_legal: str | None = None
    nome_representante_legal: str | None = None
    codigo_faixa_etaria: int | None = None
    faixa_etaria: str | None = None


class _Updated(msgspec.Struct):
    message: str


class _Company(msgspec.Struct):
    cnpj: str
    identificador_matriz_filial: int | None = None
    descricao_identificador_matriz_filial: str | None = None
    razao_social: str | None = None
    nome_fantasia: str | None = None
    situacao_cadastral: int | None = None
    descricao_situacao_cadastral: str | None = None
    data_situacao_cadastral: str | None = None
    data_inicio_atividade: str | None = None
    cnae_fiscal: int | None = None
    cnae_fiscal_descricao: str | None = None
    cnaes_secundarios: ShortList[_Activity] | None = None
    codigo_natureza_juridica: int | None = None
    natureza_juridica: str | None = None
    descricao_tipo_de_logradouro: str | None = None
    logradouro: str | None = None
    numero: str | None = None
    complemento: str | None = None
    bairro: str | None = None
    cep: str | None = None
    uf: str | None = None
    municipio: str | None = None
    ddd_telefone_1: str | None = None
    ddd_telefone_2: str | None = None
    email: str | None = None
    situacao_especial: str | None = None
    data_situacao_especial: str | None = None
    codigo_porte: int | None = None
    porte: str | None = None
    ente_federativo_responsavel: str | None = None
    qsa: PartnerList[_Partner] | None = None


@dataclass(frozen=True, slots=True)
class MinhaReceitaAdapter:
    """One of the two services that speak this form."""

    name: str = "minha_receita"
    flavour: Literal["minha_receita", "brasilapi"] = "minha_receita"

    conclusive_absence = True  # it is made sure of
    capabilities = Capabilities(subjects=frozenset({"company"}), alphanumeric=True, of_a_copy=True)

    def converse(self, inquiry: Inquiry) -> Conversation:
        """The day of the data, the company, and at a 404 the known one."""
        # The day first: data swapped in between are newer than we say, not older.
        day = yield from self._day_of_data()
        reply = yield self._about(inquiry.document.text)
        match reply.status:
            case 200:
                return self._read(reply, day)
            case 404:
                yield from self._must_find_the_known()
                return None
            case _:
                raise replies.refusal(self.name, reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A public company; they are free of charge, and `/healthz` would say nothing of the data.

        BrasilAPI keeps answers for a day, so a good one there may be yesterday's.
        """
        yield from self._known_company()
        return "respondeu"

    def _known_company(self) -> Exchange[None]:
        """Raises `SourceUnavailable` or `SourceFailed` unless it is there."""
        reply = yield self._about(PUBLIC_COMPANY)
        match reply.status:
            case 200 if self._read(reply, None).cnpj == PUBLIC_COMPANY:
                return None
            case 200:
                raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
            case 404:  # so they say, too, when their database is down
                raise SourceFailed(f"{self.name}: não encontrou uma empresa pública conhecida")
            case _:
                raise replies.refusal(self.name, reply)

    def _about(self, cnpj: str) -> HttpRequest:
        return HttpRequest("GET", PATHS[self.flavour].format(cnpj))

    def _day_of_data(self) -> Exchange[str]:
        """`YYYY-MM-DD`; None where nobody says it, which is no reason not to answer."""
        if self.flavour != "minha_receita":
            return None
        try:
            return day_of_data((yield HttpRequest("GET", UPDATED)))
        except SourceError:
            return None

    def _must_find_the_known(self) -> Exchange[None]:
        """Who finds a known company would find this one. Raises `SourceUnavailable` otherwise."""
        with suppress(SourceError):
            yield from self._known_company()
            return None
        raise SourceUnavailable(
            f"{self.name}: inexistência não confirmada: não encontra nem uma empresa pública"
            " conhecida",
            UNCONFIRMED_RETRY_SECONDS,
        )

    def _read(self, reply: HttpReply, day: str | None) -> DatedCompany:
        said = replies.decode_what_can_be(self.name, _Company, reply.body)
        return DatedCompany(
            data_base=day,
            cnpj=replies.plain(said.cnpj) or "",
            identificador_matriz_filial=_known(
                IDENTIFIER_TEXTS,
                said.identificador_matriz_filial,
                1,
                said.descricao_identificador_matriz_filial,
            ),
            data_de_abertura=replies.day(said.data_inicio_atividade),
            nome_empresarial=text(said.razao_social),
            nome_fantasia=text(said.nome_fantasia),
            atividade_economica_principal=replies.coded(
                said.cnae_fiscal, 7, said.cnae_fiscal_descricao
            ),
            # A company without secondary activities may come with the placeholder {0, ""}.
            atividades_economicas_secundarias=tuple(
                activity
                for item in said.cnaes_secundarios or ()
                if (activity := replies.coded(item.codigo, 7, item.descricao)) is not None
            ),
            natureza_juridica=replies.coded(
                said.codigo_natureza_juridica, 4, said.natureza_juridica
            ),
            tipo_logradouro=text(said.descricao_tipo_de_logradouro),
            logradouro=text(said.logradouro),
            numero=text(said.numero),
            complemento=text(said.complemento),
            bairro=text(said.bairro),
            municipio=text(said.municipio),
            cep=replies.plain(said.cep),
            uf=text(said.uf),
            endereco_eletronico=text(said.email),
            telefone=replies.telephone(said.ddd_telefone_1, said.ddd_telefone_2),
            ente_federativo_responsavel=text(said.ente_federativo_responsavel),
            situacao_cadastral=_known(
                STATUS_TEXTS, said.situacao_cadastral, 2, said.descricao_situacao_cadastral
            ),
            data_da_situacao_cadastral=replies.day(said.data_situacao_cadastral),
            situacao_especial=text(said.situacao_especial),
            data_da_situacao_especial=replies.day(said.data_situacao_especial),
            # "NÃO INFORMADO" is not one of our texts and so becomes null.
            porte=_known(SIZE_TEXTS, said.codigo_porte, 2, said.porte),
            socios=tuple(self._partner(partner) for partner in said.qsa or ()),
        )

    def _partner(self, said: _Partner) -> Partner:
        return Partner(
            nome=text(said.nome_socio),
            cpf_cnpj_socio=replies.plain(said.cnpj_cpf_do_socio),
            qualificacao_socio=text(said.qualificacao_socio),
            pais=text(said.pais),
            documento_representante_legal=replies.plain(said.cpf_representante_legal),
            nome_representante_legal=text(said.nome_representante_legal),
            faixa_etaria=_known(AGE_BAND_TEXTS, said.codigo_faixa_etaria, 1, said.faixa_etaria),
            data_entrada_sociedade=replies.entry_day(said.data_entrada_sociedade),
        )


def day_of_data(reply: HttpReply) -> str | None:
    """The day in a reply to `UPDATED`, `YYYY-MM-DD`; None where it is none."""
    if reply.status != 200:
        return None
    try:
        return replies.day(replies.decode("", _Updated, reply.body).message)
    except (SourceFailed, TextTooLong):
        return None


def _known(texts: dict[str, str], code: int | None, width: int, said: str | None) -> str | None:
    """Our text of a code; where the code is missing, theirs if it is one of ours."""
    if code is not None:
        return texts.get(f"{code:0{width}d}")
    stated = text(said)
    return stated if stated in texts.values() else None


def sources(settings: MinhaReceitaSettings, now: datetime) -> Sequence[SwitchedOn]:
    """The one source; the day of its data is asked for now and then."""
    adapter = MinhaReceitaAdapter(flavour=settings.flavour)
    layer = Remembering(
        UPDATED, usable=lambda reply: day_of_data(reply) is not None, clock=time.monotonic
    )
    return (SwitchedOn("minha_receita", adapter, always(settings.address), layer),)
