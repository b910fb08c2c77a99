"""Form and result page of a company."""

from collections.abc import Mapping, Sequence

from balcao.core.company import NO_REASON
from balcao.core.errors import SourceFailed
from balcao.core.notices import Tone
from balcao.core.writing import cep, cnae, cpf, day, decimal, phone
from balcao.operations.registrations import page as registrations
from balcao.operations.sheets import SheetColumns, SheetFact, day_fact, fact, joined, one, within
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
    refresh_form,
    source_failed,
)

FORM = FormWords(
    slug="empresa",
    title="Empresa",
    answers="Cadastro da Receita Federal: situação, endereço, atividades, porte e sócios.",
    price="1 crédito",
    price_sentence="1 crédito por consulta respondida. Falhas não são cobradas.",
)
FAILURES = {
    SourceFailed.code: source_failed(
        "A fonte do cadastro não respondeu ou deu uma resposta inválida."
    )
}

STATUS_TONES: Mapping[str, Tone] = {
    "ATIVA": "good",
    "SUSPENSA": "warn",
    "INAPTA": "warn",
    "BAIXADA": "bad",
    "NULA": "bad",
}
RESULT_LABELS: Mapping[str, tuple[str, Tone]] = {
    status: (status.capitalize(), tone) for status, tone in STATUS_TONES.items()
}
_COMPANY_NOTES: Mapping[str, str] = {
    "ATIVA": "A empresa está regular no cadastro da Receita Federal.",
    "SUSPENSA": "O cadastro está suspenso: há pendências a resolver com a Receita Federal.",
    "INAPTA": "O cadastro está inapto: faltam declarações, ou a empresa não foi localizada.",
    "BAIXADA": "A empresa foi encerrada.",
    "NULA": "A inscrição foi anulada, como se nunca tivesse existido.",
}


def view(recorded: RecordedResult) -> ResultView:
    """Return the page of a company."""
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
            ("Capital social", _amount(said.get("capital_social"))),
            ("Simples Nacional", _option(said.get("simples"))),
            ("MEI", _option(said.get("mei"))),
            ("Regime tributário", _newest_regime(said)),
            ("Motivo da situação", _reason(said)),
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
                "O cadastro não lista sócios desta empresa.",
            ),
        ),
        related=registrations.related(said["cnpj"]),
        # Our own copy is asked before all sources: another lookup would have the same result.
        repeat_forms=() if trace.source == "snapshot" else (refresh_form(fields),),
    )


def brief(body: Body) -> str:
    """Return the number of partners and activities."""
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


def _option(option: Body | None) -> str | None:
    """Return `Optante, desde 02/03/2015`; None: not known."""
    if option is None or option.get("optante") is None:
        return None
    if option["optante"]:
        since = option.get("desde")
        return f"Optante, desde {day(since)}" if since else "Optante"
    until = option.get("ate")
    return f"Não optante, desde {day(until)}" if until else "Não optante"


def _newest_regime(said: Body) -> str | None:
    """Return the newest year's forms: `Lucro presumido (2023)`; None: none known."""
    regimes: Sequence[Body] = said.get("regime_tributario") or ()
    year = max((each["ano"] for each in regimes), default=None)
    forms = dict.fromkeys(each["forma_de_tributacao"] for each in regimes if each["ano"] == year)
    return f"{' / '.join(map(_regime_title, forms))} ({year})" if forms else None


def _regime_title(form: str) -> str:
    return form.capitalize().replace("irpj", "IRPJ")


def _amount(amount: float | None) -> str | None:
    return None if amount is None else f"R$ {decimal(amount, 2)}"


def _reason(said: Body) -> str | None:
    """Return the reason of the status, unless it is "none"."""
    reason = said.get("motivo_situacao_cadastral")
    return None if reason is None or reason.get("codigo") == NO_REASON else coded(reason)


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


def _address(body: Body) -> str | None:
    company = within(body, "response")
    return address(company, company.get("tipo_logradouro")) if company else None


def _street(body: Body) -> tuple[str, ...] | None:
    kind, name = within(body, "response.tipo_logradouro"), within(body, "response.logradouro")
    street = joined(kind, name, by=" ")
    return (street,) if name and street else None


