"""How the application asks for a record of the free-trade-zone authority, and shows one."""

from collections.abc import Iterable, Mapping

from balcao.core.errors import SourceFailed
from balcao.core.notices import Tone
from balcao.core.writing import day, phone
from balcao.operations.views import (
    REGISTER_FIGURES,
    Body,
    FormWords,
    Headline,
    RecordedResult,
    ResultTable,
    ResultView,
    activities,
    address,
    coded,
    document,
    renewed,
    source_failed,
    truth,
)

FORM = FormWords(
    slug="suframa",
    title="Suframa",
    answers="Inscrição na Zona Franca de Manaus: situação, aprovação e incentivos fiscais.",
    price="1 crédito",
    price_sentence="1 crédito, venha a resposta de onde vier. Falhas não custam nada.",
    example="90.010.002/0001-54",
)
FAILURES = {
    SourceFailed.code: source_failed(
        "A Suframa não respondeu, ou deu uma resposta que não se pode usar."
    )
}

_ZONE_TONES: Mapping[int, Tone] = {1: "good", 2: "warn", 3: "bad", 4: "bad", 5: "bad"}
# Of what is remembered: by the number, with the description.
GISTS: Mapping[str, tuple[str, Tone]] = {
    str(code): ("{}", tone) for code, tone in _ZONE_TONES.items()
}


def view(recorded: RecordedResult) -> ResultView:
    """The record of the free-trade-zone authority."""
    body = recorded.body
    status = body["status"]
    place: Body = body.get("endereco") or {}
    approved = "Aprovada" if body["aprovado"] else "Não aprovada"
    return ResultView(
        Headline(
            _ZONE_TONES.get(status["codigo"], "neutral"),
            f"Inscrição {status['descricao'].lower()}",
            f"{approved} pela Suframa.",
        ),
        facts=(
            ("Inscrição", REGISTER_FIGURES.format(body["inscricao"])),
            ("Nome", body["nome"]),
            ("CNPJ", document(body["cnpj"])),
            ("Situação", coded(status)),
            ("Aprovada", truth(body["aprovado"])),
            ("Data da aprovação", day(body.get("data_aprovacao"))),
            ("Inscrita desde", day(body.get("desde"))),
            ("Matriz", truth(body["matriz"])),
            ("Natureza jurídica", coded(body.get("natureza_juridica"))),
            ("Registro atualizado em", day(body.get("atualizado_em"))),
        ),
        more_facts=(
            (
                "Endereço e contato",
                (
                    ("Endereço", address(place)),
                    ("Município (IBGE)", place.get("codigo_municipio")),
                    ("País", (place.get("pais") or {}).get("nome")),
                    ("Telefones", _zone_phones(body)),
                    ("E-mails", _joined(each["endereco"] for each in body.get("emails") or ())),
                ),
            ),
        ),
        tables=(
            ResultTable(
                "Incentivos fiscais",
                ("Tributo", "Benefício", "Finalidade", "Fundamento legal"),
                [
                    (
                        each["tributo"],
                        each["beneficio"],
                        each["finalidade"],
                        each["fundamento_legal"],
                    )
                    for each in body.get("incentivos") or ()
                ],
                "Nenhum incentivo concedido.",
            ),
            ResultTable(
                "Atividades econômicas",
                ("CNAE", "Atividade", "Exercida"),
                activities(
                    body.get("atividade_principal"),
                    body.get("atividades_secundarias") or (),
                    exercised=True,
                ),
                "Nenhuma atividade informada.",
            ),
        ),
        again=(renewed([("cnpj", body["cnpj"]), ("onde", "fonte")]),),
    )


def _zone_phones(body: Body) -> str | None:
    numbers = (phone(each["ddd"] + each["numero"]) for each in body.get("telefones") or ())
    return _joined(numbers)


def _joined(texts: Iterable[str]) -> str | None:
    return ", ".join(texts) or None
