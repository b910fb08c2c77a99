"""State tax registrations of a company: `GET /consultas/v2/sintegra/{cnpj}`.

Specification, endpoint 2 and "State tax registrations"; contract 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from balcao.core.company import Company
from balcao.core.described import described, doc
from balcao.core.errors import (
    CnpjNotFound,
    InvalidCnpj,
    InvalidStrategy,
    InvalidUf,
    SourceUnavailable,
    UfRequired,
)
from balcao.core.federation import UFS
from balcao.core.outcomes import Failed, Outcome
from balcao.core.questions import Question
from balcao.core.registration import Registrations
from balcao.operations.contract import PROBLEMS_OF_ALL, Example
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import Parameters, UfChoice, cnpj_in_path
from balcao.operations.registrations import answer as of
from balcao.operations.registrations import page
from balcao.operations.registrations.lookup import (
    RegistrationLookup,
    RegistrationsFound,
    all_empty,
    has_holder,
    rules,
)


@described("EnderecoInscricao", "Endereço de uma inscrição.")
class StateAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: of.Street
    numero: of.HouseNumber
    complemento: Annotated[str | None, doc("Complemento, ou nulo.")]
    bairro: of.District
    municipio: of.City
    codigo_municipio_ibge: of.CityCode
    uf: of.AddressUf
    cep: of.Cep


@described("InscricaoEstadual", "Uma inscrição estadual. Campos sem informação são omitidos.")
class CompanyRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state registration; unknown fields are absent."""

    inscricao_estadual: of.Number
    uf: of.OfUf
    ativa: of.Active
    tipo_ie: of.TypeText = None
    situacao_pj: of.Situation = None
    updated_at: of.UpdatedAt = None
    endereco: Annotated[StateAddress | None, of.ONLY_WITH_ADDRESSES] = None


@described("RespostaInscricoes", "Inscrições estaduais de uma empresa.")
class StateRegistrationAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    is_cache: of.FromCache
    cnpj: Annotated[str, doc("CNPJ consultado, sem pontuação.")]
    razao_social: Annotated[str | None, doc("Razão social, se a fonte informa.")]
    uf: Annotated[str | None, doc("UF da própria empresa, quando conhecida.")]
    inscricoes_estaduais: Annotated[
        Sequence[CompanyRegistration],
        of.IN_ORDER,
    ]
    ufs: of.Origins = msgspec.UNSET
    inscricoes_omitidas: of.Omitted = msgspec.UNSET


CNPJ = cnpj_in_path("90010001000100")


class StateRegistrationLookup(RegistrationLookup):
    """Lookup of a company's state registrations."""

    subject = "state_registration"
    path = "sintegra"
    title = "Inscrições estaduais da empresa (Sintegra)"
    description = (
        "Inscrições estaduais de um CNPJ em uma UF ou em todas (`uf=BR`). Custa 1 crédito por UF"
        " respondida, pela fonte ou com um resultado guardado, mais 1 por requisição com"
        " `endereco=true`. Erros não são cobrados. Com `uf=BR`, o campo `ufs` traz a origem de"
        " cada UF. As que não responderam não são cobradas. Sem inscrição, o resultado é uma"
        " lista vazia."
    )
    rules = rules("state_registration", "sintegra: 1 por UF respondida")
    document_parameter = CNPJ
    sources_title = "inscrições estaduais"
    sources = ("cnpja", "sefaz", "infosimples")
    sources_setting = (
        "Fontes das inscrições estaduais, em ordem. A primeira que responde define as inscrições."
        " As seguintes completam o que falta (tipo e situação: `cnpja`; endereço: as outras)."
    )
    usual_ufs = UFS
    ufs_setting = "UFs das inscrições estaduais: as consultadas e cobradas com BR."
    source_facts = ("ufs", "parts", "alphanumeric")
    form = page.form(
        slug="inscricoes-estaduais",
        title="Inscrições estaduais",
        answers=(
            "Inscrições de uma empresa em uma UF ou em todas, com situação e tipo (Sintegra)."
        ),
        uf_hint="Em branco: a UF da empresa.",
    )
    sheet_columns = page.sheet_columns("razao_social")
    answer = StateRegistrationAnswer
    shape = CompanyRegistration
    problems = (
        InvalidCnpj,
        InvalidUf,
        UfRequired,
        InvalidStrategy,
        *PROBLEMS_OF_ALL,
        CnpjNotFound,
    )

    def declare_uf(self) -> UfChoice:
        return UfChoice(
            "UF consultada. `BR` consulta todas. Padrão: a UF da própria empresa.",
            self.ufs,
            all_at_once=True,
        )

    def parse(self, document: str, sent: Parameters) -> Question:
        cnpj = CNPJ.read(document)
        return self.question(cnpj, self.uf.read(sent), sent)

    def needs_confirmation(self, outcomes: Sequence[Outcome]) -> bool:
        # States give the same answer about companies without registrations and unknown ones.
        return all_empty(outcomes)

    def needs_company(self, question: Question, outcomes: Sequence[Outcome]) -> bool:
        # A state may give neither the name nor the company's UF.
        return not has_holder(outcomes)

    def about(
        self, question: Question, found: RegistrationsFound, company: Company | None
    ) -> Mapping[str, str | None]:
        # Without a UF in the question, the inquiry is about the company's own.
        home = question.inquiries[0].uf if question.uf is None else None
        return {
            "cnpj": question.document.text,
            "razao_social": found.name or (company.nome_empresarial if company else None),
            "uf": found.home_uf or (company.uf if company else home),
        }

    def examples(self) -> Sequence[Example]:
        home = "SP" if "SP" in self.ufs else self.ufs[0]
        query = f"uf={home}&endereco=true".encode()
        record = self.example_record(Registrations)
        one = self.parse(record.documento, Parameters(query, {}, self.names))
        everywhere = self.parse(record.documento, Parameters(b"uf=BR", {}, self.names))
        none = Registrations(record.documento, home, nome=record.nome, uf_principal=home)
        here = self.example("uma_uf", "Uma UF, com endereço", one, record)
        nothing = self.example("sem_inscricao", "A empresa não tem inscrição na UF", one, none)
        outcomes: list[Outcome] = []
        for uf in self.ufs:
            if uf == "BA":
                outcomes.append(Failed(SourceUnavailable()))
            else:
                outcomes += (here if uf == home else nothing).outcomes
        summary = "Todas as UFs, uma sem resposta e sem cobrança"
        return (here, nothing, Example("brasil", summary, everywhere, outcomes))


OPERATION = StateRegistrationLookup
