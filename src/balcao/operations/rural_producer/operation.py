"""State registrations of a rural producer: `GET /consultas/v2/produtor-rural/{cpf}`.

Specification, endpoint 3 and "Rural producer registrations"; decisions 2.3, 3, 4.5, 5.2, 8.
"""

from collections.abc import Mapping, Sequence

from balcao.core.company import Company
from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf, InvalidStrategy, InvalidUf, UfRequired
from balcao.core.federation import RURAL_UFS
from balcao.core.questions import Question
from balcao.core.registration import Registrations
from balcao.operations.contract import PROBLEMS_OF_ALL, Example
from balcao.operations.parameters import DocumentParameter, Parameters, UfChoice
from balcao.operations.registrations import page
from balcao.operations.registrations.lookup import RegistrationLookup, RegistrationsFound, rules
from balcao.operations.registrations.sheet import of_registrations
from balcao.operations.rural_producer.answer import RuralProducerAnswer, RuralRegistration

CPF = DocumentParameter(
    Cpf, "CPF completo, com ou sem pontuação.", place="path", example="90010000100"
)


class RuralProducerLookup(RegistrationLookup):
    """The operation."""

    subject = "rural_producer"
    endpoint = 3
    path = "produtor-rural"
    document = "cpf"
    title = "Inscrições estaduais do produtor rural"
    description = (
        "Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas (`uf=BR`)."
        " Custa 1 crédito por UF respondida, e mais 1 por requisição com `endereco=true`; erros"
        " não custam nada. Quem não tem inscrição é um resultado: lista vazia."
    )
    rules = rules("rural_producer", "produtor-rural: 1 por UF respondida")
    document_parameter = CPF
    sources_title = "produtor rural"
    sources = ("cnpja", "sefaz", "infosimples")
    sources_setting = "Quem responde as inscrições de produtores rurais, da mesma maneira."
    usual_ufs = RURAL_UFS
    ufs_setting = "UFs do produtor rural: as que BR consulta e cobra."
    source_facts = ("ufs", "parts")
    form = page.form(
        slug="produtor-rural",
        title="Produtor rural",
        answers="Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas.",
        example="900.100.001-00",
    )
    in_sheets = of_registrations("nome")
    answer = RuralProducerAnswer
    shape = RuralRegistration
    problems = (InvalidCpf, InvalidUf, UfRequired, InvalidStrategy, *PROBLEMS_OF_ALL)

    def declare_uf(self) -> UfChoice:
        """Nobody knows a person's own."""
        return UfChoice(
            "UF consultada; `BR` consulta todas.", self.ufs, all_at_once=True, required=True
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
