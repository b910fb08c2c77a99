"""What the application shows of an operation: the words of its form, and its results.

A result becomes a `ResultView`: the headline first, then everything else. That is done by pure
functions of the JSON body that callers of the API get; what is missing in it is not shown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from markupsafe import Markup

from balcao.core.extensions import Extension
from balcao.core.ledger import Trace
from balcao.core.notices import Notice
from balcao.core.writing import NOTHING, cep, cnae, cnpj, cpf, credits

Body: TypeAlias = Mapping[str, Any]
Fact: TypeAlias = tuple[str, object]
Cells: TypeAlias = Sequence[object]

REGISTER_FIGURES = Markup('<span class="document">{}</span>')
_NOTED = Markup("{} <small>{}</small>")
_BADGE = Markup('<span class="badge {}">{}</span>')


@dataclass(frozen=True, slots=True)
class FormWords:
    """What a form says of itself; its fields are those of the operation's parameters."""

    slug: str  # in addresses
    title: str  # what the operation is called, everywhere; its own title is longer
    answers: str  # what one learns, for the list
    price: str  # in general
    price_sentence: str
    example: str = "90.010.001/0001-00"  # a document that the sandbox knows
    uf_hint: str = ""


def source_failed(
    text: str,
    advice: str = "Tente de novo em instantes, ou aceite um resultado guardado há mais dias.",
) -> Notice:
    """An operation's own words where its source was asked and failed."""
    return Notice("bad", "A fonte falhou", text, advice)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A result as it was recorded, and what its request is remembered by."""

    body: Body
    trace: Trace
    now_ms: int
    in_force: bool = True  # False: a certificate that has expired since
    extensions: Sequence[Extension] = ()  # acts that the operator knows of (contract 4.12)


@dataclass(frozen=True, slots=True)
class Headline:
    """What it came to, in one line that is seen first."""

    tone: str
    text: str
    note: str = ""
    short: str = ""  # where the page says already whom it is about; empty: the same text


@dataclass(frozen=True, slots=True)
class Tile:
    """What is said of one UF, on the map."""

    tone: str  # good, warn, bad, info, neutral
    text: str  # short: it stands under the UF's letters
    title: str  # the whole sentence, shown on hover and read out


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
class ResultTable:
    """Rows for the macro `table`."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Cells]
    empty: str = "Nada por aqui."


@dataclass(frozen=True, slots=True)
class Beside:
    """Another operation's latest result about the same company, or how to get it."""

    subject: str
    document: str
    title: str
    note: str  # as long as there is none
    again: Sequence[Again]
    table: Callable[[Body], ResultTable]  # of its body, in short


@dataclass(frozen=True, slots=True)
class ResultView:
    """One result. The template shows what there is of it, in this order."""

    headline: Headline
    facts: Sequence[Fact] = ()
    more_facts: Sequence[tuple[str, Sequence[Fact]]] = ()  # further groups with their titles
    tables: Sequence[ResultTable] = ()
    tables_first: bool = False  # before the facts
    beside: Beside | None = None  # next to the last of the tables
    tiles: Mapping[str, Tile] = field(default_factory=dict)
    receipt_id: str | None = None
    receipt_kind: str = ""  # PDF, HTML
    again: Sequence[Again] = ()


def told(view: ResultView) -> ResultView:
    """The same without lines that have nothing to say, and without groups of such lines."""
    groups = [(title, _filled(facts)) for title, facts in view.more_facts]
    return replace(
        view,
        facts=_filled(view.facts),
        more_facts=[(title, facts) for title, facts in groups if facts],
    )


def _filled(facts: Sequence[Fact]) -> Sequence[Fact]:
    return [(name, value) for name, value in facts if value not in (None, "", NOTHING)]


def document(text: str | None) -> Markup | str:
    """A CNPJ or CPF as it stands in the answer, punctuated, in the figures of registers."""
    if not text:
        return "—"
    return REGISTER_FIGURES.format(cpf(text) if len(text) == 11 else cnpj(text))


def renewed(fields: Sequence[tuple[str, str]], cost: int = 1, hint: str = "") -> Again:
    """The usual button, past what is kept."""
    return Again(fields, [Button(f"Atualizar online ({credits(cost)})", cost, hint=hint)])


def truth(value: bool | None) -> str | None:
    """Sim, Não, or nothing known."""
    return None if value is None else ("Sim" if value else "Não")


def badge(active: bool) -> Markup:
    """A word for the state in a row of a table."""
    return _BADGE.format("good" if active else "neutral", "Ativa" if active else "Inativa")


def noted(text: str | None, note: str | None) -> Markup | str | None:
    """A cell with something small below it."""
    return _NOTED.format(text or "—", note) if note else text


def plural(count: int, one: str, many: str) -> str:
    """`1 inscrição`, `2 inscrições`."""
    return f"{count} {one if count == 1 else many}"


def coded(of: Body | None) -> str | None:
    """A code and what it means."""
    if not of:
        return None
    return " · ".join(str(part) for part in (of.get("codigo"), of.get("descricao")) if part)


def activities(
    main: Body | None, others: Iterable[Body], *, exercised: bool = False
) -> list[Cells]:
    """Rows of economic activities, the main one first; and whether each is `exercised`."""
    found = [(main, "principal")] if main else []
    found.extend((each, "") for each in others)
    return [
        (
            _cnae(each.get("codigo")),
            noted(each.get("descricao"), kind),
            *((truth(each.get("atividade_exercida")),) if exercised else ()),
        )
        for each, kind in found
    ]


def _cnae(code: object) -> Markup | None:
    return REGISTER_FIGURES.format(cnae(str(code).zfill(7))) if code else None


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
