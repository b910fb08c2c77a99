"""How the application asks for a company, and shows one."""

from collections.abc import Mapping, Sequence

from balcao.core.errors import SourceFailed
from balcao.core.notices import Tone
from balcao.core.writing import cpf, day, phone
from balcao.operations.registrations import page as registrations
from balcao.operations.views import (
    Body,
    Cells,
    FormWords,
    Headline,
    RecordedResult,
    ResultTable,
    ResultView,
    activities,
    address,
    coded,
    document,
    noted,
    plural,
    renewed,
    source_failed,
)

FORM = FormWords(
    slug="empresa",
    title="Empresa",
    answers="Cadastro da Receita Federal: situação, endereço, atividades, porte e sócios.",
    price="1 crédito",
    price_sentence="1 crédito, venha a resposta de onde vier. Falhas não custam nada.",
)
FAILURES = {
    SourceFailed.code: source_failed(
        "A fonte do cadastro não respondeu, ou deu uma resposta que não se pode usar."
    )
}

STATUS_TONES: Mapping[str, Tone] = {
    "ATIVA": "good",
    "SUSPENSA": "warn",
    "INAPTA": "warn",
    "BAIXADA": "bad",
    "NULA": "bad",
}
# Of what is remembered.
GISTS: Mapping[str, tuple[str, Tone]] = {
    status: (status.capitalize(), tone) for status, tone in STATUS_TONES.items()
}
_COMPANY_NOTES: Mapping[str, str] = {
    "ATIVA": "A empresa está regular no cadastro da Receita Federal.",
    "SUSPENSA": "O cadastro está suspenso: há pendências a resolver com a Receita Federal.",
    "INAPTA": "O cadastro está inapto: faltam declarações, ou a empresa não foi localizada.",
    "BAIXADA": "A empresa foi encerrada.",
    "NULA": "A inscrição foi anulada: é como se nunca tivesse existido.",
}


def view(recorded: RecordedResult) -> ResultView:
    """Registry data with partners."""
    body, trace = recorded.body, recorded.trace
    said: Body = body["response"]
    status = said.get("situacao_cadastral") or "Situação não informada"
    since = said.get("data_da_situacao_cadastral")
    note = _COMPANY_NOTES.get(status, "")
    fields = [("cnpj", said["cnpj"]), ("onde", "fonte")]
    partners: Sequence[Body] = said.get("socios") or ()
    if any(_is_open_cpf(each.get("cpf_cnpj_socio")) for each in partners):
        fields.append(("optin", "1"))
    return ResultView(
        Headline(
            STATUS_TONES.get(status, "neutral"),
            f"{said.get('nome_empresarial') or 'Sem nome'}: {status.lower()}",
            f"{note} Desde {day(since)}." if since else note,
            status.capitalize(),
        ),
        facts=(
            ("CNPJ", document(said["cnpj"])),
            ("Nome empresarial", said.get("nome_empresarial")),
            ("Nome fantasia", said.get("nome_fantasia")),
            ("Matriz ou filial", _title(said.get("identificador_matriz_filial"))),
            ("Abertura", day(said.get("data_de_abertura"))),
            ("Natureza jurídica", coded(said.get("natureza_juridica"))),
            ("Porte", _title(said.get("porte"))),
            ("Ente federativo responsável", said.get("ente_federativo_responsavel")),
            ("Situação especial", _special(said)),
            ("Dados de", day(body.get("data_base"))),
        ),
        more_facts=(
            (
                "Endereço e contato",
                (
                    ("Endereço", address(said, said.get("tipo_logradouro"))),
                    ("Telefone", _phones(said.get("telefone"))),
                    ("E-mail", said.get("endereco_eletronico")),
                ),
            ),
        ),
        tables=(
            ResultTable(
                "Atividades econômicas",
                ("CNAE", "Atividade"),
                activities(
                    said.get("atividade_economica_principal"),
                    said.get("atividades_economicas_secundarias") or (),
                ),
                "Nenhuma atividade informada.",
            ),
            ResultTable(
                "Sócios e administradores",
                ("Nome", "Documento", "Qualificação"),
                [_partner(each) for each in partners],
                "O cadastro não tem sócios desta empresa.",
            ),
        ),
        beside=registrations.beside(said["cnpj"]),
        # Our own copy goes before every source: asking again would say the same.
        again=() if trace.source == "snapshot" else (renewed(fields),),
    )


def brief(body: Body) -> str:
    """How many partners and activities it tells of."""
    said: Body = body["response"]
    partners = len(said.get("socios") or ())
    others = len(said.get("atividades_economicas_secundarias") or ())
    activities_known = others + bool(said.get("atividade_economica_principal"))
    return f"{plural(partners, 'sócio', 'sócios')}, {plural(activities_known, 'CNAE', 'CNAEs')}"


def _is_open_cpf(text: str | None) -> bool:
    return text is not None and len(text) == 11 and text.isdigit()


def _title(text: str | None) -> str | None:
    return text.capitalize() if text else None


def _special(said: Body) -> str | None:
    text = said.get("situacao_especial")
    since = said.get("data_da_situacao_especial")
    return f"{text}, desde {day(since)}" if text and since else text


def _phones(text: str | None) -> str | None:
    return " / ".join(phone(each) for each in text.split(" / ")) if text else None


def _partner(of: Body) -> Cells:
    ages = of.get("faixa_etaria")
    more = [
        of.get("pais"),
        ages if ages != "Não se aplica" else None,
        _representative(of),
    ]
    since = of.get("data_entrada_sociedade")
    return (
        noted(of.get("nome"), "; ".join(each for each in more if each)),
        document(of.get("cpf_cnpj_socio")),
        noted(of.get("qualificacao_socio"), f"desde {day(since)}" if since else None),
    )


def _representative(of: Body) -> str | None:
    name, number = of.get("nome_representante_legal"), of.get("documento_representante_legal")
    if not name and not number:
        return None
    shown = cpf(number) if number and len(number) == 11 else number
    return "representado por " + ", ".join(part for part in (name, shown) if part)
