"""From a recorded answer to what a page shows of it: the verdict first, then everything else.

Pure functions of the JSON body that callers of the API get. What is missing in it is not shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from markupsafe import Markup

from balcao.core.ledger import Trace
from balcao.core.writing import cep, cnpj, cpf, credits, day, phone
from balcao.web.drawing import Tile
from balcao.web.forms import Form

Body: TypeAlias = Mapping[str, Any]
Fact: TypeAlias = tuple[str, object]
Row: TypeAlias = Sequence[object]

REGISTER_FIGURES = Markup('<span class="document">{}</span>')
_NOTED = Markup("{} <small>{}</small>")
_BADGE = Markup('<span class="badge {}">{}</span>')


@dataclass(frozen=True, slots=True)
class Verdict:
    """What it came to, in one line that is seen first."""

    tone: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Button:
    """What asks once more. `name` and `value`: the field that pressing it sends."""

    text: str
    credits: int  # at the most; 0: it costs nothing
    name: str | None = None
    value: str | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """A form that asks once more, about the same document."""

    fields: Sequence[tuple[str, str]]  # hidden ones
    buttons: Sequence[Button]
    needs_birth: bool = False  # it stands on no page, so it is asked for
    only_prices: bool = False  # leads to the filled form: one press must not cost so much
    title: str = ""
    small: bool = False  # many buttons


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for the macro `table`."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    empty: str = "Nada por aqui."


@dataclass(frozen=True, slots=True)
class View:
    """One result. The template shows what there is of it, in this order."""

    verdict: Verdict
    facts: Sequence[Fact] = ()
    more_facts: Sequence[tuple[str, Sequence[Fact]]] = ()  # further groups with their titles
    tables: Sequence[Table] = ()
    tiles: Mapping[str, Tile] = field(default_factory=dict)
    receipt_id: str | None = None
    receipt_kind: str = ""  # PDF, HTML
    again: Sequence[Again] = ()


def document(text: str | None) -> Markup | str:
    """A CNPJ or CPF as it stands in the answer, punctuated, in the figures of registers."""
    if not text:
        return "—"
    return REGISTER_FIGURES.format(cpf(text) if len(text) == 11 else cnpj(text))


def masked(trace: Trace) -> str:
    """The document for titles: a CNPJ whole, a CPF as public bodies show it."""
    return cnpj(trace.document) if len(trace.document) == 14 else cpf(trace.document)


def renewed(fields: Sequence[tuple[str, str]], cost: int = 1, hint: str = "") -> Again:
    """The usual button, past what is kept."""
    return Again(fields, [Button(f"Atualizar online ({credits(cost)})", cost, hint=hint)])


def receipt_number(address: str | None) -> str | None:
    """The number at the end of the address in `print`."""
    return address.rpartition("/")[2] if address else None


def truth(value: bool | None) -> str | None:
    """Sim, Não, or nothing known."""
    return None if value is None else ("Sim" if value else "Não")


def badge(active: bool, yes: str = "Ativa", no: str = "Inativa") -> Markup:
    """A word for the state in a row of a table."""
    return _BADGE.format("good" if active else "neutral", yes if active else no)


def noted(text: str | None, note: str | None) -> Markup | str | None:
    """A cell with something small below it."""
    return _NOTED.format(text or "—", note) if note else text


def plural(count: int, one: str, many: str) -> str:
    """`1 inscrição`, `2 inscrições`."""
    return f"{count} {one if count == 1 else many}"


# ---- Company ----

_COMPANY_TONES: Mapping[str, str] = {
    "ATIVA": "good",
    "SUSPENSA": "warn",
    "INAPTA": "warn",
    "BAIXADA": "bad",
    "NULA": "bad",
}
_COMPANY_NOTES: Mapping[str, str] = {
    "ATIVA": "A empresa está regular no cadastro da Receita Federal.",
    "SUSPENSA": "O cadastro está suspenso: há pendências a resolver com a Receita Federal.",
    "INAPTA": "O cadastro está inapto: faltam declarações, ou a empresa não foi localizada.",
    "BAIXADA": "A empresa foi encerrada.",
    "NULA": "A inscrição foi anulada: é como se nunca tivesse existido.",
}


def company(form: Form, body: Body, trace: Trace) -> View:
    """Registry data with partners."""
    said: Body = body["response"]
    status = said.get("situacao_cadastral") or "Situação não informada"
    since = said.get("data_da_situacao_cadastral")
    note = _COMPANY_NOTES.get(status, "")
    fields = [("cnpj", said["cnpj"]), ("onde", "fonte")]
    partners: Sequence[Body] = said.get("socios") or ()
    if any(_is_open_cpf(each.get("cpf_cnpj_socio")) for each in partners):
        fields.append(("optin", "1"))
    return View(
        Verdict(
            _COMPANY_TONES.get(status, "neutral"),
            f"{said.get('nome_empresarial') or 'Sem nome'}: {status.lower()}",
            f"{note} Desde {day(since)}." if since else note,
        ),
        facts=(
            ("CNPJ", document(said["cnpj"])),
            ("Nome empresarial", said.get("nome_empresarial")),
            ("Nome fantasia", said.get("nome_fantasia")),
            ("Matriz ou filial", _title(said.get("identificador_matriz_filial"))),
            ("Abertura", day(said.get("data_de_abertura"))),
            ("Natureza jurídica", _coded(said.get("natureza_juridica"))),
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
            Table(
                "Atividades econômicas",
                ("CNAE", "Atividade"),
                [
                    *_activity(said.get("atividade_economica_principal"), "principal"),
                    *(
                        row
                        for each in said.get("atividades_economicas_secundarias") or ()
                        for row in _activity(each)
                    ),
                ],
                "Nenhuma atividade informada.",
            ),
            Table(
                "Sócios e administradores",
                ("Nome", "Documento", "Qualificação"),
                [_partner(each) for each in partners],
                "O cadastro não tem sócios desta empresa.",
            ),
        ),
        # Our own copy goes before every source: asking again would say the same.
        again=() if trace.source == "snapshot" else (renewed(fields),),
    )


def _is_open_cpf(text: str | None) -> bool:
    return text is not None and len(text) == 11 and text.isdigit()


def _title(text: str | None) -> str | None:
    return text.capitalize() if text else None


def _coded(of: Body | None) -> str | None:
    if not of:
        return None
    return " · ".join(str(part) for part in (of.get("codigo"), of.get("descricao")) if part)


def _special(said: Body) -> str | None:
    text = said.get("situacao_especial")
    since = said.get("data_da_situacao_especial")
    return f"{text}, desde {day(since)}" if text and since else text


def _phones(text: str | None) -> str | None:
    return " / ".join(phone(each) for each in text.split(" / ")) if text else None


def _activity(of: Body | None, kind: str | None = None) -> Sequence[Row]:
    if not of:
        return ()
    return [(_cnae(of.get("codigo")), noted(of.get("descricao"), kind))]


def _cnae(code: object) -> Markup | None:
    digits = str(code or "").zfill(7) if code else ""
    if len(digits) != 7 or not digits.isdigit():
        return REGISTER_FIGURES.format(digits) if digits else None
    return REGISTER_FIGURES.format(f"{digits[:4]}-{digits[4]}/{digits[5:]}")


def _partner(of: Body) -> Row:
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


def address(of: Body, kind: str | None = None) -> str | None:
    """An address in one line, of whatever parts there are."""
    street = " ".join(part for part in (kind, of.get("logradouro")) if part)
    town = "/".join(
        part
        for part in (
            of.get("municipio") or of.get("cidade"),
            of.get("uf") or of.get("estado"),
        )
        if part
    )
    code = of.get("cep")
    parts = (
        street,
        of.get("numero"),
        of.get("complemento"),
        of.get("bairro"),
        town,
        cep(code) if code else None,
    )
    return ", ".join(part for part in parts if part) or None


# ---- Suframa ----

_ZONE_TONES: Mapping[int, str] = {1: "good", 2: "warn", 3: "bad", 4: "bad", 5: "bad"}


def suframa(form: Form, body: Body, trace: Trace) -> View:
    """The record of the free-trade-zone authority."""
    status = body["status"]
    place: Body = body.get("endereco") or {}
    approved = "Aprovada" if body["aprovado"] else "Não aprovada"
    return View(
        Verdict(
            _ZONE_TONES.get(status["codigo"], "neutral"),
            f"Inscrição {status['descricao'].lower()}",
            f"{approved} pela Suframa.",
        ),
        facts=(
            ("Inscrição", REGISTER_FIGURES.format(body["inscricao"])),
            ("Nome", body["nome"]),
            ("CNPJ", document(body["cnpj"])),
            ("Situação", _coded(status)),
            ("Aprovada", truth(body["aprovado"])),
            ("Data da aprovação", day(body.get("data_aprovacao"))),
            ("Inscrita desde", day(body.get("desde"))),
            ("Matriz", truth(body["matriz"])),
            ("Natureza jurídica", _coded(body.get("natureza_juridica"))),
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
            Table(
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
            Table(
                "Atividades econômicas",
                ("CNAE", "Atividade", "Exercida"),
                [
                    *_zone_activity(body.get("atividade_principal"), "principal"),
                    *(
                        row
                        for each in body.get("atividades_secundarias") or ()
                        for row in _zone_activity(each)
                    ),
                ],
                "Nenhuma atividade informada.",
            ),
        ),
        again=(renewed([("cnpj", body["cnpj"]), ("onde", "fonte")]),),
    )


def _zone_phones(body: Body) -> str | None:
    numbers = (phone(each["ddd"] + each["numero"]) for each in body.get("telefones") or ())
    return _joined(numbers)


def _joined(texts: Any) -> str | None:
    return ", ".join(texts) or None


def _zone_activity(of: Body | None, kind: str | None = None) -> Sequence[Row]:
    if not of:
        return ()
    exercised = truth(of.get("atividade_exercida"))
    return [(_cnae(of.get("codigo")), noted(of.get("descricao"), kind), exercised)]
