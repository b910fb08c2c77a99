"""Company registry, by Minha Receita or by BrasilAPI, which hands its answers on.

`public-cnpj-apis.md` sections 1 and 2. Both rest on the monthly open data: partners' CPF are
masked, and a 404 proves nothing, since the service says so too when its database fails.
"""

from dataclasses import dataclass
from typing import Literal

import msgspec

from balcao.core.company import (
    AGE_BAND_TEXTS,
    IDENTIFIER_TEXTS,
    SIZE_TEXTS,
    STATUS_TEXTS,
    Company,
    Partner,
)
from balcao.core.questions import Inquiry
from balcao.errors import SourceFailed
from balcao.sources import replies
from balcao.sources.contract import Conversation, Exchange, HttpReply, HttpRequest
from balcao.sources.online import Capabilities
from balcao.sources.replies import PartnerList, ShortList, text

PATHS = {"minha_receita": "/{}", "brasilapi": "/api/cnpj/v1/{}"}

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
class MinhaReceita:
    """One of the two services that speak this form."""

    name: str = "minha_receita"
    flavour: Literal["minha_receita", "brasilapi"] = "minha_receita"

    conclusive_absence = False
    capabilities = Capabilities(subjects=frozenset({"company"}), alphanumeric=True)

    def converse(self, inquiry: Inquiry) -> Conversation:
        """One request, one answer."""
        reply = yield HttpRequest("GET", PATHS[self.flavour].format(inquiry.document.text))
        match reply.status:
            case 200:
                return self._read(reply)
            case 404:
                return None
            case _:
                raise replies.refusal(self.name, reply)

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        """A public company; they are free of charge, and `/healthz` would say nothing of the data.

        BrasilAPI keeps answers for a day, so a good one there may be yesterday's.
        """
        reply = yield HttpRequest("GET", PATHS[self.flavour].format(PUBLIC_COMPANY))
        match reply.status:
            case 200 if self._read(reply).cnpj == PUBLIC_COMPANY:
                return "respondeu"
            case 200:
                raise SourceFailed(f"{self.name}: respondeu sobre outro documento")
            case 404:  # so they say, too, when their database is down
                raise SourceFailed(f"{self.name}: não encontrou uma empresa pública conhecida")
            case _:
                raise replies.refusal(self.name, reply)

    def _read(self, reply: HttpReply) -> Company:
        said = replies.decode(self.name, _Company, reply.body)
        return Company(
            cnpj=replies.plain(said.cnpj) or "",
            identificador_matriz_filial=_known(
                IDENTIFIER_TEXTS,
                said.identificador_matriz_filial,
                1,
                said.descricao_identificador_matriz_filial,
            ),
            data_de_abertura=replies.day(self.name, said.data_inicio_atividade),
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
            data_da_situacao_cadastral=replies.day(self.name, said.data_situacao_cadastral),
            situacao_especial=text(said.situacao_especial),
            data_da_situacao_especial=replies.day(self.name, said.data_situacao_especial),
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
            data_entrada_sociedade=replies.entry_day(self.name, said.data_entrada_sociedade),
        )


def _known(texts: dict[str, str], code: int | None, width: int, said: str | None) -> str | None:
    """Our text of a code; where the code is missing, theirs if it is one of ours."""
    if code is not None:
        return texts.get(f"{code:0{width}d}")
    stated = text(said)
    return stated if stated in texts.values() else None
