"""The texts of an operation's form, and the parts of a result's page.

A result becomes a `ResultView`, headline first, by pure functions of the API's JSON body. Missing
values are not shown.
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
    """The texts of an operation's form; its fields are those of the operation's parameters."""

    slug: str  # in addresses
    title: str  # the operation's short name on all pages
    answers: str  # description of its results, for the list
    price: str
    price_sentence: str
    example: str = "90.010.001/0001-00"  # a document of the sandbox
    uf_hint: str = ""


def source_failed(
    text: str,
    advice: str = "Tente de novo em instantes ou aceite um resultado guardado mais antigo.",
) -> Notice:
    """Return an operation's own notice for `SourceFailed`."""
    return Notice("bad", "A fonte falhou", text, advice)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A recorded result and the trace of its request."""

    body: Body
    trace: Trace
    now_ms: int
    in_force: bool = True  # False: an expired certificate
    extensions: Sequence[Extension] = ()  # acts entered by the operator (contract 4.12)


@dataclass(frozen=True, slots=True)
class Headline:
    """The first line of a result's page, which summarizes it."""

    tone: str
    text: str
    note: str = ""
    short: str = ""  # without the subject's name, for pages about it; empty: like `text`


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of one UF on the map."""

    tone: str  # good, warn, bad, info, neutral
    text: str  # short, below the UF's letters
    title: str  # a sentence, for tooltips and screen readers


@dataclass(frozen=True, slots=True)
class Button:
    """A button that repeats a lookup. `name` and `value`: the field that it submits."""

    text: str
    credits: int  # the maximum; 0: it costs nothing
    name: str | None = None
    value: str | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class RepeatForm:
    """A form that repeats a lookup about the same document."""

    fields: Sequence[tuple[str, str]]  # hidden ones
    buttons: Sequence[Button]
    needs_birth: bool = False  # the birth date is not on the page, so it must be entered
    only_prices: bool = False  # leads to the filled form, which shows the high price first
    title: str = ""
    small: bool = False  # many buttons


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows for the macro `table`."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Cells]
    empty: str = "Nenhum item."


@dataclass(frozen=True, slots=True)
class RelatedResult:
    """Another operation's latest result about the same company, or the forms to get it."""

    subject: str
    document: str
    title: str
    note: str  # shown if there is no result
    repeat_forms: Sequence[RepeatForm]
    table: Callable[[Body], ResultTable]  # a short table of its body


@dataclass(frozen=True, slots=True)
class ResultView:
    """The page of a result. The template shows its non-empty parts in this order."""

    headline: Headline
    facts: Sequence[Fact] = ()
    more_facts: Sequence[tuple[str, Sequence[Fact]]] = ()  # further groups with their titles
    tables: Sequence[ResultTable] = ()
    tables_first: bool = False  # before the facts
    related: RelatedResult | None = None  # next to the last of the tables
    tiles: Mapping[str, Tile] = field(default_factory=dict)
    receipt_id: str | None = None
    receipt_kind: str = ""  # PDF, HTML
    repeat_forms: Sequence[RepeatForm] = ()


def without_empty_facts(view: ResultView) -> ResultView:
    """Return the view without facts that have no value, and without empty groups."""
    groups = [(title, _filled(facts)) for title, facts in view.more_facts]
    return replace(
        view,
        facts=_filled(view.facts),
        more_facts=[(title, facts) for title, facts in groups if facts],
    )


def _filled(facts: Sequence[Fact]) -> Sequence[Fact]:
    return [(name, value) for name, value in facts if value not in (None, "", NOTHING)]


def document(text: str | None) -> Markup | str:
    """Return a CNPJ or CPF punctuated, styled as a document number."""
    if not text:
        return "—"
    return REGISTER_FIGURES.format(cpf(text) if len(text) == 11 else cnpj(text))


def refresh_form(fields: Sequence[tuple[str, str]], cost: int = 1, hint: str = "") -> RepeatForm:
    """Return the form with the usual button for a fresh lookup."""
    return RepeatForm(fields, [Button(f"Atualizar online ({credits(cost)})", cost, hint=hint)])


def truth(value: bool | None) -> str | None:
    """Format a Boolean as `Sim` or `Não`; None stays None."""
    return None if value is None else ("Sim" if value else "Não")


def badge(active: bool) -> Markup:
    """Return a badge `Ativa` or `Inativa` for a row of a table."""
    return _BADGE.format("good" if active else "neutral", "Ativa" if active else "Inativa")


def noted(text: str | None, note: str | None) -> Markup | str | None:
    """Render a table cell with a small note below the text."""
    return _NOTED.format(text or "—", note) if note else text


def plural(count: int, one: str, many: str) -> str:
    """Return `1 inscrição`, `2 inscrições`."""
    return f"{count} {one if count == 1 else many}"


def coded(of: Body | None) -> str | None:
    """Return a code with its description."""
    if not of:
        return None
    return " · ".join(str(part) for part in (of.get("codigo"), of.get("descricao")) if part)


def activities(
    main: Body | None, others: Iterable[Body], *, exercised: bool = False
) -> list[Cells]:
    """Return rows of economic activities, main one first, optionally with `exercised`."""
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
    """Return an address in one line, without missing parts."""
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
