"""State registrations of a rural producer: `GET /consultas/v2/produtor-rural/{cpf}`.

Specification, endpoint 3 and "Rural producer registrations"; contract 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from balcao.core.company import Company
from balcao.core.described import described, doc
from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf, InvalidStrategy, InvalidUf, UfRequired
from balcao.core.federation import RURAL_UFS
from balcao.core.questions import Question
from balcao.core.registration import Registrations
from balcao.operations.contract import PROBLEMS_OF_ALL, Example
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId
from balcao.operations.parameters import DocumentParameter, Parameters, UfChoice
from balcao.operations.registrations import answer as of
from balcao.operations.registrations import page
from balcao.operations.registrations.lookup import RegistrationLookup, RegistrationsFound, rules


@described("EnderecoProdutorRural", "Endereço de uma inscrição.")
class RuralAddress(msgspec.Struct, frozen=True):
    """The address of a registration."""

    logradouro: of.Street
    numero: of.HouseNumber
    bairro: of.District
    municipio: of.City
    codigo_municipio_ibge: of.CityCode
    uf: of.AddressUf
    cep: of.Cep


@described(
    "InscricaoProdutorRural", "Uma inscrição de produtor rural. Campos sem informação são omitidos."
)
class RuralRegistration(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registration of a rural producer; unknown fields are absent."""

    inscricao_estadual: of.Number
    uf: of.OfUf
    ativa: of.Active
    tipo_ie: of.TypeText = None
    situacao_pj: of.Situation = None
    data_status: Annotated[
        str | None, doc("Data da última mudança de situação.", format="date")
    ] = None
    updated_at: of.UpdatedAt = None
    endereco: Annotated[RuralAddress | None, of.ONLY_WITH_ADDRESSES] = None


@described("RespostaProdutorRural", "Inscrições estaduais de um produtor rural.")
class RuralProducerAnswer(msgspec.Struct, frozen=True):
    """The body of a result; `ufs` only with `uf=BR`."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    is_cache: of.FromCache
    cpf: Annotated[str, doc("CPF consultado, sem pontuação.")]
    nome: Annotated[str | None, doc("Nome do produtor, se a fonte informa.")]
    uf: Annotated[str, doc("UF consultada, ou `BR`.")]
    inscricoes_estaduais: Annotated[
        Sequence[RuralRegistration],
        of.IN_ORDER,
    ]
    ufs: of.Origins = msgspec.UNSET
    inscricoes_omitidas: of.Omitted = msgspec.UNSET


CPF = DocumentParameter(
    Cpf, "CPF completo, com ou sem pontuação.", place="path", example="90010000100"
)


class RuralProducerLookup(RegistrationLookup):
    """Lookup of a rural producer's state registrations."""

    subject = "rural_producer"
    path = "produtor-rural"
    document = "cpf"
    title = "Inscrições estaduais do produtor rural"
    description = (
        "Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas (`uf=BR`)."
        " Custa 1 crédito por UF respondida, mais 1 por requisição com `endereco=true`. Erros não"
        " são cobrados. Sem inscrição, o resultado é uma lista vazia."
    )
    rules = rules("rural_producer", "produtor-rural: 1 por UF respondida")
    document_parameter = CPF
    sources_title = "produtor rural"
    sources = ("cnpja", "sefaz", "infosimples")
    sources_setting = "Fontes das inscrições de produtores rurais, com as mesmas regras."
    usual_ufs = RURAL_UFS
    ufs_setting = "UFs do produtor rural: as consultadas e cobradas com BR."
    source_facts = ("ufs", "parts")
    form = page.form(
        slug="produtor-rural",
        title="Produtor rural",
        answers="Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas.",
        example="900.100.001-00",
    )
    sheet_columns = page.sheet_columns("nome")
    answer = RuralProducerAnswer
    shape = RuralRegistration
    problems = (InvalidCpf, InvalidUf, UfRequired, InvalidStrategy, *PROBLEMS_OF_ALL)

    def declare_uf(self) -> UfChoice:
        return UfChoice(  # required: a person has no known UF
            "UF consultada. `BR` consulta todas.", self.ufs, all_at_once=True, required=True
        )

    def parse(self, document: str, sent: Parameters) -> Question:
        cpf = CPF.read(document)
        uf = self.uf.read(sent)
        if uf is None:
            raise UfRequired
        return self.question(cpf, uf, sent)

    def about(
        self, question: Question, found: RegistrationsFound, company: Company | None
    ) -> Mapping[str, str | None]:
        return {"cpf": question.document.text, "nome": found.name, "uf": question.uf or ""}

    def examples(self) -> Sequence[Example]:
        query = f"uf={self.uf.example}&endereco=true".encode()
        record = self.example_record(Registrations)
        one = self.parse(record.documento, Parameters(query, {}, self.names))
        none = Registrations(record.documento, str(self.uf.example))
        return (
            self.example("uma_uf", "Uma UF, com endereço", one, record),
            self.example("sem_inscricao", "Não há inscrição na UF", one, none),
        )


OPERATION = RuralProducerLookup
