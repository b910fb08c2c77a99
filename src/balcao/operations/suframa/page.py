"""Form and result page of the free-trade-zone authority's record."""

from collections.abc import Iterable, Mapping, Sequence

from balcao.core.errors import SourceFailed
from balcao.core.notices import Tone
from balcao.core.writing import cnae, day, phone
from balcao.operations.sheets import SheetColumns, SheetFact, day_fact, fact, joined, one, within
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
    refresh_form,
    source_failed,
    truth,
)

FORM = FormWords(
    slug="suframa",
    title="Suframa",
    answers="Inscrição na Zona Franca de Manaus: situação, aprovação e incentivos fiscais.",
    price="1 crédito",
    price_sentence="1 crédito por consulta respondida. Falhas não são cobradas.",
    example="90.010.002/0001-54",
)
FAILURES = {
    SourceFailed.code: source_failed("A Suframa não respondeu ou deu uma resposta inválida.")
}

_ZONE_TONES: Mapping[int, Tone] = {1: "good", 2: "warn", 3: "bad", 4: "bad", 5: "bad"}
# By the status number, with its description.
RESULT_LABELS: Mapping[str, tuple[str, Tone]] = {
    str(code): ("{}", tone) for code, tone in _ZONE_TONES.items()
}


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a record."""
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
        repeat_forms=(refresh_form([("cnpj", body["cnpj"]), ("onde", "fonte")]),),
    )


def brief(body: Body) -> str:
    """Return the registration's number."""
    number = body.get("inscricao")
    return f"Inscrição {number}" if number else ""


def _zone_phones(body: Body) -> str | None:
    numbers = (phone(each["ddd"] + each["numero"]) for each in body.get("telefones") or ())
    return _joined(numbers)


def _joined(texts: Iterable[str]) -> str | None:
    return ", ".join(texts) or None


def _cnae_code(body: Body) -> str:
    """Return the code, a number in the answer, with its leading zeros."""
    code = within(body, "atividade_principal.codigo")
    return f"{code:07}" if code else ""


def _cnae(body: Body) -> str | None:
    code = _cnae_code(body)
    return cnae(code) if code else None


def _official_cnae(body: Body) -> Sequence[str] | None:
    code = _cnae_code(body)
    return (code,) if code else None


def _incentives(body: Body) -> str | None:
    found = body.get("incentivos") or ()
    return joined(*dict.fromkeys(f"{each['tributo']}: {each['beneficio']}" for each in found))


SHEET_COLUMNS = SheetColumns(
    facts=(
        fact("inscricao", "inscricao", "Inscrição Suframa", "Número da inscrição na Suframa."),
        fact("nome", "nome", "Nome", "Nome da empresa, segundo a fonte.", 40),
        fact("situacao", "status.descricao", "Situação", "Situação da inscrição."),
        fact("aprovada", "aprovado", "Aprovada", "`Sim` ou `Não`.", 10),
        day_fact("aprovada_em", "data_aprovacao", "Aprovada em", "Data da aprovação."),
        day_fact("inscrita_desde", "desde", "Inscrita desde", "Data da inscrição."),
        SheetFact(
            "incentivos", "Incentivos", "Cada tributo com o seu benefício.", _incentives, width=40
        ),
        SheetFact("cnae", "CNAE", "Código da atividade principal.", _cnae, width=12),
        fact("municipio", "endereco.cidade", "Município", "Município.", 22),
        fact("uf", "endereco.estado", "UF", "UF da empresa.", 6),
    ),
    name="nome",
    outcome=lambda body: within(body, "status.descricao"),
    official={
        "razao_social": one("nome"),
        "situacao": one("status.descricao"),
        "cnae": _official_cnae,
        "logradouro": one("endereco.logradouro"),
        "municipio": one("endereco.cidade"),
        "uf": one("endereco.estado"),
        "cep": one("endereco.cep"),
    },
)