def _phone(body: Body) -> str | None:
    numbers = str(within(body, "response.telefone") or "").split(" / ")
    return joined(*(phone(number) for number in numbers if number))


def _cep(body: Body) -> str | None:
    code = within(body, "response.cep")
    return cep(code) if code else None


def _capital(body: Body) -> str | None:
    amount = within(body, "response.capital_social")
    return None if amount is None else decimal(amount, 2)


def _cnae(body: Body) -> str | None:
    code = within(body, "response.atividade_economica_principal.codigo")
    return cnae(code) if code else None


def _status(body: Body) -> str | None:
    status = within(body, "response.situacao_cadastral")
    return status.capitalize() if status else None


SHEET_COLUMNS = SheetColumns(
    facts=(
        fact("razao_social", "response.nome_empresarial", "Razão social", "Nome empresarial.", 40),
        fact("nome_fantasia", "response.nome_fantasia", "Nome fantasia", "Nome fantasia.", 30),
        fact(
            "situacao",
            "response.situacao_cadastral",
            "Situação cadastral",
            "`ATIVA`, `SUSPENSA`, `INAPTA`, `BAIXADA` ou `NULA`.",
        ),
        day_fact(
            "situacao_desde",
            "response.data_da_situacao_cadastral",
            "Situação desde",
            "Data da situação cadastral.",
        ),
        fact(
            "motivo_situacao",
            "response.motivo_situacao_cadastral.descricao",
            "Motivo da situação",
            "Descrição do motivo da situação cadastral.",
            30,
        ),
        fact(
            "situacao_especial",
            "response.situacao_especial",
            "Situação especial",
            "Como falência ou recuperação judicial, se houver.",
        ),
        fact(
            "matriz_ou_filial",
            "response.identificador_matriz_filial",
            "Matriz ou filial",
            "`MATRIZ` ou `FILIAL`.",
            16,
        ),
        day_fact("abertura", "response.data_de_abertura", "Abertura", "Data de abertura."),
        fact(
            "natureza_juridica",
            "response.natureza_juridica.descricao",
            "Natureza jurídica",
            "Descrição da natureza jurídica.",
            30,
        ),
        fact("porte", "response.porte", "Porte", "Porte da empresa.", 24),
        SheetFact("capital_social", "Capital social", "Capital social, em reais.", _capital),
        fact("simples", "response.simples.optante", "Simples Nacional", "Se é optante.", 16),
        fact("mei", "response.mei.optante", "MEI", "Se é optante.", 10),
        SheetFact(
            "regime_tributario",
            "Regime tributário",
            "Forma de tributação do ano mais recente, com o ano.",
            lambda body: _newest_regime(within(body, "response") or {}),
            width=24,
        ),
        SheetFact("cnae", "CNAE", "Código da atividade principal.", _cnae, width=12),
        fact(
            "atividade",
            "response.atividade_economica_principal.descricao",
            "Atividade principal",
            "Descrição da atividade principal.",
            40,
        ),
        SheetFact(
            "endereco", "Endereço", "Logradouro, número, complemento e bairro.", _address, width=40
        ),
        fact("municipio", "response.municipio", "Município", "Município.", 22),
        fact("uf", "response.uf", "UF", "UF da empresa.", 6),
        fact(
            "codigo_municipio_ibge",
            "response.codigo_municipio_ibge",
            "Município (IBGE)",
            "Código do município no IBGE.",
            16,
        ),
        SheetFact("cep", "CEP", "CEP.", _cep, width=11),
        SheetFact("telefone", "Telefone", "Telefones.", _phone, width=20),
        fact("email", "response.endereco_eletronico", "E-mail", "E-mail.", 30),
        day_fact("dados_de", "data_base", "Dados de", "Data dos dados do cadastro."),
    ),
    name="razao_social",
    outcome=_status,
    official={
        "razao_social": one("response.nome_empresarial"),
        "nome_fantasia": one("response.nome_fantasia"),
        "situacao": one("response.situacao_cadastral"),
        "cnae": one("response.atividade_economica_principal.codigo"),
        "logradouro": _street,
        "municipio": one("response.municipio"),
        "uf": one("response.uf"),
        "cep": one("response.cep"),
    },
)
