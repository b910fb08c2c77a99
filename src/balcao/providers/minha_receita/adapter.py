"""Adapter of Minha Receita, and of BrasilAPI, which forwards its answers.

`public-cnpj-apis.md` sections 1 and 2. Both serve the monthly open data: partners' CPF are masked.
Minha Receita alone has the date of the data, at `/updated`. Both also reply 404 when their database
fails, so a 404 is confirmed by asking for a known company (ADR 0024).
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
    TaxRegime,
)
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.core.routing import UNCONFIRMED_RETRY_SECONDS
from balcao.core.text import TextTooLong
from balcao.providers.contract import EnabledSource, fixed_address
from balcao.providers.minha_receita.settings import MinhaReceitaSettings
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import Number, PartnerList, ShortList, text
from balcao.sources.reply_cache import ReplyCache

PATHS = {"minha_receita": "/{}", "brasilapi": "/api/cnpj/v1/{}"}

# The extraction date, the same for every company (cached by `reply_cache.py`).
UPDATED = "/updated"

PUBLIC_COMPANY = "33683111000280"  # SERPRO, a federal company: in every registry


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


class _Regime(msgspec.Struct):
    ano: Number | None = None
    cnpj_da_scp: str | None = None
    forma_de_tributacao: str | None = None
    quantidade_de_escrituracoes: Number | None = None


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
    motivo_situacao_cadastral: int | None = None
    descricao_motivo_situacao_cadastral: str | None = None
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
    codigo_municipio_ibge: Number | None = None
    ddd_telefone_1: str | None = None
    ddd_telefone_2: str | None = None
    email: str | None = None
    situacao_especial: str | None = None
    data_situacao_especial: str | None = None
    codigo_porte: int | None = None
    porte: str | None = None
    ente_federativo_responsavel: str | None = None
    opcao_pelo_simples: bool | None = None
    data_opcao_pelo_simples: str | None = None
    data_exclusao_do_simples: str | None = None
    opcao_pelo_mei: bool | None = None
    data_opcao_pelo_mei: str | None = None
    data_exclusao_do_mei: str | None = None
    capital_social: int | float | None = None
    qsa: PartnerList[_Partner] | None = None
    regime_tributario: PartnerList[_Regime] | None = None


@dataclass(frozen=True, slots=True)
class MinhaReceitaAdapter:
    """The adapter of both services."""

    name: str = "minha_receita"
    flavour: Literal["minha_receita", "brasilapi"] = "minha_receita"

    conclusive_absence = True  # confirmed by asking for a known company
    capabilities = Capabilities(
        subjects=frozenset({"company"}), alphanumeric=True, from_dated_copy=True
    )

    def converse(self, inquiry: Inquiry) -> Conversation:
        """Ask for the date of the data, the company, and after a 404 the known company."""
        # date first: if the data change in between, they are newer than stated, not older
        day = yield from self._day_of_data()
        reply = yield self._company_request(inquiry.document.text)
        match reply.status:
            case 200:
                return self._read(reply, day)
            case 404:
                yield from self._confirm_absence()
                return None
            case _:
                raise replies.error_for_status(self.name, reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """Ask for a public company, free of charge; `/healthz` does not check the data.

        BrasilAPI caches answers for a day, so a good one may be yesterday's.
        """
        yield from self._check_known_company()
        return "respondeu"

    def _check_known_company(self) -> Exchange[None]:
        """Ask for the known company. Raises `SourceUnavailable` or `SourceFailed`."""
        reply = yield self._company_request(PUBLIC_COMPANY)
        match reply.status:
            case 200 if self._read(reply, None).cnpj == PUBLIC_COMPANY:
                return None
            case 200:
                raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
            case 404:  # also sent when their database is down
                raise SourceFailed(f"{self.name}: não encontrou uma empresa pública conhecida")
            case _:
                raise replies.error_for_status(self.name, reply)

    def _company_request(self, cnpj: str) -> HttpRequest:
        return HttpRequest("GET", PATHS[self.flavour].format(cnpj))

    def _day_of_data(self) -> Exchange[str]:
        """Return the date of the data, `YYYY-MM-DD`, or None: it is optional."""
        if self.flavour != "minha_receita":
            return None
        try:
            return day_of_data((yield HttpRequest("GET", UPDATED)))
        except SourceError:
            return None

    def _confirm_absence(self) -> Exchange[None]:
        """Check that the service finds a known company. Raises `SourceUnavailable` otherwise."""
        with suppress(SourceError):
            yield from self._check_known_company()
            return None
        raise SourceUnavailable(
            f"{self.name}: inexistência não confirmada: não encontra nem uma empresa pública"
            " conhecida",
            UNCONFIRMED_RETRY_SECONDS,
        )

    def _read(self, reply: HttpReply, day: str | None) -> DatedCompany:
        data = replies.decode_lenient(self.name, _Company, reply.body)
        return DatedCompany(
            data_base=day,
            cnpj=replies.without_punctuation(data.cnpj) or "",
            identificador_matriz_filial=_text_of(
                IDENTIFIER_TEXTS,
                data.identificador_matriz_filial,
                1,
                data.descricao_identificador_matriz_filial,
            ),
            data_de_abertura=replies.day(data.data_inicio_atividade),
            nome_empresarial=text(data.razao_social),
            nome_fantasia=text(data.nome_fantasia),
            atividade_economica_principal=replies.coded(
                data.cnae_fiscal, 7, data.cnae_fiscal_descricao
            ),
            # a company without secondary activities may have the placeholder {0, ""}
            atividades_economicas_secundarias=tuple(
                activity
                for item in data.cnaes_secundarios or ()
                if (activity := replies.coded(item.codigo, 7, item.descricao)) is not None
            ),
            natureza_juridica=replies.coded(
                data.codigo_natureza_juridica, 4, data.natureza_juridica
            ),
            tipo_logradouro=text(data.descricao_tipo_de_logradouro),
            logradouro=text(data.logradouro),
            numero=text(data.numero),
            complemento=text(data.complemento),
            bairro=text(data.bairro),
            municipio=text(data.municipio),
            cep=replies.without_punctuation(data.cep),
            uf=text(data.uf),
            endereco_eletronico=text(data.email),
            telefone=replies.telephone(data.ddd_telefone_1, data.ddd_telefone_2),
            ente_federativo_responsavel=text(data.ente_federativo_responsavel),
            situacao_cadastral=_text_of(
                STATUS_TEXTS, data.situacao_cadastral, 2, data.descricao_situacao_cadastral
            ),
            data_da_situacao_cadastral=replies.day(data.data_situacao_cadastral),
            situacao_especial=text(data.situacao_especial),
            data_da_situacao_especial=replies.day(data.data_situacao_especial),
            # "NÃO INFORMADO" is not one of our texts and so becomes null.
            porte=_text_of(SIZE_TEXTS, data.codigo_porte, 2, data.porte),
            socios=tuple(self._partner(partner) for partner in data.qsa or ()),
            simples=replies.tax_option(
                data.opcao_pelo_simples, data.data_opcao_pelo_simples, data.data_exclusao_do_simples
            ),
            mei=replies.tax_option(
                data.opcao_pelo_mei, data.data_opcao_pelo_mei, data.data_exclusao_do_mei
            ),
            capital_social=replies.capital(data.capital_social),
            motivo_situacao_cadastral=replies.reason(
                data.motivo_situacao_cadastral, data.descricao_motivo_situacao_cadastral
            ),
            # "none" and "not loaded" are the same there
            regime_tributario=_regimes(data.regime_tributario or ()) or None,
            codigo_municipio_ibge=replies.code(data.codigo_municipio_ibge, 7),
        )

    def _partner(self, data: _Partner) -> Partner:
        return Partner(
            nome=text(data.nome_socio),
            cpf_cnpj_socio=replies.without_punctuation(data.cnpj_cpf_do_socio),
            qualificacao_socio=text(data.qualificacao_socio),
            pais=text(data.pais),
            documento_representante_legal=replies.without_punctuation(data.cpf_representante_legal),
            nome_representante_legal=text(data.nome_representante_legal),
            faixa_etaria=_text_of(AGE_BAND_TEXTS, data.codigo_faixa_etaria, 1, data.faixa_etaria),
            data_entrada_sociedade=replies.entry_day(data.data_entrada_sociedade),
        )


def _regimes(given: Sequence[_Regime]) -> tuple[TaxRegime, ...]:
    return tuple(
        TaxRegime(
            each.ano,
            form,
            each.quantidade_de_escrituracoes or 0,
            replies.without_punctuation(each.cnpj_da_scp),
        )
        for each in given
        if each.ano and (form := text(each.forma_de_tributacao)) is not None
    )


def day_of_data(reply: HttpReply) -> str | None:
    """Return the day in a reply to `UPDATED`, `YYYY-MM-DD`, or None."""
    if reply.status != 200:
        return None
    try:
        return replies.day(replies.decode("", _Updated, reply.body).message)
    except (SourceFailed, TextTooLong):
        return None


def _text_of(texts: dict[str, str], code: int | None, width: int, given: str | None) -> str | None:
    """Return our table's text for a code; without a code, the given text if the table has it."""
    if code is not None:
        return texts.get(f"{code:0{width}d}")
    value = text(given)
    return value if value in texts.values() else None


def sources(settings: MinhaReceitaSettings, now: datetime) -> Sequence[EnabledSource]:
    """Return the source, with a cache of the date of its data."""
    adapter = MinhaReceitaAdapter(flavour=settings.flavour)
    layer = ReplyCache(
        UPDATED, is_usable=lambda reply: day_of_data(reply) is not None, clock=time.monotonic
    )
    return (EnabledSource("minha_receita", adapter, fixed_address(settings.address), layer),)
